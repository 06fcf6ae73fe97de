#include "planner_platform.hpp"

#include "checks.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace simsched {

namespace {

void require(bool fits, const std::string &what) {
    if (!fits)
        throw std::invalid_argument(what);
}

void check_below(std::span<const std::int32_t> column, std::size_t end, const std::string &what) {
    for (const auto i : column)
        if (i < 0 || static_cast<std::size_t>(i) >= end)
            throw std::invalid_argument(what + " " + std::to_string(i) + " is not one of " +
                                        std::to_string(end));
}

} // namespace

void check(const Platform &platform) {
    check(platform.successors);
    require(platform.order.size() == platform.n(), "order needs one entry a task");
    check_below(platform.order, platform.n(), "task");
    require(platform.executors() > 0, "a platform needs an executor");
    constexpr auto most = std::size_t{1} << 31; // products with a number of tasks are exact
    require(platform.kinds < most && platform.places < most, "kinds and places are less than 2^31");
    require(platform.place_of.size() == platform.executors(), "place_of needs one entry an executor");
    require(platform.kind_seconds.size() == platform.n() * platform.kinds,
            "kind_seconds needs one entry a task and kind");
    require(platform.edge_bytes.size() == platform.successors.indices.size(),
            "edge_bytes needs one entry an edge");
    for (const auto &table : {platform.latency_s, platform.s_per_B})
        require(table.size() == platform.places * platform.places,
                "latency_s and s_per_B need one entry a pair of places");
    check_below(platform.kind_of, platform.kinds, "kind");
    check_below(platform.place_of, platform.places, "place");
    for (const auto &column : {platform.edge_bytes, platform.latency_s, platform.s_per_B})
        check_seconds(column);
    std::vector<bool> used(platform.kinds);
    for (const auto kind : platform.kind_of)
        used[kind] = true;
    for (std::size_t task = 0; task < platform.n(); ++task) {
        bool possible = false;
        for (std::size_t kind = 0; kind < platform.kinds; ++kind) {
            const auto seconds = platform.seconds(task)[kind];
            if (!std::isinf(seconds) || seconds < 0)
                check_seconds(seconds);
            possible |= used[kind] && !std::isinf(seconds);
        }
        require(possible, "no executor can run task " + std::to_string(task));
    }
}

void check_by_kind(const Platform &platform, std::span<const double> column) {
    require(column.size() == platform.n() * platform.kinds, "a column needs one entry a task and kind");
    for (const auto value : column)
        if (std::isnan(value))
            throw std::invalid_argument("a column by kind is a number everywhere");
}

void check_position(const Platform &platform, std::span<const std::int32_t> position) {
    require(position.size() == platform.n(), "position needs one entry a task");
    check_below(position, position.size(), "position");
    std::vector<bool> taken(position.size());
    for (const auto place : position) {
        if (taken[place])
            throw std::invalid_argument("two tasks have position " + std::to_string(place));
        taken[place] = true;
    }
}

Inputs::Inputs(const Csr &successors)
    : indptr(successors.n() + 1), sources(successors.indices.size()), edges(successors.indices.size()) {
    for (const auto j : successors.indices)
        ++indptr[j + 1];
    for (std::size_t i = 0; i < successors.n(); ++i)
        indptr[i + 1] += indptr[i];
    std::vector<std::int64_t> next(indptr.begin(), indptr.end() - 1);
    for (std::size_t i = 0; i < successors.n(); ++i)
        for (auto e = successors.indptr[i]; e < successors.indptr[i + 1]; ++e) {
            const auto at = next[successors.indices[e]]++;
            sources[at] = static_cast<std::int32_t>(i);
            edges[at] = e;
        }
}

} // namespace simsched
