#include "sharing.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

bool within(const std::vector<std::int32_t> &numbers, std::size_t n) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [n](std::int32_t i) { return i >= 0 && static_cast<std::size_t>(i) < n; });
}

} // namespace

std::size_t Sharing::n_clusters() const {
    return cluster_of.empty()
               ? 0
               : static_cast<std::size_t>(*std::max_element(cluster_of.begin(), cluster_of.end())) + 1;
}

void Sharing::check() const {
    constexpr std::size_t most = std::size_t{1} << 26;
    const auto n = n_cores();
    if (n == 0 || domain_of.size() != n || segment_of.size() != n)
        throw std::invalid_argument("tiles, domains and segments need one entry a core");
    for (const auto count : {n_tiles, n_domains, n_segments})
        if (count == 0 || count > n)
            throw std::invalid_argument("tiles, domains and segments are no more than cores");
    if (n_threads == 0 || n_threads % n || n_threads > most)
        throw std::invalid_argument("threads are a multiple of the cores");
    if (!within(tile_of, n_tiles) || !within(domain_of, n_domains) || !within(segment_of, n_segments))
        throw std::invalid_argument("a core's tile, domain or segment does not exist");
    if (compute.empty() || compute.size() != waiting.size())
        throw std::invalid_argument("a core has at least one way, and as many in computing as in waiting");
    if (tile_slowdowns.size() != n_threads + 1)
        throw std::invalid_argument("tile_slowdowns need one entry a width, from 0 to the threads");
    if (!cluster_of.empty() && (cluster_of.size() != n || !within(cluster_of, n)))
        throw std::invalid_argument("clusters need one entry a core, and are no more than cores");
}

} // namespace simsched
