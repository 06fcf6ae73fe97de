#include "bind_replay.hpp"

#include "arrays.hpp"
#include "corun.hpp"
#include "lister.hpp"
#include "python_chooser.hpp"
#include "replay.hpp"

#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

// The demands of all tasks that can run at once fit 64 bits.
std::int64_t max_demand(std::size_t at_once) {
    return (std::int64_t{1} << 62) / static_cast<std::int64_t>(std::max<std::size_t>(at_once, 1));
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

// Takes the interpreter's lock, lets Ctrl-C through, and tells Python.
Progress progress_to(const nb::object &callback) {
    return [&callback](std::size_t tasks) {
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals())
            throw nb::python_error();
        if (!callback.is_none())
            callback(tasks);
    };
}

void check_memory(const Memory &memory, std::size_t rows, double capacity_Bps, std::size_t at_once) {
    check_seconds(capacity_Bps);
    const auto expected = capacity_Bps > 0 ? rows : 0;
    if (memory.share.size() != expected || memory.demand_Bps.size() != expected)
        throw std::invalid_argument("memory shares and demands go with a capacity, and are " +
                                    std::to_string(expected) + " then");
    for (const auto share : memory.share)
        if (!(share >= 0 && share <= 1))
            throw std::invalid_argument("a memory share is from 0 to 1");
    for (const auto demand : memory.demand_Bps)
        if (demand < 0 || demand > max_demand(at_once))
            throw std::invalid_argument("a demand is from 0 to 2^62 bytes a second over the tasks at once");
}

// A capacity of zero: nothing is shared.
template <class Chooser>
std::size_t run(const Csr &graph, Chooser &chooser, const Results &out, const Progress &progress,
                double capacity_Bps) {
    if (capacity_Bps > 0)
        return Replay<true, Chooser>(graph, chooser, out, progress, capacity_Bps).run();
    return Replay<false, Chooser>(graph, chooser, out, progress, capacity_Bps).run();
}

nb::tuple replay_list(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<double> seconds,
                      Array<double> memory_share, Array<std::int64_t> demand_Bps, double capacity_Bps,
                      const std::string &discipline, Array<std::int32_t> position, std::size_t executors,
                      double delay_s, double per_poller_s, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = seconds.shape(0);
    const Memory memory{view(memory_share), view(demand_Bps)};
    Columns columns(n, false);
    std::size_t done = 0;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        if (graph.n() != n)
            throw std::invalid_argument("seconds need one entry a task, " + std::to_string(graph.n()));
        check_seconds(view(seconds));
        check_seconds(delay_s);
        check_seconds(per_poller_s);
        if (executors == 0 || executors > INT32_MAX)
            throw std::invalid_argument("there must be at least one executor");
        check_memory(memory, n, capacity_Bps, executors);
        const auto out = columns.results();
        const auto tell = progress_to(progress);
        const auto list = [&](auto queue) {
            Lister lister(std::move(queue), view(seconds), memory, executors, {delay_s, per_poller_s},
                          out.executor);
            done = run(graph, lister, out, tell, capacity_Bps);
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
                       Array<double> seconds, Array<double> noise, Array<double> memory_share,
                       Array<std::int64_t> demand_Bps, double capacity_Bps, std::size_t candidates,
                       std::size_t most, std::size_t cores, std::size_t cores_per_tile, double dispatch_s,
                       double resize_s, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = indptr.shape(0) ? indptr.shape(0) - 1 : 0;
    const Memory memory{view(memory_share), view(demand_Bps)};
    Columns columns(n, true);
    std::size_t done = 0;
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        check_seconds(dispatch_s);
        check_seconds(resize_s);
        check_memory(memory, seconds.shape(0), capacity_Bps, cores);
        Corun corun({view(widths), view(seconds), view(noise), memory, candidates, most, cores,
                     cores_per_tile, dispatch_s, resize_s},
                    n);
        const auto tell = progress_to(progress);
        done = run(graph, corun, columns.results(), tell, capacity_Bps);
        teams = corun.teams();
    }
    return nb::make_tuple(with_teams(done, columns), copied(teams.first), copied(teams.second));
}

nb::tuple replay_callback(Array<std::int64_t> indptr, Array<std::int32_t> indices, nb::object chooser,
                          double capacity_Bps, std::size_t cores, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    check(graph);
    check_seconds(capacity_Bps);
    Columns columns(graph.n(), true);
    PythonChooser asked(chooser, graph.n(), max_demand(cores));
    const auto tell = progress_to(progress);
    return with_teams(run(graph, asked, columns.results(), tell, capacity_Bps), columns);
}

constexpr auto list_doc = R"(Replay a static policy without calling Python, without the interpreter's lock.

indptr: int64 (n + 1,), indices: int32 (m,): successors. seconds: float64 (n,), of each task on an executor.
memory_share: float64 (n,), demand_Bps: int64 (n,): what each asks of the memory, of which there is
capacity_Bps; empty and 0 where nothing is shared. discipline: rank, fifo or lifo. position: int32 (n,), a
permutation, for rank. executors: how many. delay_s: seconds a start costs, and per_poller_s what every
further idle executor adds. progress: None, or called with the number of tasks finished since its last call.

Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and start order
(int32 (n,)). Nothing is copied or converted; arrays that do not fit raise.)";

constexpr auto corun_doc = R"(Replay co-running by candidate widths without calling Python.

widths: int32 (n * candidates,), seconds: float64 (n * candidates,): of each task the widths it offers and
their estimated seconds, the fastest first; memory_share and demand_Bps likewise. noise: float64 (n,), factor
on what really passes, or empty. most: tasks at once. cores, cores_per_tile: the machine's. dispatch_s,
resize_s: seconds of a start, and of a team that changes size. The rest as in replay_list.

Returns (number of tasks that ran, ready_s, start_s, finish_s, team, executor, start order), and the teams'
cores as indptr (int64) and indices (int32).)";

constexpr auto callback_doc = R"(Replay a policy written in Python.

chooser: has released(tasks, now_s), finished(task) and next(now_s), which returns a Decision or None.
cores: the machine's.
Holds the interpreter's lock; its time is that of the calls. The rest as in replay_list.

Returns the number of tasks that ran, ready_s, start_s, finish_s, team, executor and start order.)";

} // namespace

void bind_replay(nb::module_ &m) {
    m.def("replay_list", &replay_list, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "seconds"_a.noconvert(), "memory_share"_a.noconvert(), "demand_Bps"_a.noconvert(), "capacity_Bps"_a,
          "discipline"_a, "position"_a.noconvert(), "executors"_a, "delay_s"_a, "per_poller_s"_a,
          "progress"_a.none(), list_doc);
    m.def("replay_corun", &replay_corun, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "widths"_a.noconvert(), "seconds"_a.noconvert(), "noise"_a.noconvert(),
          "memory_share"_a.noconvert(), "demand_Bps"_a.noconvert(), "capacity_Bps"_a, "candidates"_a,
          "most"_a, "cores"_a, "cores_per_tile"_a, "dispatch_s"_a, "resize_s"_a, "progress"_a.none(),
          corun_doc);
    m.def("replay_callback", &replay_callback, "indptr"_a.noconvert(), "indices"_a.noconvert(), "chooser"_a,
          "capacity_Bps"_a, "cores"_a, "progress"_a.none(), callback_doc);
}

} // namespace simsched
