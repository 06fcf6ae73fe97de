#include "candidate_rule.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

void check(const Candidates &in, std::size_t cores, std::size_t ways, std::size_t n) {
    if (in.offered == 0 || in.offered > in.count)
        throw std::invalid_argument("of the candidates at least one, and at most all, count beside others");
    if (in.widths.size() % in.count || in.widths.size() / in.count != n ||
        in.estimates.size() != in.widths.size() || (!in.serial.empty() && in.serial.size() != n))
        throw std::invalid_argument("widths and estimates need one row a task, serial one entry or none");
    if (!in.serial.empty() && ways < 2)
        throw std::invalid_argument("small tasks need second ways");
    const auto widest = in.serial.empty() ? cores * ways : cores;
    for (const auto width : in.widths)
        if (width < 1 || static_cast<std::size_t>(width) > widest)
            throw std::invalid_argument("a candidate width is not one of the machine's");
}

} // namespace

CandidateRule::CandidateRule(const Candidates &candidates, std::size_t cores, std::size_t ways,
                             std::size_t n_tasks)
    : in_((check(candidates, cores, ways, n_tasks), candidates)) {
    glances_.reserve(n_tasks);
    for (std::size_t task = 0; task < n_tasks; ++task)
        glances_.push_back(glance(task));
}

CandidateRule::Glance CandidateRule::glance(std::size_t task) const {
    const auto widths = in_.widths.subspan(task * in_.count, in_.count);
    const auto estimates = in_.estimates.subspan(task * in_.count, in_.count);
    return {estimates.front(), std::ranges::min(estimates.first(in_.offered)), std::ranges::min(widths),
            std::ranges::min(widths.first(in_.offered))};
}

Offer CandidateRule::decide(const RuleView &view) const {
    if (view.ready.empty() || view.n_running >= in_.max_running)
        return {};
    const auto offer = on_cores(view);
    return offer ? offer : on_second_ways(view);
}

Offer CandidateRule::on_cores(const RuleView &view) const {
    // Teams are made of the first way of each core where the second are for small tasks.
    const auto idle = uses_second_ways() ? view.idle_first : view.idle;
    if (!idle)
        return {};
    if (!in_.corun) {
        const auto all = uses_second_ways() ? view.cores : view.threads;
        return idle == all ? first(view) : Offer{};
    }
    const auto offer = view.n_running ? beside(view, idle) : Offer{};
    return offer ? offer : longest(view, idle);
}

// The task that has been ready longest, at its first width; ties to the lower index.
Offer CandidateRule::first(const RuleView &view) const {
    auto best = view.ready.first();
    view.ready.each([&](std::size_t t) {
        if (view.state.ready_s(t) < view.state.ready_s(best))
            best = t;
        return true;
    });
    const auto row = best * in_.count;
    return {static_cast<std::int32_t>(best), in_.widths[row], row};
}

// Of all offers that fit the idle cores and end no later than the last of the running tasks, the one of the
// fewest threads; ties to the lower index.
Offer CandidateRule::beside(const RuleView &view, std::size_t idle) const {
    const double last = view.last_s;
    auto widest = static_cast<std::int32_t>(idle);
    Offer best;
    view.ready.each([&](std::size_t t) {
        const auto &glance = glances_[t];
        if (glance.narrowest_offer > widest || view.now_s + glance.quickest_s > last)
            return true;
        for (std::size_t i = t * in_.count; i < t * in_.count + in_.offered; ++i)
            if (in_.widths[i] <= widest && view.now_s + in_.estimates[i] <= last) {
                best = {static_cast<std::int32_t>(t), in_.widths[i], i};
                widest = best.width - 1;
            }
        return widest > 0;
    });
    return best;
}

// The ready task that takes longest of those with a width that fits, at the first of these; ties to the lower
// index.
Offer CandidateRule::longest(const RuleView &view, std::size_t idle_threads) const {
    const auto idle = static_cast<std::int32_t>(idle_threads);
    std::int32_t best = -1;
    double longest_s = 0;
    view.ready.each([&](std::size_t t) {
        const auto &glance = glances_[t];
        if (glance.narrowest <= idle && (best < 0 || glance.own_s > longest_s)) {
            best = static_cast<std::int32_t>(t);
            longest_s = glance.own_s;
        }
        return true;
    });
    if (best < 0)
        return {};
    auto i = static_cast<std::size_t>(best) * in_.count;
    while (in_.widths[i] > idle)
        ++i;
    return {best, in_.widths[i], i};
}

// Beside a task that holds all cores the one of the least serial seconds, at its first width that fits the
// second ways and ends no later; ties to the lower index.
Offer CandidateRule::on_second_ways(const RuleView &view) const {
    Offer best;
    if (!uses_second_ways() || !view.held)
        return best;
    const auto idle = static_cast<std::int32_t>(view.idle_second);
    view.ready.each([&](std::size_t t) {
        if (best && in_.serial[t] >= in_.serial[static_cast<std::size_t>(best.task)])
            return true;
        if (glances_[t].narrowest_offer > idle || view.now_s + glances_[t].quickest_s > view.holder_s)
            return true;
        for (std::size_t i = t * in_.count; i < t * in_.count + in_.offered; ++i)
            if (in_.widths[i] <= idle && view.now_s + in_.estimates[i] <= view.holder_s) {
                best = {static_cast<std::int32_t>(t), in_.widths[i], i};
                break;
            }
        return true;
    });
    return best;
}

} // namespace simsched
