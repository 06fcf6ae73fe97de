#include "bind_shortcuts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

constexpr auto shortcuts_doc = R"(What runs past the queue of a static policy.

singles: int32 (k,), the hardware thread of each single-threaded executor. apart, inline: bool (n,), tasks that only
those run, and tasks that run on the executor that released them. seconds, memory_share, overhead_share, demand_Bps:
of each task on one thread; empty where there are no such executors, the last three also where nothing is shared.
before_indptr, before_indices: predecessors. buffered: whether a busy executor can be handed a task.)";

} // namespace

Shortcuts viewed(const BoundShortcuts &bound) {
    return {view(bound.singles),
            view(bound.apart),
            view(bound.inlined),
            view(bound.seconds),
            {view(bound.memory_share), view(bound.overhead_share), view(bound.demand_Bps)},
            {view(bound.before_indptr), view(bound.before_indices)},
            bound.buffered};
}

void bind_shortcuts(nb::module_ &m) {
    nb::class_<BoundShortcuts>(m, "Shortcuts", shortcuts_doc)
        .def(nb::init<Array<std::int32_t>, Array<bool>, Array<bool>, Array<double>, Array<double>,
                      Array<double>, Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>, bool>(),
             "singles"_a.noconvert(), "apart"_a.noconvert(), "inline"_a.noconvert(), "seconds"_a.noconvert(),
             "memory_share"_a.noconvert(), "overhead_share"_a.noconvert(), "demand_Bps"_a.noconvert(),
             "before_indptr"_a.noconvert(), "before_indices"_a.noconvert(), "buffered"_a);
}

} // namespace simsched
