#include "csr.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace simsched {

namespace {

bool spans(const Csr &rows) {
    return !rows.indptr.empty() && rows.indptr.front() == 0 &&
           rows.indptr.back() == static_cast<std::int64_t>(rows.indices.size());
}

bool ascends(const Csr &rows) { return std::is_sorted(rows.indptr.begin(), rows.indptr.end()); }

} // namespace

void check_rows(const Csr &rows, const std::string &of) {
    if (!spans(rows) || !ascends(rows))
        throw std::invalid_argument(of + " need a table of rows");
}

void check(const Csr &graph) {
    if (!spans(graph))
        throw std::invalid_argument("indptr must run from 0 to the number of indices");
    if (!ascends(graph))
        throw std::invalid_argument("indptr must not decrease");
    const auto n = graph.n();
    for (const auto j : graph.indices)
        if (j < 0 || static_cast<std::size_t>(j) >= n)
            throw std::invalid_argument("index " + std::to_string(j) + " is outside a graph of " +
                                        std::to_string(n) + " nodes");
}

} // namespace simsched
