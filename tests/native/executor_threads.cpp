// Runs of the executor under the thread sanitizer: no Python, no BLAS. See threads.sh.

#include "../../simsched/native/ruled_policy.hpp"
#include "../../simsched/native/crew.hpp"
#include "../../simsched/native/execution.hpp"
#include "../../simsched/native/list_scheduler.hpp"
#include "../../simsched/native/teams.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>

using namespace simsched;

namespace {

// Reads what its predecessors have written and writes what its followers read, without atomics: a missing
// order shows.
class Relay final : public Kernel {
  public:
    explicit Relay(std::size_t n_inputs) {
        inputs.assign(n_inputs, 16);
        output = 16;
        scratch = 16;
    }
    void run(const Operands &o, Part part) const override {
        const auto mine = part.of(16);
        for (auto i = mine.begin; i < mine.end; ++i) {
            o.scratch[i] = 1;
            for (const auto *input : o.inputs)
                for (std::size_t j = 0; j < 16; ++j)
                    o.scratch[i] += input[j] * 0.0f;
            o.output[i] = o.scratch[i];
        }
    }
};

class Throws final : public Kernel {
  public:
    Throws() { output = 1; }
    void run(const Operands &, Part) const override { throw std::runtime_error("no memory left"); }
};

// Cases are run whose names begin with this.
std::string wanted;

struct Graph {
    std::vector<std::int64_t> indptr{0}, before_indptr;
    std::vector<std::int32_t> indices, before;
    std::size_t n;
    Csr after() const { return {indptr, indices}; }
    Csr predecessors() const { return {before_indptr, before}; }
};

Graph random_graph(std::size_t n, std::size_t degree, std::size_t reach) {
    std::mt19937 draw(1);
    Graph graph;
    graph.n = n;
    std::vector<std::vector<std::int32_t>> before(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t d = 0; d < degree; ++d) {
            const auto j = i + 1 + draw() % reach;
            if (j >= n)
                continue;
            graph.indices.push_back(static_cast<std::int32_t>(j));
            before[j].push_back(static_cast<std::int32_t>(i));
        }
        graph.indptr.push_back(static_cast<std::int64_t>(graph.indices.size()));
    }
    graph.before_indptr = {0};
    for (const auto &each : before) {
        graph.before.insert(graph.before.end(), each.begin(), each.end());
        graph.before_indptr.push_back(static_cast<std::int64_t>(graph.before.size()));
    }
    return graph;
}

struct Columns {
    explicit Columns(std::size_t n) : ready(n), start(n), finish(n), team(n), executor(n), order(n) {}
    Results results() { return {ready, start, finish, team, executor, order}; }
    std::vector<double> ready, start, finish;
    std::vector<std::int32_t> team, executor, order;
};

void require(bool holds, const char *what) {
    if (!holds) {
        std::printf("FAILED: %s\n", what);
        std::exit(1);
    }
}

void check(const Graph &graph, const Columns &c, const Execution &run, const char *what) {
    std::uint64_t tasks = 0, sum = 0, expected = 0;
    for (const auto &usage : run.usage()) {
        tasks += usage.tasks;
        sum += usage.sum;
    }
    for (std::size_t t = 0; t < graph.n; ++t) {
        expected += Execution::mixed(static_cast<std::int32_t>(t));
        for (auto e = graph.indptr[t]; e < graph.indptr[t + 1]; ++e)
            require(c.finish[t] <=
                        c.start[static_cast<std::size_t>(graph.indices[static_cast<std::size_t>(e)])],
                    what);
    }
    require(tasks == graph.n && sum == expected && run.failure().empty(), what);
    std::printf("%-40s %zu tasks\n", what, graph.n);
}

