#include "contention.hpp"

#include "bandwidth.hpp"

#include <algorithm>

namespace simsched {

namespace {

// The throughput of a core with a mean number of threads, 1 or more, on the line between whole ones.
double between(const std::vector<double> &throughput, double threads) {
    const auto most = throughput.size();
    const auto whole = threads < static_cast<double>(most) ? static_cast<std::size_t>(threads) : most;
    if (whole == most)
        return throughput.back();
    const double above = threads - static_cast<double>(whole);
    return throughput[whole - 1] + above * (throughput[whole] - throughput[whole - 1]);
}

} // namespace

Contention::Contention(const Sharing &shared, std::size_t n_tasks)
    : shared_(shared), n_domains_(shared.n_domains), crowds_(shared.tiles || shared.cores || shared.fair),
      remembers_(shared.remote && shared.n_domains > 1), local_(shared.n_domains), remote_(shared.n_domains),
      threads_on_(shared.n_cores()), teams_on_(shared.n_tiles), busy_on_(shared.n_tiles),
      threads_in_(shared.n_segments), threads_before_(shared.n_segments), domains_(shared.n_domains),
      clusters_(shared.bandwidth ? shared.n_clusters() : 0) {
    if (remembers_) {
        fed_.resize(n_tasks * n_domains_);
        n_fed_.resize(n_tasks);
        slot_of_.resize(n_tasks);
    }
}

std::size_t Contention::begin(const Decision &decision, double now) {
    const auto slot = running_.begin(now + decision.seconds, decision.task);
    if (slot == teams_.size()) {
        teams_.emplace_back();
        columns_.resize(teams_.size());
        for (auto *shares : {&local_, &remote_})
            for (auto &of_domain : *shares)
                of_domain.resize(teams_.size());
        flows_.resize(teams_.size() * n_domains_);
    }
    const auto &load = decision.load;
    auto &team = teams_[slot];
    columns_.memory_share[slot] = load.memory_share;
    team.overhead_share = load.overhead_share;
    team.core_share = load.core_share;
    team.rest = 1.0 - load.memory_share - load.overhead_share;
    team.others = static_cast<double>(decision.cores.size() - 1);
    n_wide_ += team.others > 0;
    crowd(slot);
    place(slot, decision.cores);
    find_data(slot, decision);
    find_clusters(team, decision);
    add_traffic(slot, 1);
    if (crowds_)
        enter(slot);
    return slot;
}

bool Contention::end(double now, std::int32_t &task) {
    std::size_t slot;
    if (!running_.due(now, slot))
        return false;
    task = running_.task(slot);
    end(slot);
    return true;
}

void Contention::end(std::size_t slot) {
    take_out(slot);
    running_.end(slot);
    if (remembers_)
        slot_of_[static_cast<std::size_t>(running_.task(slot))] = slot;
    else
        running_.release(slot);
}

void Contention::abort(std::int32_t task) { abort(running_.slot(task)); }

void Contention::abort(std::size_t slot) {
    take_out(slot);
    running_.abort(slot);
}

// What its team asked for is nobody's any more.
void Contention::take_out(std::size_t slot) {
    n_wide_ -= teams_[slot].others > 0;
    add_traffic(slot, -1);
    if (crowds_)
        leave(slot);
    columns_.clear(slot);
    for (auto *shares : {&local_, &remote_})
        for (auto &of_domain : *shares)
            of_domain[slot] = 0.0;
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
    running_.release(slot);
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
        if (numbers->size() == 1)
            continue;
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
        double &local = local_[d][slot], &remote = remote_[d][slot];
        auto &flow = flows_[slot * n_domains_ + d];
        const double data = fed ? fed_[task * n_domains_ + d] / static_cast<double>(n_fed_[task]) : flow.here;
        local = std::min(data, flow.here);
        remote = data - local;
        flow.demand_Bps = static_cast<std::int64_t>(demand * data);
        flow.bound_Bps = static_cast<std::int64_t>(bound_Bps * data);
        flow.link_Bps = static_cast<std::int64_t>(demand * remote);
        flow.link_bound_Bps = static_cast<std::int64_t>(bound_Bps * remote);
    }
}

