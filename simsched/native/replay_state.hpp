#pragma once

#include "cores.hpp"
#include "decision.hpp"
#include "ordered_set.hpp"
#include "watched_set.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

// The state that a dynamic policy sees and its starts change: the twin of simsched/replay/policy_referee.py.

namespace simsched {

struct Runtime {
    double delay_s = 0, per_poller_s = 0, resize_s = 0, resize_per_thread_s = 0;
};

// Idle hardware threads, and those of them that a team takes.
class IdleThreads {
  public:
    IdleThreads(std::size_t cores, std::size_t per_tile, std::size_t ways);
    WatchedSet &all() { return all_; }
    // Fills an empty team with `width` of the threads, at most all, ascending: one way of the cores after the
    // other.
    void take(std::size_t width, std::vector<std::int32_t> &team);
    void take(std::span<const std::int32_t> team);
    void give_back(std::span<const std::int32_t> team);

  private:
    WatchedSet all_;
    std::size_t cores_;
    std::vector<Cores> ways_; // none where tiles are single cores: then the lowest threads are taken
};

class ReplayState {
  public:
    struct Run {
        std::int32_t task = -1, team = -1;
        double finish_s = 0; // estimated
    };

    ReplayState(std::size_t n, std::size_t cores, std::size_t per_tile, std::size_t ways,
                const Runtime &runtime);
    std::size_t n() const { return ready_s_.size(); }
    std::size_t threads() const { return lanes_; }

    // What happens.
    void release(std::span<const std::int32_t> tasks, double now);
    void finished(std::int32_t task);
    // The task, which is ready, starts on `width` idle threads, or on these.
    void take(std::int32_t task, std::size_t width);
    void take(std::int32_t task, std::span<const std::int32_t> team);
    std::int32_t task() const { return task_; }
    std::size_t width() const { return team_.size(); }
    std::span<const std::int32_t> taken() const { return team_; }
    // Fills the decision on the task that was taken last, from its estimate and what really passes; returns
    // its estimated end.
    double start(double now, double estimate_s, double seconds, Decision &decision);

    // What there is to see.
    WatchedSet &ready() { return ready_; }
    IdleThreads &idle() { return idle_; }
    double ready_s(std::size_t task) const { return ready_s_[task]; }       // never: not yet
    double finished_s(std::size_t task) const { return finished_s_[task]; } // estimated; never: not yet
    // Calls visit(run) for each running task in order of starting.
    template <class Visit> void each_running(Visit &&visit) const {
        for (auto lane = after_.back(); lane != lanes_; lane = after_[lane])
            visit(runs_[lane]);
    }
    std::span<const std::int32_t> team(std::int32_t row) const {
        return *teams_[static_cast<std::size_t>(row)];
    }
    // Every distinct team in order of first use: where its cores begin, and the cores.
    std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> teams() const;

    static constexpr double never = -1;

  private:
    double resize_s();
    std::int32_t row();

    const Runtime runtime_;
    WatchedSet ready_;
    IdleThreads idle_;
    std::vector<double> ready_s_, finished_s_;
    std::vector<std::size_t> lane_of_;
    // By lane, and for the ends of the list of running tasks one more.
    std::size_t lanes_;
    OrderedSet free_lanes_;
    std::vector<Run> runs_;
    std::vector<std::size_t> before_, after_;
    std::vector<std::int32_t> last_width_;
    std::int32_t task_ = -1; // taken last, and its team
    std::vector<std::int32_t> team_;
    std::map<std::vector<std::int32_t>, std::int32_t> rows_;
    std::vector<std::int32_t> row_of_single_; // row of the team of each thread alone; -1 for none
    std::vector<const std::vector<std::int32_t> *> teams_;
};

} // namespace simsched
