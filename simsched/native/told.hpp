#pragma once

#include "execution.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simsched {

// What came of a run, beside its columns.
struct Told {
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

inline Told told(const Execution &run, bool in_time, bool abandoned) {
    Told told{in_time, in_time ? run.done() : run.story().done, {}, 0, {}, {}, {}, {}, 0, 0, {}, abandoned};
    for (const auto &[task, since] : run.story().running)
        told.running.emplace_back(task, since);
    if (abandoned) // the rest is still being written
        return told;
    told.failure = run.failure();
    told.latency_s = run.latency_s();
    for (const auto &usage : run.usage()) {
        told.wall_s.push_back(usage.wall_s);
        told.cpu_s.push_back(usage.cpu_s);
        told.preemptions.push_back(usage.preemptions);
        told.cpus.push_back(usage.cpu);
        told.tasks += usage.tasks;
        told.sum += usage.sum;
    }
    return told;
}

} // namespace simsched