// All of a team's traffic passes through the clusters of its threads, wherever its data are.
void Contention::find_clusters(Team &team, const Decision &decision) {
    team.parts.clear();
    if (clusters_.empty())
        return;
    auto &of_threads = clusters_of_threads_;
    of_threads.clear();
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
    traffic_changed_ = true;
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
    n_running_threads_ += static_cast<std::int64_t>(teams_[slot].cores.size());
    crowd_all();
    bool shares_cores = false;
    for (const auto core : teams_[slot].cores)
        if (threads_on_[static_cast<std::size_t>(core)]++)
            shares_cores = true;
        else
            ++busy_on_[static_cast<std::size_t>(shared_.tile_of[static_cast<std::size_t>(core)])];
    for (const auto tile : teams_[slot].tiles) {
        auto &teams = teams_on_[static_cast<std::size_t>(tile)];
        crowd(teams, shares_cores);
        teams.push_back(slot);
    }
}

void Contention::leave(std::size_t slot) {
    n_running_threads_ -= static_cast<std::int64_t>(teams_[slot].cores.size());
    crowd_all();
    bool shares_cores = false;
    for (const auto core : teams_[slot].cores)
        if (--threads_on_[static_cast<std::size_t>(core)])
            shares_cores = true;
        else
            --busy_on_[static_cast<std::size_t>(shared_.tile_of[static_cast<std::size_t>(core)])];
    for (const auto tile : teams_[slot].tiles) {
        auto &teams = teams_on_[static_cast<std::size_t>(tile)];
        *std::find(teams.begin(), teams.end(), slot) = teams.back();
        teams.pop_back();
        crowd(teams, shares_cores);
    }
}

// Tiles alone slow down nothing but what waits for memory.
void Contention::crowd(const std::vector<std::size_t> &teams, bool shares_cores) {
    for (const auto slot : teams)
        if (shares_cores || columns_.memory_share[slot] != 0)
            crowd(slot);
}

void Contention::crowd(std::size_t slot) {
    if (!teams_[slot].crowd_changed)
        crowd_changed_.push_back(slot);
    teams_[slot].crowd_changed = true;
}

// Where shares are fair, who comes or goes changes them for all.
void Contention::crowd_all() {
    if (!shared_.fair)
        return;
    for (std::size_t slot = 0; slot < teams_.size(); ++slot)
        if (running_.has(slot))
            crowd(slot);
}

void Contention::update(double now) {
    const auto changes = weigh();
    if (!changes.memory && !changes.net && crowd_changed_.empty())
        return;
    const auto times = running_.times();
    if (changes.memory)
        weigh_memory(0, times.size());
    if ((changes.memory && !clusters_.empty()) || changes.net)
        for (std::size_t slot = 0; slot < times.size(); ++slot)
            if (running_.has(slot))
                settle(slot);
    for (const auto slot : crowd_changed_) {
        teams_[slot].crowd_changed = false;
        if (!running_.has(slot))
            continue;
        look_around(teams_[slot]);
        weigh_memory(slot, slot + 1);
        settle(slot);
    }
    bool changed = changes.memory || changes.net;
    if (changed)
        columns_.retime(times, 0, times.size(), now);
    else
        for (const auto slot : crowd_changed_)
            changed |= columns_.retime(times, slot, now);
    crowd_changed_.clear();
    if (changed)
        running_.changed();
}

Contention::Changes Contention::weigh() {
    if (!traffic_changed_)
        return {false, false};
    traffic_changed_ = false;
    const bool domains_changed = weigh_domains(), memory_changed = weigh_clusters() || domains_changed;
    // Interconnects slow down only teams of several threads.
    const bool net_changed = shared_.interconnect && n_wide_ && threads_in_ != threads_before_;
    if (net_changed)
        threads_before_ = threads_in_;
    return {memory_changed, net_changed};
}

