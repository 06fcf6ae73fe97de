#pragma once

#include "csr.hpp"
#include "decision.hpp"
#include "ordered_set.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// The list scheduler behind static policies: the twin of simsched/replay/list_scheduler.py and queues.py.

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

// What a static plan says besides its order: the twin of simsched/replay/plan.py, StaticPlan.
struct ListPlan {
    std::span<const double> seconds;
    Loads loads;
    Csr executors; // hardware threads of each
    std::span<const std::int32_t>
        displaced;    // (n, width): where a thread runs instead, or -1; empty where all are pinned
    Csr predecessors; // where a task goes to its producer's executor; else of no tasks
    DispatchCost cost;
    std::span<const std::int32_t> executor_of; // written by the replay when a task begins
    std::span<const std::int32_t>
        kind_of{};         // of each executor, single-threaded ones last; empty where all are of one kind
    std::size_t kinds = 1; // columns of the seconds and loads

    std::size_t row(std::size_t task, std::size_t executor) const {
        return kind_of.empty() ? task : task * kinds + static_cast<std::size_t>(kind_of[executor]);
    }

    bool prefers_producer() const { return predecessors.n() > 0; }
};

// The next ready task on an idle executor.
template <class Queue> class ListScheduler {
  public:
    static constexpr std::size_t progress_every = 1 << 16;

    ListScheduler(Queue queue, const ListPlan &plan)
        : queue_(std::move(queue)), plan_(plan), idle_(plan.executors.n(), true),
          finished_(plan.prefers_producer() ? plan.seconds.size() : 0) {}

    void release(std::span<const std::int32_t> tasks, double) { queue_.add(tasks); }

    void finished(std::int32_t task) {
        const auto t = static_cast<std::size_t>(task);
        idle_.insert(static_cast<std::size_t>(plan_.executor_of[t]));
        if (!finished_.empty())
            finished_[t] = ++n_finished_;
    }

    bool next(double, Decision &decision) {
        if (queue_.empty() || idle_.empty())
            return false;
        decision.delay_s = delay_s();
        const auto task = queue_.take();
        const auto executor =
            plan_.prefers_producer() ? place(static_cast<std::size_t>(task)) : idle_.first();
        idle_.erase(executor);
        decide(task, executor, decision);
        return true;
    }

  protected:
    double delay_s() const {
        return plan_.cost.base_s + plan_.cost.per_poller_s * static_cast<double>(idle_.size() - 1);
    }

    void decide(std::int32_t of, std::size_t executor, Decision &decision) {
        const auto task = static_cast<std::size_t>(of), row = plan_.row(task, executor);
        decision.held = false;
        decision.task = of;
        decision.executor = decision.team = static_cast<std::int32_t>(executor);
        decision.seconds = plan_.seconds[row];
        decision.cores = team(task, executor, team_);
        plan_.loads.copy_to(row, decision);
    }

    static constexpr std::size_t none = SIZE_MAX;

    // The executor of the predecessor that finished last.
    std::size_t producer(std::size_t task, const Csr &before) const {
        std::size_t latest = 0, found = none;
        for (auto e = before.indptr[task]; e < before.indptr[task + 1]; ++e) {
            const auto other = static_cast<std::size_t>(before.indices[static_cast<std::size_t>(e)]);
            if (finished_[other] > latest) {
                latest = finished_[other];
                found = static_cast<std::size_t>(plan_.executor_of[other]);
            }
        }
        return found;
    }

    std::size_t place(std::size_t task) const {
        const auto found = producer(task, plan_.predecessors);
        return found < plan_.executors.n() && idle_.contains(found) ? found : idle_.first();
    }

    // The threads of an executor, or where the system moved them: those stand in `room`.
    std::span<const std::int32_t> team(std::size_t task, std::size_t executor,
                                       std::vector<std::int32_t> &room) const {
        const auto &executors = plan_.executors;
        const auto first = static_cast<std::size_t>(executors.indptr[executor]);
        const auto width = static_cast<std::size_t>(executors.indptr[executor + 1]) - first;
        const auto home = executors.indices.subspan(first, width);
        if (plan_.displaced.empty())
            return home;
        const auto moved = plan_.displaced.subspan(task * width, width);
        room.assign(home.begin(), home.end());
        for (std::size_t i = 0; i < width; ++i)
            if (moved[i] >= 0)
                room[i] = moved[i];
        return room;
    }

    Queue queue_;
    const ListPlan plan_;
    OrderedSet idle_;
    std::vector<std::size_t> finished_; // when, counted from 1; empty where nothing asks
    std::size_t n_finished_ = 0;
    std::vector<std::int32_t> team_;
};

} // namespace simsched
