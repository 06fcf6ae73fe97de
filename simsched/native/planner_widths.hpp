#pragma once

#include "planner_platform.hpp"

namespace simsched {

// Widths of moldable tasks: of those on the critical path, the one that gains most gets one more core, while
// the path is longer than the mean load of the cores. The twin of simsched/policy/planning/widths.py.
//
// table: n rows of seconds on 1, 2, ... cores. most: the widest that each task may become. cores: all there
// are. messages: of each edge. group: of each task; empty where the cores of a group are not limited to those
// there are.
void critical_widths(const Platform &platform, std::span<const double> table,
                     std::span<const std::int32_t> most, std::size_t cores, std::span<const double> messages,
                     std::span<const std::int32_t> group, std::span<std::int32_t> width);

} // namespace simsched
