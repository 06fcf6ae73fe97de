#include "bind_replay.hpp"

#include "arrays.hpp"
#include "asked_policy.hpp"
#include "bandwidth.hpp"
#include "bind_shortcuts.hpp"
#include "checks.hpp"
#include "contention.hpp"
#include "corun.hpp"
#include "list_scheduler.hpp"
#include "replay.hpp"
#include "sharing.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

// The demands of all tasks that can run at once fit 64 bits.
std::int64_t max_demand(std::size_t at_once) {
    return static_cast<std::int64_t>((std::uint64_t{1} << 62) / std::max<std::uint64_t>(at_once, 1));
}

struct Columns {
    explicit Columns(std::size_t n, bool teams)
        : ready_s(n), start_s(n), finish_s(n), team(teams ? n : 0), executor(n), order(n) {}
    Results results() {
        return {ready_s.span(), start_s.span(), finish_s.span(), team.span(), executor.span(), order.span()};
    }
    Column<double> ready_s, start_s, finish_s;
    Column<std::int32_t> team, executor, order;
};

// Takes the interpreter's lock, lets Ctrl-C through, and reports to Python.
Progress progress_to(const nb::object &callback) {
    return [&callback](std::size_t tasks) {
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals())
            throw nb::python_error();
        if (!callback.is_none())
            callback(tasks);
    };
}

void check_loads(const Loads &loads, std::size_t rows, const Sharing *shared, std::size_t at_once) {
    const auto expected = shared ? rows : 0;
    if (loads.memory_share.size() != expected || loads.overhead_share.size() != expected ||
        loads.demand_Bps.size() != expected)
        throw std::invalid_argument("shares and demands go with what is shared, and are " +
                                    std::to_string(expected) + " then");
    for (std::size_t row = 0; row < expected; ++row)
        check(Load{loads.memory_share[row], loads.overhead_share[row], loads.demand_Bps[row]},
              max_demand(at_once));
}

void check_cores(std::size_t cores, const Sharing *shared) {
    if (shared && shared->n_threads != cores)
        throw std::invalid_argument("what is shared is another machine's");
}

void check_threads(std::span<const std::int32_t> threads, int least, const Sharing *shared) {
    const auto most = shared ? shared->n_threads : std::size_t{1} << 31;
    for (const auto thread : threads)
        if (thread < least || (thread >= 0 && static_cast<std::size_t>(thread) >= most))
            throw std::invalid_argument("a hardware thread does not exist");
}

void check_plan(const ListPlan &plan, std::size_t n, const Sharing *shared) {
    if (plan.seconds.size() != n)
        throw std::invalid_argument("seconds need one entry a task, " + std::to_string(n));
    check_seconds(plan.seconds);
    check_seconds(plan.cost.base_s);
    check_seconds(plan.cost.per_poller_s);
    check_rows(plan.executors, "executors");
    const auto executors = plan.executors.n();
    if (executors == 0 || executors > INT32_MAX)
        throw std::invalid_argument("there must be at least one executor");
    const auto width = plan.executors.indices.size() / executors;
    for (std::size_t i = 0; i < executors; ++i)
        if (width == 0 ||
            plan.executors.indptr[i + 1] - plan.executors.indptr[i] != static_cast<std::int64_t>(width))
            throw std::invalid_argument("executors have equal numbers of threads, at least one");
    check_threads(plan.executors.indices, 0, shared);
    if (!plan.strays.empty() && (plan.strays.size() % width || plan.strays.size() / width != n))
        throw std::invalid_argument("strays need one entry a task and thread");
    check_threads(plan.strays, -1, shared);
    check(plan.predecessors);
    if (plan.prefers_producer() && plan.predecessors.n() != n)
        throw std::invalid_argument("predecessors need one row a task, " + std::to_string(n));
    check_loads(plan.loads, n, shared, executors);
}

void check_shortcuts(const Shortcuts &shortcuts, std::size_t n, std::size_t executors,
                     const Sharing *shared) {
    if (shortcuts.apart.size() != n || shortcuts.inlined.size() != n)
        throw std::invalid_argument("shortcuts need one entry a task, " + std::to_string(n));
    const auto rows = shortcuts.singles.empty() ? 0 : n;
    if (shortcuts.seconds.size() != rows)
        throw std::invalid_argument("seconds of single-threaded executors go with these");
    check_seconds(shortcuts.seconds);
    check_threads(shortcuts.singles, 0, shared);
    check(shortcuts.predecessors);
    if (shortcuts.predecessors.n() != n)
        throw std::invalid_argument("predecessors need one row a task, " + std::to_string(n));
    if (shortcuts.singles.size() > INT32_MAX - executors)
        throw std::invalid_argument("there are too many executors");
    check_loads(shortcuts.loads, rows, shared, executors + shortcuts.singles.size());
}

