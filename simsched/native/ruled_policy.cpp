#include "ruled_policy.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

const RulePlan &checked(const RulePlan &plan, const Candidates &candidates, std::size_t n) {
    if (candidates.count == 0 || plan.seconds.size() != candidates.widths.size() ||
        (!plan.noise.empty() && plan.noise.size() != n))
        throw std::invalid_argument(
            "seconds need one row a task, of a candidate or more, noise one entry or none");
    return plan;
}

} // namespace

RuledPolicy::RuledPolicy(const Candidates &candidates, const RulePlan &plan, std::size_t n)
    : plan_(checked(plan, candidates, n)), rule_(candidates, plan.cores, plan.ways, n),
      state_(n, plan.cores, plan.cores_per_tile, plan.ways, plan.runtime),
      view_{state_,     state_.ready().set(),          plan.cores, plan.threads(), plan.threads(),
            plan.cores, plan.ways > 1 ? plan.cores : 0},
      team_of_(n, -1) {}

bool RuledPolicy::next(double now, Decision &decision) {
    while (!ends_.empty() && team_of_[static_cast<std::size_t>(ends_.top().second)] < 0)
        ends_.pop();
    view_.now_s = now;
    view_.last_s = ends_.empty() ? now : ends_.top().first;
    const auto offer = rule_.decide(view_);
    if (!offer)
        return false;
    const auto t = static_cast<std::size_t>(offer.task);
    const double seconds = plan_.seconds[offer.row];
    state_.take(offer.task, static_cast<std::size_t>(offer.width));
    keep(decision,
         state_.start(now, seconds, plan_.noise.empty() ? seconds : seconds * plan_.noise[t], decision));
    plan_.loads.copy_to(offer.row, decision);
    return true;
}

void RuledPolicy::keep(const Decision &decision, double finish_s) {
    team_of_[static_cast<std::size_t>(decision.task)] = decision.team;
    ends_.emplace(finish_s, decision.task);
    ++view_.n_running;
    view_.idle -= decision.cores.size();
    view_.idle_first -= on_way(0, decision.cores);
    view_.idle_second -= on_way(1, decision.cores);
    if (decision.cores.size() == plan_.cores && decision.cores.front() == 0) {
        holder_ = decision.task;
        view_.held = true;
        view_.holder_s = finish_s;
    }
}

void RuledPolicy::finished(std::int32_t task) {
    const auto team = state_.team(std::exchange(team_of_[static_cast<std::size_t>(task)], -1));
    --view_.n_running;
    view_.idle += team.size();
    view_.idle_first += on_way(0, team);
    view_.idle_second += on_way(1, team);
    if (task == holder_)
        view_.held = false;
    state_.finished(task);
}

std::size_t RuledPolicy::on_way(std::size_t way, std::span<const std::int32_t> team) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        team, [&](std::int32_t thread) { return static_cast<std::size_t>(thread) / plan_.cores == way; }));
}

} // namespace simsched
