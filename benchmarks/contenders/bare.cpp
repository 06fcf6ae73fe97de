// The limit: a list scheduler that is two binary heaps over a CSR graph and nothing else. It checks nothing,
// keeps no result but the makespan, and knows neither executors nor costs of starting.

#include "problem.hpp"

#include <queue>

struct Running {
    double finish;
    std::int32_t task;
    bool operator<(const Running &other) const {
        return finish != other.finish ? finish > other.finish : task > other.task;
    }
};

double makespan(const Problem &problem) {
    std::vector<std::int32_t> waiting(static_cast<std::size_t>(problem.n));
    for (const auto follower : problem.indices)
        ++waiting[follower];
    std::priority_queue<Ready> ready;
    std::priority_queue<Running> running;
    for (std::int32_t task = 0; task < problem.n; ++task)
        if (!waiting[task])
            ready.push({problem.level[task], task});
    double now = 0;
    for (auto idle = problem.workers;; ++idle) {
        for (; idle && !ready.empty(); --idle) {
            const auto task = ready.top().task;
            ready.pop();
            running.push({now + problem.seconds[task], task});
        }
        if (running.empty())
            return now;
        const auto task = running.top().task;
        now = running.top().finish;
        running.pop();
        for (auto e = problem.indptr[task]; e < problem.indptr[task + 1]; ++e)
            if (const auto follower = problem.indices[e]; !--waiting[follower])
                ready.push({problem.level[follower], follower});
    }
}

int main(int, char **argv) {
    const auto problem = load(argv[1]);
    const Meter meter;
    meter.report(makespan(problem));
}