// None: nothing is shared.
template <class Chooser>
std::size_t run(const Csr &graph, Chooser &chooser, const Results &out, const Progress &progress,
                const Sharing *shared) {
    if (!shared)
        return Replay<Alone, Chooser>(graph, chooser, out, progress, {}).run();
    if (shared->only_bandwidth())
        return Replay<Bandwidth, Chooser>(graph, chooser, out, progress, Bandwidth(shared->capacity_Bps))
            .run();
    return Replay<Contention, Chooser>(graph, chooser, out, progress, Contention(*shared, graph.n())).run();
}

nb::tuple replay_list(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<double> seconds,
                      Array<double> memory_share, Array<double> overhead_share,
                      Array<std::int64_t> demand_Bps, const Sharing *shared, const std::string &discipline,
                      Array<std::int32_t> position, Array<std::int64_t> executors_indptr,
                      Array<std::int32_t> executors_indices, Array<std::int32_t> strays,
                      Array<std::int64_t> before_indptr, Array<std::int32_t> before_indices, double delay_s,
                      double per_poller_s, const BoundShortcuts *bound, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = seconds.shape(0);
    Columns columns(n, false);
    std::size_t done = 0;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        const auto out = columns.results();
        ListPlan plan{view(seconds),
                      {view(memory_share), view(overhead_share), view(demand_Bps)},
                      {view(executors_indptr), view(executors_indices)},
                      view(strays),
                      {view(before_indptr), view(before_indices)},
                      {delay_s, per_poller_s},
                      out.executor};
        check_plan(plan, graph.n(), shared);
        auto shortcuts = bound ? viewed(*bound) : Shortcuts{};
        if (bound)
            check_shortcuts(shortcuts, graph.n(), plan.executors.n(), shared);
        if (shared && shared->only_bandwidth())
            plan.loads.overhead_share = shortcuts.loads.overhead_share = {};
        const auto report = progress_to(progress);
        const auto list = [&](auto queue) {
            if (bound) {
                ShortcutScheduler scheduler(queue, queue, plan, shortcuts);
                done = run(graph, scheduler, out, report, shared);
            } else {
                ListScheduler scheduler(std::move(queue), plan);
                done = run(graph, scheduler, out, report, shared);
            }
        };
        if (discipline == "rank") {
            if (position.shape(0) != n)
                throw std::invalid_argument("position needs one entry a task, " + std::to_string(n));
            list(RankQueue(view(position)));
        } else if (discipline == "fifo") {
            list(FifoQueue(n));
        } else if (discipline == "lifo") {
            list(LifoQueue(n));
        } else {
            throw std::invalid_argument("there is no discipline " + discipline);
        }
    }
    return nb::make_tuple(done, columns.ready_s.release(), columns.start_s.release(),
                          columns.finish_s.release(), columns.executor.release(), columns.order.release());
}

nb::tuple with_teams(std::size_t done, Columns &columns) {
    return nb::make_tuple(done, columns.ready_s.release(), columns.start_s.release(),
                          columns.finish_s.release(), columns.team.release(), columns.executor.release(),
                          columns.order.release());
}

nb::tuple replay_corun(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<std::int32_t> widths,
                       Array<double> estimates, Array<double> seconds, Array<double> noise,
                       Array<double> serial, Array<double> memory_share, Array<double> overhead_share,
                       Array<std::int64_t> demand_Bps, const Sharing *shared, std::size_t candidates,
                       std::size_t offered, std::size_t most, std::size_t cores, std::size_t cores_per_tile,
                       std::size_t ways, bool beside, double dispatch_s, double resize_s,
                       double resize_per_thread_s, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = indptr.shape(0) ? indptr.shape(0) - 1 : 0;
    const Loads loads{view(memory_share), view(overhead_share), view(demand_Bps)};
    Columns columns(n, true);
    std::size_t done = 0;
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        for (const auto cost : {dispatch_s, resize_s, resize_per_thread_s})
            check_seconds(cost);
        check_loads(loads, seconds.shape(0), shared, cores * ways);
        check_cores(cores * ways, shared);
        Corun corun({view(widths), view(estimates), view(seconds), view(noise), view(serial), loads,
                     candidates, offered, most, cores, cores_per_tile, ways, beside, dispatch_s, resize_s,
                     resize_per_thread_s},
                    n);
        const auto report = progress_to(progress);
        done = run(graph, corun, columns.results(), report, shared);
        teams = corun.teams();
    }
    return nb::make_tuple(with_teams(done, columns), copied(teams.first), copied(teams.second));
}

