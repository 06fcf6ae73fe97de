#include "contention.hpp"

#include <algorithm>

namespace simsched {

Contention::Contention(const Sharing &shared, std::size_t n_tasks)
    : shared_(shared), threads_on_(shared.n_cores()), teams_on_(shared.n_tiles),
      demand_Bps_(shared.n_domains), out_Bps_(shared.n_domains) {
    if (shared.remote) {
        fed_.resize(n_tasks * shared.n_domains);
        made_.resize(n_tasks * shared.n_domains);
        n_fed_.resize(n_tasks);
    }
}

Contention::Entry Contention::begin(const Decision &decision, double now) {
    const auto slot = free_slot();
    auto &team = teams_[slot];
    place(team, decision.cores);
    team.load = decision.load;
    team.stretch = 1.0;
    find_data(team, decision.task);
    const auto demand = static_cast<double>(decision.load.demand_Bps);
    for (std::size_t d = 0; d < shared_.n_domains; ++d) {
        team.local[d] = std::min(team.data[d], team.here[d]);
        team.remote[d] = team.data[d] - team.local[d];
        team.demand_Bps[d] = static_cast<std::int64_t>(demand * team.data[d]);
        team.link_Bps[d] = static_cast<std::int64_t>(demand * team.remote[d]);
    }
    add(team, 1);
    return {{now + decision.seconds, decision.task}, slot};
}

std::size_t Contention::free_slot() {
    if (free_.empty()) {
        const auto domains = shared_.n_domains;
        auto &team = teams_.emplace_back();
        for (auto *shares : {&team.here, &team.data, &team.local, &team.remote})
            shares->resize(domains);
        team.demand_Bps.resize(domains);
        team.link_Bps.resize(domains);
        return teams_.size() - 1;
    }
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
}

void Contention::place(Team &team, std::span<const std::int32_t> threads) const {
    const auto n_cores = static_cast<std::int32_t>(shared_.n_cores());
    team.cores.clear();
    team.tiles.clear();
    std::fill(team.here.begin(), team.here.end(), 0.0);
    for (const auto thread : threads) {
        const auto core = static_cast<std::size_t>(thread % n_cores);
        team.cores.push_back(static_cast<std::int32_t>(core));
        team.tiles.push_back(shared_.tile_of[core]);
        team.here[static_cast<std::size_t>(shared_.domain_of[core])] += 1.0;
    }
    for (auto &share : team.here)
        share /= static_cast<double>(threads.size());
    std::sort(team.tiles.begin(), team.tiles.end());
    team.tiles.erase(std::unique(team.tiles.begin(), team.tiles.end()), team.tiles.end());
}

// Where the task's predecessors ran, else with its own team.
void Contention::find_data(Team &team, std::int32_t task) const {
    team.data = team.here;
    const auto t = static_cast<std::size_t>(task);
    if (!shared_.remote || !n_fed_[t])
        return;
    for (std::size_t d = 0; d < shared_.n_domains; ++d)
        team.data[d] = fed_[t * shared_.n_domains + d] / static_cast<double>(n_fed_[t]);
}

void Contention::end(const Entry &entry) {
    const auto &team = teams_[entry.slot];
    add(team, -1);
    if (shared_.remote)
        std::copy(team.here.begin(), team.here.end(),
                  made_.begin() + static_cast<std::ptrdiff_t>(entry.task) *
                                      static_cast<std::ptrdiff_t>(shared_.n_domains));
    free_.push_back(entry.slot);
}

void Contention::feed(std::int32_t task, std::span<const std::int32_t> followers) {
    if (!shared_.remote)
        return;
    const auto domains = shared_.n_domains;
    for (const auto follower : followers) {
        const auto f = static_cast<std::size_t>(follower);
        for (std::size_t d = 0; d < domains; ++d)
            fed_[f * domains + d] += made_[static_cast<std::size_t>(task) * domains + d];
        ++n_fed_[f];
    }
}

void Contention::add(const Team &team, int sign) {
    for (const auto core : team.cores)
        threads_on_[static_cast<std::size_t>(core)] += sign;
    for (const auto tile : team.tiles)
        teams_on_[static_cast<std::size_t>(tile)] += sign;
    threads_ += sign * static_cast<std::int64_t>(team.cores.size());
    for (std::size_t d = 0; d < shared_.n_domains; ++d) {
        demand_Bps_[d] += sign * team.demand_Bps[d];
        out_Bps_[d] += sign * team.link_Bps[d];
    }
}

bool Contention::update(std::vector<Entry> &running, double now) {
    bool changed = false;
    for (auto &entry : running) {
        auto &team = teams_[entry.slot];
        const double now_stretched = stretch(team);
        if (now_stretched == team.stretch)
            continue;
        entry.time = now + (entry.time - now) * (now_stretched / team.stretch);
        team.stretch = now_stretched;
        changed = true;
    }
    return changed;
}

double Contention::stretch(const Team &team) const {
    double core = 1.0, core_waiting = 1.0, net = 1.0;
    if (shared_.cores) {
        std::int64_t threads = 0;
        for (const auto c : team.cores)
            threads = std::max(threads, threads_on_[static_cast<std::size_t>(c)]);
        const auto way = std::min(static_cast<std::size_t>(threads), shared_.compute.size()) - 1;
        core = static_cast<double>(threads) / shared_.compute[way];
        core_waiting = static_cast<double>(threads) / shared_.waiting[way];
    }
    if (shared_.interconnect && team.cores.size() > 1)
        net = static_cast<double>(threads_ - 1) / static_cast<double>(team.cores.size() - 1);
    const double m = team.load.memory_share, o = team.load.overhead_share;
    return (1.0 - m - o) * core + m * std::max(core_waiting, waiting(team)) + o * std::max(core, net);
}

// How much longer a team's memory traffic takes than alone.
double Contention::waiting(const Team &team) const {
    double seconds = 0.0;
    for (std::size_t d = 0; d < shared_.n_domains; ++d) {
        double pressure = 1.0, link = 1.0;
        if (shared_.bandwidth) {
            pressure = std::max(1.0, static_cast<double>(demand_Bps_[d]) / shared_.capacity_Bps);
            link = std::max(pressure, static_cast<double>(out_Bps_[d]) / shared_.link_Bps);
        }
        seconds += team.local[d] * pressure;
        seconds += team.remote[d] * (link * shared_.penalty);
    }
    if (!shared_.tiles)
        return seconds;
    std::int64_t shared = 0;
    for (const auto tile : team.tiles)
        shared += teams_on_[static_cast<std::size_t>(tile)] > 1;
    return seconds * (1.0 + (shared_.tile_slowdown - 1.0) *
                                (static_cast<double>(shared) / static_cast<double>(team.tiles.size())));
}

} // namespace simsched
