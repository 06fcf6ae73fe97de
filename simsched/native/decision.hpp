#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace simsched {

// A task to start: its team and executor, what passes from start to finish when nothing disturbs it, what the
// dispatcher spends before, and what it asks of the memory.
struct Decision {
    std::int32_t task = 0;
    std::int32_t team = 0;
    std::int32_t executor = 0;
    double seconds = 0;
    double delay_s = 0;
    double memory_share = 0;
    std::int64_t demand_Bps = 0;
};

// What tasks ask of the memory, by row; empty where nothing is shared.
struct Memory {
    std::span<const double> share;
    std::span<const std::int64_t> demand_Bps;

    void tell(std::size_t row, Decision &decision) const {
        if (share.empty())
            return;
        decision.memory_share = share[row];
        decision.demand_Bps = demand_Bps[row];
    }
};

} // namespace simsched
