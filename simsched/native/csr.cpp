#include "csr.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace simsched {

void check(const Csr &graph) {
    if (graph.indptr.empty() || graph.indptr.front() != 0 ||
        graph.indptr.back() != static_cast<std::int64_t>(graph.indices.size()))
        throw std::invalid_argument("indptr must run from 0 to the number of indices");
    if (!std::is_sorted(graph.indptr.begin(), graph.indptr.end()))
        throw std::invalid_argument("indptr must not decrease");
    const auto n = graph.n();
    for (const auto j : graph.indices)
        if (j < 0 || static_cast<std::size_t>(j) >= n)
            throw std::invalid_argument("index " + std::to_string(j) + " is outside a graph of " +
                                        std::to_string(n) + " nodes");
}

} // namespace simsched
