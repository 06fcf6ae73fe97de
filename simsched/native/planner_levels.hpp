#pragma once

#include "planner_platform.hpp"

namespace simsched {

// Throws std::invalid_argument unless the platform fits, with as many seconds as tasks, and messages as
// edges.
void check_columns(const Platform &platform, std::size_t seconds, std::size_t messages);

// Longest paths of simsched/policy/planning/priorities.py, by the same additions in the same order.
// seconds[i] + max(messages[e] + result of the successor by e, 0 if none).
void upward_levels(const Platform &platform, std::span<const double> seconds,
                   std::span<const double> messages, std::span<double> result);
// The greatest result[i] + seconds[i] + messages[e] of the edges e to a task, 0 if none.
void downward_levels(const Platform &platform, std::span<const double> seconds,
                     std::span<const double> messages, std::span<double> result);
// PEFT's table, by kind of core: result has n * kinds entries.
void optimistic_costs(const Platform &platform, std::span<const double> messages, std::span<double> result);

} // namespace simsched
