#pragma once

#include "ordered_set.hpp"
#include "planner_platform.hpp"

#include <queue>
#include <vector>

namespace simsched {

// Longest paths from tasks to a sink, while tasks are taken out or change: the twin of
// simsched/policy/planning/paths.py.
class Paths {
  public:
    Paths(const Platform &platform, std::span<const double> seconds, std::span<const double> messages);

    // The tasks of the longest path, first to last: of equal ones that of the lower first task, then of the
    // lower next one; empty where no task is left. Valid until the next call.
    std::span<const std::int32_t> longest();
    double level(std::size_t task) const { return level_[task]; }
    void take_out(std::span<const std::int32_t> tasks);
    void set_seconds(std::size_t task, double seconds);

  private:
    struct Start {
        double level;
        std::int32_t task;
        bool operator<(const Start &other) const {
            return level != other.level ? level < other.level : task > other.task;
        }
    };
    void set_level(std::size_t task);
    // Marks the tasks whose longest path leads over one that has changed, or might, where that became longer.
    void mark(std::int32_t task, bool longer);
    void settle();

    const Csr &graph_;
    std::span<const std::int32_t> order_;
    std::vector<double> seconds_;
    std::span<const double> messages_;
    Inputs inputs_;
    std::vector<std::size_t> place_; // from the end of the order
    std::vector<double> level_;
    std::vector<std::int32_t> next_, path_; // the next task of the longest path, or -1
    std::vector<bool> left_;
    OrderedSet stale_;
    std::priority_queue<Start> starts_;
};

} // namespace simsched
