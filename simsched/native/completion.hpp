#pragma once

#include "decision.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace simsched {

// When a running task will finish, as things stand.
struct Completion {
    double time;
    std::int32_t task;
    // As the heap's order: the latest first, so that the earliest is on top; ties by index.
    bool operator<(const Completion &other) const {
        return time != other.time ? time > other.time : task > other.task;
    }
};

// Running tasks that share nothing. What they share, others say in the same manner: begin a task, end one
// that finishes now, feed its followers, and time again what is left of all after the decisions of an
// instant.
class Alone {
  public:
    void begin(const Decision &decision, double now) {
        running_.push_back({now + decision.seconds, decision.task});
        std::push_heap(running_.begin(), running_.end());
    }
    bool empty() const { return running_.empty(); }
    double next() const { return empty() ? std::numeric_limits<double>::infinity() : running_.front().time; }
    bool end(double now, std::int32_t &task) {
        if (empty() || running_.front().time != now)
            return false;
        std::pop_heap(running_.begin(), running_.end());
        task = running_.back().task;
        running_.pop_back();
        return true;
    }
    // Takes out a task that starts anew later.
    void abort(std::int32_t task) {
        std::erase_if(running_, [task](const Completion &one) { return one.task == task; });
        std::make_heap(running_.begin(), running_.end());
    }
    void feed(std::int32_t, std::span<const std::int32_t>) {}
    void update(double) {}

  private:
    std::vector<Completion> running_; // a heap, the earliest completion in front
};

} // namespace simsched
