#include "affinity_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace simsched {

double slower(const double *seconds, std::size_t kind, const std::vector<bool> &used) {
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    const auto own = seconds[kind];
    auto best = infinity;
    bool alone = true;
    for (std::size_t other = 0; other < used.size(); ++other)
        if (used[other] && other != kind) {
            best = std::min(best, seconds[other]);
            alone = false;
        }
    if (own == best || alone)
        return 1.0;
    return best > 0.0 ? own / best : infinity;
}

AffinityScheduler::AffinityScheduler(const ListPlan &plan, const Pushing &pushing)
    : Base(FifoQueue(0), plan), pushing_(pushing), used_(plan.kinds), heaps_(plan.kinds),
      ready_(pushing.ranks.size()) {
    for (std::size_t executor = 0; executor < plan.executors.n(); ++executor)
        used_[kind(executor)] = true;
}

void AffinityScheduler::release(std::span<const std::int32_t> tasks, double) {
    for (const auto task : tasks) {
        const auto t = at(task);
        ready_[t] = true;
        ++left_;
        for (std::size_t kind = 0; kind < used_.size(); ++kind)
            if (used_[kind] && !std::isinf(pushing_.estimates[t * used_.size() + kind]))
                heaps_[kind].push(
                    {slower(&pushing_.estimates[t * used_.size()], kind, used_), pushing_.ranks[t], task});
    }
}

bool AffinityScheduler::has_task(std::size_t kind) {
    auto &heap = heaps_[kind];
    while (!heap.empty() && !ready_[at(std::get<2>(heap.top()))])
        heap.pop();
    return !heap.empty();
}

bool AffinityScheduler::next(double, Decision &decision) {
    if (left_ == 0 || idle_.empty())
        return false;
    decision.delay_s = delay_s();
    auto executor = idle_.first();
    while (executor != OrderedSet::npos && !has_task(kind(executor)))
        executor = idle_.next(executor + 1);
    if (executor == OrderedSet::npos)
        return false;
    idle_.erase(executor);
    auto &heap = heaps_[kind(executor)];
    const auto task = std::get<2>(heap.top());
    heap.pop();
    ready_[at(task)] = false;
    --left_;
    decide(task, executor, decision);
    return true;
}

} // namespace simsched
