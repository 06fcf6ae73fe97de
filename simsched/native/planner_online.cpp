#include "planner_online.hpp"

#include "affinity_scheduler.hpp"
#include "planner_draft.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace simsched {

namespace {

class Online {
  public:
    explicit Online(const Platform &platform)
        : platform_(platform), draft_(platform, false), holds_(platform.executors(), -1),
          place_(platform.n()) {}

    template <class Rule> void run(Rule &rule, Planned planned) {
        draft_.sources([&](std::size_t task) { rule.push(task); });
        start(rule, 0.0);
        while (!ends_.empty()) {
            const auto now = std::get<0>(ends_.top());
            while (!ends_.empty() && std::get<0>(ends_.top()) == now) {
                const auto [_, task, executor] = ends_.top();
                ends_.pop();
                if (holds_[executor] != task || draft_.finish(task) != now)
                    continue; // it was taken over
                holds_[executor] = -1;
                draft_.release(task, [&](std::size_t after) { rule.push(after); });
            }
            start(rule, now);
        }
        std::copy(draft_.executors().begin(), draft_.executors().end(), planned.executor.begin());
        for (std::size_t task = 0; task < place_.size(); ++task)
            planned.order[task] = static_cast<std::int32_t>(task);
        std::sort(planned.order.begin(), planned.order.end(),
                  [&](std::int32_t a, std::int32_t b) { return place_[a] < place_[b]; });
    }

    const Platform &platform() const { return platform_; }
    std::span<const std::int32_t> holds() const { return holds_; }
    double finish(std::size_t task) const { return draft_.finish(task); }
    std::span<const double> arrivals(std::size_t task) { return draft_.arrivals(task); }
    double seconds(std::size_t task, std::size_t executor) const {
        return platform_.seconds(task)[platform_.kind_of[executor]];
    }
    std::int32_t stop(std::size_t executor) { return std::exchange(holds_[executor], -1); }

  private:
    template <class Rule> void start(Rule &rule, double now) {
        for (bool asking = true; asking;) {
            asking = false;
            for (std::size_t executor = 0; executor < holds_.size(); ++executor) {
                if (holds_[executor] >= 0)
                    continue;
                const auto task = rule.pop(executor, now);
                if (task < 0)
                    continue;
                draft_.place(task, executor, std::max(now, draft_.arrivals(task)[executor]));
                holds_[executor] = task;
                place_[task] = started_++;
                ends_.push({draft_.finish(task), task, static_cast<std::int32_t>(executor)});
                asking = true;
            }
        }
    }

    const Platform &platform_;
    Draft draft_;
    std::vector<std::int32_t> holds_;
    std::vector<std::int64_t> place_; // in the order of starts: the last counts
    std::int64_t started_ = 0;
    MinHeap<std::tuple<double, std::int32_t, std::int32_t>> ends_; // finish, task, executor
};

class Affinity {
  public:
    Affinity(Online &run, std::span<const double> level)
        : run_(run), level_(level), used_(run.platform().kinds), heaps_(run.platform().kinds),
          ready_(run.platform().n()) {
        for (const auto kind : run.platform().kind_of)
            used_[kind] = true;
    }

    void push(std::size_t task) {
        ready_[task] = true;
        for (std::size_t kind = 0; kind < used_.size(); ++kind)
            if (used_[kind])
                heaps_[kind].push({slower(run_.platform().seconds(task), kind, used_), -level_[task],
                                   static_cast<std::int32_t>(task)});
    }

    std::int32_t pop(std::size_t executor, double now) {
        auto &heap = heaps_[run_.platform().kind_of[executor]];
        while (!heap.empty()) {
            const auto task = std::get<2>(heap.top());
            heap.pop();
            if (ready_[task]) {
                ready_[task] = false;
                return task;
            }
        }
        return taken_over(executor, now);
    }

  private:
    // Stops a task of another kind that the core ends earlier, the last to end first; -1 for none.
    std::int32_t taken_over(std::size_t executor, double now) {
        const auto &kind_of = run_.platform().kind_of;
        running_.clear();
        for (std::size_t other = 0; other < run_.holds().size(); ++other)
            if (const auto task = run_.holds()[other]; task >= 0 && kind_of[other] != kind_of[executor])
                running_.push_back({-run_.finish(task), task, static_cast<std::int32_t>(other)});
        std::sort(running_.begin(), running_.end());
        for (const auto &[ends, task, other] : running_)
            if (std::max(now, run_.arrivals(task)[executor]) + run_.seconds(task, executor) < -ends)
                return run_.stop(other);
        return -1;
    }

    Online &run_;
    std::span<const double> level_;
    std::vector<bool> used_;
    std::vector<MinHeap<std::tuple<double, double, std::int32_t>>> heaps_; // by kind: slower, -level, task
    std::vector<bool> ready_;
    std::vector<std::tuple<double, std::int32_t, std::int32_t>> running_;
};

} // namespace

void plan_affinity(const Platform &platform, std::span<const double> level, Planned planned) {
    check(platform);
    if (level.size() != platform.n())
        throw std::invalid_argument("level needs one entry a task");
    Online run(platform);
    Affinity rule(run, level);
    run.run(rule, planned);
}

} // namespace simsched
