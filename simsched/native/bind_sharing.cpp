#include "bind_sharing.hpp"

#include "sharing.hpp"

#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

constexpr auto sharing_doc = R"(What the running tasks of a machine share.

bandwidth, tiles, cores, interconnect, remote: which of it counts. tile_of, domain_of, segment_of: of each core,
below n_tiles, n_domains and n_segments; a segment is an interconnect that its cores load. n_threads: hardware
threads in use, a multiple of the cores; thread i is one of core i % cores. compute, waiting: throughput of a core
with 1, 2, ... threads. capacity_Bps, link_Bps: of a domain, and of what leaves it. penalty: of remote traffic.
interconnect_share: of a thread's traffic there that counts. tile_slowdowns: of the memory-bound part of teams of
0, 1, ... threads that have no tile alone. cluster_of, cluster_Bps: cluster of each core, and
the bytes a second that each moves; without them clusters have no limit of their own. fair: whether all
running threads have equal shares of all cores.)";

void make(Sharing *self, bool bandwidth, bool tiles, bool cores, bool interconnect, bool remote,
          std::vector<std::int32_t> tile_of, std::vector<std::int32_t> domain_of,
          std::vector<std::int32_t> segment_of, std::size_t n_tiles, std::size_t n_domains,
          std::size_t n_segments, std::size_t n_threads, std::vector<double> compute,
          std::vector<double> waiting, double capacity_Bps, double link_Bps, double penalty,
          double interconnect_share, std::vector<double> tile_slowdowns, std::vector<std::int32_t> cluster_of,
          double cluster_Bps, bool fair) {
    Sharing made{bandwidth,
                 tiles,
                 cores,
                 interconnect,
                 remote,
                 std::move(tile_of),
                 std::move(domain_of),
                 std::move(segment_of),
                 n_tiles,
                 n_domains,
                 n_segments,
                 n_threads,
                 std::move(compute),
                 std::move(waiting),
                 capacity_Bps,
                 link_Bps,
                 penalty,
                 interconnect_share,
                 std::move(tile_slowdowns),
                 std::move(cluster_of),
                 cluster_Bps,
                 fair};
    made.check();
    new (self) Sharing(std::move(made));
}

} // namespace

void bind_sharing(nb::module_ &m) {
    nb::class_<Sharing>(m, "Sharing", sharing_doc)
        .def("__init__", &make, "bandwidth"_a, "tiles"_a, "cores"_a, "interconnect"_a, "remote"_a,
             "tile_of"_a, "domain_of"_a, "segment_of"_a, "n_tiles"_a, "n_domains"_a, "n_segments"_a,
             "n_threads"_a, "compute"_a, "waiting"_a, "capacity_Bps"_a, "link_Bps"_a, "penalty"_a,
             "interconnect_share"_a, "tile_slowdowns"_a, "cluster_of"_a = std::vector<std::int32_t>{},
             "cluster_Bps"_a = std::numeric_limits<double>::infinity(), "fair"_a = false);
}

} // namespace simsched
