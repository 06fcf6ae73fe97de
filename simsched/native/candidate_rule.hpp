#pragma once

#include "replay_state.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// What each task offers: the fields of CandidateRule in simsched/policy/candidates.py. Two-dimensional
// columns have a row a task.
struct Candidates {
    std::span<const std::int32_t> widths; // (n, count), the preferred one first
    std::span<const double> estimates;    // (n, count), seconds by which the rule decides
    std::span<const double> serial; // (n,), one-core seconds; empty unless small tasks run on second ways
    std::size_t count, offered,     // of the candidates those that count beside others come first
        max_running;                // tasks at once
    bool corun;                     // whether tasks start beside others
};

// The state as the rule sees it: the twin of simsched/policy/problem.py, for what it asks.
struct RuleView {
    const ReplayState &state;
    const OrderedSet &ready;
    std::size_t cores, threads;
    std::size_t idle, idle_first, idle_second; // threads, of all ways and of the first two
    std::size_t n_running = 0;
    double now_s = 0;
    double last_s = 0;   // estimated end of the last of the running tasks, where there are some
    bool held = false;   // a task runs on the first way of every core
    double holder_s = 0; // its estimated end
};

// A task to start, on a width; `row` is the candidate's. No task where nothing starts.
struct Offer {
    std::int32_t task = -1;
    std::int32_t width = 0;
    std::size_t row = 0;
    explicit operator bool() const { return task >= 0; }
};

// Co-running by candidate widths: the twin of CandidateRule.decide, method by method.
class CandidateRule {
  public:
    // Throws std::invalid_argument on columns that do not fit the tasks and threads.
    CandidateRule(const Candidates &candidates, std::size_t cores, std::size_t ways, std::size_t n_tasks);
    Offer decide(const RuleView &view) const;

  private:
    // What most decisions need of a task: they look at every ready one, and its rows may be far apart.
    struct Glance {
        double own_s = 0, quickest_s = 0;                // first of all, least of those offered
        std::int32_t narrowest = 0, narrowest_offer = 0; // of all, of those offered
    };
    Glance glance(std::size_t task) const;
    bool uses_second_ways() const { return !in_.serial.empty(); }
    Offer on_cores(const RuleView &view) const;
    Offer first(const RuleView &view) const;
    Offer beside(const RuleView &view, std::size_t idle) const;
    Offer longest(const RuleView &view, std::size_t idle) const;
    Offer on_second_ways(const RuleView &view) const;

    const Candidates in_;
    std::vector<Glance> glances_;
};

} // namespace simsched
