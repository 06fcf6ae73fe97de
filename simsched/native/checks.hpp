#pragma once

#include <cmath>
#include <span>
#include <stdexcept>

namespace simsched {

// Throw std::invalid_argument on what no clock can show.

inline void check_seconds(double seconds) {
    if (!(seconds >= 0) || std::isinf(seconds))
        throw std::invalid_argument("seconds and rates must be zero or more, and finite");
}

inline void check_seconds(std::span<const double> seconds) {
    for (const auto s : seconds)
        check_seconds(s);
}

} // namespace simsched
