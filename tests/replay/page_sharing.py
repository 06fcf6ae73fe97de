"""What running tasks do to each other, formula by formula as docs/semantics.md has them."""

from __future__ import annotations

from collections import Counter
from math import ceil


def slowdowns(machine, costs_on, running, ran_on, before):
    """Return S of each running task, from its hardware threads; `ran_on` has those of finished tasks, too."""
    return {task: _Sharing(machine, costs_on, running, ran_on, before).slowdown(task) for task in running}


class _Sharing:
    def __init__(self, machine, costs_on, running, ran_on, before):
        self.machine, self.on, self.running = machine, machine.effects, running
        self.core = {task: [t % machine.n_cores for t in threads] for task, threads in running.items()}
        self.domain = machine.structure.domain_of.tolist()
        self.tile = machine.structure.tile_of.tolist()
        self.segment = machine.structure.segment_of.tolist()
        self.load = Counter(core for cores in self.core.values() for core in cores)
        self.here = {task: self.shares(threads) for task, threads in running.items()}
        self.data = {task: self.data_of(task, ran_on, before) for task in running}
        self.m, self.o, self.k, self.demand = {}, {}, {}, {}
        for task, threads in running.items():
            costs = costs_on(task, threads)
            overhead = costs.overhead_of(task, len(threads))
            share, self.demand[task], _ = costs.memory_of(task, len(threads))
            t1, seconds = costs.one_core_s[task], costs.seconds_of(task, len(threads))
            working = ceil(min(len(threads), costs.pieces[task])) if seconds < t1 else 1
            limited = share * seconds
            self.k[task] = min(1.0, t1 / working / limited) if limited > 0 else 1.0
            self.m[task] = min(share, 1 - overhead)
            self.o[task] = overhead if self.on.share_interconnect else 0.0

    def shares(self, threads):
        """Return the share of threads in each domain."""
        count = Counter(self.domain[thread % self.machine.n_cores] for thread in threads)
        return [count[d] / len(threads) for d in range(self.machine.n_domains)]

    def data_of(self, task, ran_on, before):
        """Return the share of a task's data in each domain."""
        if not self.on.remote_memory or not before[task]:
            return self.here[task]
        made = [self.shares(ran_on[other]) for other in before[task]]
        return [sum(column) / len(made) for column in zip(*made, strict=True)]

    def far(self, task, d):
        """Return the share of a task's data in a domain beyond its team's threads there."""
        return max(self.data[task][d] - self.here[task][d], 0.0)

    def pressure(self, asked, capacity):
        """Return p of what (demand, memory share) pairs ask for together."""
        total = sum(demand for demand, _ in asked)
        if not self.on.share_bandwidth or total <= capacity:
            return 1.0
        return 1 + (total / capacity - 1) / (sum(demand * m for demand, m in asked) / total)

    def memory(self, task):
        """Return how much longer a task's memory traffic takes."""
        memory, seconds = self.machine.memory, 0.0
        for d in range(self.machine.n_domains):
            asked = [(self.demand[other] * self.data[other][d], self.m[other]) for other in self.running]
            leaves = [(self.demand[other] * self.far(other, d), self.m[other]) for other in self.running]
            p = self.pressure(asked, self.machine.domain_Bps)
            link = self.pressure(leaves, memory.link_bandwidth_Bps)
            seconds += min(self.data[task][d], self.here[task][d]) * p
            seconds += self.far(task, d) * max(p, link) * memory.remote_penalty
        seconds = max([seconds, *(self.through_cluster(cluster) for cluster in self.parts(task))])
        return max(seconds, self.tiles(task)) if self.on.share_tiles else seconds

    def parts(self, task):
        """Return the share of a team's threads in each of its clusters."""
        cluster_of = self.machine.structure.cluster_of
        return Counter(int(cluster_of[core]) for core in self.core[task])

    def through_cluster(self, cluster):
        """Return the pressure on a cluster of what passes through it."""
        asked = [
            (self.demand[other] * self.parts(other)[cluster] / len(self.core[other]), self.m[other])
            for other in self.running
        ]
        return self.pressure(asked, self.machine.memory.cluster_bandwidth_Bps)

    def tiles(self, task):
        """Return what the tiles of a team let through at least."""
        cores = self.core[task]
        busy = [sum(self.tile[other] == self.tile[core] for other in set(self.load)) for core in cores]
        slowdown = self.machine.tile_slowdowns[min(len(cores), self.machine.n_threads)]
        return 1 + (slowdown - 1) * sum(count > 1 for count in busy) / len(cores)

    def net(self, task):
        """Return how much more the interconnects of a team carry than its own threads."""
        cores = self.core[task]
        if len(cores) == 1:
            return 1.0
        mine = {self.segment[core] for core in cores}
        threads = sum(count for core, count in self.load.items() if self.segment[core] in mine)
        return max(1.0, (threads * self.machine.interconnect_share - 1) / (len(cores) - 1))

    def slowdown(self, task):
        """Return S of a running task."""
        m, o, core, waiting, turns = self.m[task], self.o[task], 1.0, 1.0, 1.0
        if self.on.share_cores:
            most = max(self.load[core] for core in self.core[task])
            ways = min(most, self.machine.smt_ways)
            core = most / self.machine.compute_throughput[ways - 1]
            waiting = max(1.0, self.k[task] * most / self.machine.memory_throughput[ways - 1])
            turns = most / ways
        net = self.net(task) if self.on.share_interconnect else 1.0
        return (1 - m - o) * core + m * max(waiting, self.memory(task)) + o * max(turns, net)
