#pragma once

#include "bandwidth.hpp"
#include "csr.hpp"
#include "decision.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
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

struct Completion {
    double time;
    std::int32_t task;
    // As the heap's order: the latest first, so that the earliest is on top; ties by index.
    bool operator<(const Completion &other) const {
        return time != other.time ? time > other.time : task > other.task;
    }
};

struct SharedCompletion : Completion {
    double memory_share;
    std::int64_t demand_Bps;
};

// A chooser has progress_every, the tasks after which progress is told; release(tasks, now): these became
// ready, ascending; finished(task); next(now, decision): false to wait for the next completion. Memory
// bandwidth is shared, or not.
template <bool shared, class Chooser> class Replay {
  public:
    Replay(const Csr &successors, Chooser &chooser, const Results &out, const Progress &progress,
           double capacity_Bps)
        : after_(successors), chooser_(chooser), out_(out), progress_(progress), waiting_(successors.n()),
          memory_(capacity_Bps) {
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
        retime();
        while (!running_.empty() || busy_) {
            now_ = running_.empty() ? infinity : running_.front().time;
            if (busy_)
                now_ = std::min(now_, dispatched_at_);
            if (!(now_ < infinity))
                throw std::overflow_error("the times grow beyond all numbers");
            gather();
            complete();
            if (!busy_)
                decide();
            retime();
        }
        tell();
        return n_done_;
    }

  private:
    // Everything that happens at this instant, before any decision; tasks of no length end as they begin.
    void gather() {
        for (;;) {
            if (busy_ && dispatched_at_ == now_) {
                busy_ = false;
                begin(dispatched_);
            } else if (!running_.empty() && running_.front().time == now_) {
                std::pop_heap(running_.begin(), running_.end());
                done_.push_back(running_.back().task);
                if constexpr (shared)
                    memory_.end(running_.back().demand_Bps);
                running_.pop_back();
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
            for (auto e = after_.indptr[t]; e < after_.indptr[t + 1]; ++e) {
                const auto follower = after_.indices[static_cast<std::size_t>(e)];
                if (!--waiting_[static_cast<std::size_t>(follower)])
                    released_.push_back(follower);
            }
        }
        n_done_ += done_.size();
        done_.clear();
        release();
        if (n_done_ - n_told_ >= Chooser::progress_every)
            tell();
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
            begin(dispatched_);
        }
    }

    void begin(const Decision &decision) {
        const auto t = static_cast<std::size_t>(decision.task);
        out_.start_s[t] = now_;
        out_.executor[t] = decision.executor;
        if (!out_.team.empty())
            out_.team[t] = decision.team;
        out_.order[n_begun_++] = decision.task;
        if constexpr (shared) {
            const double finish = now_ + decision.seconds * memory_.stretch(decision.memory_share);
            running_.push_back({{finish, decision.task}, decision.memory_share, decision.demand_Bps});
            memory_.begin(decision.demand_Bps);
        } else {
            running_.push_back({now_ + decision.seconds, decision.task});
        }
        std::push_heap(running_.begin(), running_.end());
    }

    // After the decisions of an instant: what is left of the tasks that wait for the memory takes longer or
    // shorter.
    void retime() {
        if constexpr (shared)
            memory_.update([this](auto &&factor) {
                for (auto &task : running_)
                    if (task.memory_share != 0)
                        task.time = now_ + (task.time - now_) * factor(task.memory_share);
                // Where all are stretched alike the order stays, and a look is cheaper than making it anew.
                if (!std::is_heap(running_.begin(), running_.end()))
                    std::make_heap(running_.begin(), running_.end());
            });
    }

    void tell() {
        if (progress_)
            progress_(n_done_ - n_told_);
        n_told_ = n_done_;
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();

    const Csr after_;
    Chooser &chooser_;
    const Results out_;
    const Progress &progress_;
    std::vector<std::int32_t> waiting_; // predecessors that have not finished
    Bandwidth memory_;
    // A heap, the earliest completion in front.
    std::vector<std::conditional_t<shared, SharedCompletion, Completion>> running_;
    std::vector<std::int32_t> done_, released_;
    double now_ = 0;
    bool busy_ = false; // the dispatcher, with a decision already taken
    Decision dispatched_{};
    double dispatched_at_ = 0;
    std::size_t n_done_ = 0, n_told_ = 0, n_begun_ = 0;
};

} // namespace simsched
