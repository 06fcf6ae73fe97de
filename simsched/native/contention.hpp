#pragma once

#include "completion.hpp"
#include "decision.hpp"
#include "sharing.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Parts of a stretch beside 1: by hardware threads that share a core, memory bandwidth, tiles, remote memory
// and the interconnect.
using Excess = std::array<double, 5>;

// Everything that running tasks share: the twin of simsched/replay/contention.py, expression by expression.
// What several expressions have in common is computed once, and nothing again whose inputs are as they were.
class Contention {
  public:
    struct Entry : Completion {
        std::size_t slot; // of its team
    };

    Contention(const Sharing &shared, std::size_t n_tasks);

    Entry begin(const Decision &decision, double now);
    void end(const Entry &entry);
    void feed(std::int32_t task, std::span<const std::int32_t> followers);
    bool update(std::vector<Entry> &running, double now);
    // Calls changed(entry, factor) for each running task whose stretch has changed, with the factor on what
    // is left.
    template <class Changed> void each_changed(std::vector<Entry> &running, Changed changed);
    Excess excess(const Entry &entry) const;

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
        double rest, memory_share, overhead_share; // of its seconds; together they are 1
        // Factors by who else is on its cores and tiles.
        double core = 1.0, core_waiting = 1.0, turns = 1.0, tile = 1.0;
        double others; // threads of its own besides one
        double stretch;
        bool crowd_changed; // somebody came to its tiles or left them
        std::vector<std::int32_t> cores, tiles, segments;
        std::vector<Part> parts; // by cluster, where clusters have a limit
    };
    // Of a team and a domain: shares of its traffic, which decide how stretched it is; and share of its
    // threads, and bytes a second on the domain's memory and on what leaves the domain.
    struct Share {
        double local, remote;
    };
    struct Flow {
        double here;
        std::int64_t demand_Bps, bound_Bps, link_Bps, link_bound_Bps;
    };
    struct Domain {
        std::int64_t demand_Bps = 0, bound_Bps = 0, out_Bps = 0, out_bound_Bps = 0;
        double near = 1.0, link = 1.0; // pressure on it, and on what comes from it to others
        double far = 1.0;              // factor on the latter: that pressure, and the distance
    };

    std::size_t free_slot();
    void place(std::size_t slot, std::span<const std::int32_t> threads);
    void find_data(std::size_t slot, const Decision &decision);
    void find_clusters(Team &team, const Decision &decision);
    void add_traffic(std::size_t slot, int sign);
    void enter(std::size_t slot);
    void leave(std::size_t slot);
    bool weigh_domains();
    bool weigh_clusters();
    void look_around(Team &team) const;
    double stretch(std::size_t slot) const;
    double net(const Team &team) const;
    double memory_seconds(std::size_t slot) const;
    double crowded(const Team &team) const;

    const Sharing &shared_;
    const std::size_t n_domains_;
    const bool crowds_, remembers_; // whether it matters who is on a team's tiles, and where data are
    std::vector<Team> teams_;
    std::vector<Share> shares_; // by slot and domain
    std::vector<Flow> flows_;
    std::vector<std::size_t> free_;
    std::vector<std::int64_t> threads_on_;                  // by core
    std::vector<std::vector<std::size_t>> teams_on_;        // by tile
    std::vector<std::int64_t> busy_on_;                     // cores with threads, by tile
    std::vector<std::int64_t> threads_in_, threads_before_; // by segment
    std::vector<Domain> domains_;
    std::vector<Cluster> clusters_;
    // Where the data that each task reads are: sums of its predecessors' shares, and how many added to them;
    // and the slots of tasks that have ended and still have to say where their data are.
    std::vector<double> fed_;
    std::vector<std::int32_t> n_fed_;
    std::vector<std::size_t> slot_of_;
};

template <class Changed> void Contention::each_changed(std::vector<Entry> &running, Changed changed) {
    const bool domains_changed = weigh_domains(), memory_changed = weigh_clusters() || domains_changed;
    const bool net_changed = shared_.interconnect && threads_in_ != threads_before_;
    threads_before_ = threads_in_;
    for (auto &entry : running) {
        auto &team = teams_[entry.slot];
        if (team.crowd_changed)
            look_around(team);
        else if (!(memory_changed && team.memory_share != 0) && !(net_changed && team.overhead_share != 0))
            continue;
        team.crowd_changed = false;
        const double stretched = stretch(entry.slot);
        if (stretched == team.stretch)
            continue;
        const double factor = stretched / team.stretch;
        team.stretch = stretched;
        changed(entry, factor);
    }
}

} // namespace simsched
