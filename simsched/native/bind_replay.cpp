#include "bind_replay.hpp"

#include "arrays.hpp"
#include "corun.hpp"
#include "lister.hpp"
#include "replay.hpp"

#include <nanobind/stl/string.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

// Called without the interpreter's lock: takes it, lets Ctrl-C through, and tells Python.
Progress progress_to(const nb::object &callback) {
    return [&callback](std::size_t tasks) {
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals())
            throw nb::python_error();
        if (!callback.is_none())
            callback(tasks);
    };
}

struct Columns {
    explicit Columns(std::size_t n) : ready_s(n), start_s(n), finish_s(n), team(n), executor(n), order(n) {}
    Results results() {
        return {ready_s.span(), start_s.span(), finish_s.span(), team.span(), executor.span(), order.span()};
    }
    Column<double> ready_s, start_s, finish_s;
    Column<std::int32_t> team, executor, order;
};

void check_seconds(std::span<const double> seconds, std::size_t n) {
    if (seconds.size() != n)
        throw std::invalid_argument("seconds need one entry a task, " + std::to_string(n));
    for (const auto s : seconds)
        if (!(s >= 0) || std::isinf(s))
            throw std::invalid_argument("seconds must be zero or more, and finite");
}

void check_cost(double seconds) {
    if (!(seconds >= 0) || std::isinf(seconds))
        throw std::invalid_argument("dispatch costs must be zero or more, and finite");
}

template <class Queue>
std::size_t list(Queue queue, const Csr &graph, std::span<const double> seconds, std::size_t executors,
                 DispatchCost cost, const Results &out, const Progress &progress) {
    Lister<Queue> lister(std::move(queue), seconds, executors, cost, out.executor);
    return Replay(graph, lister, out, progress).run();
}

nb::tuple replay_list(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<double> seconds,
                      const std::string &discipline, Array<std::int32_t> position, std::size_t executors,
                      double delay_s, double per_poller_s, nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = seconds.shape(0);
    Column<double> ready(n), start(n), finish(n);
    Column<std::int32_t> executor(n), order(n);
    const Results out{ready.span(), start.span(), finish.span(), {}, executor.span(), order.span()};
    std::size_t done = 0;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        check_seconds(view(seconds), graph.n());
        check_cost(delay_s);
        check_cost(per_poller_s);
        if (executors == 0 || executors > INT32_MAX)
            throw std::invalid_argument("there must be at least one executor");
        const auto tell = progress_to(progress);
        const auto run = [&](auto queue) {
            done =
                list(std::move(queue), graph, view(seconds), executors, {delay_s, per_poller_s}, out, tell);
        };
        if (discipline == "rank") {
            if (position.shape(0) != n)
                throw std::invalid_argument("position needs one entry a task");
            run(RankQueue(view(position)));
        } else if (discipline == "fifo") {
            run(FifoQueue(n));
        } else if (discipline == "lifo") {
            run(LifoQueue(n));
        } else {
            throw std::invalid_argument("there is no discipline " + discipline);
        }
    }
    return nb::make_tuple(done, ready.release(), start.release(), finish.release(), executor.release(),
                          order.release());
}

template <typename T> Result<T> copied(const std::vector<T> &values) {
    Column<T> column(values.size());
    std::copy(values.begin(), values.end(), column.span().begin());
    return column.release();
}

nb::tuple replay_corun(Array<std::int64_t> indptr, Array<std::int32_t> indices, Array<std::int32_t> widths,
                       Array<double> seconds, Array<double> noise, std::size_t candidates, std::size_t most,
                       std::size_t cores, std::size_t cores_per_tile, double dispatch_s, double resize_s,
                       nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    const auto n = indptr.shape(0) ? indptr.shape(0) - 1 : 0;
    Columns out(n);
    std::size_t done = 0;
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams;
    {
        nb::gil_scoped_release unlocked;
        check(graph);
        check_cost(dispatch_s);
        check_cost(resize_s);
        Corun corun({view(widths), view(seconds), view(noise), candidates, most, cores, cores_per_tile,
                     dispatch_s, resize_s},
                    n);
        const auto tell = progress_to(progress);
        done = Replay(graph, corun, out.results(), tell).run();
        teams = corun.teams();
    }
    return nb::make_tuple(done, out.ready_s.release(), out.start_s.release(), out.finish_s.release(),
                          out.team.release(), out.executor.release(), out.order.release(),
                          copied(teams.first), copied(teams.second));
}

