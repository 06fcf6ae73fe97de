#include "corun.hpp"

#include "checks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>

namespace simsched {

namespace {

constexpr std::size_t max_cores = std::size_t{1} << 20;

void check(const CorunInput &in, std::size_t n) {
    if (in.cores > max_cores || in.ways > 64)
        throw std::invalid_argument("more cores than 2^20, or ways than 64");
    if (in.cores == 0 || in.ways == 0 || in.cores_per_tile == 0 || in.cores % in.cores_per_tile ||
        in.candidates == 0 || in.most == 0)
        throw std::invalid_argument("cores are whole tiles; at least one core, candidate and task at once");
    if (in.offered == 0 || in.offered > in.candidates)
        throw std::invalid_argument("of the candidates at least one, and at most all, count beside others");
    if (in.widths.size() % in.candidates || in.widths.size() / in.candidates != n ||
        in.estimates.size() != in.widths.size() || in.seconds.size() != in.widths.size() ||
        (!in.noise.empty() && in.noise.size() != n) || (!in.serial.empty() && in.serial.size() != n))
        throw std::invalid_argument(
            "widths and seconds need one row a task, noise and serial one entry or none");
    if (!in.serial.empty() && in.ways < 2)
        throw std::invalid_argument("small tasks need second ways");
    const auto widest = in.serial.empty() ? in.cores * in.ways : in.cores;
    for (const auto width : in.widths)
        if (width < 1 || static_cast<std::size_t>(width) > widest)
            throw std::invalid_argument("a candidate width is not one of the machine's");
    check_seconds(in.estimates);
    check_seconds(in.seconds);
    check_seconds(in.noise);
    check_seconds(in.serial);
}

} // namespace

Corun::Corun(const CorunInput &input, std::size_t n)
    : in_((check(input, n), input)), ready_(n), lanes_(input.cores * input.ways, true),
      ways_(input.ways, Cores(input.cores, input.cores_per_tile)), runs_(n), ready_at_(n), lane_of_(n),
      team_of_(n), last_width_(input.cores * input.ways) {
    glances_.reserve(n);
    for (std::size_t task = 0; task < n; ++task)
        glances_.push_back(glance(task));
}

Corun::Glance Corun::glance(std::size_t task) const {
    const auto widths = in_.widths.subspan(task * in_.candidates, in_.candidates);
    const auto estimates = in_.estimates.subspan(task * in_.candidates, in_.candidates);
    return {estimates.front(), std::ranges::min(estimates.first(in_.offered)), std::ranges::min(widths),
            std::ranges::min(widths.first(in_.offered))};
}

void Corun::release(std::span<const std::int32_t> tasks, double now) {
    for (const auto task : tasks) {
        ready_.insert(static_cast<std::size_t>(task));
        ready_at_[static_cast<std::size_t>(task)] = now;
    }
}

void Corun::finished(std::int32_t task) {
    const auto t = static_cast<std::size_t>(task);
    for (const auto thread : *teams_[static_cast<std::size_t>(team_of_[t])]) {
        const auto [way, core] = std::div(thread, static_cast<std::int32_t>(in_.cores));
        ways_[static_cast<std::size_t>(way)].give_back(core);
    }
    lanes_.insert(static_cast<std::size_t>(lane_of_[t]));
    runs_[t] = 0;
    --n_running_;
    if (task == holder_)
        holder_ = -1;
}

bool Corun::next(double now, Decision &decision) {
    if (ready_.empty() || n_running_ >= in_.most)
        return false;
    auto offer = on_cores(now);
    if (offer.task < 0)
        offer = on_second_ways(now);
    if (offer.task < 0)
        return false;
    const auto t = static_cast<std::size_t>(offer.task);
    ready_.erase(t);
    take(static_cast<std::size_t>(offer.width));
    const double resized = resize(team_);
    const double seconds = in_.seconds[offer.row], estimate = seconds + resized;
    decision.task = offer.task;
    decision.team = team_of_[t] = interned(team_);
    decision.executor = lane_of_[t] = static_cast<std::int32_t>(lanes_.take_first());
    decision.seconds = in_.noise.empty() ? estimate : seconds * in_.noise[t] + resized;
    decision.delay_s = in_.dispatch_s;
    in_.loads.copy_to(offer.row, decision);
    decision.cores = *teams_[static_cast<std::size_t>(decision.team)];
    const double end = now + in_.dispatch_s + estimate;
    ends_.emplace(end, offer.task);
    if (smt() && team_.size() == in_.cores && team_.front() == 0) {
        holder_ = offer.task;
        holder_end_ = end;
    }
    runs_[t] = 1;
    ++n_running_;
    return true;
}

// Threads of which teams are made: the first of each core where the second are for small tasks.
std::size_t Corun::idle() const {
    if (smt())
        return ways_.front().idle();
    std::size_t threads = 0;
    for (const auto &way : ways_)
        threads += way.idle();
    return threads;
}

// One way of the cores after the other.
void Corun::take(std::size_t width) {
    team_.clear();
    for (std::size_t way = 0; width; ++way) {
        const auto part = std::min(width, ways_[way].idle());
        const auto first = team_.size();
        ways_[way].take(part, team_);
        for (auto thread = team_.begin() + static_cast<std::ptrdiff_t>(first); thread != team_.end();
             ++thread)
            *thread += static_cast<std::int32_t>(way * in_.cores);
        width -= part;
    }
}

Corun::Offer Corun::on_cores(double now) {
    if (!idle())
        return {};
    if (!in_.beside)
        return idle() == pool() ? first() : Offer{};
    Offer offer;
    if (n_running_)
        offer = beside(now);
    return offer.task < 0 ? longest() : offer;
}

// The task that has been ready longest, at its first width; ties to the lower index.
Corun::Offer Corun::first() const {
    auto best = ready_.first();
    ready_.each([&](std::size_t t) {
        if (ready_at_[t] < ready_at_[best])
            best = t;
        return true;
    });
    const auto row = best * in_.candidates;
    return {static_cast<std::int32_t>(best), in_.widths[row], row};
}

// Of all offers that fit the idle cores and end no later than the last of the running tasks, the one of the
// fewest threads; ties to the lower index.
Corun::Offer Corun::beside(double now) {
    while (!runs_[static_cast<std::size_t>(ends_.top().second)])
        ends_.pop();
    const double last = ends_.top().first;
    auto widest = static_cast<std::int32_t>(this->idle());
    Offer best;
    ready_.each([&](std::size_t t) {
        const auto &glance = glances_[t];
        if (glance.narrowest_offer > widest || now + glance.quickest_s > last)
            return true;
        for (std::size_t i = t * in_.candidates; i < t * in_.candidates + in_.offered; ++i)
            if (in_.widths[i] <= widest && now + in_.estimates[i] <= last) {
                best = {static_cast<std::int32_t>(t), in_.widths[i], i};
                widest = best.width - 1;
            }
        return widest > 0;
    });
    return best;
}

// The ready task that takes longest of those with a width that fits, at the fastest of these; ties to the
// lower index.
Corun::Offer Corun::longest() const {
    const auto idle = static_cast<std::int32_t>(this->idle());
    std::int32_t best = -1;
    double longest_s = 0;
    ready_.each([&](std::size_t t) {
        const auto &glance = glances_[t];
        if (glance.narrowest <= idle && (best < 0 || glance.own_s > longest_s)) {
            best = static_cast<std::int32_t>(t);
            longest_s = glance.own_s;
        }
        return true;
    });
    if (best < 0)
        return {};
    auto i = static_cast<std::size_t>(best) * in_.candidates;
    while (in_.widths[i] > idle)
        ++i;
    return {best, in_.widths[i], i};
}

// Beside a task that holds all cores the one of the least serial seconds, at its first width that fits the
// second ways and ends no later; ties to the lower index.
Corun::Offer Corun::on_second_ways(double now) const {
    Offer best;
    if (holder_ < 0)
        return best;
    const auto idle = static_cast<std::int32_t>(ways_[1].idle());
    ready_.each([&](std::size_t t) {
        if (best.task >= 0 && in_.serial[t] >= in_.serial[static_cast<std::size_t>(best.task)])
            return true;
        if (glances_[t].narrowest_offer > idle || now + glances_[t].quickest_s > holder_end_)
            return true;
        for (std::size_t i = t * in_.candidates; i < t * in_.candidates + in_.offered; ++i)
            if (in_.widths[i] <= idle && now + in_.estimates[i] <= holder_end_) {
                best = {static_cast<std::int32_t>(t), in_.widths[i], i};
                break;
            }
        return true;
    });
    return best;
}

double Corun::resize(const std::vector<std::int32_t> &team) {
    const auto width = static_cast<std::int32_t>(team.size());
    bool changed = false;
    for (const auto core : team) {
        auto &last = last_width_[static_cast<std::size_t>(core)];
        changed |= last != 0 && last != width;
        last = width;
    }
    return changed ? in_.resize_s + in_.resize_per_thread_s * static_cast<double>(width) : 0.0;
}

std::int32_t Corun::interned(const std::vector<std::int32_t> &team) {
    const auto [place, fresh] = ids_.try_emplace(team, static_cast<std::int32_t>(teams_.size()));
    if (fresh)
        teams_.push_back(&place->first);
    return place->second;
}

std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> Corun::teams() const {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> cores;
    for (const auto *team : teams_) {
        cores.insert(cores.end(), team->begin(), team->end());
        indptr.push_back(static_cast<std::int64_t>(cores.size()));
    }
    return {indptr, cores};
}

} // namespace simsched
