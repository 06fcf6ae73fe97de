#pragma once

#include "planner_platform.hpp"
#include "planner_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace simsched {

// Where and when tasks are planned so far: the twin of simsched/policy/planning/draft.py.
class Draft {
  public:
    Draft(const Platform &platform, bool insertion);

    // When the data of placed predecessors are at each executor.
    std::span<const double> arrivals(std::size_t task);
    // When a task can start on an executor where its data arrive then; infinite where it cannot run.
    double start_on(std::size_t executor, double arrival, double seconds) const {
        if (std::isinf(seconds))
            return seconds;
        return insertion_ ? timelines_[executor].earliest(arrival, seconds)
                          : std::max(arrival, free_[executor]);
    }
    void place(std::size_t task, std::size_t executor, double start);
    // Takes the last placement back.
    void withdraw();

    double free(std::size_t executor) const { return free_[executor]; }
    double finish(std::size_t task) const { return finish_[task]; }
    std::span<const std::int32_t> executors() const { return executor_; }
    // All tasks in the order of their starts.
    void order(std::span<std::int32_t> result) const;

    // Calls ready(task) for successors of a placed task that wait for no other, ascending.
    template <class Ready> void release(std::size_t task, Ready &&ready) {
        const auto &graph = platform_.successors;
        for (auto e = graph.indptr[task]; e < graph.indptr[task + 1]; ++e)
            if (!--waiting_[graph.indices[e]])
                ready(static_cast<std::size_t>(graph.indices[e]));
    }
    // The same for tasks that never waited.
    template <class Ready> void sources(Ready &&ready) const {
        for (std::size_t i = 0; i < waiting_.size(); ++i)
            if (!waiting_[i])
                ready(i);
    }

  private:
    struct Placement {
        std::size_t task;
        double free;
        Timeline::Change change;
    };
    void by_uniform_messages(std::size_t task);
    void by_any_messages(std::size_t task);

    const Platform &platform_;
    Inputs inputs_;
    bool insertion_;
    // Latency and seconds a byte between any two places, where they are all alike.
    std::optional<std::pair<double, double>> uniform_;
    std::vector<std::int32_t> executor_, waiting_;
    std::vector<double> start_, finish_, free_, arrivals_, at_place_;
    std::vector<std::int32_t> touched_;
    std::vector<std::vector<std::int32_t>> executors_at_;
    std::vector<Timeline> timelines_;
    std::vector<Placement> placements_;
    bool log_ = false;

  public:
    // Whether placements can be withdrawn from now on.
    void log(bool on) { log_ = on; }
};

} // namespace simsched
