#pragma once

#include "checks.hpp"
#include "decision.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace simsched {

// Asks a Python object, as the SimPy engine does.
class PythonChooser {
  public:
    // A decision in Python may take milliseconds.
    static constexpr std::size_t progress_every = 1 << 6;

    PythonChooser(nanobind::handle chooser, std::size_t n, std::size_t cores, std::int64_t max_demand_Bps)
        : released_(chooser.attr("released")), finished_(chooser.attr("finished")),
          next_(chooser.attr("next")), ready_(n), n_cores_(cores), max_demand_Bps_(max_demand_Bps) {}

    void release(std::span<const std::int32_t> tasks, double now) {
        nanobind::list ready;
        for (const auto task : tasks) {
            ready_[static_cast<std::size_t>(task)] = true;
            ready.append(task);
        }
        released_(ready, now);
    }

    void finished(std::int32_t task) {
        --n_running_;
        finished_(task);
    }

    bool next(double now, Decision &decision) {
        const nanobind::object found = next_(now);
        if (found.is_none())
            return false;
        decision.task = get<std::int32_t>(found, "task");
        decision.team = get<std::int32_t>(found, "team");
        decision.executor = get<std::int32_t>(found, "executor");
        decision.seconds = get<double>(found, "seconds");
        decision.delay_s = get<double>(found, "delay_s");
        cores_ = get<std::vector<std::int32_t>>(found, "cores");
        decision.cores = cores_;
        const nanobind::object load = found.attr("load");
        decision.load = {get<double>(load, "memory_share"), get<double>(load, "overhead_share"),
                         get<std::int64_t>(load, "demand_Bps")};
        check(decision);
        return true;
    }

  private:
    template <typename T> static T get(const nanobind::object &found, const char *name) {
        // Looked up first: inside try_cast, which may not throw, a missing attribute would end the process.
        const nanobind::object held = found.attr(name);
        T value;
        if (!nanobind::try_cast<T>(held, value))
            throw nanobind::type_error("a decision holds what is not a number, or one that is too large");
        return value;
    }

    void check(const Decision &decision) {
        for (const auto core : decision.cores)
            if (core < 0 || static_cast<std::size_t>(core) >= n_cores_)
                throw std::invalid_argument("a core of the team does not exist");
        if (decision.cores.empty())
            throw std::invalid_argument("a team has cores");
        const auto task = static_cast<std::size_t>(decision.task);
        if (decision.task < 0 || task >= ready_.size() || !ready_[task])
            throw std::invalid_argument("the chooser started a task that is not ready");
        ready_[task] = false;
        check_seconds(decision.seconds);
        check_seconds(decision.delay_s);
        simsched::check(decision.load, max_demand_Bps_);
        // Each task has a core, so these are all; more could ask for more than can be counted.
        if (n_running_++ >= n_cores_)
            throw std::invalid_argument("the chooser started more tasks at once than there are cores");
    }

    nanobind::object released_, finished_, next_;
    std::vector<bool> ready_; // and not started yet
    std::size_t n_cores_, n_running_ = 0;
    std::vector<std::int32_t> cores_; // of the decision returned last
    std::int64_t max_demand_Bps_;
};

} // namespace simsched
