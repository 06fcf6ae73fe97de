#include "bind_plans.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

constexpr std::int64_t no_rows[] = {0};

constexpr auto csr_doc = R"(A table of rows.

indptr: int64 (n + 1,), where the rows begin; indices: int32 (m,), their numbers one after another.)";

constexpr auto loads_doc = R"(The demand of tasks on what running tasks share.

memory_share, overhead_share: float64 (n,), shares of a task's seconds. demand_Bps: int64 (n,).)";

constexpr auto shortcuts_doc = R"(What runs past the queue of a static policy.

singles: int32 (k,), the hardware thread of each single-threaded executor. apart, inline: bool (n,), tasks that only
those run, and tasks that run on the executor that released them. seconds: float64 (n,), of each task on one thread,
and loads there; empty and None where there are no such executors, the latter also where nothing is shared.
buffered: whether a busy executor can be handed a task.)";

constexpr auto list_doc = R"(The plan of a static policy.

successors: of each task. seconds: float64 (n,), of each task on an executor. loads, shared: demand of each task on
what running tasks share; both None where they share nothing. discipline: rank, fifo or lifo. position: int32 (n,),
a permutation, for rank. executors: hardware threads of each executor, all of one width. strays: int32 (n * width,):
where each thread runs instead, or -1; empty where all are pinned. predecessors: where a task prefers its producer's
executor; else None. delay_s: seconds a start costs, and per_poller_s what every further idle executor adds.
shortcuts: None, or what runs past the queue.)";

constexpr auto corun_doc = R"(The plan of co-running by candidate widths.

widths: int32 (n * candidates,), estimates, seconds: float64 (n * candidates,): of each task the widths it offers,
the preferred one first, the seconds by which the rule decides, and those that pass but for noise; loads likewise.
noise: float64 (n,), factor on what really passes, or empty. serial: float64 (n,), seconds on one core, where small
tasks run on second hardware threads; else empty. offered: candidates, from the first, that count beside others.
most: tasks at once. cores, cores_per_tile, ways: the machine's, and the hardware threads of a core in use. beside:
whether tasks start beside others. dispatch_s, resize_s, resize_per_thread_s: seconds of a start, and of a team that
changes size. The rest as in ListPlan.)";

Loads view_or_none(const std::optional<BoundLoads> &loads) { return loads ? view(*loads) : Loads{}; }

} // namespace

Csr view(const BoundCsr &rows) { return {view(rows.indptr), view(rows.indices)}; }

Loads view(const BoundLoads &loads) {
    return {view(loads.memory_share), view(loads.overhead_share), view(loads.demand_Bps)};
}

Shortcuts view(const BoundShortcuts &shortcuts) {
    return {view(shortcuts.singles), view(shortcuts.apart),         view(shortcuts.inlined),
            view(shortcuts.seconds), view_or_none(shortcuts.loads), view(shortcuts.predecessors),
            shortcuts.buffered};
}

ListPlan view(const BoundListPlan &plan, std::span<const std::int32_t> executor_of) {
    return {view(plan.seconds),
            view_or_none(plan.loads),
            view(plan.executors),
            view(plan.strays),
            plan.predecessors ? view(*plan.predecessors) : Csr{no_rows, {}},
            {plan.delay_s, plan.per_poller_s},
            executor_of};
}

Candidates candidates(const BoundCorunPlan &plan) {
    return {view(plan.widths), view(plan.estimates), view(plan.serial), plan.candidates, plan.offered,
            plan.most,         plan.beside};
}

RulePlan view(const BoundCorunPlan &plan) {
    return {view(plan.seconds),
            view(plan.noise),
            view_or_none(plan.loads),
            plan.cores,
            plan.cores_per_tile,
            plan.ways,
            {plan.dispatch_s, 0.0, plan.resize_s, plan.resize_per_thread_s}};
}

void bind_plans(nb::module_ &m) {
    using Integers = Array<std::int32_t>;
    using Numbers = Array<double>;
    nb::class_<BoundCsr>(m, "Csr", csr_doc)
        .def(nb::init<Array<std::int64_t>, Integers>(), "indptr"_a.noconvert(), "indices"_a.noconvert());
    nb::class_<BoundLoads>(m, "Loads", loads_doc)
        .def(nb::init<Numbers, Numbers, Array<std::int64_t>>(), "memory_share"_a.noconvert(),
             "overhead_share"_a.noconvert(), "demand_Bps"_a.noconvert());
    nb::class_<BoundShortcuts>(m, "Shortcuts", shortcuts_doc)
        .def(nb::init<Integers, Array<bool>, Array<bool>, Numbers, std::optional<BoundLoads>, BoundCsr,
                      bool>(),
             "singles"_a.noconvert(), "apart"_a.noconvert(), "inline"_a.noconvert(), "seconds"_a.noconvert(),
             "loads"_a.none(), "predecessors"_a, "buffered"_a);
    nb::class_<BoundListPlan>(m, "ListPlan", list_doc)
        .def(nb::init<BoundCsr, Numbers, std::optional<BoundLoads>, std::optional<Sharing>, std::string,
                      Integers, BoundCsr, Integers, std::optional<BoundCsr>, double, double,
                      std::optional<BoundShortcuts>>(),
             "successors"_a, "seconds"_a.noconvert(), "loads"_a.none(), "shared"_a.none(), "discipline"_a,
             "position"_a.noconvert(), "executors"_a, "strays"_a.noconvert(), "predecessors"_a.none(),
             "delay_s"_a, "per_poller_s"_a, "shortcuts"_a.none());
    nb::class_<BoundCorunPlan>(m, "CorunPlan", corun_doc)
        .def(nb::init<BoundCsr, Integers, Numbers, Numbers, Numbers, Numbers, std::optional<BoundLoads>,
                      std::optional<Sharing>, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t,
                      std::size_t, bool, double, double, double>(),
             "successors"_a, "widths"_a.noconvert(), "estimates"_a.noconvert(), "seconds"_a.noconvert(),
             "noise"_a.noconvert(), "serial"_a.noconvert(), "loads"_a.none(), "shared"_a.none(),
             "candidates"_a, "offered"_a, "most"_a, "cores"_a, "cores_per_tile"_a, "ways"_a, "beside"_a,
             "dispatch_s"_a, "resize_s"_a, "resize_per_thread_s"_a);
}

} // namespace simsched
