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

memory_share, overhead_share: float64 (n,), shares of a task's seconds. demand_Bps: int64 (n,). core_share: float64
(n,), share of the seconds in which the memory limits it that its cores would take, too.)";

constexpr auto shortcuts_doc = R"(What runs past the queue of a static policy.

threads: int32 (k,), the hardware thread of each single-threaded executor. single_threaded, inline: bool (n,), tasks
that only those run, and tasks that run on the executor that released them. seconds: float64 (n * kinds,), of each task
on one thread, and loads there; empty and None where there are no such executors, the latter also where nothing is
shared. buffered: whether a busy executor can be handed a task.)";

constexpr auto data_doc = R"(What tasks read, and how it gets to them.

inputs, written: objects that each task reads and writes. readers: int64 (k,), tasks that read each object. producer:
int32 (k,), the task that writes each object, or -1. size_B: float64 (k,). home, goes_to: int32 (k,), the place where
each object is at the beginning, and the one to which it is sent once it is written, or -1. through: place from which
objects are sent, or -1 for where they were written. place_of: int32 (threads,), of each hardware thread's data.
latency_s, s_per_B: float64 (places * places,). ways: links from each place to each; None where moves do not share
them. capacity_Bps: float64 (links,). planned: int32 (n,), place of each task, where objects leave when they are
written; else None. read: whether objects are read from afar; else they are sent. cache_B: bytes that stay near a place.
place_B: float64 (places,), what each holds. domain_of: int32 (places,), or -1. memory_of: places that are memories of
each domain. limited, spills: whether places hold no more than their size, and spill rather than wait.
aborts: whether runs may be aborted.)";

constexpr auto pushing_doc = R"(Where tasks go when they become ready: see simsched.policy.pushing.

estimates: float64 like the seconds of the plan. alpha, beta: weights of the expected end and of missing data. aware:
whether tasks are expected to wait for these. longest: whether these take as long as the longest message. sorts: whether
queues are sorted. ready: whether of equals the one that misses fewest bytes goes first. by_start: whether expected
starts are compared. pairs: whether tasks that become ready together go in the order of these. levels: float64 (n,),
what is added to these, or empty.)";

constexpr auto list_plan_doc = R"(The plan of a static policy.

successors: of each task. seconds: float64 (n,), of each task on an executor. loads, shared: demand of each task on
what running tasks share; both None where they share nothing. discipline: rank, fifo, lifo, planned, pushed, affinity or
spoliation. position: int32 (n,), a permutation, for rank and planned; ranks for the last three. executors: hardware threads of
each executor, at least one. displaced: int32 (n * width,): where each thread runs instead, or -1, and then all
executors are of one width; empty where all are pinned. predecessors: where a task prefers its
producer's executor; else None. delay_s: seconds a start costs, and per_poller_s what every further idle executor
adds. shortcuts: None, or what runs past the queue. kind_of: int32, kind of the cores of each executor, those of
shortcuts last, and kinds: their number, the columns of seconds and loads; None and 1 where all are alike. assigned:
int32 (n,), the executor of each task for discipline planned; else None. data: None where it is near. pushing: for
pushed, affinity and spoliation. group_of: int32 (n,), group of each task, and runs_on: bool (groups * kinds,), kinds of
cores that each group can run on, for rank, fifo and lifo where some tasks cannot run on all; else None.)";

constexpr auto corun_plan_doc = R"(The plan of co-running by candidate widths.

widths: int32 (n * candidates,), estimates, seconds: float64 (n * candidates,): of each task the widths it offers,
the preferred one first, the seconds by which the rule decides, and those that pass but for noise; loads likewise.
noise: float64 (n,), factor on what really passes, or empty. serial: float64 (n,), seconds on one core, where small
tasks run on second hardware threads; else empty. offered: candidates, from the first, that count beside others.
max_running: tasks at once. cores, cores_per_tile, ways: the machine's, and the hardware threads of a core in use.
corun: whether tasks start beside others. dispatch_s, resize_s, resize_per_thread_s: seconds of a start, and of a
team that changes size. The rest as in ListPlan.)";

Loads view_or_none(const std::optional<BoundLoads> &loads) { return loads ? view(*loads) : Loads{}; }

} // namespace

Csr view(const BoundCsr &rows) { return {view(rows.indptr), view(rows.indices)}; }

Loads view(const BoundLoads &loads) {
    return {view(loads.memory_share), view(loads.overhead_share), view(loads.demand_Bps),
            view(loads.core_share)};
}

Shortcuts view(const BoundShortcuts &shortcuts) {
    return {view(shortcuts.threads), view(shortcuts.single_threaded), view(shortcuts.inlined),
            view(shortcuts.seconds), view_or_none(shortcuts.loads),   view(shortcuts.predecessors),
            shortcuts.buffered};
}

DataPlan view(const BoundData &data) {
    return {view(data.inputs),
            view(data.written),
            view(data.readers),
            view(data.producer),
            view(data.size_B),
            view(data.home),
            view(data.goes_to),
            data.through,
            view(data.place_of),
            view(data.latency_s),
            view(data.s_per_B),
            data.ways ? view(*data.ways) : Csr{no_rows, {}},
            view(data.capacity_Bps),
            data.planned ? view(*data.planned) : std::span<const std::int32_t>{},
            data.read,
            data.cache_B,
            view(data.place_B),
            view(data.domain_of),
            view(data.memory_of),
            data.limited,
            data.spills,
            data.aborts};
}

