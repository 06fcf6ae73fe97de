#pragma once

#include "decision.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace simsched {

// Throw std::invalid_argument on what no clock can show, and on what no task can ask for.

inline void check_seconds(double seconds) {
    if (!(seconds >= 0) || std::isinf(seconds))
        throw std::invalid_argument("seconds and rates must be zero or more, and finite");
}

inline void check_seconds(std::span<const double> seconds) {
    for (const auto s : seconds)
        check_seconds(s);
}

inline void check(const Load &load, std::int64_t max_demand_Bps) {
    if (!(load.memory_share >= 0 && load.overhead_share >= 0 && load.memory_share + load.overhead_share <= 1))
        throw std::invalid_argument("a share is from 0 to 1, and so are both together");
    if (!(load.core_share >= 0 && load.core_share <= 1))
        throw std::invalid_argument("a share of cores is from 0 to 1");
    if (load.demand_Bps < 0 || load.demand_Bps > max_demand_Bps)
        throw std::invalid_argument("a demand is from 0 to 2^62 bytes a second over the tasks at once");
}

} // namespace simsched
