#include "bound_scheduler.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

void Bound::check(const ListPlan &plan, std::size_t n) const {
    if (plan.kind_of.empty() || group_of.size() != n || runs_on.size() % plan.kinds)
        throw std::invalid_argument("bound tasks have a group each, and a group says which kinds it runs on");
    const auto groups = runs_on.size() / plan.kinds;
    for (std::size_t group = 0; group < groups; ++group)
        if (std::none_of(plan.kind_of.begin(), plan.kind_of.end(), [&](std::int32_t kind) {
                return runs_on[group * plan.kinds + static_cast<std::size_t>(kind)];
            }))
            throw std::invalid_argument("no executor can run the tasks of a group");
    for (const auto group : group_of)
        if (group < 0 || static_cast<std::size_t>(group) >= groups)
            throw std::invalid_argument("a group does not exist");
}

BoundScheduler::BoundScheduler(const std::string &discipline, std::span<const std::int32_t> position,
                               const ListPlan &plan, const Bound &bound)
    : Base(FifoQueue(0), plan), bound_(bound), last_first_(discipline == "lifo"),
      ready_(bound.runs_on.size() / plan.kinds), able_(ready_.size(), OrderedSet(plan.executors.n())) {
    if (discipline == "rank")
        position_ = position;
    else if (discipline != "fifo" && !last_first_)
        throw std::invalid_argument("there is no discipline " + discipline);
    if (discipline == "rank" && position.size() != bound.group_of.size())
        throw std::invalid_argument("position needs one entry a task");
    for (std::size_t group = 0; group < able_.size(); ++group)
        for (std::size_t executor = 0; executor < plan.executors.n(); ++executor)
            if (can_run(group, executor))
                able_[group].insert(executor);
}

void BoundScheduler::release(std::span<const std::int32_t> tasks, double) {
    if (last_first_)
        came_ -= static_cast<std::int64_t>(tasks.size());
    auto place = came_;
    for (const auto task : tasks) {
        const auto t = static_cast<std::size_t>(task);
        ready_[static_cast<std::size_t>(bound_.group_of[t])].push(
            {position_.empty() ? place++ : position_[t], task});
    }
    if (!last_first_)
        came_ = place;
}

void BoundScheduler::finished(std::int32_t task) {
    Base::finished(task);
    const auto executor = static_cast<std::size_t>(plan_.executor_of[static_cast<std::size_t>(task)]);
    for (std::size_t group = 0; group < able_.size(); ++group)
        if (can_run(group, executor))
            able_[group].insert(executor);
}

bool BoundScheduler::next(double, Decision &decision) {
    auto found = ready_.size();
    for (std::size_t group = 0; group < ready_.size(); ++group)
        if (!ready_[group].empty() && !able_[group].empty() &&
            (found == ready_.size() || ready_[group].top() < ready_[found].top()))
            found = group;
    if (found == ready_.size())
        return false;
    decision.delay_s = delay_s();
    const auto task = ready_[found].top().second;
    ready_[found].pop();
    const auto executor = taker(found, task);
    idle_.erase(executor);
    for (auto &able : able_)
        able.erase(executor);
    decide(task, executor, decision);
    return true;
}

std::size_t BoundScheduler::taker(std::size_t group, std::int32_t task) const {
    if (plan_.prefers_producer())
        if (const auto found = producer(static_cast<std::size_t>(task), plan_.predecessors);
            found < plan_.executors.n() && able_[group].contains(found))
            return found;
    return able_[group].first();
}

} // namespace simsched
