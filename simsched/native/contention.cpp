#include "contention.hpp"

#include "bandwidth.hpp"

#include <algorithm>

namespace simsched {

Contention::Contention(const Sharing &shared, std::size_t n_tasks)
    : shared_(shared), n_domains_(shared.n_domains), crowds_(shared.tiles || shared.cores),
      remembers_(shared.remote && shared.n_domains > 1), threads_on_(shared.n_cores()),
      teams_on_(shared.n_tiles), busy_on_(shared.n_tiles), threads_in_(shared.n_segments),
      threads_before_(shared.n_segments), domains_(shared.n_domains),
      clusters_(shared.bandwidth ? shared.n_clusters() : 0) {
    if (remembers_) {
        fed_.resize(n_tasks * n_domains_);
        n_fed_.resize(n_tasks);
        slot_of_.resize(n_tasks);
    }
}

Contention::Entry Contention::begin(const Decision &decision, double now) {
    const auto slot = free_slot();
    auto &team = teams_[slot];
    team.memory_share = decision.load.memory_share;
    team.overhead_share = decision.load.overhead_share;
    team.rest = 1.0 - team.memory_share - team.overhead_share;
    team.others = static_cast<double>(decision.cores.size() - 1);
    team.stretch = 1.0;
    team.crowd_changed = true;
    place(slot, decision.cores);
    find_data(slot, decision);
    find_clusters(team, decision);
    add_traffic(slot, 1);
    if (crowds_)
        enter(slot);
    return {{now + decision.seconds, decision.task}, slot};
}

void Contention::end(const Entry &entry) {
    add_traffic(entry.slot, -1);
    if (crowds_)
        leave(entry.slot);
    if (remembers_)
        slot_of_[static_cast<std::size_t>(entry.task)] = entry.slot;
    else
        free_.push_back(entry.slot);
}

void Contention::feed(std::int32_t task, std::span<const std::int32_t> followers) {
    if (!remembers_)
        return;
    const auto slot = slot_of_[static_cast<std::size_t>(task)];
    for (const auto follower : followers) {
        const auto f = static_cast<std::size_t>(follower);
        for (std::size_t d = 0; d < n_domains_; ++d)
            fed_[f * n_domains_ + d] += flows_[slot * n_domains_ + d].here;
        ++n_fed_[f];
    }
    free_.push_back(slot);
}

std::size_t Contention::free_slot() {
    if (free_.empty()) {
        teams_.emplace_back();
        shares_.resize(teams_.size() * n_domains_);
        flows_.resize(teams_.size() * n_domains_);
        return teams_.size() - 1;
    }
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
}

void Contention::place(std::size_t slot, std::span<const std::int32_t> threads) {
    const auto n_cores = static_cast<std::int32_t>(shared_.n_cores());
    auto &team = teams_[slot];
    const auto flows = std::span(flows_).subspan(slot * n_domains_, n_domains_);
    team.cores.clear();
    team.tiles.clear();
    team.segments.clear();
    for (auto &flow : flows)
        flow.here = 0.0;
    for (const auto thread : threads) {
        const auto core = static_cast<std::size_t>(thread % n_cores);
        team.cores.push_back(static_cast<std::int32_t>(core));
        team.tiles.push_back(shared_.tile_of[core]);
        team.segments.push_back(shared_.segment_of[core]);
        flows[static_cast<std::size_t>(shared_.domain_of[core])].here += 1.0;
    }
    for (auto &flow : flows)
        flow.here /= static_cast<double>(threads.size());
    for (auto *numbers : {&team.tiles, &team.segments}) {
        std::sort(numbers->begin(), numbers->end());
        numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
    }
}

// The data are where the task's predecessors ran, else with its own team.
void Contention::find_data(std::size_t slot, const Decision &decision) {
    const auto task = static_cast<std::size_t>(decision.task);
    const bool fed = remembers_ && n_fed_[task];
    const auto demand = static_cast<double>(decision.load.demand_Bps);
    const auto bound_Bps = static_cast<double>(bound(decision.load));
    for (std::size_t d = 0; d < n_domains_; ++d) {
        auto &share = shares_[slot * n_domains_ + d];
        auto &flow = flows_[slot * n_domains_ + d];
        const double data = fed ? fed_[task * n_domains_ + d] / static_cast<double>(n_fed_[task]) : flow.here;
        share.local = std::min(data, flow.here);
        share.remote = data - share.local;
        flow.demand_Bps = static_cast<std::int64_t>(demand * data);
        flow.bound_Bps = static_cast<std::int64_t>(bound_Bps * data);
        flow.link_Bps = static_cast<std::int64_t>(demand * share.remote);
        flow.link_bound_Bps = static_cast<std::int64_t>(bound_Bps * share.remote);
    }
}

// All of a team's traffic passes through the clusters of its threads, wherever its data are.
void Contention::find_clusters(Team &team, const Decision &decision) {
    team.parts.clear();
    if (clusters_.empty())
        return;
    std::vector<std::size_t> of_threads;
    for (const auto core : team.cores)
        of_threads.push_back(static_cast<std::size_t>(shared_.cluster_of[static_cast<std::size_t>(core)]));
    std::sort(of_threads.begin(), of_threads.end());
    const auto demand = static_cast<double>(decision.load.demand_Bps);
    const auto bound_Bps = static_cast<double>(bound(decision.load));
    for (auto first = of_threads.begin(); first != of_threads.end();) {
        const auto last = std::upper_bound(first, of_threads.end(), *first);
        const double share = static_cast<double>(last - first) / static_cast<double>(of_threads.size());
        team.parts.push_back({*first, static_cast<std::int64_t>(demand * share),
                              static_cast<std::int64_t>(bound_Bps * share)});
        first = last;
    }
}

void Contention::add_traffic(std::size_t slot, int sign) {
    for (const auto core : teams_[slot].cores)
        threads_in_[static_cast<std::size_t>(shared_.segment_of[static_cast<std::size_t>(core)])] += sign;
    for (std::size_t d = 0; d < n_domains_; ++d) {
        const auto &flow = flows_[slot * n_domains_ + d];
        auto &domain = domains_[d];
        domain.demand_Bps += sign * flow.demand_Bps;
        domain.bound_Bps += sign * flow.bound_Bps;
        domain.out_Bps += sign * flow.link_Bps;
        domain.out_bound_Bps += sign * flow.link_bound_Bps;
    }
    for (const auto &part : teams_[slot].parts) {
        clusters_[part.cluster].demand_Bps += sign * part.demand_Bps;
        clusters_[part.cluster].bound_Bps += sign * part.bound_Bps;
    }
}

void Contention::enter(std::size_t slot) {
    for (const auto core : teams_[slot].cores)
        if (!threads_on_[static_cast<std::size_t>(core)]++)
            ++busy_on_[static_cast<std::size_t>(shared_.tile_of[static_cast<std::size_t>(core)])];
    for (const auto tile : teams_[slot].tiles) {
        auto &teams = teams_on_[static_cast<std::size_t>(tile)];
        for (const auto other : teams)
            teams_[other].crowd_changed = true;
        teams.push_back(slot);
    }
}

void Contention::leave(std::size_t slot) {
    for (const auto core : teams_[slot].cores)
        if (!--threads_on_[static_cast<std::size_t>(core)])
            --busy_on_[static_cast<std::size_t>(shared_.tile_of[static_cast<std::size_t>(core)])];
    for (const auto tile : teams_[slot].tiles) {
        auto &teams = teams_on_[static_cast<std::size_t>(tile)];
        *std::find(teams.begin(), teams.end(), slot) = teams.back();
        teams.pop_back();
        for (const auto other : teams)
            teams_[other].crowd_changed = true;
    }
}

bool Contention::update(std::vector<Entry> &running, double now) {
    bool changed = false;
    each_changed(running, [now, &changed](Entry &entry, double factor) {
        entry.time = now + (entry.time - now) * factor;
        changed = true;
    });
    return changed;
}

// Returns whether any factor has changed.
bool Contention::weigh_domains() {
    bool changed = false;
    for (auto &domain : domains_) {
        double near = 1.0, link = 1.0;
        if (shared_.bandwidth) {
            near = pressure(domain.demand_Bps, domain.bound_Bps, shared_.capacity_Bps);
            link = std::max(near, pressure(domain.out_Bps, domain.out_bound_Bps, shared_.link_Bps));
        }
        const double far = link * shared_.penalty;
        changed |= near != domain.near || far != domain.far;
        domain.near = near;
        domain.link = link;
        domain.far = far;
    }
    return changed;
}

// Returns whether any pressure has changed.
bool Contention::weigh_clusters() {
    bool changed = false;
    for (auto &cluster : clusters_) {
        const double now = pressure(cluster.demand_Bps, cluster.bound_Bps, shared_.cluster_Bps);
        changed |= now != cluster.pressure;
        cluster.pressure = now;
    }
    return changed;
}

// What its cores and tiles do to a team.
void Contention::look_around(Team &team) const {
    if (shared_.cores) {
        std::int64_t threads = 0;
        for (const auto core : team.cores)
            threads = std::max(threads, threads_on_[static_cast<std::size_t>(core)]);
        const auto way = std::min(static_cast<std::size_t>(threads), shared_.compute.size()) - 1;
        team.core = static_cast<double>(threads) / shared_.compute[way];
        team.core_waiting = static_cast<double>(threads) / shared_.waiting[way];
        team.turns = static_cast<double>(threads) / static_cast<double>(way + 1);
    }
    if (shared_.tiles) {
        const auto width = team.cores.size();
        const double slowdown = shared_.tile_slowdowns[std::min(width, shared_.n_threads)];
        const auto crowded = std::count_if(team.cores.begin(), team.cores.end(), [this](std::int32_t core) {
            return busy_on_[static_cast<std::size_t>(shared_.tile_of[static_cast<std::size_t>(core)])] > 1;
        });
        team.tile = 1.0 + (slowdown - 1.0) * (static_cast<double>(crowded) / static_cast<double>(width));
    }
}

double Contention::stretch(std::size_t slot) const {
    const auto &team = teams_[slot];
    const double waiting = std::max({memory_seconds(slot), crowded(team), team.tile});
    return team.rest * team.core + team.memory_share * std::max(team.core_waiting, waiting) +
           team.overhead_share * std::max(team.turns, net(team));
}

// The threads on the interconnects of a team's cores over its own, each besides one.
double Contention::net(const Team &team) const {
    if (!shared_.interconnect || !(team.others > 0))
        return 1.0;
    std::int64_t threads = 0;
    for (const auto segment : team.segments)
        threads += threads_in_[static_cast<std::size_t>(segment)];
    return std::max(1.0, (static_cast<double>(threads) * shared_.interconnect_share - 1.0) / team.others);
}

// How much longer a team's memory traffic takes than alone, were it not for its tiles.
double Contention::memory_seconds(std::size_t slot) const {
    double seconds = 0.0;
    for (std::size_t d = 0; d < n_domains_; ++d) {
        const auto &share = shares_[slot * n_domains_ + d];
        seconds += share.local * domains_[d].near;
        seconds += share.remote * domains_[d].far;
    }
    return seconds;
}

// The pressure on the most crowded of a team's clusters.
double Contention::crowded(const Team &team) const {
    double most = 1.0;
    for (const auto &part : team.parts)
        most = std::max(most, clusters_[part.cluster].pressure);
    return most;
}

Excess Contention::excess(const Entry &entry) const {
    const auto &team = teams_[entry.slot];
    const double m = team.memory_share, o = team.overhead_share, through = net(team);
    const double threads =
        team.rest * (team.core - 1.0) + (team.turns >= through ? o * (team.turns - 1.0) : 0.0);
    const double interconnect = through > team.turns ? o * (through - 1.0) : 0.0;
    const double seconds = memory_seconds(entry.slot), cluster = crowded(team);
    const double waiting = std::max({seconds, cluster, team.tile});
    if (team.core_waiting >= waiting)
        return {threads + m * (team.core_waiting - 1.0), 0.0, 0.0, 0.0, interconnect};
    if (waiting > std::max(seconds, cluster))
        return {threads, 0.0, m * (waiting - 1.0), 0.0, interconnect};
    if (waiting > seconds)
        return {threads, m * (waiting - 1.0), 0.0, 0.0, interconnect};
    double pressed = 0.0, distant = 0.0;
    for (std::size_t d = 0; d < n_domains_; ++d) {
        const auto &share = shares_[entry.slot * n_domains_ + d];
        const auto &domain = domains_[d];
        pressed += (share.local + share.remote * shared_.penalty) * (domain.near - 1.0);
        distant += share.remote * (shared_.penalty - 1.0 + shared_.penalty * (domain.link - domain.near));
    }
    return {threads, m * pressed, 0.0, m * distant, interconnect};
}

} // namespace simsched