nb::tuple replay_policy(Array<std::int64_t> indptr, Array<std::int32_t> indices,
                        nb::handle_t<PolicyView> seen, nb::object decide, nb::object start,
                        Array<double> factors, const Sharing *shared, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    check(graph);
    const auto cores = nb::cast<PolicyView &>(seen).state.threads();
    check_cores(cores, shared);
    AskedPolicy asked(seen, decide, start, view(factors), max_demand(cores));
    if (nb::cast<PolicyView &>(seen).state.n() != graph.n())
        throw std::invalid_argument("the view is of another graph");
    Columns columns(graph.n(), true);
    const auto report = progress_to(progress);
    return with_teams(run(graph, asked, columns.results(), report, shared), columns);
}

constexpr auto list_doc = R"(Replay a static policy without calling Python, without the interpreter's lock.

indptr: int64 (n + 1,), indices: int32 (m,): successors. seconds: float64 (n,), of each task on an executor.
memory_share, overhead_share: float64 (n,), demand_Bps: int64 (n,): what each asks of what running tasks share;
empty, with None for `shared`, where they share nothing. discipline: rank, fifo or lifo. position: int32 (n,), a
permutation, for rank. executors_indptr, executors_indices: hardware threads of each executor, all of one width.
strays: int32 (n * width,): where each thread runs instead, or -1; empty where all are pinned. before_indptr,
before_indices: predecessors, where a task prefers its producer's executor; else one zero, and empty. delay_s:
seconds a start costs, and per_poller_s what every further idle executor adds. shortcuts: None, or what runs past
the queue. progress: None, or called with the number of tasks finished since its last call.

Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and start order
(int32 (n,)). Nothing is copied or converted; arrays that do not fit raise.)";

constexpr auto corun_doc = R"(Replay co-running by candidate widths without calling Python.

widths: int32 (n * candidates,), estimates, seconds: float64 (n * candidates,): of each task the widths it offers,
the preferred one first, the seconds by which the rule decides, and those that pass but for noise; shares and
demands likewise. noise: float64 (n,), factor on what
really passes, or empty. serial: float64 (n,), seconds on one core, where small tasks run on second hardware
threads; else empty. offered: candidates, from the first, that count beside others. most: tasks at once. cores,
cores_per_tile, ways: the machine's, and the hardware threads of a core in use. beside: whether tasks start
beside others. dispatch_s, resize_s, resize_per_thread_s: seconds of a
start, and of a team that changes size. The rest as in replay_list.

Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor, start order), and the teams'
cores as indptr (int64) and indices (int32).)";

constexpr auto policy_doc = R"(Replay a policy written in Python.

view: what it sees; of one replay. decide: called with the view, returns an iterable of starts, or None. start:
the type of plain ones. factors: float64 (n,), what each task really takes over its estimate, or empty.
Holds the interpreter's lock. The rest as in replay_list.

Returns the number of tasks that ran, ready_s, start_s, finish_s, team, executor and start order.)";

} // namespace

void bind_replay(nb::module_ &m) {
    m.def("replay_list", &replay_list, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "seconds"_a.noconvert(), "memory_share"_a.noconvert(), "overhead_share"_a.noconvert(),
          "demand_Bps"_a.noconvert(), "shared"_a.none(), "discipline"_a, "position"_a.noconvert(),
          "executors_indptr"_a.noconvert(), "executors_indices"_a.noconvert(), "strays"_a.noconvert(),
          "before_indptr"_a.noconvert(), "before_indices"_a.noconvert(), "delay_s"_a, "per_poller_s"_a,
          "shortcuts"_a.none(), "progress"_a.none(), list_doc);
    m.def("replay_corun", &replay_corun, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "widths"_a.noconvert(), "estimates"_a.noconvert(), "seconds"_a.noconvert(), "noise"_a.noconvert(),
          "serial"_a.noconvert(), "memory_share"_a.noconvert(), "overhead_share"_a.noconvert(),
          "demand_Bps"_a.noconvert(), "shared"_a.none(), "candidates"_a, "offered"_a, "most"_a, "cores"_a,
          "cores_per_tile"_a, "ways"_a, "beside"_a, "dispatch_s"_a, "resize_s"_a, "resize_per_thread_s"_a,
          "progress"_a.none(), corun_doc);
    m.def("replay_policy", &replay_policy, "indptr"_a.noconvert(), "indices"_a.noconvert(), "view"_a,
          "decide"_a, "start"_a, "factors"_a.noconvert(), "shared"_a.none(), "progress"_a.none(), policy_doc);
}

} // namespace simsched
