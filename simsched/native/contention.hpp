#pragma once

#include "completion.hpp"
#include "decision.hpp"
#include "sharing.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Everything that running tasks share: the twin of simsched/replay/contention.py, expression by expression.
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

  private:
    // A running task: its threads' cores, what it asks for, where its data are, and how stretched it is.
    // Slots are used again, so that no task allocates.
    struct Team {
        std::vector<std::int32_t> cores, tiles;
        Load load;
        std::vector<double> here, data, local, remote; // shares of its threads and of its traffic, by domain
        std::vector<std::int64_t> demand_Bps, link_Bps;
        double stretch;
    };

    std::size_t free_slot();
    void place(Team &team, std::span<const std::int32_t> threads) const;
    void find_data(Team &team, std::int32_t task) const;
    void add(const Team &team, int sign);
    double stretch(const Team &team) const;
    double waiting(const Team &team) const;

    const Sharing &shared_;
    std::vector<Team> teams_;
    std::vector<std::size_t> free_;
    std::vector<std::int64_t> threads_on_, teams_on_; // by core, by tile
    std::int64_t threads_ = 0;
    std::vector<std::int64_t> demand_Bps_, out_Bps_; // by domain
    // Where the data that each task reads are: sums of its predecessors' shares, and how many added to them;
    // and where those are that finished tasks made.
    std::vector<double> fed_, made_;
    std::vector<std::int32_t> n_fed_;
};

} // namespace simsched
