#include "sharing.hpp"

#include "checks.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

bool within(const std::vector<std::int32_t> &numbers, std::size_t n) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [n](std::int32_t i) { return i >= 0 && static_cast<std::size_t>(i) < n; });
}

void check_throughput(const std::vector<double> &throughput) {
    if (throughput.empty())
        throw std::invalid_argument("a core has at least one way");
    check_seconds(throughput);
    if (std::any_of(throughput.begin(), throughput.end(), [](double t) { return t <= 0; }))
        throw std::invalid_argument("throughputs are above zero");
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
    check_throughput(compute);
    check_throughput(waiting);
    if (compute.size() != waiting.size())
        throw std::invalid_argument("a core has as many ways in computing as in waiting");
    check_seconds(penalty);
    check_seconds(interconnect_share);
    check_seconds(tile_slowdowns);
    if (tile_slowdowns.size() != n_threads + 1)
        throw std::invalid_argument("tile_slowdowns need one entry a width, from 0 to the threads");
    if (!cluster_of.empty() && (cluster_of.size() != n || !within(cluster_of, n)))
        throw std::invalid_argument("clusters need one entry a core, and are no more than cores");
    if (!(capacity_Bps > 0) || !(link_Bps > 0) || !(cluster_Bps > 0))
        throw std::invalid_argument("bandwidths are above zero");
}

} // namespace simsched
