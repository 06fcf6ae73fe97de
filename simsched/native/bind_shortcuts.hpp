#pragma once

#include "arrays.hpp"
#include "shortcut_scheduler.hpp"

#include <nanobind/nanobind.h>

namespace simsched {

// What runs past the queue, as Python holds it.
struct BoundShortcuts {
    Array<std::int32_t> singles;
    Array<bool> apart, inlined;
    Array<double> seconds, memory_share, overhead_share;
    Array<std::int64_t> demand_Bps, before_indptr;
    Array<std::int32_t> before_indices;
    bool buffered;
};

Shortcuts viewed(const BoundShortcuts &bound);

void bind_shortcuts(nanobind::module_ &m);

} // namespace simsched
