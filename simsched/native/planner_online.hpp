#pragma once

#include "planners.hpp"

namespace simsched {

// What runtime systems decide as tasks become ready, if all estimates are true: the twins of
// simsched/policy/planning/online.py with the rules of policies/dm.py and policies/heteroprio.py.

// A ready task joins the queue of the worker expected to end it first; queues go by level, then as tasks
// came. beta: weight of missing data, which are not looked at if it is negative.
void plan_queues(const Platform &platform, std::span<const double> level, double beta, Planned planned);

// An idle core takes the ready task that its kind accelerates most, or takes over a running one of another
// kind.
void plan_affinity(const Platform &platform, std::span<const double> level, bool spoliation, Planned planned);

} // namespace simsched
