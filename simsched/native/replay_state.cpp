#include "replay_state.hpp"

#include <algorithm>
#include <stdexcept>

namespace simsched {

namespace {

constexpr std::size_t max_cores = std::size_t{1} << 20, max_ways = 64;

} // namespace

IdleThreads::IdleThreads(std::size_t cores, std::size_t per_tile, std::size_t ways)
    : all_(cores * ways, true), cores_(cores) {
    if (per_tile > 1)
        ways_.assign(ways, Cores(cores, per_tile));
}

void IdleThreads::take(std::size_t width, std::vector<std::int32_t> &team) {
    if (ways_.empty()) {
        for (std::size_t thread = 0; width--; ++thread) {
            thread = all_.set().next(thread);
            team.push_back(static_cast<std::int32_t>(thread));
        }
    }
    for (std::size_t way = 0; way < ways_.size() && width; ++way) {
        const auto part = std::min(width, ways_[way].idle()), first = team.size();
        ways_[way].take(part, team);
        for (auto i = first; i < team.size(); ++i)
            team[i] += static_cast<std::int32_t>(way * cores_);
        width -= part;
    }
    for (const auto thread : team)
        all_.erase(static_cast<std::size_t>(thread));
}

void IdleThreads::take(std::span<const std::int32_t> team) {
    for (const auto thread : team) {
        all_.erase(static_cast<std::size_t>(thread));
        if (!ways_.empty())
            ways_[static_cast<std::size_t>(thread) / cores_].take(thread % static_cast<std::int32_t>(cores_));
    }
}

void IdleThreads::give_back(std::span<const std::int32_t> team) {
    for (const auto thread : team) {
        all_.insert(static_cast<std::size_t>(thread));
        if (!ways_.empty())
            ways_[static_cast<std::size_t>(thread) / cores_].give_back(thread %
                                                                       static_cast<std::int32_t>(cores_));
    }
}

namespace {

std::size_t checked_threads(std::size_t n, std::size_t cores, std::size_t per_tile, std::size_t ways) {
    if (cores == 0 || cores > max_cores || ways == 0 || ways > max_ways)
        throw std::invalid_argument("cores are 1 to 2^20, of 1 to 64 ways");
    if (per_tile == 0 || cores % per_tile)
        throw std::invalid_argument("cores are whole tiles");
    if (n > INT32_MAX)
        throw std::invalid_argument("there are too many tasks");
    return cores * ways;
}

} // namespace

ReplayState::ReplayState(std::size_t n, std::size_t cores, std::size_t per_tile, std::size_t ways,
                         const Runtime &runtime)
    : runtime_(runtime), ready_((checked_threads(n, cores, per_tile, ways), n)), idle_(cores, per_tile, ways),
      ready_s_(n, never), finished_s_(n, never), lane_of_(n), lanes_(cores * ways), free_lanes_(lanes_, true),
      runs_(lanes_), before_(lanes_ + 1, lanes_), after_(lanes_ + 1, lanes_), last_width_(lanes_),
      row_of_single_(lanes_, -1) {}

void ReplayState::release(std::span<const std::int32_t> tasks, double now) {
    for (const auto task : tasks) {
        ready_.insert(static_cast<std::size_t>(task));
        ready_s_[static_cast<std::size_t>(task)] = now;
    }
}

void ReplayState::finished(std::int32_t task) {
    const auto t = static_cast<std::size_t>(task);
    const auto lane = lane_of_[t];
    idle_.give_back(team(runs_[lane].team));
    free_lanes_.insert(lane);
    finished_s_[t] = runs_[lane].finish_s;
    after_[before_[lane]] = after_[lane];
    before_[after_[lane]] = before_[lane];
}

void ReplayState::take(std::int32_t task, std::size_t width) {
    task_ = task;
    ready_.erase(static_cast<std::size_t>(task));
    team_.clear();
    idle_.take(width, team_);
}

void ReplayState::take(std::int32_t task, std::span<const std::int32_t> team) {
    task_ = task;
    ready_.erase(static_cast<std::size_t>(task));
    team_.assign(team.begin(), team.end());
    idle_.take(team_);
}

double ReplayState::start(double now, double estimate_s, double seconds, Decision &decision) {
    const auto resized_s = resize_s();
    const auto lane = free_lanes_.take_first();
    lane_of_[static_cast<std::size_t>(task_)] = lane;
    decision.task = task_;
    decision.team = row();
    decision.executor = static_cast<std::int32_t>(lane);
    decision.seconds = seconds + resized_s;
    decision.delay_s =
        runtime_.delay_s + runtime_.per_poller_s * static_cast<double>(idle_.all().set().size());
    decision.cores = team(decision.team);
    runs_[lane] = {task_, decision.team, now + decision.delay_s + (estimate_s + resized_s)};
    before_[lane] = before_[lanes_];
    after_[lane] = lanes_;
    after_[before_[lane]] = before_[lanes_] = lane;
    return runs_[lane].finish_s;
}

// What the team pays because one of its threads last ran in a team of another size.
double ReplayState::resize_s() {
    const auto width = static_cast<std::int32_t>(team_.size());
    bool changed = false;
    for (const auto thread : team_) {
        auto &last = last_width_[static_cast<std::size_t>(thread)];
        changed |= last != 0 && last != width;
        last = width;
    }
    return changed ? runtime_.resize_s + runtime_.resize_per_thread_s * static_cast<double>(width) : 0.0;
}

// The row of the team of the task that was taken last.
std::int32_t ReplayState::row() {
    auto *single = team_.size() == 1 ? &row_of_single_[static_cast<std::size_t>(team_.front())] : nullptr;
    if (single && *single >= 0)
        return *single;
    const auto [place, fresh] = rows_.try_emplace(team_, static_cast<std::int32_t>(teams_.size()));
    if (fresh)
        teams_.push_back(&place->first);
    if (single)
        *single = place->second;
    return place->second;
}

std::pair<std::vector<std::int64_t>, std::vector<std::int32_t>> ReplayState::teams() const {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> cores;
    for (const auto *team : teams_) {
        cores.insert(cores.end(), team->begin(), team->end());
        indptr.push_back(static_cast<std::int64_t>(cores.size()));
    }
    return {indptr, cores};
}

} // namespace simsched
