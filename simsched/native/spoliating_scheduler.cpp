#include "spoliating_scheduler.hpp"

namespace simsched {

SpoliatingScheduler::SpoliatingScheduler(const ListPlan &plan, const Pushing &pushing, const DataState *data)
    : Base(plan, pushing), data_(data), computing_(plan.executors.n(), -1), ends_(plan.executors.n()) {}

void SpoliatingScheduler::computes(std::int32_t task, double now) {
    const auto executor = at(plan_.executor_of[at(task)]);
    computing_[executor] = task;
    ends_[executor] = now + pushing_.estimates[plan_.row(at(task), executor)];
}

void SpoliatingScheduler::finished(std::int32_t task) {
    Base::finished(task);
    computing_[at(plan_.executor_of[at(task)])] = -1;
}

bool SpoliatingScheduler::next(double now, Decision &decision) {
    if (Base::next(now, decision))
        return true;
    if (idle_.empty())
        return false;
    decision.delay_s = delay_s();
    for (auto executor = idle_.first(); executor != OrderedSet::npos; executor = idle_.next(executor + 1))
        if (const auto task = found(executor, now + decision.delay_s); task >= 0) {
            take_over(task, executor, now, decision);
            return true;
        }
    return false;
}

std::int32_t SpoliatingScheduler::found(std::size_t executor, double start) const {
    std::pair<double, std::int32_t> latest{start, 0};
    std::int32_t found = -1;
    for (std::size_t other = 0; other < computing_.size(); ++other) {
        const auto task = computing_[other];
        const std::pair candidate{ends_[other], -task};
        if (task < 0 || candidate <= latest || kind(other) == kind(executor) ||
            aborted_on_.contains({task, kind(executor)}))
            continue;
        if (start + missing(task, executor) + pushing_.estimates[plan_.row(at(task), executor)] <
            candidate.first) {
            found = task;
            latest = candidate;
        }
    }
    return found;
}

double SpoliatingScheduler::missing(std::int32_t task, std::size_t executor) const {
    const auto first = static_cast<std::size_t>(plan_.executors.indptr[executor]);
    return data_ ? data_->missing_s(task, plan_.executors.indices[first], false) : 0.0;
}

void SpoliatingScheduler::take_over(std::int32_t task, std::size_t executor, double now, Decision &decision) {
    const auto before = at(plan_.executor_of[at(task)]);
    aborted_on_.insert({task, kind(before)});
    computing_[before] = -1;
    idle_.erase(executor);
    idle_.insert(before);
    lost_.task.push_back(task);
    lost_.executor.push_back(static_cast<std::int32_t>(before));
    lost_.start_s.push_back(abort_(task));
    lost_.end_s.push_back(now);
    lost_.placed_s.push_back(data_ ? data_->placed_s()[at(task)] : lost_.start_s.back());
    lost_.begun_s.push_back(data_ ? data_->begun_s()[at(task)] : lost_.start_s.back());
    decide(task, executor, decision);
}

} // namespace simsched
