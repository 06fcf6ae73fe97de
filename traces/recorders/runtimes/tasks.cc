// Runs a task graph under one of several runtimes and writes when, and on which worker, each task ran.
//
//     tasks WORKERS RUNS TRACED REALTIME < GRAPH > RESULT
//
// GRAPH is "N", then for each task "PRODUCT STREAM PRIORITY K P1 ... PK": the side of the square matrices that it
// multiplies, the numbers that it adds up, its priority (for StarPU), and the tasks that it depends on, which come
// before it. RESULT has a line per run, its nanoseconds from the first creation to the last end; if TRACED, N lines
// "START END WORKER" follow, in nanoseconds. If REALTIME, nothing of normal priority interrupts the program. One of
// USE_OPENMP, USE_TBB, USE_TASKFLOW and USE_STARPU chooses the runtime.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sched.h>
#include <vector>
#if defined(USE_TBB)
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#elif defined(USE_TASKFLOW)
#include <taskflow/taskflow.hpp>
#elif defined(USE_STARPU)
#include <starpu.h>
#elif defined(USE_OPENMP)
#include <omp.h>
#else
#error "define USE_OPENMP, USE_TBB, USE_TASKFLOW or USE_STARPU"
#endif

namespace {

struct Task {
    int product = 0, stream = 0, priority = 0;
    std::vector<int> before;
    std::int64_t start = 0, end = 0;
    int worker = 0;
};

// Buffers of a task: tasks share a few, as tiles of a matrix that fits into caches are shared.
constexpr int SIDE = 512, BUFFERS = 64, NUMBERS = 1 << 18;
std::vector<std::vector<float>> buffers;
std::vector<std::vector<double>> numbers;
std::vector<Task> tasks;
bool traced = true;

std::int64_t now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void multiply(int n, const float *a, const float *b, float *c) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) {
            const float f = a[i * n + k];
            for (int j = 0; j < n; ++j)
                c[i * n + j] += f * b[k * n + j];
        }
}

void work(int index) {
    Task &task = tasks[index];
    if (task.product)
        multiply(task.product, buffers[index % BUFFERS].data(), buffers[(index + 1) % BUFFERS].data(),
                 buffers[(index * 7 + 3) % BUFFERS].data());
    for (int done = 0; done < task.stream; done += NUMBERS) {
        const int n = task.stream - done < NUMBERS ? task.stream - done : NUMBERS;
        const double *from = numbers[(index + done / NUMBERS) % BUFFERS].data();
        double *to = numbers[(index * 5 + 1) % BUFFERS].data();
        for (int i = 0; i < n; ++i)
            to[i] = 0.5 * to[i] + from[i];
    }
}

void run(int index, int worker) {
    if (!traced)
        return work(index);
    Task &task = tasks[index];
    task.worker = worker;
    task.start = now();
    work(index);
    task.end = now();
}

// Threads started later inherit the priority; false where the host does not allow it.
bool be_realtime(int priority) {
    sched_param wanted;
    wanted.sched_priority = priority;
    return sched_setscheduler(0, SCHED_FIFO, &wanted) == 0;
}

#if defined(USE_OPENMP)
void run_all(int workers) {
    std::vector<char> tokens(tasks.size());
    char *token = tokens.data();
#pragma omp parallel num_threads(workers)
#pragma omp single
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
        const int *before = tasks[i].before.data();
        const int count = static_cast<int>(tasks[i].before.size());
#pragma omp task firstprivate(i) depend(iterator(k = 0 : count), in : token[before[k]]) depend(out : token[i])
        run(i, omp_get_thread_num());
    }
}
#elif defined(USE_TBB)
void run_all(int workers) {
    using namespace oneapi::tbb;
    global_control limit(global_control::max_allowed_parallelism, workers);
    task_arena arena(workers);
    arena.execute([] {
        flow::graph graph;
        std::vector<std::unique_ptr<flow::continue_node<flow::continue_msg>>> nodes;
        for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
            nodes.push_back(std::make_unique<flow::continue_node<flow::continue_msg>>(
                graph, [i](const flow::continue_msg &) { run(i, this_task_arena::current_thread_index()); }));
            for (const int before : tasks[i].before)
                flow::make_edge(*nodes[before], *nodes[i]);
        }
        for (std::size_t i = 0; i < tasks.size(); ++i)
            if (tasks[i].before.empty())
                nodes[i]->try_put(flow::continue_msg());
        graph.wait_for_all();
    });
}
#elif defined(USE_TASKFLOW)
void run_all(int workers) {
    static tf::Executor executor(workers); // its threads outlast a run
    tf::Taskflow graph;
    std::vector<tf::Task> made;
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
        made.push_back(graph.emplace([i] { run(i, executor.this_worker_id()); }));
        for (const int before : tasks[i].before)
            made[before].precede(made[i]);
    }
    executor.run(graph).wait();
}
#else
void run_starpu(void **, void *index) {
    run(static_cast<int>(reinterpret_cast<std::intptr_t>(index)), starpu_worker_get_id());
}