// Asks a Python object, as the SimPy engine does.
class PythonChooser {
  public:
    PythonChooser(nb::object chooser, std::size_t n)
        : released_(chooser.attr("released")), finished_(chooser.attr("finished")),
          next_(chooser.attr("next")), n_(n) {}

    void release(std::span<const std::int32_t> tasks, double now) {
        nb::list ready;
        for (const auto task : tasks)
            ready.append(task);
        released_(ready, now);
    }

    void finished(std::int32_t task) { finished_(task); }

    bool next(double now, Decision &decision) {
        const nb::object found = next_(now);
        if (found.is_none())
            return false;
        decision = {nb::cast<std::int32_t>(found.attr("task")), nb::cast<std::int32_t>(found.attr("team")),
                    nb::cast<std::int32_t>(found.attr("executor")), nb::cast<double>(found.attr("seconds")),
                    nb::cast<double>(found.attr("delay_s"))};
        if (decision.task < 0 || static_cast<std::size_t>(decision.task) >= n_ || n_begun_++ == n_)
            throw std::invalid_argument("the chooser started a task that is not there, or one twice");
        check_cost(decision.seconds);
        check_cost(decision.delay_s);
        return true;
    }

  private:
    nb::object released_, finished_, next_;
    std::size_t n_, n_begun_ = 0;
};

nb::tuple replay_callback(Array<std::int64_t> indptr, Array<std::int32_t> indices, nb::object chooser,
                          nb::object progress) {
    const Csr graph{view(indptr), view(indices)};
    check(graph);
    Columns out(graph.n());
    PythonChooser asked(std::move(chooser), graph.n());
    const auto tell = progress_to(progress);
    const auto done = Replay(graph, asked, out.results(), tell).run();
    return nb::make_tuple(done, out.ready_s.release(), out.start_s.release(), out.finish_s.release(),
                          out.team.release(), out.executor.release(), out.order.release());
}

} // namespace

void bind_replay(nb::module_ &m) {
    m.def(
        "replay_list", &replay_list, "indptr"_a.noconvert(), "indices"_a.noconvert(), "seconds"_a.noconvert(),
        "discipline"_a, "position"_a.noconvert(), "executors"_a, "delay_s"_a, "per_poller_s"_a,
        "progress"_a.none(),
        "Replay a static policy without calling Python.\n\n"
        "indptr: int64 (n + 1,), indices: int32 (m,): successors; seconds: float64 (n,), of each task on an\n"
        "executor; discipline: rank, fifo or lifo; position: int32 (n,), a permutation, for rank; executors: "
        "how\n"
        "many; delay_s: seconds a start costs, and per_poller_s what every further idle executor adds; "
        "progress:\n"
        "None, or called now and then with the number of tasks finished since its last call.\n\n"
        "Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), executor and "
        "start\n"
        "order (int32 (n,)). Runs without the interpreter's lock. Nothing is copied or converted; arrays "
        "that do\n"
        "not fit raise.");
    m.def("replay_corun", &replay_corun, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "widths"_a.noconvert(), "seconds"_a.noconvert(), "noise"_a.noconvert(), "candidates"_a, "most"_a,
          "cores"_a, "cores_per_tile"_a, "dispatch_s"_a, "resize_s"_a, "progress"_a.none(),
          "Replay co-running by candidate widths without calling Python.\n\n"
          "indptr, indices, progress: as in replay_list; widths: int32 (n * candidates,), seconds: float64\n"
          "(n * candidates,): of each task the widths it offers and their estimated seconds, the fastest "
          "first;\n"
          "noise: float64 (n,), factor on what really passes, or empty; most: tasks at once; cores, "
          "cores_per_tile:\n"
          "the machine's; dispatch_s, resize_s: seconds of a start, and of a team that changes size.\n\n"
          "Returns the number of tasks that ran, ready_s, start_s, finish_s (float64 (n,)), team, executor "
          "and\n"
          "start order (int32 (n,)), and the teams' cores as indptr (int64) and indices (int32).");
    m.def("replay_callback", &replay_callback, "indptr"_a.noconvert(), "indices"_a.noconvert(), "chooser"_a,
          "progress"_a.none(),
          "Replay a policy written in Python.\n\n"
          "chooser: has released(tasks, now_s), finished(task) and next(now_s), which returns a Decision or "
          "None.\n"
          "Holds the interpreter's lock; its time is that of the calls. Returns as replay_corun, without "
          "teams.");
}

} // namespace simsched
