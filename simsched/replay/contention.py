"""What running tasks do to each other: domains, tiles, cores, the interconnect, remote memory (rule 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from simsched.replay.bandwidth import bound, pressure

if TYPE_CHECKING:
    from simsched.machine import Machine
    from simsched.replay.decision import Decision


@dataclass(slots=True)
class _Team:
    """A running task: its threads' cores, what it asks for, where its data are, and its slow-down."""

    cores: Sequence[int]
    segments: Sequence[int]
    memory_share: float
    overhead_share: float
    local: Sequence[float]  # share of its traffic within each domain
    remote: Sequence[float]  # share of its traffic that comes from each domain to another
    demand_Bps: Sequence[int]  # on the memory of each domain
    bound_Bps: Sequence[int]  # the same times the memory share
    link_Bps: Sequence[int]  # on what leaves each domain
    link_bound_Bps: Sequence[int]
    here: list[float]  # share of its threads in each domain
    clusters: Sequence[int]  # of its threads, where clusters have a limit
    cluster_Bps: Sequence[int]  # on the way of each of these to memory
    cluster_bound_Bps: Sequence[int]
    slowdown: float = 1.0


class Contention:
    """Everything that running tasks share.

    A task that alone takes c seconds takes S c, with m its memory share and o its overhead share,

        S = (1 - m - o) core + m max(core', memory) + o max(turns, net)

    core and core' are the threads on the most loaded core of its team over the throughput of a core with that many,
    in computing and in waiting for memory; turns are those threads over the core's ways, where they are more;
    memory is the pressure on the domains that its data are in, remote traffic weighing its penalty more, or what
    its clusters or tiles let through where that is less; net is the number of threads besides one that run on the
    interconnects of its cores over those of its own team besides one. Each is 1 where its switch is off.

    Parameters
    ----------
    machine : Machine
    """

    def __init__(self, machine: Machine) -> None:
        structure, memory = machine.structure, machine.memory
        self._on = machine.effects
        self._n_cores, self._n_domains = machine.n_cores, machine.n_domains
        self._tile_of, self._domain_of = structure.tile_of.tolist(), structure.domain_of.tolist()
        self._compute, self._memory = machine.compute_throughput, machine.memory_throughput
        self._capacity_Bps = machine.domain_Bps
        self._link_Bps, self._penalty = memory.link_bandwidth_Bps, memory.remote_penalty
        self._tile_slowdowns: list[float] = machine.tile_slowdowns.tolist()
        self._threads_on = [0] * self._n_cores
        self._busy_on = [0] * machine.n_tiles  # cores with threads
        self._segment_of = structure.segment_of.tolist()
        self._interconnect_share = machine.interconnect_share
        self._threads_in = [0] * structure.n_segments
        self._demand_Bps, self._bound_Bps = [0] * self._n_domains, [0] * self._n_domains
        self._out_Bps, self._out_bound_Bps = [0] * self._n_domains, [0] * self._n_domains
        self._cluster_limit_Bps = memory.cluster_bandwidth_Bps
        limited = self._on.share_bandwidth and self._cluster_limit_Bps < inf
        self._cluster_of: list[int] = structure.cluster_of.tolist() if limited else []
        n_clusters = max(self._cluster_of, default=-1) + 1
        self._cluster_Bps, self._cluster_bound_Bps = [0] * n_clusters, [0] * n_clusters
        self._running: dict[int, _Team] = {}
        self._made: dict[int, list[float]] = {}  # finished at this instant
        # Where the data that each task reads are: sums of its predecessors' shares, and how many added to them.
        self._fed: dict[int, tuple[list[float], int]] = {}

    def begin(self, decision: Decision) -> float:
        """Note a task that starts; it is slowed down at the next update, in this instant."""
        cores = [thread % self._n_cores for thread in decision.cores]
        here = self._shares(cores)
        data = self._data(decision.task, here)
        local = [min(d, h) for d, h in zip(data, here, strict=True)]
        remote = [d - near for d, near in zip(data, local, strict=True)]
        clusters = self._clusters(cores)
        team = _Team(
            cores=cores,
            segments=sorted({self._segment_of[core] for core in cores}),
            memory_share=decision.load.memory_share,
            overhead_share=decision.load.overhead_share,
            local=local,
            remote=remote,
            demand_Bps=[int(decision.load.demand_Bps * d) for d in data],
            bound_Bps=[int(bound(decision.load) * d) for d in data],
            link_Bps=[int(decision.load.demand_Bps * r) for r in remote],
            link_bound_Bps=[int(bound(decision.load) * r) for r in remote],
            here=here,
            clusters=list(clusters),
            cluster_Bps=[int(decision.load.demand_Bps * share) for share in clusters.values()],
            cluster_bound_Bps=[int(bound(decision.load) * share) for share in clusters.values()],
        )
        self._running[decision.task] = team
        self._add(team, 1)
        return 1.0

    def end(self, task: int) -> None:
        """Forget a task that finished, but for where its data are."""
        team = self._running.pop(task)
        self._add(team, -1)
        if self._on.remote_memory:
            self._made[task] = team.here

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Leave the data of a finished task, which its followers read, in the domains of its cores."""
        if not self._on.remote_memory:
            return
        made = self._made.pop(task)
        for follower in followers:
            total, count = self._fed.get(follower, ([0.0] * self._n_domains, 0))
            self._fed[follower] = ([t + m for t, m in zip(total, made, strict=True)], count + 1)

    def _shares(self, cores: Sequence[int]) -> list[float]:
        """Return the share of a team's threads in each domain."""
        counts = [0] * self._n_domains
        for core in cores:
            counts[self._domain_of[core]] += 1
        return [count / len(cores) for count in counts]

    def _clusters(self, cores: Sequence[int]) -> dict[int, float]:
        """Return the share of a team's threads in each of its clusters, ascending; none where these have no limit."""
        if not self._cluster_of:
            return {}
        counts = Counter(self._cluster_of[core] for core in cores)
        return {cluster: counts[cluster] / len(cores) for cluster in sorted(counts)}

    def _data(self, task: int, here: list[float]) -> list[float]:
        """Return the share of a task's data in each domain: where its predecessors ran, else with its own team."""
        if not self._on.remote_memory or task not in self._fed:
            return here
        total, count = self._fed.pop(task)
        return [t / count for t in total]

    def _add(self, team: _Team, sign: int) -> None:
        for core in team.cores:
            idle = not self._threads_on[core]
            self._threads_on[core] += sign
            if idle or not self._threads_on[core]:
                self._busy_on[self._tile_of[core]] += sign
        for core in team.cores:
            self._threads_in[self._segment_of[core]] += sign
        for domain in range(self._n_domains):
            self._demand_Bps[domain] += sign * team.demand_Bps[domain]
            self._bound_Bps[domain] += sign * team.bound_Bps[domain]
            self._out_Bps[domain] += sign * team.link_Bps[domain]
            self._out_bound_Bps[domain] += sign * team.link_bound_Bps[domain]
        for cluster, demand, waited in zip(
            team.clusters, team.cluster_Bps, team.cluster_bound_Bps, strict=True
        ):
            self._cluster_Bps[cluster] += sign * demand
            self._cluster_bound_Bps[cluster] += sign * waited

    def update(self) -> Iterable[tuple[int, float]]:
        """Return the tasks whose slow-down has changed, and the factor on what is left of them."""
        changed = []
        for task, team in self._running.items():
            slowdown = self._slowdown(team)
            if slowdown != team.slowdown:
                changed.append((task, slowdown / team.slowdown))
                team.slowdown = slowdown
        return changed

    def excess(self, task: int) -> tuple[float, float, float, float, float]:
        """Return the parts of a running task's slow-down beside 1.

        By hardware threads that share a core, memory bandwidth, tiles, remote memory and the interconnect.
        """
        team = self._running[task]
        core, core_waiting, turns, net = self._factors(team)
        m, o = team.memory_share, team.overhead_share
        threads = (1.0 - m - o) * (core - 1.0) + (o * (turns - 1.0) if turns >= net else 0.0)
        through_net = o * (net - 1.0) if net > turns else 0.0
        waiting = self._waiting(team)
        if core_waiting >= waiting:
            return threads + m * (core_waiting - 1.0), 0.0, 0.0, 0.0, through_net
        seconds, cluster = self._memory_seconds(team), self._cluster(team)
        if waiting > max(seconds, cluster):
            return threads, 0.0, m * (waiting - 1.0), 0.0, through_net
        if waiting > seconds:
            return threads, m * (waiting - 1.0), 0.0, 0.0, through_net
        near, far = self._near_and_far(team)
        return threads, m * near, 0.0, m * far, through_net

    def _slowdown(self, team: _Team) -> float:
        core, core_waiting, turns, net = self._factors(team)
        m, o = team.memory_share, team.overhead_share
        return (1.0 - m - o) * core + m * max(core_waiting, self._waiting(team)) + o * max(turns, net)

    def _factors(self, team: _Team) -> tuple[float, float, float, float]:
        """Return core, core', turns and net of a team."""
        core = core_waiting = turns = net = 1.0
        if self._on.share_cores:
            threads = max(self._threads_on[core] for core in team.cores)
            ways = min(threads, len(self._compute)) - 1
            core, core_waiting = threads / self._compute[ways], threads / self._memory[ways]
            turns = threads / (ways + 1)
        if self._on.share_interconnect and len(team.cores) > 1:
            loading = sum(self._threads_in[segment] for segment in team.segments) * self._interconnect_share
            net = max(1.0, (loading - 1.0) / (len(team.cores) - 1))
        return core, core_waiting, turns, net

    def _waiting(self, team: _Team) -> float:
        """Return how much longer a team's memory traffic takes than alone."""
        seconds = max(self._memory_seconds(team), self._cluster(team))
        return max(seconds, self._tile(team)) if self._on.share_tiles else seconds

    def _cluster(self, team: _Team) -> float:
        """Return the pressure on the most crowded of a team's clusters."""
        return max(
            (
                pressure(
                    self._cluster_Bps[cluster], self._cluster_bound_Bps[cluster], self._cluster_limit_Bps
                )
                for cluster in team.clusters
            ),
            default=1.0,
        )

    def _memory_seconds(self, team: _Team) -> float:
        """Return how much longer a team's memory traffic takes than alone, were it not for its clusters and tiles."""
        seconds = 0.0
        for domain in range(self._n_domains):
            near, far = self._pressures(domain)
            seconds += team.local[domain] * near
            seconds += team.remote[domain] * (far * self._penalty)
        return seconds

    def _near_and_far(self, team: _Team) -> tuple[float, float]:
        """Return what the memories' pressure adds to that, and what distance does, with the links' pressure."""
        pressed = distant = 0.0
        for domain in range(self._n_domains):
            near, far = self._pressures(domain)
            pressed += (team.local[domain] + team.remote[domain] * self._penalty) * (near - 1.0)
            distant += team.remote[domain] * (self._penalty - 1.0 + self._penalty * (far - near))
        return pressed, distant

    def _pressures(self, domain: int) -> tuple[float, float]:
        """Return the pressure on a domain, and on what comes from it to others."""
        if not self._on.share_bandwidth:
            return 1.0, 1.0
        near = pressure(self._demand_Bps[domain], self._bound_Bps[domain], self._capacity_Bps)
        return near, max(near, pressure(self._out_Bps[domain], self._out_bound_Bps[domain], self._link_Bps))

    def _tile(self, team: _Team) -> float:
        """Return how much longer a team's memory traffic takes because other cores of its tiles have some, too."""
        width = len(team.cores)
        slowdown = self._tile_slowdowns[min(width, len(self._tile_slowdowns) - 1)]
        crowded: int = sum(self._busy_on[self._tile_of[core]] > 1 for core in team.cores)
        return 1.0 + (slowdown - 1.0) * (crowded / width)
