#pragma once

#include "planners.hpp"

namespace simsched {

// What HeteroPrio decides as tasks become ready, if all estimates are true: the twin of
// simsched/policy/planning/online.py with the rule of policies/heteroprio.py. An idle core takes the ready
// task that its kind accelerates most, or takes over a running one of another kind.
void plan_affinity(const Platform &platform, std::span<const double> level, Planned planned);

} // namespace simsched
