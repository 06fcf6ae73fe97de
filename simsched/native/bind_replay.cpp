#include "bind_replay.hpp"

#include "affinity_scheduler.hpp"
#include "arrays.hpp"
#include "asked_policy.hpp"
#include "bandwidth.hpp"
#include "bind_plans.hpp"
#include "bound_scheduler.hpp"
#include "checks.hpp"
#include "contention.hpp"
#include "list_scheduler.hpp"
#include "planned_scheduler.hpp"
#include "replay.hpp"
#include "ruled_policy.hpp"
#include "sharing.hpp"
#include "spoliating_scheduler.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

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
        loads.demand_Bps.size() != expected || loads.core_share.size() != expected)
        throw std::invalid_argument("shares and demands go with what is shared, and are " +
                                    std::to_string(expected) + " then");
    for (std::size_t row = 0; row < expected; ++row)
        check(loads.at(row), max_demand(at_once));
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

void check_plan(const ListPlan &plan, std::size_t n, std::size_t singles, const Sharing *shared) {
    if (plan.kinds == 0 || plan.kinds > INT32_MAX || plan.seconds.size() / plan.kinds != n ||
        plan.seconds.size() % plan.kinds)
        throw std::invalid_argument("seconds need one entry a task and kind, " + std::to_string(n));
    const auto kinds_known = plan.executors.n() + singles;
    if (plan.kind_of.size() != (plan.kinds > 1 ? kinds_known : plan.kind_of.size()) ||
        (!plan.kind_of.empty() && plan.kind_of.size() != kinds_known))
        throw std::invalid_argument("each executor has a kind");
    for (const auto kind : plan.kind_of)
        if (kind < 0 || static_cast<std::size_t>(kind) >= plan.kinds)
            throw std::invalid_argument("a kind does not exist");
    check_rows(plan.executors, "executors");
    const auto executors = plan.executors.n();
    if (executors == 0 || executors > INT32_MAX)
        throw std::invalid_argument("there must be at least one executor");
    const auto width = plan.executors.indices.size() / executors;
    for (std::size_t i = 0; i < executors; ++i)
        if (const auto threads = plan.executors.indptr[i + 1] - plan.executors.indptr[i];
            threads < 1 || (!plan.displaced.empty() && threads != static_cast<std::int64_t>(width)))
            throw std::invalid_argument(
                "executors have at least one thread, and equal numbers where these are displaced");
    check_threads(plan.executors.indices, 0, shared);
    if (!plan.displaced.empty() && (plan.displaced.size() % width || plan.displaced.size() / width != n))
        throw std::invalid_argument("displaced needs one entry a task and thread");
    check_threads(plan.displaced, -1, shared);
    check(plan.predecessors);
    if (plan.prefers_producer() && plan.predecessors.n() != n)
        throw std::invalid_argument("predecessors need one row a task, " + std::to_string(n));
    check_loads(plan.loads, n * plan.kinds, shared, executors);
}

void check_shortcuts(const Shortcuts &shortcuts, std::size_t n, std::size_t executors, std::size_t kinds,
                     const Sharing *shared) {
    if (shortcuts.single_threaded.size() != n || shortcuts.inlined.size() != n)
        throw std::invalid_argument("shortcuts need one entry a task, " + std::to_string(n));
    const auto rows = shortcuts.threads.empty() ? 0 : n * kinds;
    if (shortcuts.seconds.size() != rows)
        throw std::invalid_argument("seconds of single-threaded executors go with these");
    check_threads(shortcuts.threads, 0, shared);
    check(shortcuts.predecessors);
    if (shortcuts.predecessors.n() != n)
        throw std::invalid_argument("predecessors need one row a task, " + std::to_string(n));
    if (shortcuts.threads.size() > INT32_MAX - executors)
        throw std::invalid_argument("there are too many executors");
    check_loads(shortcuts.loads, rows, shared, executors + shortcuts.threads.size());
}

// None: nothing is shared.
template <class Chooser>
std::size_t run_to_the_end(const Csr &graph, Chooser &chooser, const Results &out, const Progress &progress,
                           const Sharing *shared, DataState *data) {
    if (!shared)
        return Replay<Alone, Chooser>(graph, chooser, out, progress, {}, data).run();
    if (shared->only_bandwidth())
        return Replay<Bandwidth, Chooser>(graph, chooser, out, progress, Bandwidth(shared->capacity_Bps),
                                          data)
            .run();
    return Replay<Contention, Chooser>(graph, chooser, out, progress, Contention(*shared, graph.n()), data)
        .run();
}

