#include "planner_online.hpp"

#include "planner_draft.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace simsched {

namespace {

template <class Key> using MinHeap = std::priority_queue<Key, std::vector<Key>, std::greater<Key>>;

class Online {
  public:
    explicit Online(const Platform &platform)
        : platform_(platform), draft_(platform, false), holds_(platform.executors(), -1),
          place_(platform.n()) {}

    template <class Rule> void run(Rule &rule, Planned planned) {
        draft_.sources([&](std::size_t task) { rule.push(task, 0.0); });
        start(rule, 0.0);
        while (!ends_.empty()) {
            const auto now = std::get<0>(ends_.top());
            while (!ends_.empty() && std::get<0>(ends_.top()) == now) {
                const auto [_, task, executor] = ends_.top();
                ends_.pop();
                if (holds_[executor] != task || draft_.finish(task) != now)
                    continue; // it was taken over
                holds_[executor] = -1;
                draft_.release(task, [&](std::size_t after) { rule.push(after, now); });
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
    std::span<const double> missing(std::size_t task) { return draft_.missing(task); }
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
                rule.started(task, executor, draft_.finish(task));
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

class Queues {
  public:
    Queues(Online &run, std::span<const double> level, double beta)
        : run_(run), level_(level), beta_(beta), queues_(run.platform().executors()),
          running_until_(queues_.size()), queued_(queues_.size()), free_(queues_.size()),
          ends_(queues_.size()), share_(run.platform().n()) {}

    void push(std::size_t task, double now) {
        const auto worker = chosen(task, now);
        share_[task] = ends_[worker] - free_[worker];
        queued_[worker] += share_[task];
        queues_[worker].push({-level_[task], came_++, static_cast<std::int32_t>(task)});
    }

    std::int32_t pop(std::size_t executor, double) {
        auto &queue = queues_[executor];
        if (queue.empty()) {
            queued_[executor] = 0.0; // what is left of sums of floats
            return -1;
        }
        const auto task = std::get<2>(queue.top());
        queue.pop();
        return task;
    }

    void started(std::size_t task, std::size_t executor, double finish) {
        running_until_[executor] = finish;
        queued_[executor] -= share_[task];
    }

  private:
    std::size_t chosen(std::size_t task, double now) {
        for (std::size_t e = 0; e < free_.size(); ++e)
            free_[e] = std::max(running_until_[e], now) + queued_[e];
        const auto missing = beta_ < 0.0 ? std::span<const double>() : run_.missing(task);
        for (std::size_t e = 0; e < free_.size(); ++e)
            ends_[e] =
                (missing.empty() ? free_[e] : std::max(free_[e], now + missing[e])) + run_.seconds(task, e);
        const auto first = std::min_element(ends_.begin(), ends_.end());
        if (missing.empty())
            return static_cast<std::size_t>(first - ends_.begin());
        auto best = std::numeric_limits<double>::infinity();
        std::size_t worker = 0;
        for (std::size_t e = 0; e < ends_.size(); ++e)
            if (const auto worse = ends_[e] - *first + beta_ * missing[e]; worse < best) {
                best = worse;
                worker = e;
            }
        return worker;
    }

    Online &run_;
    std::span<const double> level_;
    double beta_;
    std::vector<MinHeap<std::tuple<double, std::int64_t, std::int32_t>>>
        queues_; // -level, when it came, task
    std::vector<double> running_until_, queued_, free_, ends_;
    std::vector<double> share_; // what each queued task adds to its queue
    std::int64_t came_ = 0;
};

class Affinity {
  public:
    Affinity(Online &run, std::span<const double> level, bool spoliation)
        : run_(run), level_(level), spoliation_(spoliation), used_(run.platform().kinds),
          heaps_(run.platform().kinds), ready_(run.platform().n()) {
        for (const auto kind : run.platform().kind_of)
            used_[kind] = true;
    }

    void push(std::size_t task, double) {
        ready_[task] = true;
        for (std::size_t kind = 0; kind < used_.size(); ++kind)
            if (used_[kind])
                heaps_[kind].push({slower(task, kind), -level_[task], static_cast<std::int32_t>(task)});
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
        return spoliation_ ? taken_over(executor, now) : -1;
    }

    void started(std::size_t, std::size_t, double) {}

  private:
    // A kind's seconds over the best other kind's, the less the better.
    double slower(std::size_t task, std::size_t kind) const {
        const auto *seconds = run_.platform().seconds(task);
        const auto own = seconds[kind];
        auto best = std::numeric_limits<double>::infinity();
        for (std::size_t other = 0; other < used_.size(); ++other)
            if (used_[other] && other != kind)
                best = std::min(best, seconds[other]);
        if (own == best || best == std::numeric_limits<double>::infinity())
            return 1.0;
        return best > 0.0 ? own / best : std::numeric_limits<double>::infinity();
    }

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
    bool spoliation_;
    std::vector<bool> used_;
    std::vector<MinHeap<std::tuple<double, double, std::int32_t>>> heaps_; // by kind: slower, -level, task
    std::vector<bool> ready_;
    std::vector<std::tuple<double, std::int32_t, std::int32_t>> running_;
};

template <class Rule, class Option>
void plan(const Platform &platform, std::span<const double> level, Option option, Planned planned) {
    check(platform);
    if (level.size() != platform.n())
        throw std::invalid_argument("level needs one entry a task");
    Online run(platform);
    Rule rule(run, level, option);
    run.run(rule, planned);
}

} // namespace

void plan_queues(const Platform &platform, std::span<const double> level, double beta, Planned planned) {
    plan<Queues>(platform, level, beta, planned);
}

void plan_affinity(const Platform &platform, std::span<const double> level, bool spoliation,
                   Planned planned) {
    plan<Affinity>(platform, level, spoliation, planned);
}

} // namespace simsched
