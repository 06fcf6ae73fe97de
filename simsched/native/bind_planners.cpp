#include "bind_planners.hpp"

#include "arrays.hpp"
#include "bind_plans.hpp"
#include "planner_clusters.hpp"
#include "planner_levels.hpp"
#include "planner_widths.hpp"
#include "planners.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

struct BoundPlatform {
    BoundCsr successors;
    Array<std::int32_t> order;
    Array<double> kind_seconds;
    Array<std::int32_t> kind_of, place_of;
    Array<double> edge_bytes, latency_s, s_per_B;
    std::size_t kinds, places;
};

Platform platform_of(const BoundPlatform &platform) {
    return {view(platform.successors),
            view(platform.order),
            view(platform.kind_seconds),
            view(platform.kind_of),
            view(platform.place_of),
            view(platform.edge_bytes),
            view(platform.latency_s),
            view(platform.s_per_B),
            platform.kinds,
            platform.places};
}

template <auto levels>
Result<double> bound_levels(const BoundPlatform &platform, Array<double> seconds, Array<double> messages) {
    Column<double> result(seconds.shape(0));
    {
        nb::gil_scoped_release unlocked;
        levels(platform_of(platform), view(seconds), view(messages), result.span());
    }
    return result.release();
}

Result<std::int32_t> bound_clusters(const BoundPlatform &platform, Array<double> seconds,
                                    Array<double> messages) {
    Column<std::int32_t> result(platform.order.shape(0));
    {
        nb::gil_scoped_release unlocked;
        linear_clusters(platform_of(platform), view(seconds), view(messages), result.span());
    }
    return result.release();
}

Result<std::int32_t> bound_widths(const BoundPlatform &platform, Array<double> table,
                                  Array<std::int32_t> most, std::size_t cores, Array<double> messages,
                                  Array<std::int32_t> group) {
    Column<std::int32_t> result(platform.order.shape(0));
    {
        nb::gil_scoped_release unlocked;
        critical_widths(platform_of(platform), view(table), view(most), cores, view(messages), view(group),
                        result.span());
    }
    return result.release();
}

Result<double> bound_optimistic_costs(const BoundPlatform &platform, Array<double> messages) {
    Column<double> result(platform.kind_seconds.shape(0));
    {
        nb::gil_scoped_release unlocked;
        optimistic_costs(platform_of(platform), view(messages), result.span());
    }
    return result.release();
}

using Plan = std::pair<Result<std::int32_t>, Result<std::int32_t>>;

// Executor of each task and order of all, as plan(platform, planned) fills them.
template <class Planner> Plan planned(const BoundPlatform &platform, Planner &&plan) {
    const auto known = platform_of(platform);
    const auto n = platform.order.shape(0);
    Column<std::int32_t> executor(n), order(n);
    {
        nb::gil_scoped_release unlocked;
        plan(known, Planned{executor.span(), order.span()});
    }
    return {executor.release(), order.release()};
}

Plan bound_plan_list(const BoundPlatform &platform, Array<std::int32_t> position, bool insertion,
                     bool by_finish, Array<double> extra, Array<std::int32_t> pinned) {
    return planned(platform, [&](const Platform &known, Planned result) {
        plan_list(known, view(position), {insertion, by_finish, view(extra), view(pinned)}, result);
    });
}

Plan bound_plan_lookahead(const BoundPlatform &platform, Array<std::int32_t> position) {
    return planned(platform, [&](const Platform &known, Planned result) {
        plan_lookahead(known, view(position), result);
    });
}

Plan bound_plan_dynamic(const BoundPlatform &platform, Array<double> level, Array<double> messages) {
    return planned(platform, [&](const Platform &known, Planned result) {
        plan_dynamic(known, view(level), view(messages), result);
    });
}

Plan bound_plan_groups(const BoundPlatform &platform, Array<std::int32_t> order) {
    return planned(platform,
                   [&](const Platform &known, Planned result) { plan_groups(known, view(order), result); });
}

Plan bound_plan_pairs(const BoundPlatform &platform, const std::string &rule, Array<double> extra,
                      Array<std::int32_t> column_of, Array<double> level, bool batched) {
    return planned(platform, [&](const Platform &known, Planned result) {
        plan_pairs(known, pair_rule(rule), {view(extra), view(column_of), view(level)}, batched, result);
    });
}

constexpr auto platform_doc = R"(What planners are given.

successors: of each task. order: int32 (n,), each task before its successors. kind_seconds: float64 (n * kinds,).
kind_of, place_of: int32 (executors,). edge_bytes: float64 (m,). latency_s, s_per_B: float64 (places * places,).)";

