#pragma once

#include "planner_platform.hpp"

namespace simsched {

// The cluster of each task, numbered from 0 in the order in which they are found: the longest path of the
// tasks that are left, again and again. The twin of simsched/policies/linear_clustering.py.
void linear_clusters(const Platform &platform, std::span<const double> seconds,
                     std::span<const double> messages, std::span<std::int32_t> cluster);

} // namespace simsched
