#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace simsched {

// What a task asks of what running tasks share: the twin of simsched/costs/loads.py.
struct Load {
    double memory_share = 0;
    double overhead_share = 0;
    std::int64_t demand_Bps = 0;
    double core_share = 1;
};

// A task to start: its team and executor, what passes from start to finish when nothing disturbs it, what the
// dispatcher spends before, the hardware threads of its team, and what it asks for. The threads stay valid
// until the chooser is asked again.
struct Decision {
    std::int32_t task = 0;
    std::int32_t team = 0;
    std::int32_t executor = 0;
    double seconds = 0;
    double delay_s = 0;
    std::span<const std::int32_t> cores;
    Load load;
    bool held = false; // goes into its executor's buffer instead of starting
};

// What tasks ask for, by row; empty where nothing is shared, and the overhead also where nobody asks for it.
struct Loads {
    std::span<const double> memory_share, overhead_share;
    std::span<const std::int64_t> demand_Bps;
    std::span<const double> core_share;

    void copy_to(std::size_t row, Decision &decision) const {
        if (!memory_share.empty())
            decision.load = at(row);
    }
    Load at(std::size_t row) const {
        return {memory_share[row], overhead_share.empty() ? 0.0 : overhead_share[row], demand_Bps[row],
                core_share[row]};
    }
};

} // namespace simsched
