#pragma once

#include "decision.hpp"
#include "running.hpp"
#include "sharing.hpp"
#include "slowdown_columns.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Parts of a slow-down beside 1: by hardware threads that share a core, memory bandwidth, tiles, remote
// memory and the interconnect.
using Excess = std::array<double, 5>;

// Everything that running tasks share: the twin of simsched/replay/contention.py, expression by expression.
// What several expressions have in common is computed once, and nothing again whose inputs are as they were.
class Contention {
  public:
    Contention(const Sharing &shared, std::size_t n_tasks);

    // Starts a task, and returns the slot of its team.
    std::size_t begin(const Decision &decision, double now);
    // Ends one that finishes now; false where none does.
    bool end(double now, std::int32_t &task);
    void end(std::size_t slot);
    // Takes out a task that starts anew later.
    void abort(std::int32_t task);
    void abort(std::size_t slot);
    bool empty() const { return running_.empty(); }
    double next() { return running_.next(); }
    void feed(std::int32_t task, std::span<const std::int32_t> followers);
    // Times again what is left of all running tasks whose slow-down has changed.
    void update(double now);
    // Calls changed(slot) for each of these slots whose slow-down has changed.
    template <class Changed> void each_changed(std::span<const std::size_t> slots, Changed changed);
    Excess excess(std::size_t slot) const;

  private:
    // What a team asks of one cluster, and what all ask of it.
    struct Part {
        std::size_t cluster;
        std::int64_t demand_Bps, bound_Bps;
    };
    struct Cluster {
        std::int64_t demand_Bps = 0, bound_Bps = 0;
        double pressure = 1.0;
    };
    // A running task. Slots are used again, so that no task allocates.
    struct Team {
        double rest, overhead_share; // of its seconds, beside what waits for memory
        double core_share;           // of the latter
        // Factors by who else is on its cores, tiles, clusters and interconnects.
        double core = 1.0, core_waiting = 1.0, turns = 1.0, tile = 1.0, cluster = 1.0, net = 1.0;
        double others;              // threads of its own besides one
        bool crowd_changed = false; // somebody came to its tiles or left them, or it came itself
        std::vector<std::int32_t> cores, tiles, segments;
        std::vector<Part> parts; // by cluster, where clusters have a limit
    };
    // Of a team and a domain: share of its threads, and bytes a second on the domain's memory and on what
    // leaves the domain.
    struct Flow {
        double here;
        std::int64_t demand_Bps, bound_Bps, link_Bps, link_bound_Bps;
    };
    struct Domain {
        std::int64_t demand_Bps = 0, bound_Bps = 0, out_Bps = 0, out_bound_Bps = 0;
        double near = 1.0, link = 1.0; // pressure on it, and on what comes from it to others
        double far = 1.0;              // factor on the latter: that pressure, and the distance
    };
    // What has changed since the slow-downs were last looked at.
    struct Changes {
        bool memory, net;
    };

    void place(std::size_t slot, std::span<const std::int32_t> threads);
    void find_data(std::size_t slot, const Decision &decision);
    void find_clusters(Team &team, const Decision &decision);
    void add_traffic(std::size_t slot, int sign);
    void enter(std::size_t slot);
    void leave(std::size_t slot);
    void take_out(std::size_t slot);
    void crowd(std::size_t slot);
    void crowd(const std::vector<std::size_t> &teams, bool shares_cores);
    void crowd_all();
    Changes weigh();
    bool weigh_domains();
    bool weigh_clusters();
    void weigh_memory(std::size_t first, std::size_t last);
    void look_around(Team &team);
    void share_fairly(Team &team) const;
    void settle(std::size_t slot);
    double net(const Team &team) const;
    double crowded(const Team &team) const;

    const Sharing &shared_;
    const std::size_t n_domains_;
    const bool crowds_, remembers_; // whether it matters who is on a team's tiles, and where data are
    std::int64_t n_running_threads_ = 0, n_wide_ = 0; // threads, and teams of several of them
    Running running_;
    std::vector<Team> teams_; // by slot, as all that follow
    SlowdownColumns columns_;
    // By domain: shares of a team's traffic, which decide its slow-down.
    std::vector<std::vector<double>> local_, remote_;
    bool traffic_changed_ = true;
    std::vector<Flow> flows_;                               // by slot and domain
    std::vector<std::size_t> crowd_changed_;                // slots of which teams say so
    std::vector<std::int64_t> threads_on_;                  // by core
    std::vector<std::vector<std::size_t>> teams_on_;        // by tile
    std::vector<std::int64_t> busy_on_;                     // cores with threads, by tile
    std::vector<std::int64_t> threads_in_, threads_before_; // by segment
    std::vector<Domain> domains_;
    std::vector<Cluster> clusters_;
    std::vector<std::size_t> clusters_of_threads_; // of the team that is being placed
    // Where the data that each task reads are: sums of its predecessors' shares, and how many added to them;
    // and the slots of tasks that have ended and still have to say where their data are.
    std::vector<double> fed_;
    std::vector<std::int32_t> n_fed_;
    std::vector<std::size_t> slot_of_;
};

template <class Changed> void Contention::each_changed(std::span<const std::size_t> slots, Changed changed) {
    const auto changes = weigh();
    for (const auto slot : slots) {
        auto &team = teams_[slot];
        if (team.crowd_changed)
            look_around(team);
        else if (!(changes.memory && columns_.memory_share[slot] != 0) &&
                 !(changes.net && team.overhead_share != 0))
            continue;
        team.crowd_changed = false;
        weigh_memory(slot, slot + 1);
        settle(slot);
        const double current = columns_.current(slot);
        if (current == columns_.slowdown[slot])
            continue;
        columns_.slowdown[slot] = current;
        changed(slot);
    }
    crowd_changed_.clear();
}

} // namespace simsched
