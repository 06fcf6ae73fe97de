#include "arrays.hpp"
#include "bind_teams.hpp"
#include "checks.hpp"
#include "crew.hpp"
#include "execution.hpp"
#include "gemm.hpp"
#include "kernel.hpp"
#include "list_scheduler.hpp"
#include "program.hpp"
#include "ruled_policy.hpp"
#include "run_stats.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>

// The module of real runs, apart from the one of replays: whoever only simulates loads no BLAS.

namespace nb = nanobind;
using namespace nb::literals;

namespace simsched {

namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void apply(const Kernel &kernel, const std::vector<Array<float>> &inputs, Floats output, std::size_t width) {
    if (inputs.size() != kernel.inputs.size() || output.shape(0) != kernel.output || width == 0)
        throw std::invalid_argument("operands do not fit the kernel");
    std::vector<const float *> pointers;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].shape(0) != kernel.inputs[i])
            throw std::invalid_argument("input " + std::to_string(i) + " does not fit the kernel");
        pointers.push_back(inputs[i].data());
    }
    std::vector<float> scratch(kernel.scratch);
    for (std::size_t rank = 0; rank < width; ++rank)
        kernel.run({pointers, output.data(), scratch.data()}, {rank, width});
}

// A program, and the arena that it works in.
struct Bound {
    Bound(std::vector<std::shared_ptr<Kernel>> kernels, const Array<std::int32_t> &kernel_of,
          const Array<std::int64_t> &operands, Floats memory)
        : arena(std::move(memory)), program({kernels.begin(), kernels.end()}, view(kernel_of), view(operands),
                                            {arena.data(), arena.shape(0)}) {}
    Bound(const Bound &) = delete;
    Floats arena;
    Program program;
    std::atomic<bool> busy{false};
};

std::uint64_t expected_sum(std::size_t n) {
    std::uint64_t sum = 0;
    for (std::size_t task = 0; task < n; ++task)
        sum += Execution::mixed(static_cast<std::int32_t>(task));
    return sum;
}

// Everything that a run needs until it has ended, even one whose workers had to be abandoned.
struct Held {
    explicit Held(std::size_t n, bool teams)
        : ready_s(n), start_s(n), finish_s(n), team(teams ? n : 0), executor(n), order(n) {}
    Results results() {
        return {ready_s.span(), start_s.span(), finish_s.span(), team.span(), executor.span(), order.span()};
    }
    Column<double> ready_s, start_s, finish_s;
    Column<std::int32_t> team, executor, order;
    template <class... Arrays> void keep(const Arrays &...arrays) {
        (arguments.push_back(std::make_shared<Arrays>(arrays)), ...);
    }
    std::vector<std::shared_ptr<void>> arguments;
    nb::object program;
    std::optional<ListScheduler<RankQueue>> ranked;
    std::optional<ListScheduler<FifoQueue>> first;
    std::optional<ListScheduler<LifoQueue>> last;
    std::optional<RuledPolicy> ruled;
    std::unique_ptr<AnyChooser> chooser;
    std::optional<Execution> execution;
};

struct Limits {
    double timeout_s, grace_s;
};

// Returns what came of it and, unless it was stopped, the columns.
nb::tuple go(Crew &crew, Bound &bound, const std::shared_ptr<Held> &held, const Csr &after,
             const ExecutionSettings &settings, Limits limits, const nb::object &tick) {
    // What a stuck worker works on stays busy, and is kept for ever, on purpose.
    struct Busy {
        Busy(std::atomic<bool> &flag, const Crew &crew) : flag_(flag), crew_(crew) {
            if (flag.exchange(true))
                throw std::runtime_error("this program is running");
        }
        ~Busy() {
            flag_ = crew_.broken();
            if (flag_)
                nb::set_leak_warnings(false);
        }
        std::atomic<bool> &flag_;
        const Crew &crew_;
    };
    const Busy busy(bound.busy, crew);
    if (settings.workers + settings.scheduler_thread > crew.size())
        throw std::invalid_argument("a crew of " + std::to_string(crew.size()) + " is too small for " +
                                    std::to_string(settings.workers) + " workers" +
                                    (settings.scheduler_thread ? " and a scheduler" : ""));
    held->program = nb::find(bound);
    bound.program.reserve(settings.workers);
    auto &run = held->execution.emplace(after, bound.program, *held->chooser, held->results(), settings);
    const std::shared_ptr<Job> job(held, &run);
    bool in_time = false;
    {
        nb::gil_scoped_release unlocked;
        in_time = crew.run(job, run.threads(), limits.timeout_s, limits.grace_s, [&] {
            nb::gil_scoped_acquire locked;
            if (PyErr_CheckSignals())
                throw nb::python_error();
            if (!tick.is_none())
                tick(run.done());
        });
    }
    const auto report = stats_of(run, in_time, crew.broken());
    if (!in_time || crew.broken() || !report.failure.empty())
        return nb::make_tuple(report);
    return nb::make_tuple(report, held->ready_s.release(), held->start_s.release(), held->finish_s.release(),
                          held->team.release(), held->executor.release(), held->order.release());
}