template <class Chooser>
std::size_t run(const Csr &graph, Chooser &chooser, const Results &out, const Progress &progress,
                const Sharing *shared, DataState *data) {
    const auto done = run_to_the_end(graph, chooser, out, progress, shared, data);
    if (data && done < graph.n())
        data->check_stuck();
    return done;
}

// The data of a replay; nothing where they are near.
class Data {
  public:
    void begin(const BoundData &bound, std::size_t n_tasks, std::size_t n_threads) {
        plan_ = view(bound);
        plan_->check(n_tasks);
        if (plan_->place_of.size() < n_threads)
            throw std::invalid_argument("a hardware thread has no place for its data");
        state_.emplace(*plan_);
    }
    DataState *state() { return state_ ? &*state_ : nullptr; }

  private:
    std::optional<DataPlan> plan_;
    std::optional<DataState> state_;
};

template <class Value, class Get> Result<Value> column(const std::vector<Message> &messages, const Get &get) {
    Column<Value> values(messages.size());
    std::transform(messages.begin(), messages.end(), values.span().begin(), get);
    return values.release();
}

// Object, source, place, departure and arrival of each message, when each task was placed and when it began
// to compute; None where data are near.
nb::object messages_of(const DataState *state) {
    if (!state)
        return nb::none();
    const auto &sent = state->messages();
    using Number = std::int32_t;
    return nb::make_tuple(column<Number>(sent, [](const Message &one) { return one.object; }),
                          column<Number>(sent, [](const Message &one) { return one.source; }),
                          column<Number>(sent, [](const Message &one) { return one.place; }),
                          column<double>(sent, [](const Message &one) { return one.depart_s; }),
                          column<double>(sent, [](const Message &one) { return one.arrive_s; }),
                          copied(state->placed_s()), copied(state->begun_s()));
}

// One more than the highest thread that an executor may run on.
std::size_t threads_of(const ListPlan &plan, const Shortcuts &shortcuts) {
    std::int32_t most = -1;
    for (const auto threads : {plan.executors.indices, plan.displaced, shortcuts.threads})
        for (const auto thread : threads)
            most = std::max(most, thread);
    return static_cast<std::size_t>(most + 1);
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
    Data data;
    LostRuns lost;
    {
        nb::gil_scoped_release unlocked;
        const auto out = columns.results();
        auto plan = view(bound, out.executor);
        auto shortcuts = bound.shortcuts ? view(*bound.shortcuts) : Shortcuts{};
        check_plan(plan, graph.n(), shortcuts.threads.size(), shared);
        if (bound.shortcuts)
            check_shortcuts(shortcuts, graph.n(), plan.executors.n(), plan.kinds, shared);
        if (shared && shared->only_bandwidth())
            plan.loads.overhead_share = shortcuts.loads.overhead_share = {};
        if (bound.data)
            data.begin(*bound.data, graph.n(), threads_of(plan, shortcuts));
        const auto report = progress_to(progress);
        const auto replayed = [&](auto scheduler) {
            done = run(graph, scheduler, out, report, shared, data.state());
            return scheduler;
        };
        if (bound.discipline == "pushed" || bound.discipline == "affinity" ||
            bound.discipline == "spoliation") {
            if (bound.shortcuts || plan.prefers_producer() || !bound.pushing)
                throw std::invalid_argument(
                    "pushed tasks have estimates, and neither shortcuts nor preferences");
            const auto pushing = view(*bound.pushing, view(bound.position));
            check(pushing, plan, graph.n());
            if (bound.discipline == "pushed")
                replayed(PushedScheduler(plan, pushing, data.state()));
            else if (bound.discipline == "affinity")
                replayed(AffinityScheduler(plan, pushing));
            else
                lost = replayed(SpoliatingScheduler(plan, pushing, data.state())).lost();
        } else if (bound.discipline == "planned") {
            if (bound.shortcuts || plan.prefers_producer())
                throw std::invalid_argument("a plan has neither shortcuts nor preferences");
            PlannedScheduler scheduler(plan, view(bound.position),
                                       bound.assigned ? view(*bound.assigned)
                                                      : std::span<const std::int32_t>{});
            done = run(graph, scheduler, out, report, shared, data.state());
        } else if (bound.group_of && bound.runs_on) {
            const Bound possible{view(*bound.group_of), view(*bound.runs_on)};
            if (bound.shortcuts)
                throw std::invalid_argument("bound tasks have no shortcuts");
            possible.check(plan, graph.n());
            replayed(BoundScheduler(bound.discipline, view(bound.position), plan, possible));
        } else {
            with_queue(bound, graph.n(), [&](auto queue) {
                if (bound.shortcuts) {
                    ShortcutScheduler scheduler(queue, queue, plan, shortcuts);
                    done = run(graph, scheduler, out, report, shared, data.state());
                } else {
                    ListScheduler scheduler(std::move(queue), plan);
                    done = run(graph, scheduler, out, report, shared, data.state());
                }
            });
        }
    }
    return nb::make_tuple(done, columns.ready_s.release(), columns.start_s.release(),
                          columns.finish_s.release(), columns.executor.release(), columns.order.release(),
                          messages_of(data.state()),
                          nb::make_tuple(copied(lost.task), copied(lost.executor), copied(lost.start_s),
                                         copied(lost.end_s), copied(lost.placed_s), copied(lost.begun_s)));
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
    Data data;
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams;
    {
        nb::gil_scoped_release unlocked;
        const auto plan = view(bound);
        check_loads(plan.loads, plan.seconds.size(), shared, plan.threads());
        check_threads(plan.threads(), shared);
        RuledPolicy ruled(candidates(bound), plan, graph.n());
        const auto out = columns.results();
        if (bound.data)
            data.begin(*bound.data, graph.n(), plan.threads());
        const auto report = progress_to(progress);
        done = run(graph, ruled, out, report, shared, data.state());
        teams = ruled.teams();
    }
    return nb::make_tuple(with_teams(done, columns), copied(teams.first), copied(teams.second),
                          messages_of(data.state()));
}

