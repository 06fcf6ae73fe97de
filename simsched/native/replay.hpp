#pragma once

#include "completion.hpp"
#include "csr.hpp"
#include "data_state.hpp"
#include "decision.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

// The event core of the compiled engine: the twin of simsched/replay/simpy_engine.py, rule by rule.

namespace simsched {

// What becomes of each task; one entry a task, `order` in order of starting. `team` may be empty.
struct Results {
    std::span<double> ready_s, start_s, finish_s;
    std::span<std::int32_t> team, executor, order;
};

// Called now and then with the number of tasks finished since the last call; may throw to stop the replay.
using Progress = std::function<void(std::size_t)>;

// What executors start by themselves, past the dispatcher: own(now, decision), false where there is nothing,
// and arrived(decision) for tasks that are held. Others hold nothing.
template <class Chooser>
concept StartsItsOwn = requires(Chooser &chooser, Decision &decision) { chooser.own(0.0, decision); };

// What is told when tasks start, where data move.
template <class Chooser>
concept SeesStarts = requires(Chooser &chooser) { chooser.began(0, 0.0); };

// What aborts runs of tasks that compute: aborts(abort) says how, and computes(task, now) tells it of each.
template <class Chooser>
concept AbortsRuns = requires(Chooser &chooser) { chooser.computes(0, 0.0); };

// A chooser has progress_every, the tasks after which progress is reported; release(tasks, now): these became
// ready, ascending; finished(task); next(now, decision): false to wait for the next completion. What running
// tasks share is Alone, Bandwidth or Contention.
template <class Shared, class Chooser> class Replay {
  public:
    Replay(const Csr &successors, Chooser &chooser, const Results &out, const Progress &progress,
           Shared shared, DataState *data)
        : after_(successors), chooser_(chooser), out_(out), progress_(progress), waiting_(successors.n()),
          shared_(std::move(shared)), data_(data) {
        for (const auto follower : after_.indices)
            ++waiting_[static_cast<std::size_t>(follower)];
    }

    // Returns the number of tasks that ran; fewer than there are if the chooser left some waiting for ever.
    std::size_t run() {
        if constexpr (AbortsRuns<Chooser>)
            chooser_.aborts([this](std::int32_t task) { return abort(task); });
        for (std::size_t task = 0; task < waiting_.size(); ++task)
            if (!waiting_[task])
                released_.push_back(static_cast<std::int32_t>(task));
        release();
        if (data_)
            data_->open();
        begin_waiting();
        decide();
        take_room();
        update();
        while (!shared_.empty() || busy_ || (data_ && data_->next() < infinity)) {
            now_ = shared_.next();
            if (data_)
                now_ = std::min(now_, data_->next());
            if (busy_)
                now_ = std::min(now_, dispatched_at_);
            if (!(now_ < infinity))
                throw std::overflow_error("the times grow beyond all numbers");
            gather();
            complete();
            begin_waiting();
            start_own();
            if (!busy_)
                decide();
            take_room();
            update();
        }
        report();
        return n_done_;
    }

  private:
    // Everything that happens at this instant, before any decision; tasks of no length end as they begin.
    void gather() {
        for (std::int32_t task = 0;;) {
            if (busy_ && dispatched_at_ == now_) {
                busy_ = false;
                deliver(dispatched_);
            } else if (shared_.end(now_, task)) {
                done_.push_back(task);
            } else {
                break;
            }
        }
        if (!std::is_sorted(done_.begin(), done_.end()))
            std::sort(done_.begin(), done_.end());
    }

    void complete() {
        if (done_.empty())
            return;
        for (const auto task : done_) {
            const auto t = static_cast<std::size_t>(task);
            out_.finish_s[t] = now_;
            chooser_.finished(task);
            if (data_)
                data_->finished(task, now_);
            const auto first = static_cast<std::size_t>(after_.indptr[t]);
            const auto followers =
                after_.indices.subspan(first, static_cast<std::size_t>(after_.indptr[t + 1]) - first);
            shared_.feed(task, followers);
            for (const auto follower : followers) {
                if (!--waiting_[static_cast<std::size_t>(follower)])
                    released_.push_back(follower);
            }
        }
        n_done_ += done_.size();
        done_.clear();
        release();
        if (n_done_ - n_reported_ >= Chooser::progress_every)
            report();
    }

    void release() {
        if (released_.empty())
            return;
        if (!std::is_sorted(released_.begin(), released_.end()))
            std::sort(released_.begin(), released_.end());
        for (const auto task : released_)
            out_.ready_s[static_cast<std::size_t>(task)] = now_;
        chooser_.release(std::span<const std::int32_t>(released_), now_);
        released_.clear();
    }

    void decide() {
        while (chooser_.next(now_, dispatched_)) {
            if (dispatched_.delay_s != 0) {
                busy_ = true;
                dispatched_at_ = now_ + dispatched_.delay_s;
                return;
            }
            deliver(dispatched_);
        }
    }

    void deliver(const Decision &decision) {
        if constexpr (StartsItsOwn<Chooser>) {
            if (decision.held) {
                chooser_.arrived(decision);
                return;
            }
        }
        place(decision);
    }

    // Starts a task now, or when what it waits for is there.
    void place(const Decision &decision) {
        if (!data_ || data_->placed(decision, now_))
            begin(decision);
    }

    // Goes on with tasks for which all that they waited for has arrived by now.
    void begin_waiting() {
        if (data_)
            data_->settle(now_, [this](const Decision &decision, bool has_read) {
                if (has_read)
                    compute(decision);
                else
                    begin(decision);
            });
    }

    // Starts the tasks that waited for room that decisions have made.
    void take_room() {
        if (data_ && data_->has_room())
            begin_waiting();
    }

    // Times again what has become slower or faster.
    void update() {
        shared_.update(now_);
        if (data_)
            data_->update(now_);
    }

    void start_own() {
        if constexpr (StartsItsOwn<Chooser>)
            while (chooser_.own(now_, own_))
                place(own_);
    }

    void begin(const Decision &decision) {
        const auto t = static_cast<std::size_t>(decision.task);
        out_.start_s[t] = now_;
        out_.executor[t] = decision.executor;
        if (!out_.team.empty())
            out_.team[t] = decision.team;
        out_.order[n_begun_++] = decision.task;
        if constexpr (SeesStarts<Chooser>)
            if (data_)
                chooser_.began(decision.task, now_);
        if (!data_ || data_->computes(decision, now_))
            compute(decision);
    }

    void compute(const Decision &decision) {
        shared_.begin(decision, now_);
        if constexpr (AbortsRuns<Chooser>)
            chooser_.computes(decision.task, now_);
    }

    // Aborts the run of a task that computes; returns when it started.
    double abort(std::int32_t task) {
        const auto begun = out_.order.first(n_begun_);
        const auto found = std::find(begun.begin(), begun.end(), task);
        std::copy(found + 1, begun.end(), found);
        --n_begun_;
        shared_.abort(task);
        const auto start = out_.start_s[static_cast<std::size_t>(task)];
        if (data_)
            data_->aborted(task);
        return start;
    }

    void report() {
        if (progress_)
            progress_(n_done_ - n_reported_);
        n_reported_ = n_done_;
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();

    const Csr after_;
    Chooser &chooser_;
    const Results out_;
    const Progress &progress_;
    std::vector<std::int32_t> waiting_; // predecessors that have not finished
    Shared shared_;
    DataState *data_; // or none, where data are near
    std::vector<std::int32_t> done_, released_;
    double now_ = 0;
    bool busy_ = false; // the dispatcher, with a decision already taken
    Decision dispatched_{}, own_{};
    double dispatched_at_ = 0;
    std::size_t n_done_ = 0, n_reported_ = 0, n_begun_ = 0;
};

} // namespace simsched
