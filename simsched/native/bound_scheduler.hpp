#pragma once

#include "list_scheduler.hpp"
#include "min_heap.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The list scheduler of tasks of which some cannot run on all kinds of cores: the twin of BoundScheduler in
// simsched/replay/list_scheduler.py.

namespace simsched {

// Groups of tasks that can run on the same kinds of cores: the twin of simsched/policy/bound.py.
struct Bound {
    std::span<const std::int32_t> group_of; // of each task
    std::span<const bool> runs_on;          // groups * kinds

    // Throws std::invalid_argument unless it fits the plan of n tasks, which have an executor each.
    void check(const ListPlan &plan, std::size_t n) const;
};

// The next ready task that an idle executor can run, on that.
class BoundScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;

  public:
    BoundScheduler(const std::string &discipline, std::span<const std::int32_t> position,
                   const ListPlan &plan, const Bound &bound);

    void release(std::span<const std::int32_t> tasks, double);
    void finished(std::int32_t task);
    bool next(double, Decision &decision);

  private:
    bool can_run(std::size_t group, std::size_t executor) const {
        return bound_.runs_on[group * plan_.kinds + static_cast<std::size_t>(plan_.kind_of[executor])];
    }
    std::size_t taker(std::size_t group, std::int32_t task) const;

    const Bound bound_;
    std::span<const std::int32_t> position_; // empty but for ranks
    bool last_first_;
    std::int64_t came_ = 0;
    std::vector<MinHeap<std::pair<std::int64_t, std::int32_t>>> ready_; // of each group: place in order, task
    std::vector<OrderedSet> able_; // idle executors that can run tasks of each group
};

} // namespace simsched
