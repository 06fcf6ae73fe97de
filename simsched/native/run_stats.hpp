#pragma once

#include "execution.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simsched {

// What came of a run, beside its columns.
struct RunStats {
    bool in_time = false;
    std::size_t done = 0;
    std::string failure;
    double latency_s = 0;
    std::vector<double> wall_s, cpu_s;
    std::vector<std::int64_t> preemptions, cpus;
    std::uint64_t tasks = 0, sum = 0;
    std::vector<std::pair<std::int32_t, double>> running;
    bool abandoned = false;
};

inline RunStats stats_of(const Execution &run, bool in_time, bool abandoned) {
    RunStats stats{in_time,  in_time ? run.done() : run.story().done, {}, 0, {}, {}, {}, {}, 0, 0, {},
                   abandoned};
    for (const auto &[task, since] : run.story().running)
        stats.running.emplace_back(task, since);
    if (abandoned) // the rest is still being written
        return stats;
    stats.failure = run.failure();
    stats.latency_s = run.latency_s();
    for (const auto &usage : run.usage()) {
        stats.wall_s.push_back(usage.wall_s);
        stats.cpu_s.push_back(usage.cpu_s);
        stats.preemptions.push_back(usage.preemptions);
        stats.cpus.push_back(usage.cpu);
        stats.tasks += usage.tasks;
        stats.sum += usage.sum;
    }
    return stats;
}

} // namespace simsched
