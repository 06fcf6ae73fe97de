#include "planner_clusters.hpp"

#include "ordered_set.hpp"
#include "planner_levels.hpp"

#include <queue>

namespace simsched {

namespace {

// Longest paths from tasks to a sink, among the tasks that are left.
class Paths {
  public:
    Paths(const Platform &platform, std::span<const double> seconds, std::span<const double> messages)
        : graph_(platform.successors), order_(platform.order), seconds_(seconds), messages_(messages),
          inputs_(platform.successors), place_(platform.n()), level_(platform.n()), next_(platform.n()),
          left_(platform.n(), true), stale_(platform.n()) {
        const auto n = platform.n();
        for (std::size_t k = 0; k < n; ++k)
            place_[order_[k]] = n - 1 - k;
        for (auto i = order_.rbegin(); i != order_.rend(); ++i)
            level(static_cast<std::size_t>(*i));
        for (std::size_t i = 0; i < n; ++i)
            longest_.push({level_[i], static_cast<std::int32_t>(i)});
    }

    // Takes the longest path out, and calls visit(task) for the tasks on it; false where no task is left.
    template <class Visit> bool take(Visit &&visit) {
        while (!longest_.empty()) {
            const auto [level, task] = longest_.top();
            longest_.pop();
            if (!left_[task])
                continue;
            if (level != level_[task]) { // paths only become shorter
                longest_.push({level_[task], task});
                continue;
            }
            path_.clear();
            for (auto i = task; i >= 0 && left_[i]; i = next_[i]) {
                left_[i] = false;
                path_.push_back(i);
                visit(i);
            }
            for (const auto i : path_)
                mark(i);
            while (!stale_.empty())
                update(static_cast<std::size_t>(order_[order_.size() - 1 - stale_.take_first()]));
            return true;
        }
        return false;
    }

  private:
    struct Start {
        double level;
        std::int32_t task;
        bool operator<(const Start &other) const {
            return level != other.level ? level < other.level : task > other.task;
        }
    };

    void level(std::size_t task) {
        auto most = 0.0;
        next_[task] = -1;
        for (auto e = graph_.indptr[task]; e < graph_.indptr[task + 1]; ++e) {
            const auto j = graph_.indices[e];
            if (!left_[j])
                continue;
            if (const auto path = messages_[e] + level_[j]; next_[task] < 0 || path > most) {
                most = path;
                next_[task] = j;
            }
        }
        level_[task] = seconds_[task] + most;
    }

    // Marks the tasks whose longest path leads over one that has changed.
    void mark(std::int32_t task) {
        for (auto k = inputs_.indptr[task]; k < inputs_.indptr[task + 1]; ++k)
            if (const auto i = inputs_.sources[k]; left_[i] && next_[i] == task)
                stale_.insert(place_[i]);
    }

    void update(std::size_t task) {
        const auto before = level_[task];
        level(task);
        if (level_[task] != before)
            mark(static_cast<std::int32_t>(task));
    }

    const Csr &graph_;
    std::span<const std::int32_t> order_;
    std::span<const double> seconds_, messages_;
    Inputs inputs_;
    std::vector<std::size_t> place_; // from the end of the order
    std::vector<double> level_;
    std::vector<std::int32_t> next_, path_; // the next task of the longest path, or -1
    std::vector<bool> left_;
    OrderedSet stale_;
    std::priority_queue<Start> longest_;
};

} // namespace

void linear_clusters(const Platform &platform, std::span<const double> seconds,
                     std::span<const double> messages, std::span<std::int32_t> cluster) {
    check_columns(platform, seconds.size(), messages.size());
    Paths paths(platform, seconds, messages);
    for (std::int32_t number = 0; paths.take([&](std::int32_t task) { cluster[task] = number; });)
        ++number;
}

} // namespace simsched
