#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace simsched {

// Neighbours of node i are indices[indptr[i]] up to indices[indptr[i + 1]].
struct Csr {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::size_t n() const { return indptr.size() - 1; }
};

// Throws std::invalid_argument unless the arrays describe a graph, so that no index is ever out of range.
void check(const Csr &graph);
// The same of a table whose columns may be any numbers; `of` says what has one.
void check_rows(const Csr &rows, const std::string &of);

} // namespace simsched