nb::tuple replay_policy(const BoundCsr &successors, nb::handle_t<PolicyView> seen, nb::object decide,
                        nb::object start, Array<double> factors, const Sharing *shared, nb::object progress,
                        const BoundData *moved) {
    const Csr graph = view(successors);
    check(graph);
    const auto threads = nb::cast<PolicyView &>(seen).state.threads();
    check_threads(threads, shared);
    ViewLock locked(std::in_place, seen);
    AskedPolicy asked(seen, locked, decide, start, view(factors), max_demand(threads));
    if (nb::cast<PolicyView &>(seen).state.n() != graph.n())
        throw std::invalid_argument("the view is of another graph");
    Columns columns(graph.n(), true);
    const auto report = progress_to(progress);
    const auto out = columns.results();
    Data data;
    if (moved)
        data.begin(*moved, graph.n(), threads);
    // A view may outlive its replay, and then sees no data.
    struct Seeing {
        PolicyView &view;
        ~Seeing() { view.data = nullptr; }
    } seeing{nb::cast<PolicyView &>(seen)};
    seeing.view.data = data.state();
    const auto done = run(graph, asked, out, report, shared, data.state());
    return nb::make_tuple(with_teams(done, columns), messages_of(data.state()));
}

constexpr auto replay_list_doc = R"(Replay a ListPlan without calling Python, without the interpreter's lock.

progress: None, or called with the number of tasks finished since its last call.

Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and start order
(int32 (n,)); what was sent: None where data are near, else object, source, place (int32), departure and
arrival (float64), when each task was placed and when it began to compute; and task, executor (int32), start and
end (float64) of each aborted run. Nothing is copied or converted; arrays that do not fit raise.)";

constexpr auto replay_corun_doc =
    R"(Replay a CorunPlan without calling Python, without the interpreter's lock.

progress: as in replay_list.

Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor, start order), and the teams'
cores as indptr (int64) and indices (int32), and what was sent.)";

constexpr auto policy_doc = R"(Replay a policy written in Python.

successors: of each task. view: what it sees; of one replay. decide: called with the view, returns an iterable of
starts, or None. start: the type of plain ones. factors: float64 (n,), what each task really takes over its
estimate, or empty. shared: what running tasks share, or None. progress: as in replay_list. data: None where it is near.
Holds the interpreter's lock, or where it has none that of the view, but while the policy decides.

Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor and start order), and what was sent.)";

} // namespace

void bind_replay(nb::module_ &m) {
    nb::exception<NoRoom>(m, "NoRoomError");
    m.def("replay_list", &replay_list, "plan"_a, "progress"_a.none(), replay_list_doc);
    m.def("replay_corun", &replay_corun, "plan"_a, "progress"_a.none(), replay_corun_doc);
    m.def("replay_policy", &replay_policy, "successors"_a, "view"_a, "decide"_a, "start"_a,
          "factors"_a.noconvert(), "shared"_a.none(), "progress"_a.none(), "data"_a = nb::none(), policy_doc);
}

} // namespace simsched