template <class Chooser>
void run(Crew &crew, const Graph &graph, const Program &program, Chooser &chooser, Columns &columns,
         std::size_t workers, std::size_t width, bool thread, const char *what) {
    if (!std::string(what).starts_with(wanted))
        return;
    Chosen<Chooser> any(chooser);
    const auto execution =
        std::make_shared<Execution>(graph.after(), program, any, columns.results(),
                                    ExecutionSettings{workers, width, thread, true, workers > 1});
    require(crew.run(execution, execution->threads(), 1800, 1, [] {}), what);
    check(graph, columns, *execution, what);
}

template <class Queue>
void run_list(Crew &crew, const Graph &graph, const Program &program, Queue queue, std::size_t executors,
              std::size_t width, bool producer, bool thread, const char *what) {
    Columns columns(graph.n);
    const std::vector<double> seconds(graph.n);
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> cores;
    for (std::size_t e = 0; e <= executors; ++e)
        indptr.push_back(static_cast<std::int64_t>(e * width));
    for (std::size_t core = 0; core < executors * width; ++core)
        cores.push_back(static_cast<std::int32_t>(core));
    const std::vector<std::int64_t> none{0};
    ListScheduler<Queue> scheduler(std::move(queue), {seconds,
                                            {},
                                            {indptr, cores},
                                            {},
                                            producer ? graph.predecessors() : Csr{none, {}},
                                            {0, 0},
                                            columns.executor});
    run(crew, graph, program, scheduler, columns, executors * width, width, thread, what);
}

} // namespace

