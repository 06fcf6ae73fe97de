#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace simsched {

// How stretched the running tasks are, by slot: the seconds of each that are work, those that wait for memory
// and those spent on starting and ending its team, as shares of what it takes alone. An empty slot is not
// stretched.
struct StretchColumns {
    std::vector<double> work;         // its share, times what sharing cores makes of it
    std::vector<double> memory_share; // to be stretched by the memory, or by what is crowded around the team
    std::vector<double> memory, around;
    std::vector<double> overhead; // its share, times what sharing makes of it
    std::vector<double> stretch;  // as the times have it

    void resize(std::size_t n);
    void clear(std::size_t slot);

    double stretched(std::size_t slot) const {
        // Values, not references: of these no loop is made that goes over several slots at once.
        const double by_memory = memory[slot], by_others = around[slot];
        const double waiting = by_memory < by_others ? by_others : by_memory;
        return work[slot] + memory_share[slot] * waiting + overhead[slot];
    }
    // Sets the stretches of some slots to what they are now, and what is left of their tasks accordingly.
    void retime(std::span<double> times, std::size_t first, std::size_t last, double now);
    // Adds a domain's part to how much longer memory traffic takes than alone.
    void add_memory(const std::vector<double> &local, const std::vector<double> &remote, double near,
                    double far, std::size_t first, std::size_t last);
};

} // namespace simsched
