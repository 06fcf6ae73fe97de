#pragma once

#include "data_state.hpp"
#include "list_scheduler.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <vector>

// Where ready tasks are pushed: the twin of simsched/replay/pushed_scheduler.py.

namespace simsched {

// How ready tasks are pushed to queues of executors: the twin of simsched/policy/pushing.py. For affinity
// and spoliation, only estimates and ranks count.
struct Pushing {
    std::span<const double> estimates;   // as the plan's seconds
    std::span<const std::int32_t> ranks; // of each task; equal ones are ties
    double alpha = 1.0, beta = 0.0;
    bool aware = false, longest = false, sorts = false, ready = false, by_start = false, pairs = false;
    std::span<const double> levels; // seconds of each task that are added to starts; or empty
};

// Throws std::invalid_argument unless it fits the plan of n tasks.
void check(const Pushing &pushing, const ListPlan &plan, std::size_t n);

// Tasks that become ready are pushed to queues of executors.
class PushedScheduler : public ListScheduler<FifoQueue> {
    using Base = ListScheduler<FifoQueue>;
    using Queue = std::set<std::tuple<std::int32_t, std::int64_t, std::int32_t>>; // rank, when it came, task

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
    // Sets when a task is expected to end on each executor, or to start there; returns the least.
    double expect(std::size_t task, double now);
    double free(std::size_t executor, double now) const;
    bool is_busy(std::size_t executor) const;
    double missing(std::size_t task, std::size_t executor) const;
    // Takes the first task of a queue, or the one of its rank that misses fewest bytes.
    std::int32_t take(std::size_t executor);

    const Pushing pushing_;
    DataState *data_;
    std::vector<Queue> waiting_; // of each executor
    std::vector<double> busy_until_, queued_, free_, missing_, expected_;
    std::vector<char> runs_, busy_; // whether each executor runs a task; or can start one
    std::vector<double> share_;     // what each task adds to its queue
    std::vector<std::int32_t> sorted_;
    std::int64_t came_ = 0;
    OrderedSet startable_; // idle executors whose queue is not empty
};

} // namespace simsched
