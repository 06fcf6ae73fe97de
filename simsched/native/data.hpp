#pragma once

#include "csr.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace simsched {

constexpr std::int32_t nowhere = -1;

// The plan of a replay's data: the twin of simsched/replay/data.py. Places are numbered those of cores first,
// the host last.
struct DataPlan {
    Csr inputs, written; // objects that each task reads, and writes
    std::span<const std::int64_t> readers;
    std::span<const std::int32_t> producer; // of each object, or nowhere
    std::span<const double> size_B;
    std::span<const std::int32_t> home, goes_to; // places, or nowhere
    std::int32_t through;                        // place from which objects are sent, or nowhere
    std::span<const std::int32_t> place_of;      // of each hardware thread
    std::span<const double> latency_s, s_per_B;  // (places, places)
    Csr ways;                                    // links from place to place; no rows where none is shared
    std::span<const double> capacity_Bps;        // of each link
    std::span<const std::int32_t> planned;       // place of each task; empty where none is planned
    bool read;                                   // objects are read from afar; else they are sent
    double cache_B;
    std::span<const double> place_B;
    std::span<const std::int32_t> domain_of; // of each place, or nowhere
    Csr memory_of;                           // places that are memories of each domain
    bool limited, spills;                    // places hold no more than their size; they spill, or tasks wait
    bool aborts;                             // runs may be aborted, whose tasks are then placed again

    std::size_t n_places() const { return domain_of.size(); }
    std::size_t n_objects() const { return producer.size(); }
    // What an object takes where it is kept: its size, rounded up.
    std::int64_t whole_B(std::int32_t object) const {
        const auto size = size_B[static_cast<std::size_t>(object)];
        const auto whole = static_cast<std::int64_t>(size);
        return whole + (static_cast<double>(whole) < size);
    }
    bool shares_links() const { return ways.n() > 0; }
    std::size_t way(std::int32_t source, std::int32_t place) const {
        return static_cast<std::size_t>(source) * n_places() + static_cast<std::size_t>(place);
    }
    // Place to which an object is moved that another one does not hold any more: a memory, else the host.
    std::int32_t below(std::int32_t place, std::int32_t object) const;
    // One more than the highest place of a core.
    std::size_t n_core_places() const;
    // Throws std::invalid_argument on columns that do not fit.
    void check(std::size_t n_tasks) const;
};

constexpr double never_s = std::numeric_limits<double>::infinity();

inline std::span<const std::int32_t> row(const Csr &rows, std::size_t i) {
    const auto first = static_cast<std::size_t>(rows.indptr[i]);
    return rows.indices.subspan(first, static_cast<std::size_t>(rows.indptr[i + 1]) - first);
}

inline std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

} // namespace simsched