nb::tuple execute_list(Crew &crew, Bound &bound, Array<std::int64_t> indptr, Array<std::int32_t> indices,
                       Array<double> seconds, const std::string &discipline, Array<std::int32_t> position,
                       Array<std::int64_t> executors_indptr, Array<std::int32_t> executors_indices,
                       Array<std::int64_t> before_indptr, Array<std::int32_t> before_indices,
                       bool scheduler_thread, bool shares_cpus, bool measures_latency, double timeout_s,
                       double grace_s, nb::object tick) {
    const Csr graph{view(indptr), view(indices)};
    check(graph);
    const auto n = graph.n();
    const Csr executors{view(executors_indptr), view(executors_indices)};
    if (executors.indptr.size() < 2 || executors.indices.size() % executors.n() || executors.indices.empty())
        throw std::invalid_argument("there must be executors, all of one width");
    const auto width = executors.indices.size() / executors.n();
    for (std::size_t e = 0; e <= executors.n(); ++e)
        if (executors.indptr[e] != static_cast<std::int64_t>(e * width))
            throw std::invalid_argument("executors are of one width");
    const auto held = std::make_shared<Held>(n, false);
    held->keep(indptr, indices, seconds, position, executors_indptr, executors_indices, before_indptr,
               before_indices);
    const ListPlan plan{
        view(seconds),        {}, executors, {}, {view(before_indptr), view(before_indices)}, {0, 0},
        held->executor.span()};
    check(plan.predecessors);
    if (plan.seconds.size() != n || (plan.prefers_producer() && plan.predecessors.n() != n))
        throw std::invalid_argument("seconds and predecessors need one entry a task");
    check_seconds(plan.seconds);
    const auto choose = [&]<class Queue>(std::optional<ListScheduler<Queue>> &scheduler, Queue queue) {
        held->chooser =
            std::make_unique<Chosen<ListScheduler<Queue>>>(scheduler.emplace(std::move(queue), plan));
    };
    if (discipline == "rank") {
        if (position.shape(0) != n)
            throw std::invalid_argument("position needs one entry a task");
        choose(held->ranked, RankQueue(view(position)));
    } else if (discipline == "fifo") {
        choose(held->first, FifoQueue(n));
    } else if (discipline == "lifo") {
        choose(held->last, LifoQueue(n));
    } else {
        throw std::invalid_argument("there is no discipline " + discipline);
    }
    return go(crew, bound, held, graph,
              {executors.indices.size(), width, scheduler_thread, shares_cpus, measures_latency},
              {timeout_s, grace_s}, tick);
}

nb::tuple execute_corun(Crew &crew, Bound &bound, Array<std::int64_t> indptr, Array<std::int32_t> indices,
                        Array<std::int32_t> widths, Array<double> seconds, Array<double> serial,
                        std::size_t candidates, std::size_t offered, std::size_t max_running,
                        std::size_t cores, std::size_t cores_per_tile, std::size_t ways, bool corun,
                        bool scheduler_thread, bool shares_cpus, bool measures_latency, double timeout_s,
                        double grace_s, nb::object tick) {
    const Csr graph{view(indptr), view(indices)};
    check(graph);
    const auto held = std::make_shared<Held>(graph.n(), true);
    held->keep(indptr, indices, widths, seconds, serial);
    auto &ruled = held->ruled.emplace(
        Candidates{view(widths), view(seconds), view(serial), candidates, offered, max_running, corun},
        RulePlan{view(seconds), {}, {}, cores, cores_per_tile, ways, {}}, graph.n());
    held->chooser = std::make_unique<Chosen<RuledPolicy>>(ruled);
    const auto found =
        go(crew, bound, held, graph, {cores * ways, 0, scheduler_thread, shares_cpus, measures_latency},
           {timeout_s, grace_s}, tick);
    if (nb::len(found) == 1)
        return nb::make_tuple(found, 0, 0);
    const auto teams = ruled.teams();
    return nb::make_tuple(found, copied(teams.first), copied(teams.second));
}

} // namespace

} // namespace simsched

