#pragma once

#include "list_scheduler.hpp"

#include <deque>

// The list scheduler where something runs past its queue: the twin of simsched/replay/list_scheduler.py.

namespace simsched {

// What does, besides the list plan: the twin of simsched/policy/shortcuts.py. Single-threaded executors are
// numbered after those of the plan.
struct Shortcuts {
    std::span<const std::int32_t> threads; // hardware thread of each
    std::span<const bool> single_threaded, inlined;
    std::span<const double>
        seconds; // on a single-threaded executor, by kind as the plan's; empty without one
    Loads loads;
    Csr predecessors;
    bool buffered;
};

template <class Queue> class ShortcutScheduler : ListScheduler<Queue> {
  public:
    using Base = ListScheduler<Queue>;
    using Base::progress_every;

    ShortcutScheduler(Queue queue, Queue single_threaded, const ListPlan &plan, const Shortcuts &shortcuts)
        : Base(std::move(queue), plan), apart_(std::move(single_threaded)), shortcuts_(shortcuts),
          n_teams_(plan.executors.n()), idle_singles_(shortcuts.threads.size(), true),
          freed_(n_teams_ + shortcuts.threads.size()), open_(n_teams_, shortcuts.buffered),
          released_(n_teams_ + shortcuts.threads.size()), buffer_(n_teams_, Buffer{}) {
        this->finished_.assign(plan.seconds.size(), 0);
    }

    void release(std::span<const std::int32_t> tasks, double) {
        for (const auto task : tasks) {
            const auto t = static_cast<std::size_t>(task);
            const auto producer =
                shortcuts_.inlined[t] ? this->producer(t, shortcuts_.predecessors) : Base::none;
            if (producer != Base::none)
                released_[producer].push_back(task);
            else
                (shortcuts_.single_threaded[t] ? for_singles_ : for_teams_).push_back(task);
        }
        this->queue_.add(for_teams_);
        apart_.add(for_singles_);
        for_teams_.clear();
        for_singles_.clear();
    }

    void finished(std::int32_t task) {
        const auto t = static_cast<std::size_t>(task);
        freed_.insert(static_cast<std::size_t>(this->plan_.executor_of[t]));
        this->finished_[t] = ++this->n_finished_;
    }

    // Of free executors, the lowest first: what it released, then what it was handed.
    bool own(double, Decision &decision) {
        while (!freed_.empty()) {
            const auto executor = freed_.take_first();
            auto &released = released_[executor];
            if (!released.empty()) {
                const auto task = released.front();
                released.pop_front();
                fill(decision, task, executor, 0.0, own_team_);
                return true;
            }
            if (executor >= n_teams_)
                idle_singles_.insert(executor - n_teams_);
            else if (buffer_[executor].task < 0)
                this->idle_.insert(executor);
            else if (buffer_[executor].on_the_way)
                buffer_[executor].awaited = true;
            else {
                fill(decision, std::exchange(buffer_[executor].task, -1), executor, 0.0, own_team_);
                open_.insert(executor);
                return true;
            }
        }
        return false;
    }

    bool next(double now, Decision &decision) {
        if (Base::next(now, decision))
            return true;
        const auto &cost = this->plan_.cost;
        if (!apart_.empty() && !idle_singles_.empty()) {
            const auto delay =
                cost.base_s + cost.per_poller_s * static_cast<double>(idle_singles_.size() - 1);
            fill(decision, apart_.take(), n_teams_ + idle_singles_.take_first(), delay, this->team_);
            return true;
        }
        if (this->queue_.empty() || open_.empty())
            return false;
        hold(decision, this->queue_.take(), open_.take_first());
        return true;
    }

    void arrived(const Decision &decision) {
        const auto executor = static_cast<std::size_t>(decision.executor);
        buffer_[executor].on_the_way = false;
        if (std::exchange(buffer_[executor].awaited, false))
            freed_.insert(executor);
    }

  private:
    struct Buffer {
        std::int32_t task = -1;
        bool on_the_way = false, awaited = false;
    };

    void hold(Decision &decision, std::int32_t task, std::size_t executor) {
        buffer_[executor] = {task, true, false};
        decision.task = task;
        decision.executor = decision.team = static_cast<std::int32_t>(executor);
        decision.delay_s = this->plan_.cost.base_s;
        decision.held = true;
    }

    // A decision of the dispatcher may be under way while an executor starts what is its own: each has room
    // for a team of its own.
    void fill(Decision &decision, std::int32_t task, std::size_t executor, double delay_s,
              std::vector<std::int32_t> &room) {
        const auto t = static_cast<std::size_t>(task), row = this->plan_.row(t, executor);
        const bool single = executor >= n_teams_;
        decision.task = task;
        decision.executor = decision.team = static_cast<std::int32_t>(executor);
        decision.delay_s = delay_s;
        decision.held = false;
        decision.seconds = (single ? shortcuts_.seconds : this->plan_.seconds)[row];
        decision.cores = single ? one(t, executor, room) : this->team(t, executor, room);
        (single ? shortcuts_.loads : this->plan_.loads).copy_to(row, decision);
    }

    std::span<const std::int32_t> one(std::size_t task, std::size_t executor,
                                      std::vector<std::int32_t> &room) {
        const auto &displaced = this->plan_.displaced;
        const auto width = this->plan_.executors.indices.size() / n_teams_;
        const auto moved = displaced.empty() ? -1 : displaced[task * width];
        room.assign(1, moved < 0 ? shortcuts_.threads[executor - n_teams_] : moved);
        return room;
    }

    Queue apart_;
    const Shortcuts shortcuts_;
    const std::size_t n_teams_;
    OrderedSet idle_singles_, freed_, open_; // open: executors with an empty buffer
    std::vector<std::deque<std::int32_t>> released_;
    std::vector<Buffer> buffer_;
    std::vector<std::int32_t> for_teams_, for_singles_, own_team_;
};

} // namespace simsched
