#include "planner_clusters.hpp"

#include "planner_levels.hpp"
#include "planner_paths.hpp"

#include <stdexcept>

namespace simsched {

void linear_clusters(const Platform &platform, std::span<const double> seconds,
                     std::span<const double> messages, std::span<std::int32_t> cluster) {
    check_columns(platform, seconds.size(), messages.size());
    Paths paths(platform, seconds, messages);
    std::int32_t number = 0;
    for (auto path = paths.longest(); !path.empty(); path = paths.longest(), ++number) {
        for (const auto task : path)
            cluster[task] = number;
        paths.take_out(path);
    }
}

} // namespace simsched