Pushing view(const BoundPushing &pushing, std::span<const std::int32_t> ranks) {
    return {view(pushing.estimates), ranks,           pushing.alpha,       pushing.beta,
            pushing.aware,           pushing.longest, pushing.sorts,       pushing.ready,
            pushing.by_start,        pushing.pairs,   view(pushing.levels)};
}

ListPlan view(const BoundListPlan &plan, std::span<const std::int32_t> executor_of) {
    return {view(plan.seconds),
            view_or_none(plan.loads),
            view(plan.executors),
            view(plan.displaced),
            plan.predecessors ? view(*plan.predecessors) : Csr{no_rows, {}},
            {plan.delay_s, plan.per_poller_s},
            executor_of,
            plan.kind_of ? view(*plan.kind_of) : std::span<const std::int32_t>{},
            plan.kinds};
}

Candidates candidates(const BoundCorunPlan &plan) {
    return {view(plan.widths), view(plan.estimates), view(plan.serial), plan.candidates,
            plan.offered,      plan.max_running,     plan.corun};
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
        .def(nb::init<Numbers, Numbers, Array<std::int64_t>, Numbers>(), "memory_share"_a.noconvert(),
             "overhead_share"_a.noconvert(), "demand_Bps"_a.noconvert(), "core_share"_a.noconvert());
    nb::class_<BoundShortcuts>(m, "Shortcuts", shortcuts_doc)
        .def(nb::init<Integers, Array<bool>, Array<bool>, Numbers, std::optional<BoundLoads>, BoundCsr,
                      bool>(),
             "threads"_a.noconvert(), "single_threaded"_a.noconvert(), "inline"_a.noconvert(),
             "seconds"_a.noconvert(), "loads"_a.none(), "predecessors"_a, "buffered"_a);
    nb::class_<BoundData>(m, "Data", data_doc)
        .def(nb::init<BoundCsr, BoundCsr, Array<std::int64_t>, Integers, Numbers, Integers, Integers,
                      std::int32_t, Integers, Numbers, Numbers, std::optional<BoundCsr>, Numbers,
                      std::optional<Integers>, bool, double, Numbers, Integers, BoundCsr, bool, bool, bool>(),
             "inputs"_a, "written"_a, "readers"_a.noconvert(), "producer"_a.noconvert(),
             "size_B"_a.noconvert(), "home"_a.noconvert(), "goes_to"_a.noconvert(), "through"_a,
             "place_of"_a.noconvert(), "latency_s"_a.noconvert(), "s_per_B"_a.noconvert(), "ways"_a.none(),
             "capacity_Bps"_a.noconvert(), "planned"_a.noconvert().none(), "read"_a, "cache_B"_a,
             "place_B"_a.noconvert(), "domain_of"_a.noconvert(), "memory_of"_a, "limited"_a, "spills"_a,
             "aborts"_a);
    nb::class_<BoundPushing>(m, "Pushing", pushing_doc)
        .def(nb::init<Numbers, double, double, bool, bool, bool, bool, bool, bool, Numbers>(),
             "estimates"_a.noconvert(), "alpha"_a, "beta"_a, "aware"_a, "longest"_a, "sorts"_a, "ready"_a,
             "by_start"_a, "pairs"_a, "levels"_a.noconvert());
    nb::class_<BoundListPlan>(m, "ListPlan", list_plan_doc)
        .def(nb::init<BoundCsr, Numbers, std::optional<BoundLoads>, std::optional<Sharing>, std::string,
                      Integers, BoundCsr, Integers, std::optional<BoundCsr>, double, double,
                      std::optional<BoundShortcuts>, std::optional<Integers>, std::optional<Integers>,
                      std::size_t, std::optional<BoundData>, std::optional<BoundPushing>,
                      std::optional<Integers>, std::optional<Array<bool>>>(),
             "successors"_a, "seconds"_a.noconvert(), "loads"_a.none(), "shared"_a.none(), "discipline"_a,
             "position"_a.noconvert(), "executors"_a, "displaced"_a.noconvert(), "predecessors"_a.none(),
             "delay_s"_a, "per_poller_s"_a, "shortcuts"_a.none(), "kind_of"_a.noconvert() = nb::none(),
             "assigned"_a.noconvert() = nb::none(), "kinds"_a = 1, "data"_a = nb::none(),
             "pushing"_a = nb::none(), "group_of"_a.noconvert() = nb::none(),
             "runs_on"_a.noconvert() = nb::none());
    nb::class_<BoundCorunPlan>(m, "CorunPlan", corun_plan_doc)
        .def(nb::init<BoundCsr, Integers, Numbers, Numbers, Numbers, Numbers, std::optional<BoundLoads>,
                      std::optional<Sharing>, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t,
                      std::size_t, bool, double, double, double, std::optional<BoundData>>(),
             "successors"_a, "widths"_a.noconvert(), "estimates"_a.noconvert(), "seconds"_a.noconvert(),
             "noise"_a.noconvert(), "serial"_a.noconvert(), "loads"_a.none(), "shared"_a.none(),
             "candidates"_a, "offered"_a, "max_running"_a, "cores"_a, "cores_per_tile"_a, "ways"_a, "corun"_a,
             "dispatch_s"_a, "resize_s"_a, "resize_per_thread_s"_a, "data"_a = nb::none());
}

} // namespace simsched
