#include "planner_paths.hpp"

namespace simsched {

Paths::Paths(const Platform &platform, std::span<const double> seconds, std::span<const double> messages)
    : graph_(platform.successors), order_(platform.order), seconds_(seconds.begin(), seconds.end()),
      messages_(messages), inputs_(platform.successors), place_(platform.n()), level_(platform.n()),
      next_(platform.n()), left_(platform.n(), true), stale_(platform.n()) {
    const auto n = platform.n();
    for (std::size_t k = 0; k < n; ++k)
        place_[order_[k]] = n - 1 - k;
    for (auto i = order_.rbegin(); i != order_.rend(); ++i)
        set_level(static_cast<std::size_t>(*i));
    for (std::size_t i = 0; i < n; ++i)
        starts_.push({level_[i], static_cast<std::int32_t>(i)});
}

std::span<const std::int32_t> Paths::longest() {
    path_.clear();
    while (!starts_.empty() && path_.empty()) {
        const auto [level, task] = starts_.top();
        if (left_[task] && level == level_[task]) {
            for (auto i = task; i >= 0 && path_.size() < order_.size(); i = next_[i])
                path_.push_back(i);
            break;
        }
        starts_.pop();
        if (left_[task])
            starts_.push({level_[task], task});
    }
    return path_;
}

void Paths::take_out(std::span<const std::int32_t> tasks) {
    for (const auto i : tasks)
        left_[i] = false;
    for (const auto i : tasks)
        mark(i, false);
    settle();
}

void Paths::set_seconds(std::size_t task, double seconds) {
    seconds_[task] = seconds;
    stale_.insert(place_[task]);
    settle();
}

void Paths::settle() {
    while (!stale_.empty()) {
        const auto task = static_cast<std::size_t>(order_[order_.size() - 1 - stale_.take_first()]);
        const auto before = level_[task];
        set_level(task);
        if (level_[task] == before)
            continue;
        mark(static_cast<std::int32_t>(task), level_[task] > before);
        // Where a path became shorter, its start is found to be out of date when it is on top.
        if (level_[task] > before)
            starts_.push({level_[task], static_cast<std::int32_t>(task)});
    }
}

void Paths::set_level(std::size_t task) {
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

void Paths::mark(std::int32_t task, bool longer) {
    for (auto k = inputs_.indptr[task]; k < inputs_.indptr[task + 1]; ++k)
        if (const auto i = inputs_.sources[k]; left_[i] && (longer || next_[i] == task))
            stale_.insert(place_[i]);
}

} // namespace simsched
