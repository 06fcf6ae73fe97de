#include "planner_draft.hpp"
#include "planners.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace simsched {

namespace {

// Independent tasks, by their places in the group, in a queue for each executor.
class Group {
  public:
    Group(const Platform &platform, Draft &draft, std::span<const std::int32_t> tasks)
        : platform_(platform), draft_(draft), tasks_(tasks), earliest_(tasks.size() * platform.executors()),
          queues_(platform.executors()) {
        std::vector<double> sums(tasks.size());
        for (std::size_t place = 0; place < tasks.size(); ++place) {
            const auto arrivals = draft.arrivals(tasks[place]);
            std::size_t fastest = 0;
            for (std::size_t e = 0; e < arrivals.size(); ++e) {
                sums[place] += earliest_[e * tasks.size() + place] = std::max(arrivals[e], draft.free(e));
                if (seconds(e, place) < seconds(fastest, place))
                    fastest = e;
            }
            queues_[fastest].push_back(place);
        }
        for (std::size_t e = 0; e < queues_.size(); ++e) {
            std::sort(queues_[e].begin(), queues_[e].end(),
                      [&](std::size_t a, std::size_t b) { return before(e, a, b); });
            ends_.push_back(end_without(e, tasks.size()));
        }
        by_turn_.resize(tasks.size());
        std::iota(by_turn_.begin(), by_turn_.end(), std::size_t{0});
        std::stable_sort(by_turn_.begin(), by_turn_.end(),
                         [&](std::size_t a, std::size_t b) { return sums[a] < sums[b]; });
        turn_.resize(tasks.size());
        for (std::size_t k = 0; k < by_turn_.size(); ++k)
            turn_[by_turn_[k]] = k;
    }

    // Moves a task from the executor that ends last, where one can be moved.
    bool moved() {
        const auto last =
            static_cast<std::size_t>(std::max_element(ends_.begin(), ends_.end()) - ends_.begin());
        std::vector<std::size_t> turns;
        for (const auto place : queues_[last])
            turns.push_back(turn_[place]);
        for (std::priority_queue next(std::greater<std::size_t>{}, std::move(turns)); !next.empty();
             next.pop()) {
            const auto place = by_turn_[next.top()];
            const auto end = end_without(last, place);
            if (end < ends_[last] && moved_to_better(place, ends_[last])) {
                queues_[last].erase(std::find(queues_[last].begin(), queues_[last].end(), place));
                ends_[last] = end;
                return true;
            }
        }
        return false;
    }

    void place() {
        for (std::size_t e = 0; e < queues_.size(); ++e)
            for (const auto place : queues_[e])
                draft_.place(tasks_[place], e, std::max(draft_.free(e), earliest(e, place)));
    }

  private:
    double earliest(std::size_t executor, std::size_t place) const {
        return earliest_[executor * tasks_.size() + place];
    }
    double seconds(std::size_t executor, std::size_t place) const {
        return platform_.seconds(tasks_[place])[platform_.kind_of[executor]];
    }
    bool before(std::size_t executor, std::size_t a, std::size_t b) const {
        const auto one = earliest(executor, a), other = earliest(executor, b);
        return one != other ? one < other : a < b;
    }
    double after(double end, std::size_t executor, std::size_t place) const {
        return std::max(end, earliest(executor, place)) + seconds(executor, place);
    }

    double end_without(std::size_t executor, std::size_t place) const {
        auto end = draft_.free(executor);
        for (const auto other : queues_[executor])
            if (other != place)
                end = after(end, executor, other);
        return end;
    }

    double end_with(std::size_t executor, std::size_t place) const {
        auto end = draft_.free(executor);
        const auto &queue = queues_[executor];
        auto at = queue.begin();
        for (; at != queue.end() && before(executor, *at, place); ++at)
            end = after(end, executor, *at);
        end = after(end, executor, place);
        for (; at != queue.end(); ++at)
            end = after(end, executor, *at);
        return end;
    }

    // Adds the task to the executor that ends first with it, where that is before `end`.
    bool moved_to_better(std::size_t place, double end) {
        auto found = queues_.size();
        for (std::size_t e = 0; e < queues_.size(); ++e) {
            // No queue ends earlier for a task more.
            if (std::max(ends_[e], earliest(e, place) + seconds(e, place)) >= end)
                continue;
            if (const auto then = end_with(e, place); then < end) {
                end = then;
                found = e;
            }
        }
        if (found == queues_.size())
            return false;
        auto &queue = queues_[found];
        const auto at = std::partition_point(queue.begin(), queue.end(),
                                             [&](std::size_t other) { return before(found, other, place); });
        queue.insert(at, place);
        ends_[found] = end;
        return true;
    }

    const Platform &platform_;
    Draft &draft_;
    std::span<const std::int32_t> tasks_;
    std::vector<double> earliest_; // start of each task, a row an executor
    std::vector<std::vector<std::size_t>> queues_;
    std::vector<double> ends_;
    std::vector<std::size_t> by_turn_, turn_; // the order in which tasks are tried, and the turn of each
};

} // namespace

void plan_groups(const Platform &platform, std::span<const std::int32_t> order, Planned planned) {
    check(platform);
    check_position(platform, order);
    Draft draft(platform, false);
    const Inputs inputs(platform.successors);
    std::vector<std::size_t> group_of(order.size(), order.size());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        const auto waits = [&](std::int32_t task) {
            const auto from = inputs.sources.begin();
            return std::any_of(from + inputs.indptr[task], from + inputs.indptr[task + 1],
                               [&](std::int32_t source) { return group_of[source] == begin; });
        };
        for (; end < order.size() && !waits(order[end]); ++end)
            group_of[order[end]] = begin;
        Group group(platform, draft, order.subspan(begin, end - begin));
        while (group.moved()) {
        }
        group.place();
    }
    const auto executors = draft.executors();
    std::copy(executors.begin(), executors.end(), planned.executor.begin());
    draft.order(planned.order);
}

} // namespace simsched
