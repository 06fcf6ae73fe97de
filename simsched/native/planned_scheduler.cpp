#include "planned_scheduler.hpp"

#include <stdexcept>

namespace simsched {

PlannedScheduler::PlannedScheduler(const ListPlan &plan, std::span<const std::int32_t> position,
                                   std::span<const std::int32_t> assigned)
    : Base(FifoQueue(0), plan), assigned_(assigned), order_(position.size()), next_(plan.executors.n() + 1),
      ready_(position.size()), startable_(plan.executors.n()) {
    RankQueue queue(position);
    if (assigned.size() != position.size())
        throw std::invalid_argument("a plan needs an executor a task");
    for (const auto executor : assigned) {
        if (executor < 0 || static_cast<std::size_t>(executor) >= plan.executors.n())
            throw std::invalid_argument("a plan names an executor that does not exist");
        ++next_[static_cast<std::size_t>(executor) + 1];
    }
    for (std::size_t i = 1; i < next_.size(); ++i)
        next_[i] += next_[i - 1];
    std::vector<std::int32_t> every(position.size());
    for (std::size_t task = 0; task < every.size(); ++task)
        every[task] = static_cast<std::int32_t>(task);
    queue.add(every);
    end_.assign(next_.begin(), next_.end() - 1);
    while (!queue.empty()) {
        const auto task = queue.take();
        order_[end_[static_cast<std::size_t>(assigned_[static_cast<std::size_t>(task)])]++] = task;
    }
}

void PlannedScheduler::release(std::span<const std::int32_t> tasks, double) {
    for (const auto task : tasks) {
        const auto t = static_cast<std::size_t>(task);
        ready_[t] = true;
        const auto executor = static_cast<std::size_t>(assigned_[t]);
        if (idle_.contains(executor))
            offer(executor);
    }
}

void PlannedScheduler::finished(std::int32_t task) {
    Base::finished(task);
    offer(static_cast<std::size_t>(plan_.executor_of[static_cast<std::size_t>(task)]));
}

void PlannedScheduler::offer(std::size_t executor) {
    const auto place = next_[executor];
    if (place < end_[executor] && ready_[static_cast<std::size_t>(order_[place])])
        startable_.insert(executor);
}

bool PlannedScheduler::next(double, Decision &decision) {
    if (startable_.empty())
        return false;
    decision.delay_s = delay_s();
    const auto executor = startable_.take_first();
    idle_.erase(executor);
    decide(order_[next_[executor]++], executor, decision);
    return true;
}

} // namespace simsched