NB_MODULE(_execute, m) {
    using namespace simsched;
    m.doc() = "Real runs of task graphs: kernels, threads, executor.";
    nb::class_<Kernel>(m, "Kernel", "What a task does: FP32, row-major, NCHW.")
        .def_ro("inputs", &Kernel::inputs, "Elements of each input.")
        .def_ro("output", &Kernel::output, "Elements of the output.")
        .def_ro("scratch", &Kernel::scratch, "Elements that each thread needs besides.")
        .def("apply", &apply, "inputs"_a.noconvert(), "output"_a.noconvert(), "width"_a = 1,
             "Run the parts of a team of `width` one after another, for tests.");
    m.def(
        "kernel",
        [](const std::string &name, const std::vector<std::int64_t> &sizes,
           const std::string &instruction_set) {
            return std::shared_ptr<Kernel>(make_kernel(name, sizes, loops(instruction_set)));
        },
        "name"_a, "sizes"_a, "instruction_set"_a = "auto",
        "Return the kernel of a name and its sizes; those are documented in the C++ file of its family.");
    m.def("kernel_names", &kernel_names, "Return the names of all kernels.");
    m.def("instruction_sets", &instruction_sets,
          "Return the instruction sets that this machine has, the best last.");
    m.def("onednn_version", &onednn_version, "Return the version of oneDNN; empty where it is not built in.");
    m.def("blas_version", &blas_version,
          "Return the version of the BLAS, and the cores that it takes these for.");
    m.def(
        "fill", [](Floats arena) { fill({arena.data(), arena.shape(0)}); }, "arena"_a.noconvert(),
        "Fill an array with numbers in [-1, 1).");
    m.def("allowed_cpus", &allowed_cpus, "Return the CPUs that the calling thread may run on.");
    m.def("expected_sum", &expected_sum, "n"_a,
          "Return the `sum` of a run in which each of n tasks ran once.");
    nb::class_<Crew>(m, "Crew", "Threads, pinned from birth, asleep between runs.")
        .def(nb::init<const std::vector<std::vector<int>> &>(), "cpus"_a, "The CPUs of each worker.")
        .def_prop_ro("size", &Crew::size, "Number of workers.")
        .def_prop_ro("broken", &Crew::broken, "Whether workers are stuck for ever.");
    bind_teams(m);
    nb::class_<Bound>(m, "Program", "What the tasks of a graph do, and in which memory.")
        .def(nb::init<std::vector<std::shared_ptr<Kernel>>, const Array<std::int32_t> &,
                      const Array<std::int64_t> &, Floats>(),
             "kernels"_a, "kernel_of"_a.noconvert(), "operands"_a.noconvert(), "arena"_a.noconvert(),
             "Bind kernels to operands.\n\nkernel_of: int32 (n,), -1 for tasks that spin. operands: int64, "
             "of each task with a kernel "
             "where output\n"
             "and inputs begin in the arena (float32).");
    nb::class_<RunStats>(m, "RunStats", "What came of a run, beside its columns.")
        .def_ro("in_time", &RunStats::in_time, "Whether it ended before its time was up.")
        .def_ro("done", &RunStats::done, "Tasks that finished.")
        .def_ro("failure", &RunStats::failure, "Why it stopped early, if it did.")
        .def_ro("latency_s", &RunStats::latency_s,
                "Seconds that a message from worker 0 to worker 1 takes; 0 if unknown.")
        .def_ro("wall_s", &RunStats::wall_s, "Seconds that each thread took part.")
        .def_ro("cpu_s", &RunStats::cpu_s, "Seconds that each of them had a CPU.")
        .def_ro("preemptions", &RunStats::preemptions, "Times that each of them lost its CPU.")
        .def_ro("cpus", &RunStats::cpus, "CPU of each of them at the end.")
        .def_ro("tasks", &RunStats::tasks, "Tasks that ran.")
        .def_ro("sum", &RunStats::sum, "Their sum; see `expected_sum`.")
        .def_ro("running", &RunStats::running,
                "Of each worker the task that it runs, or -1, and the seconds since.")
        .def_ro("abandoned", &RunStats::abandoned, "Whether workers were left behind.");
    m.def("execute_list", &execute_list, "crew"_a, "program"_a, "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "seconds"_a.noconvert(), "discipline"_a, "position"_a.noconvert(),
          "executors_indptr"_a.noconvert(), "executors_indices"_a.noconvert(), "before_indptr"_a.noconvert(),
          "before_indices"_a.noconvert(), "scheduler_thread"_a, "shares_cpus"_a, "measures_latency"_a,
          "timeout_s"_a, "grace_s"_a, "tick"_a.none(),
          "Run a static policy for real; arguments as in `_core.ListPlan`. Seconds are those of tasks "
          "that spin.\n\n"
          "Returns (what came of it,) where it was stopped, else also ready_s, start_s, finish_s, team "
          "(empty),\n"
          "executor and start order.");
    m.def("execute_corun", &execute_corun, "crew"_a, "program"_a, "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "widths"_a.noconvert(), "seconds"_a.noconvert(), "serial"_a.noconvert(),
          "candidates"_a, "offered"_a, "max_running"_a, "cores"_a, "cores_per_tile"_a, "ways"_a, "corun"_a,
          "scheduler_thread"_a, "shares_cpus"_a, "measures_latency"_a, "timeout_s"_a, "grace_s"_a,
          "tick"_a.none(),
          "Run co-running by candidates for real; arguments as in `_core.CorunPlan`.\n\n"
          "Returns (as `execute_list`, teams' indptr, teams' indices).");
}
