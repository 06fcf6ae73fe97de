#include "planner_levels.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace simsched {

void check_columns(const Platform &platform, std::size_t seconds, std::size_t messages) {
    check(platform);
    if (seconds != platform.n() || messages != platform.successors.indices.size())
        throw std::invalid_argument("levels need seconds of each task, and of each edge");
}

void upward_levels(const Platform &platform, std::span<const double> seconds,
                   std::span<const double> messages, std::span<double> result) {
    check_columns(platform, seconds.size(), messages.size());
    const auto &graph = platform.successors;
    for (auto i = platform.order.rbegin(); i != platform.order.rend(); ++i) {
        const auto begin = graph.indptr[*i], end = graph.indptr[*i + 1];
        double best = begin < end ? messages[begin] + result[graph.indices[begin]] : 0.0;
        for (auto e = begin; e < end; ++e)
            best = std::max(best, messages[e] + result[graph.indices[e]]);
        result[*i] = seconds[*i] + best;
    }
}

void downward_levels(const Platform &platform, std::span<const double> seconds,
                     std::span<const double> messages, std::span<double> result) {
    check_columns(platform, seconds.size(), messages.size());
    const auto &graph = platform.successors;
    std::fill(result.begin(), result.end(), 0.0);
    for (const auto i : platform.order) {
        const auto end = result[i] + seconds[i];
        for (auto e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
            auto &level = result[graph.indices[e]];
            level = std::max(level, end + messages[e]);
        }
    }
}

void optimistic_costs(const Platform &platform, std::span<const double> messages, std::span<double> result) {
    check_columns(platform, platform.n(), messages.size());
    const auto &graph = platform.successors;
    const auto kinds = platform.kinds;
    std::vector<bool> used(kinds);
    for (const auto kind : platform.kind_of)
        used[kind] = true;
    std::vector<double> own(kinds);
    std::fill(result.begin(), result.end(), 0.0);
    for (auto i = platform.order.rbegin(); i != platform.order.rend(); ++i)
        for (auto e = graph.indptr[*i]; e < graph.indptr[*i + 1]; ++e) {
            const auto j = static_cast<std::size_t>(graph.indices[e]);
            auto best = std::numeric_limits<double>::infinity();
            for (std::size_t k = 0; k < kinds; ++k) {
                own[k] = result[j * kinds + k] + platform.seconds(j)[k];
                if (used[k])
                    best = std::min(best, own[k]);
            }
            for (std::size_t k = 0; k < kinds; ++k) {
                auto &cost = result[static_cast<std::size_t>(*i) * kinds + k];
                cost = std::max(cost, std::min(own[k], best + messages[e]));
            }
        }
}

} // namespace simsched
