#pragma once

#include "min_heap.hpp"
#include "pushed_scheduler.hpp"

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

// Which kind of core takes a ready task: the twin of simsched/replay/affinity_scheduler.py.

namespace simsched {

// Seconds of a task on a kind of core over those of the best other kind of which there are executors.
double slower(const double *seconds, std::size_t kind, const std::vector<bool> &used);

// Idle executors take the ready task that their kind of cores accelerates most.
class AffinityScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;

  public:
    AffinityScheduler(const ListPlan &plan, const Pushing &pushing);

    void release(std::span<const std::int32_t> tasks, double);
    bool next(double, Decision &decision);

  protected:
    std::size_t kind(std::size_t executor) const {
        return plan_.kind_of.empty() ? 0 : static_cast<std::size_t>(plan_.kind_of[executor]);
    }

    const Pushing pushing_;

  private:
    // Whether a ready task is left that a kind of core can run; it is the first of its heap.
    bool has_task(std::size_t kind);

    std::vector<bool> used_;
    std::vector<MinHeap<std::tuple<double, std::int32_t, std::int32_t>>>
        heaps_; // by kind: slower, rank, task
    std::vector<bool> ready_;
    std::size_t left_ = 0;
};

} // namespace simsched
