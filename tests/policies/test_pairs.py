"""Plans on networks whose bandwidths differ by pair of processors, against rules of the papers written down again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.native import find
from simsched.testing import strategies as ours
from simsched.testing.equivalence import check_same

from .planned import ARABNEJAD, TOPCUOGLU

#: Rates between three processors, of which those there and back differ; their mean is 2.
RATES = np.array([[0.0, 0.5, 4.0], [1.0, 0.0, 2.0], [4.0, 0.5, 0.0]])
LATENCIES = np.array([[0.0, 3.0, 1.0], [0.0, 0.0, 2.0], [5.0, 1.0, 0.0]])


def replayed(case, policy, engine, latency_s):
    seconds, edges = case
    graph = ss.TaskGraph.from_edges(
        np.array(seconds, float), [edge[:2] for edge in edges], edge_bytes=[float(edge[2]) for edge in edges]
    )
    machine = ss.machine("generic[cores=3,kinds=each]", pair_Bps=RATES, pair_latency_s=latency_s)
    return ss.simulate(graph, machine, policy, engine=engine)


class Paper:
    """Ranks and plans as the papers have them: of mean seconds, mean start-up times, and bytes over the mean rate."""

    def __init__(self, case, latency_s):
        seconds, edges = case
        self.w, self.latency = np.array(seconds, float), latency_s
        self.bytes = {(i, j): float(size) for i, j, size in edges}
        self.n, self.p = self.w.shape
        apart = ~np.eye(self.p, dtype=bool)
        startup, rate = latency_s[apart].mean(), RATES[apart].mean()
        self.mean_c = {edge: startup + size / rate for edge, size in self.bytes.items()}
        self.after = [[j for i, j in self.bytes if i == task] for task in range(self.n)]
        self.before = [[i for i, j in self.bytes if j == task] for task in range(self.n)]
        self.proc, self.start, self.end = {}, {}, {}

    def up(self, task):
        rest = [self.mean_c[task, j] + self.up(j) for j in self.after[task]]
        return self.w[task].mean() + max(rest, default=0.0)

    def down(self, task):
        return max(
            (self.down(i) + self.w[i].mean() + self.mean_c[i, task] for i in self.before[task]), default=0.0
        )

    def optimistic(self, task, p):
        def rest(j):
            costs = [
                self.optimistic(j, q) + self.w[j, q] + (self.mean_c[task, j] if q != p else 0.0)
                for q in range(self.p)
            ]
            return min(costs)

        return max(map(rest, self.after[task]), default=0.0)

    def arrival(self, i, task, p):
        q = self.proc[i]
        return self.end[i] + (0.0 if p == q else self.latency[q, p] + self.bytes[i, task] / RATES[q, p])

    def finish(self, task, p):
        """Return the earliest end in an idle time long enough, or after all."""
        ready = max((self.arrival(i, task, p) for i in self.before[task]), default=0.0)
        busy = sorted((self.start[t], self.end[t]) for t in self.proc if self.proc[t] == p)
        free = 0.0
        for start, end in busy:
            if max(free, ready) + self.w[task, p] <= start:
                break
            free = end
        return max(free, ready) + self.w[task, p]

    def run(self, order, score, allowed=lambda task: None):
        """Place the ready task of the greatest order again and again, on the processor of the least score."""
        while len(self.proc) < self.n:
            ready = [
                t for t in range(self.n) if t not in self.proc and all(i in self.proc for i in self.before[t])
            ]
            task = max(ready, key=lambda t: (order(t), -t))
            where = allowed(task)
            p = min(range(self.p), key=lambda p: score(task, p)) if where is None else where
            end = self.finish(task, p)
            self.proc[task], self.start[task], self.end[task] = p, end - self.w[task, p], end
        return [self.proc[t] for t in range(self.n)], [self.start[t] for t in range(self.n)]


def by_paper(case, policy, latency_s):
    paper = Paper(case, latency_s)
    if policy == "heft":
        return paper.run(paper.up, paper.finish)
    if policy == "peft":
        return paper.run(
            lambda t: np.mean([paper.optimistic(t, p) for p in range(paper.p)]),
            lambda t, p: paper.finish(t, p) + paper.optimistic(t, p),
        )
    whole = {t: paper.up(t) + paper.down(t) for t in range(paper.n)}
    path = [t for t in whole if abs(whole[t] - whole[0]) < 1e-9]
    best = min(range(paper.p), key=lambda p: sum(paper.w[t, p] for t in path))
    return paper.run(whole.__getitem__, paper.finish, lambda t: best if t in path else None)


@pytest.mark.parametrize("policy", ["heft", "cpop", "peft"])
@pytest.mark.parametrize("case", [TOPCUOGLU, ARABNEJAD], ids=["topcuoglu", "arabnejad"])
@pytest.mark.parametrize("latency_s", [np.zeros((3, 3)), LATENCIES], ids=["rates", "latencies"])
def test_plans_of_the_papers(case, policy, latency_s, engine):
    schedule = replayed(case, policy, engine, latency_s)
    executors, starts = by_paper(case, policy, latency_s)
    assert schedule.executor.tolist() == executors
    np.testing.assert_allclose(schedule.start_s, starts, rtol=1e-12)


def test_a_task_goes_where_its_data_arrive_first(engine):
    """8 bytes from processor 0 take 4 s to 1 and 2 s to 2, where the reader takes 2 and 3 s; on 0 it takes 9."""
    graph = ss.TaskGraph.from_edges([[1.0, 9.0, 9.0], [9.0, 2.0, 3.0]], [(0, 1)], edge_bytes=[8.0])
    rates = [[0, 2, 4], [2, 0, 1], [4, 1, 0]]
    for latency_s, where, start in ((None, 2, 3.0), ([[0, 0, 2], [0, 0, 0], [0, 0, 0]], 1, 5.0)):
        machine = ss.machine("generic[cores=3,kinds=each]", pair_Bps=rates, pair_latency_s=latency_s)
        schedule = ss.simulate(graph, machine, "heft", engine=engine)
        assert (schedule.executor[1], schedule.start_s[1]) == (where, start)


PLANNERS = (
    "heft",
    "cpop",
    "peft",
    "lookahead",
    "etf",
    "dls",
    "gdl",
    "bil",
    "fcp",
    "flb",
    "wba",
    "hbmct",
    "dps",
    "dmda",
    "dls[online=true]",
)


@st.composite
def networks(draw):
    """Return a random graph with bytes and seconds per core, and its cores, whose links are all different."""
    cores, generator = draw(st.integers(1, 5)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graph = draw(ours.by_kind(draw(ours.graphs()), cores, range(cores)))
    shared = str(draw(st.booleans())).lower()
    tables = {
        "pair_Bps": generator.choice([16.0, 100.0, 4e6, np.inf], (cores, cores)),
        "pair_latency_s": generator.choice([0.0, 0.25, 1e-6], (cores, cores)),
    }
    return graph, ss.machine(f"generic[cores={cores},kinds=each,share_links={shared}]", **tables)


@pytest.mark.skipif(find() is None, reason="installed without the compiled module")
@pytest.mark.parametrize("policy", PLANNERS)
@settings(max_examples=8, deadline=None)
@given(network=networks())
def test_both_engines_replay_plans_alike(policy, network):
    graph, machine = network
    layout = f"{machine.n_cores}x1"
    one, other = (
        ss.simulate(graph, machine, policy, layout, engine=engine) for engine in ("simpy", "native")
    )
    check_same(one, other)


@settings(max_examples=20, deadline=None)
@given(network=networks())
def test_messages_take_what_the_matrices_say(network):
    """Without shared links, each takes the latency of its pair, and its bytes over the pair's bandwidth."""
    graph, machine = network
    machine = machine.varied({"share_links": False})
    transfers = ss.simulate(graph, machine, "heft", f"{machine.n_cores}x1").transfers
    for row in transfers.itertuples():
        latency_s, Bps = (
            table[row.from_place][row.to_place]
            for table in (machine.data.pair_latency_s, machine.data.pair_Bps)
        )
        seconds = latency_s + np.nan_to_num(row.bytes_B) / Bps
        np.testing.assert_allclose(row.arrive_s - row.depart_s, seconds, rtol=1e-9, atol=1e-9)
