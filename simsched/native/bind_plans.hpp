#pragma once

#include "arrays.hpp"
#include "data.hpp"
#include "pushed_scheduler.hpp"
#include "ruled_policy.hpp"
#include "sharing.hpp"
#include "shortcut_scheduler.hpp"

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

namespace simsched {

// Plans as Python holds them: columns that are NumPy arrays, none of which is copied. A replay checks them,
// since Python may change an array in the meantime.

struct BoundCsr {
    Array<std::int64_t> indptr;
    Array<std::int32_t> indices;
};

struct BoundLoads {
    Array<double> memory_share, overhead_share;
    Array<std::int64_t> demand_Bps;
    Array<double> core_share;
};

struct BoundShortcuts {
    Array<std::int32_t> threads;
    Array<bool> single_threaded, inlined;
    Array<double> seconds;
    std::optional<BoundLoads> loads;
    BoundCsr predecessors;
    bool buffered;
};

struct BoundData {
    BoundCsr inputs, written;
    Array<std::int64_t> readers;
    Array<std::int32_t> producer;
    Array<double> size_B;
    Array<std::int32_t> home, goes_to;
    std::int32_t through;
    Array<std::int32_t> place_of;
    Array<double> latency_s, s_per_B;
    std::optional<BoundCsr> ways;
    Array<double> capacity_Bps;
    std::optional<Array<std::int32_t>> planned;
    bool read;
    double cache_B;
    Array<double> place_B;
    Array<std::int32_t> domain_of;
    BoundCsr memory_of;
    bool limited, spills, aborts;
};

struct BoundPushing {
    Array<double> estimates;
    double alpha, beta;
    bool aware, longest, sorts, ready, by_start, pairs;
    Array<double> levels;
};

struct BoundListPlan {
    BoundCsr successors;
    Array<double> seconds;
    std::optional<BoundLoads> loads;
    std::optional<Sharing> shared;
    std::string discipline;
    Array<std::int32_t> position;
    BoundCsr executors;
    Array<std::int32_t> displaced;
    std::optional<BoundCsr> predecessors;
    double delay_s, per_poller_s;
    std::optional<BoundShortcuts> shortcuts;
    std::optional<Array<std::int32_t>> kind_of, assigned;
    std::size_t kinds;
    std::optional<BoundData> data;
    std::optional<BoundPushing> pushing;
    std::optional<Array<std::int32_t>> group_of;
    std::optional<Array<bool>> runs_on;
};

struct BoundCorunPlan {
    BoundCsr successors;
    Array<std::int32_t> widths;
    Array<double> estimates, seconds, noise, serial;
    std::optional<BoundLoads> loads;
    std::optional<Sharing> shared;
    std::size_t candidates, offered, max_running, cores, cores_per_tile, ways;
    bool corun;
    double dispatch_s, resize_s, resize_per_thread_s;
    std::optional<BoundData> data;
};

Csr view(const BoundCsr &rows);
Loads view(const BoundLoads &loads);
Shortcuts view(const BoundShortcuts &shortcuts);
DataPlan view(const BoundData &data);
Pushing view(const BoundPushing &pushing, std::span<const std::int32_t> ranks);
ListPlan view(const BoundListPlan &plan, std::span<const std::int32_t> executor_of);
Candidates candidates(const BoundCorunPlan &plan);
RulePlan view(const BoundCorunPlan &plan);

// Adds Csr, Loads, Shortcuts, Data, Pushing, ListPlan and CorunPlan to the module.
void bind_plans(nanobind::module_ &m);

} // namespace simsched
