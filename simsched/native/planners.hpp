#pragma once

#include "planner_platform.hpp"

#include <string>

namespace simsched {

// Static list schedulers: the twins of simsched/policy/planning/, equal to the bit.

// Where each task runs, and all tasks in the order of their starts.
struct Planned {
    std::span<std::int32_t> executor, order;
};

// What a list scheduler compares executors by: the start or the finish there, and n * kinds seconds besides
// (none if empty); tasks with an executor in `pinned` (-1 or empty: none) that can run them have no choice.
struct ListRule {
    bool insertion, by_finish;
    std::span<const double> extra;
    std::span<const std::int32_t> pinned;
};

void plan_list(const Platform &platform, std::span<const std::int32_t> position, const ListRule &rule,
               Planned planned);
void plan_lookahead(const Platform &platform, std::span<const std::int32_t> position, Planned planned);

// The ready task goes first whose level is most above its t-level, by what is placed; each where it finishes
// first. Levels and messages (one an edge) are sums over as many executors as there are.
void plan_dynamic(const Platform &platform, std::span<const double> level, std::span<const double> messages,
                  Planned planned);

// Groups of independent tasks that follow each other in an order in which each comes before its successors.
void plan_groups(const Platform &platform, std::span<const std::int32_t> order, Planned planned);

// Which of the ready tasks goes first; see simsched/policy/planning/pairing.py.
enum class PairRule { least, level, greatest, sufferage, global };
// Throws std::invalid_argument on any other name.
PairRule pair_rule(const std::string &name);

// Seconds that count besides the start, n rows of as many columns, each executor's column, and levels of
// tasks.
struct PairCosts {
    std::span<const double> extra;
    std::span<const std::int32_t> column_of;
    std::span<const double> level;
};

void plan_pairs(const Platform &platform, PairRule rule, const PairCosts &costs, bool batched,
                Planned planned);

} // namespace simsched