constexpr auto placed_doc = R"(Return the executor of each task, and all tasks by their starts.

position: int32 (n,), a permutation: the ready task of the lowest goes first. insertion: whether in idle times
before placed tasks. by_finish: whether executors are compared by the finish, or the start. extra: float64
(n * kinds,), what counts besides, or empty. pinned: int32 (n,), executors without a choice or -1, or empty.)";

constexpr auto pairs_doc = R"(Return the executor of each task, and all tasks by their starts.

rule: least, level, greatest, sufferage or global. extra: float64 (n * columns,), what counts besides the start.
column_of: int32 (executors,), the column of each. level: float64 (n,). batched: whether released tasks wait until
all that are ready are placed.)";

} // namespace

void bind_planners(nb::module_ &m) {
    using Integers = Array<std::int32_t>;
    using Numbers = Array<double>;
    nb::class_<BoundPlatform>(m, "Platform", platform_doc)
        .def(nb::init<BoundCsr, Integers, Numbers, Integers, Integers, Numbers, Numbers, Numbers, std::size_t,
                      std::size_t>(),
             "successors"_a, "order"_a.noconvert(), "kind_seconds"_a.noconvert(), "kind_of"_a.noconvert(),
             "place_of"_a.noconvert(), "edge_bytes"_a.noconvert(), "latency_s"_a.noconvert(),
             "s_per_B"_a.noconvert(), "kinds"_a, "places"_a);
    m.def(
        "upward_levels", &bound_levels<upward_levels>, "platform"_a, "seconds"_a.noconvert(),
        "messages"_a.noconvert(),
        "Return seconds[i] + max(messages[e] + result of the successor by e, 0 if none) for every task i.\n\n"
        "seconds: float64 (n,). messages: float64 (m,).");
    m.def("downward_levels", &bound_levels<downward_levels>, "platform"_a, "seconds"_a.noconvert(),
          "messages"_a.noconvert(),
          "Return the greatest result[i] + seconds[i] + messages[e] of the edges e to every task, 0 if "
          "none.\n\n"
          "seconds: float64 (n,). messages: float64 (m,).");
    m.def("linear_clusters", &bound_clusters, "platform"_a, "seconds"_a.noconvert(), "messages"_a.noconvert(),
          "Return the cluster of each task: the longest path of the tasks that are left, again and again.\n\n"
          "seconds: float64 (n,). messages: float64 (m,).");
    m.def("critical_widths", &bound_widths, "platform"_a, "table"_a.noconvert(), "most"_a.noconvert(),
          "cores"_a, "messages"_a.noconvert(), "group"_a.noconvert(),
          "Return the width of each task: those on the critical path grow, while it is longer than the mean "
          "load.\n\n"
          "table: float64 (n * widest,), seconds of each task on 1, 2, ... cores. most: int32 (n,), the "
          "widest of "
          "each.\nmessages: float64 (m,). group: int32 (n,), tasks with no more cores together than there "
          "are; or empty.");
    m.def("optimistic_costs", &bound_optimistic_costs, "platform"_a, "messages"_a.noconvert(),
          "Return the least seconds from the end of every task, on every kind of core, to that of the "
          "graph.\n\n"
          "messages: float64 (m,). The result has n * kinds entries.");
    m.def("plan_list", &bound_plan_list, "platform"_a, "position"_a.noconvert(), "insertion"_a, "by_finish"_a,
          "extra"_a.noconvert(), "pinned"_a.noconvert(), placed_doc);
    m.def("plan_lookahead", &bound_plan_lookahead, "platform"_a, "position"_a.noconvert(),
          "Return the executor of each task, and all tasks by their starts, where their children finish "
          "first.\n\n"
          "position: int32 (n,), a permutation: the ready task of the lowest goes first.");
    m.def("plan_dynamic", &bound_plan_dynamic, "platform"_a, "level"_a.noconvert(), "messages"_a.noconvert(),
          "Return the executor of each task, and all tasks by their starts; first goes the highest level "
          "less t-level.\n\n"
          "level: float64 (n,). messages: float64 (m,). Both are sums over as many executors as there are.");
    m.def(
        "plan_groups", &bound_plan_groups, "platform"_a, "order"_a.noconvert(),
        "Return the executor of each task, and all tasks by their starts, balanced by groups of independent "
        "ones.\n\n"
        "order: int32 (n,), a permutation: each task before its successors.");
    m.def("plan_pairs", &bound_plan_pairs, "platform"_a, "rule"_a, "extra"_a.noconvert(),
          "column_of"_a.noconvert(), "level"_a.noconvert(), "batched"_a, pairs_doc);
}

} // namespace simsched
