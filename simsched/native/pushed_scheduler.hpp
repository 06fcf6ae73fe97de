#pragma once

#include "data_state.hpp"
#include "list_scheduler.hpp"

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

// What decides at run time where ready tasks go: the twin of simsched/replay/pushed_scheduler.py.

namespace simsched {

template <class Key> using MinHeap = std::priority_queue<Key, std::vector<Key>, std::greater<Key>>;

// Seconds of a task on a kind of core over those of the best other kind of which there are executors.
double slower(const double *seconds, std::size_t kind, const std::vector<bool> &used);

// How ready tasks are pushed to queues of executors: the twin of simsched/policy/pushing.py. For affinity,
// only estimates and ranks count.
struct Pushing {
    std::span<const double> estimates;   // as the plan's seconds
    std::span<const std::int32_t> ranks; // of each task; equal ones are ties
    double alpha = 1.0, beta = 0.0;
    bool aware = false, longest = false, sorts = false;
};

// Throws std::invalid_argument unless it fits the plan of n tasks.
void check(const Pushing &pushing, const ListPlan &plan, std::size_t n);

// Tasks that become ready are pushed to queues of executors.
class PushedScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;

  public:
    PushedScheduler(const ListPlan &plan, const Pushing &pushing, DataState *data);

    void release(std::span<const std::int32_t> tasks, double now);
    void began(std::int32_t task, double now);
    void finished(std::int32_t task);
    bool next(double now, Decision &decision);

  private:
    std::int32_t first_thread(std::size_t executor) const {
        return plan_.executors.indices[static_cast<std::size_t>(plan_.executors.indptr[executor])];
    }
    void push(std::int32_t task, double now);
    std::size_t chosen(std::size_t task, double now);
    double missing(std::size_t task, std::size_t executor) const;

    const Pushing pushing_;
    DataState *data_;
    std::vector<MinHeap<std::tuple<std::int32_t, std::int64_t, std::int32_t>>>
        waiting_; // of each executor: rank, when it came, task
    std::vector<double> busy_until_, queued_, free_, missing_, ends_;
    std::vector<double> share_; // what each task adds to its queue
    std::vector<std::int32_t> sorted_;
    std::int64_t came_ = 0;
    OrderedSet startable_; // idle executors whose queue is not empty
};

// Idle executors take the ready task that their kind of cores accelerates most.
class AffinityScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;

  public:
    AffinityScheduler(const ListPlan &plan, const Pushing &pushing);

    void release(std::span<const std::int32_t> tasks, double);
    bool next(double, Decision &decision);

  private:
    std::size_t kind(std::size_t executor) const {
        return plan_.kind_of.empty() ? 0 : static_cast<std::size_t>(plan_.kind_of[executor]);
    }

    const Pushing pushing_;
    std::vector<bool> used_;
    std::vector<MinHeap<std::tuple<double, std::int32_t, std::int32_t>>>
        heaps_; // by kind: slower, rank, task
    std::vector<bool> ready_;
    std::size_t left_ = 0;
};

} // namespace simsched