// How much longer memory traffic of some slots takes, were it not for tiles and clusters.
void Contention::weigh_memory(std::size_t first, std::size_t last) {
    const auto memory = std::span(columns_.memory).subspan(first, last - first);
    std::fill(memory.begin(), memory.end(), n_domains_ == 1 ? domains_[0].near : 0.0);
    // All data are in a single domain.
    for (std::size_t d = 0; n_domains_ > 1 && d < n_domains_; ++d)
        columns_.add_memory(local_[d], remote_[d], domains_[d].near, domains_[d].far, first, last);
}

// What clusters and interconnects add, and what all of it makes of the parts of a task's seconds.
void Contention::settle(std::size_t slot) {
    auto &team = teams_[slot];
    team.cluster = crowded(team);
    team.net = net(team);
    columns_.work[slot] = team.rest * team.core;
    columns_.around[slot] = std::max({team.core_waiting, team.cluster, team.tile});
    columns_.overhead[slot] = team.overhead_share * std::max(team.turns, team.net);
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
void Contention::look_around(Team &team) {
    if (shared_.fair) {
        share_fairly(team);
    } else if (shared_.cores) {
        std::int64_t threads = 0;
        for (const auto core : team.cores)
            threads = std::max(threads, threads_on_[static_cast<std::size_t>(core)]);
        const auto way = std::min(static_cast<std::size_t>(threads), shared_.compute.size()) - 1;
        team.core = static_cast<double>(threads) / shared_.compute[way];
        const double waiting = static_cast<double>(threads) / shared_.waiting[way];
        team.core_waiting = std::max(1.0, team.core_share * waiting);
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

void Contention::share_fairly(Team &team) const {
    const double each = static_cast<double>(n_running_threads_) / static_cast<double>(shared_.n_cores());
    const auto ways = static_cast<double>(shared_.compute.size());
    const bool alone = each <= 1.0;
    team.core = alone ? 1.0 : each / between(shared_.compute, each);
    const double waiting = alone ? 1.0 : each / between(shared_.waiting, each);
    team.core_waiting = std::max(1.0, team.core_share * waiting);
    team.turns = alone ? 1.0 : each / std::min(each, ways);
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

// The pressure on the most crowded of a team's clusters.
double Contention::crowded(const Team &team) const {
    double most = 1.0;
    for (const auto &part : team.parts)
        most = std::max(most, clusters_[part.cluster].pressure);
    return most;
}

Excess Contention::excess(std::size_t slot) const {
    const auto &team = teams_[slot];
    const double m = columns_.memory_share[slot], o = team.overhead_share, through = team.net;
    const double seconds = columns_.memory[slot], cluster = team.cluster;
    const double threads =
        team.rest * (team.core - 1.0) + (team.turns >= through ? o * (team.turns - 1.0) : 0.0);
    const double interconnect = through > team.turns ? o * (through - 1.0) : 0.0;
    const double waiting = std::max({seconds, cluster, team.tile});
    if (team.core_waiting >= waiting)
        return {threads + m * (team.core_waiting - 1.0), 0.0, 0.0, 0.0, interconnect};
    if (waiting > std::max(seconds, cluster))
        return {threads, 0.0, m * (waiting - 1.0), 0.0, interconnect};
    if (waiting > seconds)
        return {threads, m * (waiting - 1.0), 0.0, 0.0, interconnect};
    double pressed = 0.0, distant = 0.0;
    for (std::size_t d = 0; d < n_domains_; ++d) {
        const double local = local_[d][slot], remote = remote_[d][slot];
        const auto &domain = domains_[d];
        pressed += (local + remote * shared_.penalty) * (domain.near - 1.0);
        distant += remote * (shared_.penalty - 1.0 + shared_.penalty * (domain.link - domain.near));
    }
    return {threads, m * pressed, 0.0, m * distant, interconnect};
}

} // namespace simsched
