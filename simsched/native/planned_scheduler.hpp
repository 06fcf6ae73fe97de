#pragma once

#include "list_scheduler.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Each executor runs its own tasks, in the order of the plan: the twin of
// simsched/replay/list_scheduler.py.
class PlannedScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;

  public:
    // Throws std::invalid_argument unless `position` is a permutation and each task has an executor.
    PlannedScheduler(const ListPlan &plan, std::span<const std::int32_t> position,
                     std::span<const std::int32_t> assigned);

    void release(std::span<const std::int32_t> tasks, double);
    void finished(std::int32_t task);
    bool next(double now, Decision &decision);

  private:
    // Lets an idle executor start its next task, if that is ready.
    void offer(std::size_t executor);

    std::span<const std::int32_t> assigned_;
    std::vector<std::int32_t> order_;     // by executor
    std::vector<std::size_t> next_, end_; // of each executor's, in the order
    std::vector<bool> ready_;
    OrderedSet startable_;
};

} // namespace simsched
