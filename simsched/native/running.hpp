#pragma once

#include "earliest.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// When running tasks will finish, as things stand: columns by slot, for what changes the times of most of
// them at once. A slot is used again, so that no task allocates; an empty one finishes never.
class Running {
  public:
    std::size_t begin(double time, std::int32_t task) {
        const auto slot = free_slot();
        times_.set(slot, time);
        tasks_[slot] = task;
        ++n_running_;
        if (!due_.empty() && time < due_s_) {
            due_.clear();
            due_s_ = time;
        }
        if (!due_.empty() ? time == due_s_ : n_running_ == 1) {
            due_s_ = time;
            due_.push_back(slot);
        }
        return slot;
    }

    // Takes a task out; its slot is free once it is released.
    void end(std::size_t slot) {
        times_.set(slot, never);
        --n_running_;
    }
    void release(std::size_t slot) { free_.push_back(slot); }
    // Takes out one that does not finish.
    void abort(std::size_t slot) {
        end(slot);
        release(slot);
        due_.clear();
    }
    // The slot of a running task.
    std::size_t slot(std::int32_t task) const;

    // The time at which the first of them finishes.
    double next() {
        if (due_.empty())
            look();
        return n_running_ ? due_s_ : never;
    }
    // Whether one finishes now, and the slot of one that does.
    bool due(double now, std::size_t &slot) {
        if (!n_running_ || next() != now || due_.empty())
            return false;
        slot = due_.back();
        due_.pop_back();
        return true;
    }

    // The times, to be changed; `changed` says that they are.
    std::span<double> times() { return times_.times(); }
    void changed() {
        due_.clear();
        times_.changed();
    }
    bool empty() const { return !n_running_; }
    bool has(std::size_t slot) const { return times_[slot] != never; }
    std::int32_t task(std::size_t slot) const { return tasks_[slot]; }

    static constexpr double never = Earliest::never;

  private:
    std::size_t free_slot() {
        if (free_.empty()) {
            times_.add_slot();
            tasks_.push_back(-1);
            return tasks_.size() - 1;
        }
        const auto slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void look();

    Earliest times_;
    std::vector<std::int32_t> tasks_;
    std::vector<std::size_t> free_;
    // The slots of all that finish at due_s_, the earliest time; empty where nobody has looked.
    std::vector<std::size_t> due_;
    double due_s_ = never;
    std::size_t n_running_ = 0;
};

} // namespace simsched
