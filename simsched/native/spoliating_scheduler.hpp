#pragma once

#include "affinity_scheduler.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

// Running tasks that idle executors take over: the twin of simsched/replay/affinity_scheduler.py.

namespace simsched {

// Aborted runs, in the order in which they ended: placed when the decision was over, begun when all was read.
struct LostRuns {
    std::vector<std::int32_t> task, executor;
    std::vector<double> start_s, end_s, placed_s, begun_s;
};

// An idle executor takes a ready task as before, or takes over one that runs on another kind of cores.
class SpoliatingScheduler : public AffinityScheduler {
    using Base = AffinityScheduler;

  public:
    // Aborts the run of a task, and returns when it started.
    using Abort = std::function<double(std::int32_t task)>;

    SpoliatingScheduler(const ListPlan &plan, const Pushing &pushing, const DataState *data);

    void aborts(Abort abort) { abort_ = std::move(abort); }
    void computes(std::int32_t task, double now);
    void finished(std::int32_t task);
    bool next(double now, Decision &decision);
    const LostRuns &lost() const { return lost_; }

  private:
    // The task that is expected to end last of those that an executor would end earlier, or -1.
    std::int32_t found(std::size_t executor, double start) const;
    double missing(std::int32_t task, std::size_t executor) const;
    void take_over(std::int32_t task, std::size_t executor, double now, Decision &decision);

    const DataState *data_;
    Abort abort_;
    std::vector<std::int32_t> computing_;                       // on each executor, or -1
    std::vector<double> ends_;                                  // when that task is expected to end
    std::set<std::pair<std::int32_t, std::size_t>> aborted_on_; // tasks, and kinds of cores
    LostRuns lost_;
};

} // namespace simsched
