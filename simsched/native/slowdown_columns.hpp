#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace simsched {

// Slow-downs of the running tasks, by slot: the seconds of each that are work, those that wait for memory
// and those spent on starting and ending its team, as shares of what it takes alone. An empty slot is not
// slowed down.
struct SlowdownColumns {
    std::vector<double> work; // its share, times what sharing cores makes of it
    std::vector<double>
        memory_share; // to be slowed down by the memory, or by what is crowded around the team
    std::vector<double> memory, around;
    std::vector<double> overhead; // its share, times what sharing makes of it
    std::vector<double> slowdown; // as the times have it

    void resize(std::size_t n);
    void clear(std::size_t slot);

    double current(std::size_t slot) const {
        // Values, not references: of these no loop is made that goes over several slots at once.
        const double by_memory = memory[slot], by_others = around[slot];
        const double waiting = by_memory < by_others ? by_others : by_memory;
        return work[slot] + memory_share[slot] * waiting + overhead[slot];
    }
    // Sets the slow-downs of some slots to what they are now, and what is left of their tasks accordingly.
    void retime(std::span<double> times, std::size_t first, std::size_t last, double now);
    // The same of one slot; returns whether its slow-down has changed.
    bool retime(std::span<double> times, std::size_t slot, double now) {
        const bool changes = current(slot) != slowdown[slot];
        if (changes)
            retime(times, slot, slot + 1, now);
        return changes;
    }
    // Adds a domain's part to how much longer memory traffic takes than alone.
    void add_memory(const std::vector<double> &local, const std::vector<double> &remote, double near,
                    double far, std::size_t first, std::size_t last);
};

} // namespace simsched