// Workers poll, so that the thread that submits would never get a core beside them: it comes first.
bool all_realtime() {
    starpu_execute_on_each_worker([](void *) { be_realtime(1); }, nullptr, STARPU_CPU);
    return be_realtime(2);
}

void run_all(int) {
    static starpu_codelet codelet;
    codelet.cpu_funcs[0] = run_starpu;
    codelet.name = "task";
    std::vector<starpu_task *> made(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        made[i] = starpu_task_create();
        made[i]->cl = &codelet;
        made[i]->cl_arg = reinterpret_cast<void *>(static_cast<std::intptr_t>(i));
        made[i]->destroy = 0;
        made[i]->priority = tasks[i].priority;
        std::vector<starpu_task *> before;
        for (const int other : tasks[i].before)
            before.push_back(made[other]);
        if (!before.empty())
            starpu_task_declare_deps_array(made[i], before.size(), before.data());
    }
    for (starpu_task *task : made)
        if (starpu_task_submit(task) != 0)
            std::exit(3);
    starpu_task_wait_for_all();
    for (starpu_task *task : made)
        starpu_task_destroy(task);
}
#endif

bool read_graph() {
    int n = 0;
    if (std::scanf("%d", &n) != 1 || n < 0)
        return false;
    tasks.resize(n);
    for (int i = 0; i < n; ++i) {
        int count = 0;
        if (std::scanf("%d %d %d %d", &tasks[i].product, &tasks[i].stream, &tasks[i].priority, &count) != 4)
            return false;
        if (tasks[i].product < 0 || tasks[i].product > SIDE || tasks[i].stream < 0 || count < 0)
            return false;
        tasks[i].before.resize(count);
        for (int &before : tasks[i].before)
            if (std::scanf("%d", &before) != 1 || before < 0 || before >= i)
                return false;
    }
    return true;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 5 || !read_graph()) {
        std::fprintf(stderr, "usage: tasks WORKERS RUNS TRACED REALTIME < GRAPH\n");
        return 2;
    }
    const int workers = std::atoi(argv[1]), runs = std::atoi(argv[2]);
    traced = std::atoi(argv[3]) != 0;
    const bool realtime = std::atoi(argv[4]) != 0;
    buffers.assign(BUFFERS, std::vector<float>(SIDE * SIDE, 1e-3f));
    numbers.assign(BUFFERS, std::vector<double>(NUMBERS, 1.0));
#if defined(USE_STARPU)
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = conf.nopencl = 0;
    if (starpu_init(&conf) != 0)
        return 3;
    // Each build of StarPU has a largest number, Debian's is 4; beyond it, fewer workers run without a word.
    if (const unsigned count = starpu_cpu_worker_get_count(); count != static_cast<unsigned>(workers)) {
        std::fprintf(stderr, "this StarPU has %u workers here", count);
        return 5;
    }
    const bool allowed = !realtime || all_realtime();
#else
    const bool allowed = !realtime || be_realtime(1);
#endif
    if (!allowed) {
        std::fprintf(stderr, "this user may not raise priorities (CAP_SYS_NICE)\n");
        return 4;
    }
    for (int i = -1; i < runs; ++i) { // the first run warms up
        const std::int64_t begin = now();
        run_all(workers);
        const std::int64_t took = now() - begin;
        if (i < 0)
            continue;
        std::printf("%lld\n", static_cast<long long>(took));
        if (!traced)
            continue;
        for (const Task &task : tasks)
            std::printf("%lld %lld %d\n", static_cast<long long>(task.start - begin),
                        static_cast<long long>(task.end - begin), task.worker);
    }
#if defined(USE_STARPU)
    starpu_shutdown();
#endif
    return 0;
}
