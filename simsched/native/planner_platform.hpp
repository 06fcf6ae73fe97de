#pragma once

#include "csr.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace simsched {

// Seconds of tasks by kind of core, infinite on those that cannot run them, and of messages between places,
// as simsched/policy/platform.py has them.
struct Platform {
    Csr successors;
    std::span<const std::int32_t> order; // each task before its successors
    std::span<const double> kind_seconds;
    std::span<const std::int32_t> kind_of, place_of;
    std::span<const double> edge_bytes, latency_s, s_per_B;
    std::size_t kinds, places;

    std::size_t n() const { return successors.n(); }
    std::size_t executors() const { return kind_of.size(); }
    const double *seconds(std::size_t task) const { return kind_seconds.data() + task * kinds; }
};

// Throws std::invalid_argument unless the arrays fit each other, so that no index is ever out of range.
void check(const Platform &platform);
// The same of a column for each kind of core: n * kinds numbers, none of which is NaN.
void check_by_kind(const Platform &platform, std::span<const double> column);
// The same of the places of tasks in a list: a permutation.
void check_position(const Platform &platform, std::span<const std::int32_t> position);

// The edges to each task: where they come from, and their numbers among those of `successors`.
struct Inputs {
    explicit Inputs(const Csr &successors);
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> sources;
    std::vector<std::int64_t> edges;
};

} // namespace simsched
