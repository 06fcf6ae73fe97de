#include "longest_path.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace simsched {

void longest_path(const Csr &graph, std::optional<std::span<const std::int32_t>> order,
                  std::span<const double> weights, std::span<double> result) {
    check(graph);
    const auto n = graph.n();
    if ((order && order->size() != n) || weights.size() != n || result.size() != n)
        throw std::invalid_argument("order and weights need one entry a node, " + std::to_string(n));
    std::copy(weights.begin(), weights.end(), result.begin());
    for (std::size_t place = 0; place < n; ++place) {
        const auto i = order ? (*order)[place] : static_cast<std::int32_t>(n - 1 - place);
        if (i < 0 || static_cast<std::size_t>(i) >= n)
            throw std::invalid_argument("order names node " + std::to_string(i) + ", which is not there");
        double best = 0.0;
        for (auto e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e)
            best = std::max(best, result[graph.indices[e]]);
        result[i] += best;
    }
}

} // namespace simsched
