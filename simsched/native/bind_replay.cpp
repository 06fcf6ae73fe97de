#include "bind_replay.hpp"

#include "arrays.hpp"
#include "asked_policy.hpp"
#include "bandwidth.hpp"
#include "bind_plans.hpp"
#include "checks.hpp"
#include "contention.hpp"
#include "list_scheduler.hpp"
#include "replay.hpp"
#include "ruled_policy.hpp"
#include "sharing.hpp"

#include <nanobind/stl/optional.h>

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

void check_threads(std::size_t threads, const Sharing *shared) {
    if (shared && shared->n_threads != threads)
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

// Calls `replay` with an empty queue of a discipline.
template <class Replayed> void with_queue(const BoundListPlan &plan, std::size_t n, const Replayed &replay) {
    if (plan.discipline == "rank") {
        if (plan.position.shape(0) != n)
            throw std::invalid_argument("position needs one entry a task, " + std::to_string(n));
        replay(RankQueue(view(plan.position)));
    } else if (plan.discipline == "fifo") {
        replay(FifoQueue(n));
    } else if (plan.discipline == "lifo") {
        replay(LifoQueue(n));
    } else {
        throw std::invalid_argument("there is no discipline " + plan.discipline);
    }
}

nb::tuple replay_list(const BoundListPlan &bound, nb::object progress) {
    const Csr graph = view(bound.successors);
    check(graph);
    const Sharing *shared = bound.shared ? &*bound.shared : nullptr;
    Columns columns(graph.n(), false);
    std::size_t done = 0;
    {
        nb::gil_scoped_release unlocked;
        const auto out = columns.results();
        auto plan = view(bound, out.executor);
        check_plan(plan, graph.n(), shared);
        auto shortcuts = bound.shortcuts ? view(*bound.shortcuts) : Shortcuts{};
        if (bound.shortcuts)
            check_shortcuts(shortcuts, graph.n(), plan.executors.n(), shared);
        if (shared && shared->only_bandwidth())
            plan.loads.overhead_share = shortcuts.loads.overhead_share = {};
        const auto report = progress_to(progress);
        with_queue(bound, graph.n(), [&](auto queue) {
            if (bound.shortcuts) {
                ShortcutScheduler scheduler(queue, queue, plan, shortcuts);
                done = run(graph, scheduler, out, report, shared);
            } else {
                ListScheduler scheduler(std::move(queue), plan);
                done = run(graph, scheduler, out, report, shared);
            }
        });
    }
    return nb::make_tuple(done, columns.ready_s.release(), columns.start_s.release(),
                          columns.finish_s.release(), columns.executor.release(), columns.order.release());
}

nb::tuple with_teams(std::size_t done, Columns &columns) {
    return nb::make_tuple(done, columns.ready_s.release(), columns.start_s.release(),
                          columns.finish_s.release(), columns.team.release(), columns.executor.release(),
                          columns.order.release());
}

nb::tuple replay_corun(const BoundCorunPlan &bound, nb::object progress) {
    const Csr graph = view(bound.successors);
    check(graph);
    const Sharing *shared = bound.shared ? &*bound.shared : nullptr;
    Columns columns(graph.n(), true);
    std::size_t done = 0;
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams;
    {
        nb::gil_scoped_release unlocked;
        const auto plan = view(bound);
        check_loads(plan.loads, plan.seconds.size(), shared, plan.threads());
        check_threads(plan.threads(), shared);
        RuledPolicy ruled(candidates(bound), plan, graph.n());
        const auto report = progress_to(progress);
        done = run(graph, ruled, columns.results(), report, shared);
        teams = ruled.teams();
    }
    return nb::make_tuple(with_teams(done, columns), copied(teams.first), copied(teams.second));
}

nb::tuple replay_policy(const BoundCsr &successors, nb::handle_t<PolicyView> seen, nb::object decide,
                        nb::object start, Array<double> factors, const Sharing *shared, nb::object progress) {
    const Csr graph = view(successors);
    check(graph);
    const auto threads = nb::cast<PolicyView &>(seen).state.threads();
    check_threads(threads, shared);
    AskedPolicy asked(seen, decide, start, view(factors), max_demand(threads));
    if (nb::cast<PolicyView &>(seen).state.n() != graph.n())
        throw std::invalid_argument("the view is of another graph");
    Columns columns(graph.n(), true);
    const auto report = progress_to(progress);
    return with_teams(run(graph, asked, columns.results(), report, shared), columns);
}

constexpr auto list_doc = R"(Replay a ListPlan without calling Python, without the interpreter's lock.

progress: None, or called with the number of tasks finished since its last call.

Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and start order
(int32 (n,)). Nothing is copied or converted; arrays that do not fit raise.)";

constexpr auto corun_doc = R"(Replay a CorunPlan without calling Python, without the interpreter's lock.

progress: as in replay_list.

Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor, start order), and the teams'
cores as indptr (int64) and indices (int32).)";

constexpr auto policy_doc = R"(Replay a policy written in Python.

successors: of each task. view: what it sees; of one replay. decide: called with the view, returns an iterable of
starts, or None. start: the type of plain ones. factors: float64 (n,), what each task really takes over its
estimate, or empty. shared: what running tasks share, or None. progress: as in replay_list.
Holds the interpreter's lock.

Returns the number of tasks that ran, ready_s, start_s, finish_s, team, executor and start order.)";

} // namespace

void bind_replay(nb::module_ &m) {
    m.def("replay_list", &replay_list, "plan"_a, "progress"_a.none(), list_doc);
    m.def("replay_corun", &replay_corun, "plan"_a, "progress"_a.none(), corun_doc);
    m.def("replay_policy", &replay_policy, "successors"_a, "view"_a, "decide"_a, "start"_a,
          "factors"_a.noconvert(), "shared"_a.none(), "progress"_a.none(), policy_doc);
}

} // namespace simsched
