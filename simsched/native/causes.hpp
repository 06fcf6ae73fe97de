#pragma once

#include "csr.hpp"
#include "decision.hpp"
#include "sharing.hpp"

#include <cstdint>
#include <span>

namespace simsched {

// A schedule: what a walk through it needs. `teams` has a row of hardware threads for each team; one entry a
// run: those of the tasks, by task, and then those that were aborted, `task` says of which.
struct Walked {
    Csr successors;
    std::span<const std::int32_t> task, start_order;
    std::span<const double> start_s, finish_s;
    Csr teams;
    std::span<const std::int32_t> team;
    Loads loads;
    std::span<const bool> watched;
};

// Fills in the seconds that each part of the slow-down of each watched run took, a row of `Excess` each, and
// zeros for the others: the twin of the walk in simsched/explain/causes.py. Throws std::invalid_argument on
// arrays that describe no schedule.
void excess_seconds(const Walked &schedule, const Sharing &shared, std::span<double> out);

} // namespace simsched
