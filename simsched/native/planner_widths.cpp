#include "planner_widths.hpp"

#include "planner_levels.hpp"
#include "planner_paths.hpp"

#include "checks.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

class Widths {
  public:
    Widths(const Platform &platform, std::span<const double> table, std::span<const std::int32_t> most,
           std::size_t cores, std::span<const double> messages, std::span<const std::int32_t> group,
           std::span<std::int32_t> width)
        : table_(table), widest_(most.empty() ? 1 : table.size() / most.size()), most_(most), cores_(cores),
          group_(group), width_(width), used_(platform.n()), paths_(platform, first(), messages) {
        std::fill(width.begin(), width.end(), 1);
        for (const auto one : group)
            ++used_[one];
        for (std::size_t task = 0; task < width.size(); ++task)
            work_ += seconds(task, 1);
    }

    void grow() {
        for (auto path = paths_.longest();
             !path.empty() && paths_.level(path.front()) > work_ / static_cast<double>(cores_);
             path = paths_.longest())
            if (!widen(path))
                return;
    }

  private:
    std::vector<double> first() const {
        std::vector<double> found(width_.size());
        for (std::size_t task = 0; task < found.size(); ++task)
            found[task] = seconds(task, 1);
        return found;
    }
    double seconds(std::size_t task, std::size_t width) const { return table_[task * widest_ + width - 1]; }

    // Gives one more core to the task of a path that gains most of it; false where none does.
    bool widen(std::span<const std::int32_t> path) {
        auto best = 0.0;
        std::int32_t chosen = -1;
        for (const auto task : path) {
            const auto w = static_cast<std::size_t>(width_[task]);
            if (width_[task] >= most_[task] || (!group_.empty() && used_[group_[task]] >= cores_))
                continue;
            const auto gain =
                seconds(task, w) / static_cast<double>(w) - seconds(task, w + 1) / static_cast<double>(w + 1);
            if (gain > best) {
                best = gain;
                chosen = task;
            }
        }
        if (chosen < 0)
            return false;
        const auto task = static_cast<std::size_t>(chosen);
        const auto w = static_cast<std::size_t>(width_[task]++);
        work_ +=
            seconds(task, w + 1) * static_cast<double>(w + 1) - seconds(task, w) * static_cast<double>(w);
        if (!group_.empty())
            ++used_[group_[task]];
        paths_.set_seconds(task, seconds(task, w + 1));
        return true;
    }

    std::span<const double> table_;
    std::size_t widest_;
    std::span<const std::int32_t> most_;
    std::size_t cores_;
    std::span<const std::int32_t> group_;
    std::span<std::int32_t> width_;
    std::vector<std::size_t> used_; // cores of a group
    double work_ = 0.0;             // core-seconds of all tasks
    Paths paths_;
};

} // namespace

void critical_widths(const Platform &platform, std::span<const double> table,
                     std::span<const std::int32_t> most, std::size_t cores, std::span<const double> messages,
                     std::span<const std::int32_t> group, std::span<std::int32_t> width) {
    check_columns(platform, platform.n(), messages.size());
    const auto n = platform.n();
    if (most.size() != n || (n ? table.size() % n || table.size() < n : !table.empty()) || !cores)
        throw std::invalid_argument(
            "a table needs the seconds of each task on 1, 2, ... cores, and most one entry a task");
    check_seconds(table);
    for (const auto one : most)
        if (one < 1 || static_cast<std::size_t>(one) > table.size() / n)
            throw std::invalid_argument("a task may be as wide as the table, at least 1");
    if (!group.empty() && group.size() != n)
        throw std::invalid_argument("group needs one entry a task");
    for (const auto one : group)
        if (one < 0 || static_cast<std::size_t>(one) >= n)
            throw std::invalid_argument("a group is a number from 0, and below that of tasks");
    Widths(platform, table, most, cores, messages, group, width).grow();
}

} // namespace simsched
