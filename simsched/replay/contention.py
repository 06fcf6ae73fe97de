"""Contention of running tasks for domains, tiles, cores, the interconnect and remote memory (rule 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from simsched.costs.loads import Load
from simsched.machine import Machine
from simsched.replay.decision import Decision


def pressure(demand_Bps: int, bound_Bps: int, capacity_Bps: float) -> float:
    """Return the slowdown of waiting for a memory, at least 1.

    Tasks that ask for D_i and wait for the memory during the share m_i of their seconds take (1 - m_i) + m_i p times as
    long, and then move D_i over that. With p = 1 + (D / C - 1) / m, D = sum D_i and m = sum D_i m_i / D, they move the
    capacity C together where their shares are alike (and a little more where they are not). Where all only wait for the
    memory, p is demand over capacity.

    Parameters
    ----------
    demand_Bps : int
        Sum of the demands.
    bound_Bps : int
        Sum of the demands times the memory shares.
    capacity_Bps : float
        Bytes per second that the memory moves.
    """
    if demand_Bps <= capacity_Bps or not bound_Bps:
        return 1.0
    return 1.0 + (demand_Bps / capacity_Bps - 1.0) * (float(demand_Bps) / float(bound_Bps))


def bound(load: Load) -> int:
    """Return the demand of a task times its memory share, in whole bytes per second."""
    return int(load.demand_Bps * load.memory_share)


def slowdown(memory_share: float, pressure: float) -> float:
    """Return the seconds of a task under pressure over its seconds alone."""
    return (1.0 - memory_share) + memory_share * pressure


class Bandwidth:
    """The only shared resource of running tasks: the machine's memory.

    The pressure changes only when tasks start or finish. `Contention` has the same formula, but starts a task at its
    seconds alone and rescales it at the update of that instant. Here it starts under the pressure of the last update,
    and is rescaled only if that changes. So finish times differ in their last bits, by about 1e-15 of them: replacing
    one by the other changes results. An update of the compiled twin is one pass over two columns.

    Parameters
    ----------
    capacity_Bps : float
        Bytes per second that the memory moves.
    """

    def __init__(self, capacity_Bps: float) -> None:
        self._capacity_Bps = capacity_Bps
        self._pressure = 1.0
        self._running: dict[int, Load] = {}

    def begin(self, decision: Decision) -> float:
        """Add a starting task; return its slowdown under the pressure of the last update."""
        load = decision.load
        self._running[decision.task] = load
        return slowdown(load.memory_share, self._pressure)

    def end(self, task: int) -> None:
        """Remove a finished task."""
        del self._running[task]

    abort = end

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Do nothing: there is one memory, wherever data are."""

    def update(self) -> Iterable[tuple[int, float]]:
        """Apply the present pressure; return the affected tasks, and the factor on their remaining time."""
        before, loads = self._pressure, self._running.values()
        demand_Bps, bound_Bps = sum(load.demand_Bps for load in loads), sum(map(bound, loads))
        self._pressure = pressure(demand_Bps, bound_Bps, self._capacity_Bps)
        if self._pressure == before:
            return ()
        return [
            (task, slowdown(load.memory_share, self._pressure) / slowdown(load.memory_share, before))
            for task, load in self._running.items()
            if load.memory_share
        ]


#: Demand on each of several places, and demand times memory share, in whole bytes per second.
Traffic = Sequence[tuple[int, int]]


@dataclass(slots=True)
class _Team:
    """A running task: its threads' cores, its demands, and where its data are."""

    cores: Sequence[int]
    segments: set[int]
    memory_share: float
    overhead_share: float
    core_share: float
    here: Sequence[float]  # share of its threads in each domain
    local: Sequence[float]  # share of its traffic within each domain
    remote: Sequence[float]  # share of its traffic from each domain to another
    clusters: Sequence[float]  # share of its threads in each cluster, where clusters have a limit
    on_domains: Traffic
    on_links: Traffic  # on traffic that leaves each domain
    on_clusters: Traffic
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class _Crowd:
    """The load that all running teams together put on the machine."""

    threads_on: Counter[int]  # by core
    busy_on: Counter[int]  # cores with threads, by tile
    threads_in: Counter[int]  # by segment
    near: Sequence[float]  # pressure on each domain
    far: Sequence[float]  # pressure on traffic from each domain to others
    clusters: Sequence[float]  # pressure on each cluster


