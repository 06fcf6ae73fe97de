#pragma once

#include "completion.hpp"
#include "csr.hpp"
#include "data.hpp"
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
        for (std::size_t task = 0; task < waiting_.size(); ++task)
            if (!waiting_[task])
                released_.push_back(static_cast<std::int32_t>(task));
        release();
        decide();
        shared_.update(now_);
        while (!shared_.empty() || busy_ || !placed_.empty()) {
            now_ = shared_.next();
            if (!placed_.empty())
                now_ = std::min(now_, placed_.front().at);
            if (busy_)
                now_ = std::min(now_, dispatched_at_);
            if (!(now_ < infinity))
                throw std::overflow_error("the times grow beyond all numbers");
            gather();
            complete();
            start_arrived();
            start_own();
            if (!busy_)
                decide();
            shared_.update(now_);
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
        for (const auto task : done_) {
            const auto t = static_cast<std::size_t>(task);
            out_.finish_s[t] = now_;
            chooser_.finished(task);
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

    // Starts a task now, or when what it reads has arrived.
    void place(Decision decision) {
        const auto at = data_ ? data_->placed(decision, now_) : now_;
        if (!(at > now_)) {
            begin(decision);
            return;
        }
        if (!(at < infinity))
            throw std::overflow_error("the times grow beyond all numbers");
        // As the other engine counts it: from now.
        placed_.push_back({now_ + (at - now_), decision, {decision.cores.begin(), decision.cores.end()}});
        std::push_heap(placed_.begin(), placed_.end());
    }

    void start_arrived() {
        while (!placed_.empty() && placed_.front().at == now_) {
            std::pop_heap(placed_.begin(), placed_.end());
            auto &placed = placed_.back();
            placed.decision.cores = placed.cores;
            begin(placed.decision);
            placed_.pop_back();
        }
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
        shared_.begin(decision, now_);
    }

    void report() {
        if (progress_)
            progress_(n_done_ - n_reported_);
        n_reported_ = n_done_;
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();

    // A task that waits on its team for what it reads; the threads of its decision may be gone by then.
    struct Placed {
        double at;
        Decision decision;
        std::vector<std::int32_t> cores;
        bool operator<(const Placed &other) const {
            return at != other.at ? at > other.at : decision.task > other.decision.task;
        }
    };

    const Csr after_;
    Chooser &chooser_;
    const Results out_;
    const Progress &progress_;
    std::vector<std::int32_t> waiting_; // predecessors that have not finished
    Shared shared_;
    DataState *data_;            // or none, where data are near
    std::vector<Placed> placed_; // a heap, the earliest in front
    std::vector<std::int32_t> done_, released_;
    double now_ = 0;
    bool busy_ = false; // the dispatcher, with a decision already taken
    Decision dispatched_{}, own_{};
    double dispatched_at_ = 0;
    std::size_t n_done_ = 0, n_reported_ = 0, n_begun_ = 0;
};

} // namespace simsched
