#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simsched {

// What the running tasks of a machine share: the switches of simsched/machine/effects.py, and the machine's
// numbers behind them.
struct Sharing {
    bool bandwidth, tiles, cores, interconnect, remote;
    std::vector<std::int32_t> tile_of, domain_of, segment_of; // by core
    std::size_t n_tiles, n_domains, n_segments, n_threads;
    std::vector<double> compute, waiting; // throughput of a core with 1, 2, ... threads
    double capacity_Bps, link_Bps;        // of a domain
    double penalty;                       // of remote traffic
    double interconnect_share;          // traffic of a thread over what it was when the machine was measured
    std::vector<double> tile_slowdowns; // of teams of 0, 1, ... threads
    std::vector<std::int32_t> cluster_of; // by core; none where clusters have no limit of their own
    double cluster_Bps;                   // of a cluster
    bool fair;                            // all running threads have equal shares of all cores

    std::size_t n_cores() const { return tile_of.size(); }
    std::size_t n_clusters() const;
    // Tasks share nothing but one memory's bandwidth, for which a simpler model suffices.
    bool only_bandwidth() const {
        return bandwidth && !tiles && !cores && !interconnect && !remote && !fair && n_domains == 1 &&
               cluster_of.empty();
    }
    // Throws std::invalid_argument on numbers that describe no machine.
    void check() const;
};

} // namespace simsched