class Contention:
    """Contention for everything that running tasks share.

    A task that alone takes c seconds takes S c, with m its memory share and o its overhead share,

        S = (1 - m - o) core + m max(core', memory) + o max(turns, net)

    core and core' are the threads on the most loaded core of its team over the throughput of a core with that many,
    in computing and in waiting for memory, the latter times its core share, but at least 1; turns are those threads
    over the core's ways, where they are more; memory is the pressure on the domains that its data are in, remote
    traffic weighing its penalty more, or what its clusters or tiles let through where that is less; net is the number
    of threads besides one that run on the interconnects of its cores over those of its own team besides one. Each is 1
    where its switch is off.

    All of it follows from the set of running teams, and is computed from it at each update. The compiled engine keeps
    the counts and sums from one update to the next; they are whole numbers, and so the same ones.

    Parameters
    ----------
    machine : Machine
    """

    def __init__(self, machine: Machine) -> None:
        structure, memory = machine.structure, machine.memory
        self._on = machine.effects
        self._n_cores, self._n_domains = machine.n_cores, machine.n_domains
        self._tile_of, self._domain_of = structure.tile_of.tolist(), structure.domain_of.tolist()
        self._segment_of = structure.segment_of.tolist()
        self._compute, self._memory = machine.compute_throughput, machine.memory_throughput
        bandwidths = (machine.domain_Bps, memory.link_bandwidth_Bps, memory.cluster_bandwidth_Bps)
        self._domain_Bps, self._link_Bps, self._cluster_Bps = (
            bandwidths if self._on.share_bandwidth else (inf, inf, inf)
        )
        self._penalty = memory.remote_penalty
        self._cluster_of: list[int] = structure.cluster_of.tolist() if self._cluster_Bps < inf else []
        self._n_clusters = max(self._cluster_of, default=-1) + 1
        self._tile_slowdowns: list[float] = machine.tile_slowdowns.tolist()
        self._interconnect_share = machine.interconnect_share
        self._running: dict[int, _Team] = {}
        self._crowd = self._crowd_of(())
        self._made: dict[int, Sequence[float]] = {}  # finished at this instant
        # Where the data that each task reads are: sums of its predecessors' shares, and their number.
        self._fed: dict[int, tuple[list[float], int]] = {}

    def begin(self, decision: Decision) -> float:
        """Note a task that starts; it is slowed down at the next update, in this instant."""
        load, cores = decision.load, [thread % self._n_cores for thread in decision.cores]
        here = _shares(cores, self._domain_of, self._n_domains)
        data = self._data(decision.task, here)
        local = [min(d, h) for d, h in zip(data, here, strict=True)]
        remote = [d - near for d, near in zip(data, local, strict=True)]
        clusters = _shares(cores, self._cluster_of, self._n_clusters) if self._cluster_of else []
        self._running[decision.task] = _Team(
            cores=cores,
            segments={self._segment_of[core] for core in cores},
            memory_share=load.memory_share,
            overhead_share=load.overhead_share,
            core_share=load.core_share,
            here=here,
            local=local,
            remote=remote,
            clusters=clusters,
            on_domains=_traffic(load, data),
            on_links=_traffic(load, remote),
            on_clusters=_traffic(load, clusters),
        )
        return 1.0

    def abort(self, task: int) -> None:
        """Remove a task that starts anew later."""
        del self._running[task]

    def end(self, task: int) -> None:
        """Remove a finished task, except for the places of its data."""
        team = self._running.pop(task)
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

    def _data(self, task: int, here: Sequence[float]) -> Sequence[float]:
        """Return the share of a task's data in each domain: where its predecessors ran, else with its own team."""
        if not self._on.remote_memory or task not in self._fed:
            return here
        total, count = self._fed[task]
        return [t / count for t in total]

    def update(self) -> Iterable[tuple[int, float]]:
        """Return the tasks whose slowdown has changed, and the factor on their remaining seconds."""
        self._crowd = self._crowd_of(self._running.values())
        changed = []
        for task, team in self._running.items():
            slowdown = self._slowdown(team)
            if slowdown != team.slowdown:
                changed.append((task, slowdown / team.slowdown))
                team.slowdown = slowdown
        return changed

    def _crowd_of(self, teams: Collection[_Team]) -> _Crowd:
        threads_on = Counter(core for team in teams for core in team.cores)
        near = _pressures([team.on_domains for team in teams], self._domain_Bps)
        links = _pressures([team.on_links for team in teams], self._link_Bps)
        return _Crowd(
            threads_on=threads_on,
            busy_on=Counter(self._tile_of[core] for core in threads_on),
            threads_in=Counter(self._segment_of[core] for team in teams for core in team.cores),
            near=near,
            far=[max(pressures) for pressures in zip(near, links, strict=True)],
            clusters=_pressures([team.on_clusters for team in teams], self._cluster_Bps),
        )

    def excess(self, task: int) -> tuple[float, float, float, float, float]:
        """Return the parts of a running task's slowdown above 1, at the last update.

        By hardware threads that share a core, memory bandwidth, tiles, remote memory and the interconnect.
        """
        team = self._running[task]
        core, core_waiting, turns, net = self._factors(team)
        m, o = team.memory_share, team.overhead_share
        threads = (1.0 - m - o) * (core - 1.0) + (o * (turns - 1.0) if turns >= net else 0.0)
        through_net = o * (net - 1.0) if net > turns else 0.0
        seconds, cluster, tile = self._waiting(team)
        waiting = max(seconds, cluster, tile)
        if core_waiting >= waiting:
            return threads + m * (core_waiting - 1.0), 0.0, 0.0, 0.0, through_net
        if waiting > max(seconds, cluster):
            return threads, 0.0, m * (waiting - 1.0), 0.0, through_net
        if waiting > seconds:
            return threads, m * (waiting - 1.0), 0.0, 0.0, through_net
        near, far = self._near_and_far(team)
        return threads, m * near, 0.0, m * far, through_net

    def _slowdown(self, team: _Team) -> float:
        core, core_waiting, turns, net = self._factors(team)
        m, o = team.memory_share, team.overhead_share
        return (1.0 - m - o) * core + m * max(core_waiting, *self._waiting(team)) + o * max(turns, net)

    def _factors(self, team: _Team) -> tuple[float, float, float, float]:
        """Return core, core', turns and net of a team."""
        core = core_waiting = turns = net = 1.0
        if self._on.fair_cores:
            core, core_waiting, turns = self._fair()
        elif self._on.share_cores:
            threads = max(self._crowd.threads_on[core] for core in team.cores)
            ways = min(threads, len(self._compute)) - 1
            core, core_waiting = threads / self._compute[ways], threads / self._memory[ways]
            turns = threads / (ways + 1)
        if self._on.share_interconnect and len(team.cores) > 1:
            threads = sum(self._crowd.threads_in[segment] for segment in team.segments)
            net = max(1.0, (threads * self._interconnect_share - 1.0) / (len(team.cores) - 1))
        return core, max(1.0, team.core_share * core_waiting), turns, net

    def _fair(self) -> tuple[float, float, float]:
        """Return core, core' of core share 1, and turns where all running threads share all cores equally."""
        each, ways = sum(self._crowd.threads_on.values()) / self._n_cores, len(self._compute)
        if each <= 1.0:
            return 1.0, 1.0, 1.0
        return (
            each / _between(self._compute, each),
            each / _between(self._memory, each),
            each / min(each, ways),
        )

    def _waiting(self, team: _Team) -> tuple[float, float, float]:
        """Return how much longer a team's memory traffic takes than alone: by memories, clusters and tiles."""
        cluster = max(
            (p for share, p in zip(team.clusters, self._crowd.clusters, strict=True) if share), default=1.0
        )
        return self._memory_seconds(team), cluster, self._tile(team) if self._on.share_tiles else 1.0

    def _memory_seconds(self, team: _Team) -> float:
        seconds = 0.0
        for local, remote, near, far in self._by_domain(team):
            seconds += local * near
            seconds += remote * (far * self._penalty)
        return seconds

    def _near_and_far(self, team: _Team) -> tuple[float, float]:
        """Return the effect of the memories' pressure on that, and of distance, with the links' pressure."""
        pressed = distant = 0.0
        for local, remote, near, far in self._by_domain(team):
            pressed += (local + remote * self._penalty) * (near - 1.0)
            distant += remote * (self._penalty - 1.0 + self._penalty * (far - near))
        return pressed, distant

    def _by_domain(self, team: _Team) -> Iterable[tuple[float, float, float, float]]:
        """Return a team's local and remote share of each domain, and the pressure on each."""
        return zip(team.local, team.remote, self._crowd.near, self._crowd.far, strict=True)

    def _tile(self, team: _Team) -> float:
        """Return the slowdown of a team's memory traffic by that of other cores of its tiles."""
        width = len(team.cores)
        slowdown = self._tile_slowdowns[min(width, len(self._tile_slowdowns) - 1)]
        crowded: int = sum(self._crowd.busy_on[self._tile_of[core]] > 1 for core in team.cores)
        return 1.0 + (slowdown - 1.0) * (crowded / width)


def _between(throughput: Sequence[float], threads: float) -> float:
    """Return the throughput of a core with a mean number of threads, 1 or more, on the line between whole ones."""
    whole = min(int(threads), len(throughput))
    if whole == len(throughput):
        return throughput[-1]
    return throughput[whole - 1] + (threads - whole) * (throughput[whole] - throughput[whole - 1])


def _shares(cores: Sequence[int], place_of: Sequence[int], n_places: int) -> list[float]:
    """Return the share of a team's threads in each place, from the place of each core."""
    counts = Counter(place_of[core] for core in cores)
    return [counts[place] / len(cores) for place in range(n_places)]


def _traffic(load: Load, shares: Sequence[float]) -> Traffic:
    """Return the traffic of a team on each place, from the share of its data that passes there."""
    return [(int(load.demand_Bps * share), int(bound(load) * share)) for share in shares]


def _pressures(of_teams: Sequence[Traffic], capacity_Bps: float) -> list[float]:
    """Return the pressure on each place, from the traffic of each team."""
    return [
        pressure(sum(demand for demand, _ in on_place), sum(waited for _, waited in on_place), capacity_Bps)
        for on_place in zip(*of_teams, strict=True)
    ]
