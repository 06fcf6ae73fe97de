#include "planner_timeline.hpp"

#include <algorithm>

namespace simsched {

double Timeline::earliest(double arrival, double seconds) const {
    if (seconds == 0.0)
        return between(arrival);
    const auto least = arrival + seconds;
    if (last_gap() >= least)
        for (auto gap = std::partition_point(gaps_.begin(), gaps_.end(),
                                             [least](const Gap &g) { return g.to < least; });
             gap != gaps_.end(); ++gap) {
            const auto begin = std::max(arrival, gap->from);
            if (begin + seconds <= gap->to)
                return begin;
        }
    return std::max(arrival, free_);
}

// When a task that takes no time can start: at once, or when what runs then ends.
double Timeline::between(double arrival) const {
    if (arrival == 0.0 || arrival >= free_)
        return arrival;
    const auto gap =
        std::partition_point(gaps_.begin(), gaps_.end(), [arrival](const Gap &g) { return g.to < arrival; });
    if (gap != gaps_.end() && gap->from <= arrival)
        return arrival;
    return *std::lower_bound(ends_.begin(), ends_.end(), arrival);
}

Timeline::Change Timeline::place(double start, double finish) {
    Change change{free_, finish, none, none, 0.0, 0.0};
    if (start >= free_) {
        if (start > free_) {
            change.gap = gaps_.size();
            change.pieces = 0;
            gaps_.push_back({free_, start});
        }
        free_ = finish;
    } else {
        split(start, finish, change);
    }
    if (keep_ends_)
        ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), finish), finish);
    return change;
}

void Timeline::split(double start, double finish, Change &change) {
    const auto gap =
        std::partition_point(gaps_.begin(), gaps_.end(), [finish](const Gap &g) { return g.to < finish; });
    if (gap == gaps_.end() || gap->from > start)
        return; // it takes no time, between two that touch
    change.gap = static_cast<std::size_t>(gap - gaps_.begin());
    change.from = gap->from;
    change.to = gap->to;
    const bool before = start > gap->from, after = finish < gap->to;
    change.pieces = static_cast<std::size_t>(before) + static_cast<std::size_t>(after);
    if (before && after) {
        gap->from = finish;
        gaps_.insert(gap, {change.from, start});
    } else if (before) {
        gap->to = start;
    } else if (after) {
        gap->from = finish;
    } else {
        gaps_.erase(gap);
    }
}

void Timeline::undo(const Change &change) {
    if (keep_ends_)
        ends_.erase(std::lower_bound(ends_.begin(), ends_.end(), change.end));
    const bool appended = change.from == change.to;
    free_ = change.free;
    if (change.gap == none)
        return;
    const auto at = gaps_.begin() + static_cast<std::ptrdiff_t>(change.gap);
    if (appended)
        gaps_.pop_back();
    else if (change.pieces == 0)
        gaps_.insert(at, {change.from, change.to});
    else {
        *at = {change.from, change.to};
        if (change.pieces == 2)
            gaps_.erase(at + 1);
    }
}

} // namespace simsched
