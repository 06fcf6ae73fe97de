#pragma once

#include "decision.hpp"
#include "ordered_set.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// The list scheduler behind static policies: the twin of simsched/replay/lister.py and queues.py.

namespace simsched {

// Lowest position first.
class RankQueue {
  public:
    // Throws std::invalid_argument unless `position` is a permutation.
    explicit RankQueue(std::span<const std::int32_t> position);
    bool empty() const { return ready_.empty(); }
    void add(std::span<const std::int32_t> tasks) {
        for (const auto task : tasks)
            ready_.insert(static_cast<std::size_t>(position_[static_cast<std::size_t>(task)]));
    }
    std::int32_t take() { return task_at_[ready_.take_first()]; }

  private:
    std::span<const std::int32_t> position_;
    std::vector<std::int32_t> task_at_;
    OrderedSet ready_;
};

// First come, first served; of one instant, the lower index first.
class FifoQueue {
  public:
    explicit FifoQueue(std::size_t n) { tasks_.reserve(n); }
    bool empty() const { return head_ == tasks_.size(); }
    void add(std::span<const std::int32_t> tasks) { tasks_.insert(tasks_.end(), tasks.begin(), tasks.end()); }
    std::int32_t take() { return tasks_[head_++]; }

  private:
    std::vector<std::int32_t> tasks_;
    std::size_t head_ = 0;
};

// Last come, first served; of one instant, the lower index first.
class LifoQueue {
  public:
    explicit LifoQueue(std::size_t) {}
    bool empty() const { return tasks_.empty(); }
    void add(std::span<const std::int32_t> tasks) {
        tasks_.insert(tasks_.end(), tasks.rbegin(), tasks.rend());
    }
    std::int32_t take() {
        const auto task = tasks_.back();
        tasks_.pop_back();
        return task;
    }

  private:
    std::vector<std::int32_t> tasks_;
};

// What a start costs: a base, and what every further idle executor that polls adds.
struct DispatchCost {
    double base_s, per_poller_s;
};

// The next ready task on the lowest-numbered idle executor.
template <class Queue> class Lister {
  public:
    static constexpr std::size_t progress_every = 1 << 16;

    Lister(Queue queue, std::span<const double> seconds, const Memory &memory, std::size_t executors,
           DispatchCost cost, std::span<const std::int32_t> executor_of)
        : queue_(std::move(queue)), seconds_(seconds), memory_(memory), idle_(executors, true), cost_(cost),
          executor_of_(executor_of) {}

    void release(std::span<const std::int32_t> tasks, double) { queue_.add(tasks); }

    void finished(std::int32_t task) {
        idle_.insert(static_cast<std::size_t>(executor_of_[static_cast<std::size_t>(task)]));
    }

    bool next(double, Decision &decision) {
        if (queue_.empty() || idle_.empty())
            return false;
        decision.delay_s = cost_.base_s + cost_.per_poller_s * static_cast<double>(idle_.size() - 1);
        decision.executor = decision.team = static_cast<std::int32_t>(idle_.take_first());
        decision.task = queue_.take();
        const auto task = static_cast<std::size_t>(decision.task);
        decision.seconds = seconds_[task];
        memory_.tell(task, decision);
        return true;
    }

  private:
    Queue queue_;
    std::span<const double> seconds_;
    Memory memory_;
    OrderedSet idle_;
    DispatchCost cost_;
    std::span<const std::int32_t> executor_of_; // written by the replay when a task begins
};

} // namespace simsched
