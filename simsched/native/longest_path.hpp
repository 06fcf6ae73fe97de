#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace simsched {

// Neighbours of node i are indices[indptr[i]] up to indices[indptr[i + 1]].
struct Csr {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::size_t n() const { return indptr.size() - 1; }
};

// Throws std::invalid_argument unless the arrays describe a graph, so that no index is ever out of range.
void check(const Csr &graph);

// result[i] = weights[i] + max(result of i's neighbours, 0 if none). In `order`, neighbours stand before i.
void longest_path(const Csr &graph, std::span<const std::int32_t> order, std::span<const double> weights,
                  std::span<double> result);

} // namespace simsched