int main(int argc, char **argv) {
    const auto n = argc > 1 ? static_cast<std::size_t>(std::atol(argv[1])) : std::size_t{100'000};
    if (argc > 2)
        wanted = argv[2];
    const auto cpus = allowed_cpus();
    std::vector<std::vector<int>> masks;
    for (std::size_t worker = 0; worker < 5; ++worker)
        masks.push_back({cpus[worker % cpus.size()]});
    Crew crew(masks);
    const auto graph = random_graph(n, 2, 40);

    // Half of the tasks relay, the others are empty.
    std::vector<std::shared_ptr<const Kernel>> kernels;
    std::vector<std::int32_t> kernel_of(n, Program::spins);
    std::vector<std::int64_t> operands;
    std::vector<std::int64_t> place(n, -1);
    std::int64_t top = 0;
    for (std::size_t t = 0; t < n; t += 2) {
        place[t] = top;
        top += 16;
    }
    for (std::size_t t = 0; t < n; t += 2) {
        operands.push_back(place[t]);
        std::size_t inputs = 0;
        for (auto e = graph.before_indptr[t]; e < graph.before_indptr[t + 1]; ++e)
            if (const auto from = place[static_cast<std::size_t>(graph.before[static_cast<std::size_t>(e)])];
                from >= 0) {
                operands.push_back(from);
                ++inputs;
            }
        while (kernels.size() <= inputs)
            kernels.push_back(std::make_shared<Relay>(kernels.size()));
        kernel_of[t] = static_cast<std::int32_t>(inputs);
    }
    std::vector<float> arena(static_cast<std::size_t>(top));
    Program program(kernels, kernel_of, operands, arena);
    program.reserve(5);

    std::vector<std::int32_t> position(n);
    for (std::size_t t = 0; t < n; ++t)
        position[t] = static_cast<std::int32_t>(n - 1 - t);
    run_list(crew, graph, program, FifoQueue(n), 2, 1, false, false, "fifo 2x1");
    run_list(crew, graph, program, RankQueue(position), 2, 1, false, false, "rank 2x1");
    run_list(crew, graph, program, LifoQueue(n), 2, 1, true, false, "lifo 2x1, producer");
    run_list(crew, graph, program, FifoQueue(n), 1, 2, false, false, "fifo 1x2");
    run_list(crew, graph, program, RankQueue(position), 2, 2, false, false, "rank 2x2");
    run_list(crew, graph, program, FifoQueue(n), 2, 1, false, true, "fifo 2x1, scheduler thread");
    run_list(crew, graph, program, RankQueue(position), 2, 2, false, true, "rank 2x2, scheduler thread");

    std::vector<std::int32_t> widths;
    std::vector<double> seconds;
    for (std::size_t t = 0; t < n; ++t) {
        widths.insert(widths.end(), {2, 1});
        seconds.insert(seconds.end(), {1e-6, 2e-6});
    }
    const std::vector<double> seconds_of_one(n, 2e-6);
    for (const bool thread : {false, true}) {
        Columns columns(n);
        RuledPolicy corun({widths, seconds, {}, 2, 2, 3, true}, {seconds, {}, {}, 3, 1, 1, {}}, n);
        run(crew, graph, program, corun, columns, 3, 0, thread, thread ? "corun, scheduler thread" : "corun");
    }
    for (const bool beside : {false, true}) {
        Columns columns(n);
        RuledPolicy corun({widths, seconds, seconds_of_one, 2, 2, 4, beside}, {seconds, {}, {}, 2, 1, 2, {}}, n);
        run(crew, graph, program, corun, columns, 4, 0, false,
            beside ? "corun, second ways" : "corun, one by one");
    }

    // Kernels that throw on both workers at once.
    for (const bool thread : {false, true}) {
        Graph two;
        two.n = 2;
        two.indptr = {0, 0, 0};
        Columns out(2);
        const std::vector<std::int32_t> which{0, 0}, each{0, 1};
        const std::vector<std::int64_t> places{0, 1}, of_each{0, 1, 2}, nothing{0};
        const std::vector<double> at_once(2);
        std::vector<float> memory(2);
        Program throwing({std::make_shared<Throws>()}, which, places, memory);
        ListScheduler<FifoQueue> first(FifoQueue(2),
                                {at_once, {}, {of_each, each}, {}, {nothing, {}}, {0, 0}, out.executor});
        Chosen<ListScheduler<FifoQueue>> chosen(first);
        const auto failing = std::make_shared<Execution>(two.after(), throwing, chosen, out.results(),
                                                         ExecutionSettings{2, 1, thread, true, false});
        require(crew.run(failing, failing->threads(), 60, 1, [] {}), "a run that fails ends");
        require(failing->failure() == "no memory left", "a kernel that throws fails its run");
        std::printf("%-40s failed\n", thread ? "kernels that throw, scheduler thread" : "kernels that throw");
    }

    // Stopped from outside: a task that would spin for ever.
    Columns columns(1);
    Graph one;
    one.n = 1;
    one.indptr = {0, 0};
    const std::vector<double> for_ever{1e6};
    const std::vector<std::int64_t> indptr{0, 1}, none{0};
    const std::vector<std::int32_t> core{0}, spins{Program::spins};
    const Program spin({}, spins, {}, {});
    ListScheduler<FifoQueue> scheduler(FifoQueue(1),
                             {for_ever, {}, {indptr, core}, {}, {none, {}}, {0, 0}, columns.executor});
    Chosen<ListScheduler<FifoQueue>> any(scheduler);
    const auto stuck = std::make_shared<Execution>(one.after(), spin, any, columns.results(),
                                                   ExecutionSettings{1, 1, false, true, false});
    require(!crew.run(stuck, 1, 0.2, 10, [] {}) && !crew.broken() && stuck->story().running[0].task == 0,
            "watchdog");
    std::printf("%-40s stopped\n", "watchdog");

    std::vector<double> fork_s(1000), join_s(1000), woken_s(20);
    require(crew.run(std::make_shared<Regions>(3, fork_s, join_s, true), 3, 1800, 1, [] {}), "regions");
    require(wake_ups(crew, woken_s, 1e-3, 1800, [] {}), "wake-ups");
    for (const auto &times : {fork_s, join_s, woken_s})
        require(std::ranges::all_of(times, [](double s) { return s > 0; }), "times of regions and wake-ups");
    std::printf("%-40s %zu regions, %zu wake-ups\n", "teams", fork_s.size(), woken_s.size());
}
