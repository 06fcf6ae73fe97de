#pragma once

#include "decision.hpp"

#include <cstdint>
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

// Running tasks that share nothing. What they share, others say in the same manner: begin a task, end it,
// feed its followers, and time again what is left of all after the decisions of an instant.
class Alone {
  public:
    using Entry = Completion;
    Entry begin(const Decision &decision, double now) { return {now + decision.seconds, decision.task}; }
    void end(const Entry &) {}
    void feed(std::int32_t, std::span<const std::int32_t>) {}
    bool update(std::vector<Entry> &, double) { return false; }
};

} // namespace simsched
