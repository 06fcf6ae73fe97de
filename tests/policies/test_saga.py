"""The schedulers that SAGA has besides: against their rules written down again, slowly, and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import SpecError
from simsched.policies.wba import Wba
from simsched.policy.planning.draft import planned_end
from simsched.policy.platform import Platform

from .planned import KWOK, makespan, platform_of, replayed


@st.composite
def platforms(draw):
    """Return random graphs with whole seconds per kind, whole bytes, and messages that differ by pair or do not."""
    n, p = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    seconds = rng.integers(1, 9, (n, draw(st.sampled_from([1, p])))).astype(float)
    chosen = draw(st.sampled_from([0.0, 0.15, 0.4]))
    edges = [
        (i, j, float(rng.integers(0, 9))) for i in range(n) for j in range(i + 1, n) if rng.random() < chosen
    ]
    platform = platform_of(seconds, edges, p)
    if p == 1 or draw(st.booleans()):
        return platform
    known = {name: getattr(platform, name) for name in platform.__dataclass_fields__}
    apart = 1.0 - np.eye(p)
    s_per_B = rng.choice([0.25, 0.5, 1.0, 2.0], (p, p)) * apart
    latency_s = rng.choice([0.0, 1.0, 4.0], (p, p)) * apart
    return Platform(**known | {"s_per_B": s_per_B, "latency_s": latency_s})


class Slow:
    """A plan by a rule, everything worked out anew at each step.

    Parameters
    ----------
    platform : Platform
    """

    def __init__(self, platform):
        self.platform, self.p, self.n = platform, platform.n_executors, platform.successors.n
        self.w = platform.kind_seconds[:, platform.kind_of]
        graph = platform.successors
        self.edges = list(zip(graph.sources().tolist(), graph.indices.tolist(), strict=True))
        self.mean_c = platform.mean_message_s.tolist()
        self.before = [[(i, e) for e, (i, j) in enumerate(self.edges) if j == t] for t in range(self.n)]
        self.after = [[(j, e) for e, (i, j) in enumerate(self.edges) if i == t] for t in range(self.n)]
        self.proc, self.end, self.order = {}, {}, []

    def free(self, p):
        return max((self.end[t] for t in self.proc if self.proc[t] == p), default=0.0)

    def idle(self):
        return min(range(self.p), key=self.free)

    def data(self, task, p):
        arrivals = [self.end[i] + self.platform.message_s(e, self.proc[i], p) for i, e in self.before[task]]
        return max(arrivals, default=0.0)

    def start(self, task, p):
        return max(self.free(p), self.data(task, p))

    def ready(self):
        return [
            t for t in range(self.n) if t not in self.proc and all(i in self.proc for i, _ in self.before[t])
        ]

    def place(self, task, p):
        self.end[task] = self.start(task, p) + self.w[task, p]
        self.proc[task] = p
        self.order.append(task)

    def up(self, task):
        return self.w[task].mean() + max(
            (self.mean_c[e] + self.up(j) for j, e in self.after[task]), default=0.0
        )

    def last(self, task):
        """Return when the last message arrives, of mean seconds, and its sender, or None."""
        arrivals = [(self.end[i] + self.mean_c[e], self.proc[i]) for i, e in self.before[task]]
        return max(arrivals, key=lambda arrival: arrival[0], default=(0.0, None))

    def run(self, choose):
        while len(self.proc) < self.n:
            self.place(*choose())
        return [self.proc[t] for t in range(self.n)], [self.end[t] for t in range(self.n)]


def mct(slow):
    def choose():
        task = slow.ready()[0]
        return task, min(range(slow.p), key=lambda p: slow.start(task, p) + slow.w[task, p])

    return slow.run(choose)


def met(slow):
    return slow.run(lambda: (slow.ready()[0], int(slow.w[slow.ready()[0]].argmin())))


def olb(slow):
    return slow.run(lambda: (slow.ready()[0], slow.idle()))


def gdl(slow):
    median = np.median(slow.w, axis=1)

    def level(task):
        return median[task] + max((level(j) for j, _ in slow.after[task]), default=0.0)

    def gain(task, p):
        if not slow.after[task]:
            return 0.0
        child, e = max(slow.after[task], key=lambda edge: (slow.platform.edge_bytes[edge[1]], -edge[0]))
        elsewhere = [slow.platform.message_s(e, p, q) + slow.w[child, q] for q in range(slow.p) if q != p]
        return median[child] - min([slow.w[child, p], *elsewhere])

    def dynamic(task, p):
        return level(task) - slow.start(task, p) + median[task] - slow.w[task, p] + gain(task, p)

    def choose():
        def score(task):
            levels = sorted((dynamic(task, p) for p in range(slow.p)), reverse=True)
            return (levels[0] + (levels[0] - levels[1] if slow.p > 1 else 0.0), level(task), -task)

        task = max(slow.ready(), key=score)
        return task, max(range(slow.p), key=lambda p: (dynamic(task, p), -p))

    return slow.run(choose)


def bil(slow):
    def level(task, p):
        rest = [
            min(level(j, q) + (slow.mean_c[e] if q != p else 0.0) for q in range(slow.p))
            for j, e in slow.after[task]
        ]
        return slow.w[task, p] + max(rest, default=0.0)

    known = {(t, p): level(t, p) for t, p in product(range(slow.n), range(slow.p))}

    def choose():
        ready = slow.ready()
        k = min(len(ready), slow.p)
        makespans = {t: [slow.free(p) + known[t, p] for p in range(slow.p)] for t in ready}
        task = max(ready, key=lambda t: ([*reversed(sorted(makespans[t])[:k])], -t))
        more = max(len(ready) / slow.p - 1, 0.0)
        revised = {t: [makespans[t][p] + slow.w[t, p] * more for p in range(slow.p)] for t in ready}
        others = [sum(revised[t][p] for t in ready if t != task) for p in range(slow.p)]
        return task, min(range(slow.p), key=lambda p: (revised[task][p], -round(others[p], 6), p))

    return slow.run(choose)


def fcp(slow):
    kept, later, seen = [], [], set()

    def choose():
        for task in sorted(slow.ready(), key=lambda t: (release(t), t)):
            if task not in seen:
                seen.add(task)
                later.append(task)
        while later and len(kept) < slow.p:
            kept.append(later.pop(0))
        task = max(kept, key=lambda t: (round(slow.up(t), 9), -t))
        kept.remove(task)
        free, (_, sender) = slow.idle(), slow.last(task)
        if sender is not None and slow.start(task, sender) < slow.start(task, free):
            return task, sender
        return task, free

    def release(task):
        return max((slow.order.index(i) for i, _ in slow.before[task]), default=-1)

    return slow.run(choose)


def flb(slow):
    others = set()

    def choose():
        own = []
        for task in slow.ready():
            last, sender = slow.last(task)
            if sender is None or last < slow.free(sender):
                others.add(task)
            if task not in others:
                own.append((task, sender))
        key = {t: (-round(slow.up(t), 9), t) for t in slow.ready()}
        heads = {}
        for task, sender in own:
            if sender not in heads or (slow.data(task, sender), key[task]) < (
                slow.data(heads[sender], sender),
                key[heads[sender]],
            ):
                heads[sender] = task
        pairs = [(slow.start(task, p), key[task], task, p) for p, task in heads.items()]
        first = min(pairs, default=(np.inf,))
        nobodys = [t for t in slow.ready() if t in others]
        if nobodys:
            task = min(nobodys, key=lambda t: (slow.last(t)[0], key[t]))
            if slow.start(task, slow.idle()) <= first[0]:
                return task, slow.idle()
        return first[2], first[3]

    return slow.run(choose)


def hbmct(slow):
    """Groups by SAGA's rule; all tasks of a group are placed together, as its queues have them in the end."""
    done = []

    def groups():
        found = [[]]
        # Sums of whole seconds order tasks; messages of mean seconds may round.
        for task in sorted(range(slow.n), key=lambda t: (-round(slow.up(t), 9), t)):
            if any(i in found[-1] for i, _ in slow.before[task]):
                found.append([])
            found[-1].append(task)
        return found

    def balanced(group):
        earliest = {(t, p): slow.start(t, p) for t in group for p in range(slow.p)}
        where = {t: int(slow.w[t].argmin()) for t in group}

        def queue(p, assigned):
            return sorted(
                (t for t in group if assigned[t] == p), key=lambda t: (earliest[t, p], group.index(t))
            )

        def end(p, assigned):
            now = slow.free(p)
            for task in queue(p, assigned):
                now = max(now, earliest[task, p]) + slow.w[task, p]
            return now

        def move():
            ends = [end(p, where) for p in range(slow.p)]
            last = ends.index(max(ends))
            mean = {t: np.mean([earliest[t, p] for p in range(slow.p)]).round(9) for t in group}
            for task in sorted(queue(last, where), key=lambda t: (mean[t], group.index(t))):
                tried = {p: where | {task: p} for p in range(slow.p) if p != last}
                if not tried or end(last, where | {task: None}) >= ends[last]:
                    continue
                p = min(tried, key=lambda p: end(p, tried[p]))
                if end(p, tried[p]) < ends[last]:
                    return tried[p]
            return None

        while (found := move()) is not None:
            where = found
        return [(t, p) for p in range(slow.p) for t in queue(p, where)]

    left = groups()

    def choose():
        if not done:
            done.extend(balanced(left.pop(0)))
        return done.pop(0)

    return slow.run(choose) if slow.n else ([], [])


def fastest_node(slow):
    return slow.run(lambda: (slow.ready()[0], int(slow.w.sum(axis=0).argmin())))


RULES = {"mct": mct, "met": met, "olb": olb, "gdl": gdl, "bil": bil, "fcp": fcp, "flb": flb,
         "hbmct": hbmct, "fastest-node": fastest_node}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=50, deadline=None)
@given(platform=platforms())
def test_plans_are_those_of_the_rule(name, platform):
    plan = ss.policy(name).plan(platform, 0)
    executors, ends = RULES[name](Slow(platform))
    assert plan.executor.tolist() == executors
    np.testing.assert_allclose(replayed(platform, plan)[1], ends, rtol=1e-12)


def dps(slow):
    """Every level anew before each choice: of what is placed as it is, of the rest in the mean; insertion."""
    starts = {}

    def seconds(task):
        return slow.w[task, slow.proc[task]] if task in slow.proc else slow.w[task].mean()

    def message(i, j, e):
        both = i in slow.proc and j in slow.proc
        return slow.platform.message_s(e, slow.proc[i], slow.proc[j]) if both else slow.mean_c[e]

    def top(task):
        return max((top(i) + seconds(i) + message(i, task, e) for i, e in slow.before[task]), default=0.0)

    def bottom(task):
        rest = (message(task, j, e) + bottom(j) for j, e in slow.after[task])
        return seconds(task) + max(rest, default=0.0)

    def start(task, p):
        free = 0.0
        for begin, end in sorted((starts[t], slow.end[t]) for t in slow.proc if slow.proc[t] == p):
            if max(free, slow.data(task, p)) + slow.w[task, p] <= begin:
                break
            free = end
        return max(free, slow.data(task, p))

    while len(slow.proc) < slow.n:
        task = max(slow.ready(), key=lambda t: (round(bottom(t) - top(t), 9), -t))
        p = min(range(slow.p), key=lambda p: start(task, p) + slow.w[task, p])
        starts[task] = start(task, p)
        slow.proc[task], slow.end[task] = p, starts[task] + slow.w[task, p]
    return [slow.proc[t] for t in range(slow.n)], [slow.end[t] for t in range(slow.n)]


@settings(max_examples=50, deadline=None)
@given(platform=platforms())
def test_dps_computes_levels_once(platform):
    """Of ready tasks levels change no more: all before them are placed, and none after them."""
    plan = ss.policy("dps").plan(platform, 0)
    executors, ends = dps(Slow(platform))
    assert plan.executor.tolist() == executors
    np.testing.assert_allclose(replayed(platform, plan)[1], ends, rtol=1e-12)


@settings(max_examples=35, deadline=None)
@given(platform=platforms())
def test_duplex_is_the_shorter_one(platform):
    ends = {name: makespan(platform, ss.policy(name)) for name in ("duplex", "min-min", "max-min")}
    assert ends["duplex"] == min(ends["min-min"], ends["max-min"])
    first = "min-min" if ends["min-min"] <= ends["max-min"] else "max-min"
    plans = [ss.policy(name).plan(platform, 0) for name in ("duplex", first)]
    assert plans[0].executor.tolist() == plans[1].executor.tolist()
    assert planned_end(platform, plans[0]) == pytest.approx(ends["duplex"], rel=1e-12)


def good_pairs(slow, batch, alpha):
    """Return the pairs of which one is taken, by SAGA's rule."""
    end = max(slow.end.values(), default=0.0)
    later = {(t, p): max(slow.start(t, p) + slow.w[t, p] - end, 0.0) for t in batch for p in range(slow.p)}
    least, most = min(later.values()), max(later.values())
    return {pair for pair, more in later.items() if more <= least + alpha * (most - least)}


@settings(max_examples=50, deadline=None)
@given(platform=platforms(), alpha=st.sampled_from([0.0, 0.25, 0.5, 1.0]), seed=st.integers(0, 9))
def test_wba_takes_one_of_the_good_pairs(platform, alpha, seed):
    """Some order of a batch has each of its pairs among the good ones when its turn comes."""
    plan = ss.policy(f"wba[alpha={alpha}]").plan(platform, seed)
    executor, slow, batch = plan.executor.tolist(), Slow(platform), []
    position = {task: k for k, task in enumerate(plan.order.tolist())}

    def possible(batch):
        if not batch:
            batch = slow.ready()
            if not batch:
                return True
        good = good_pairs(slow, batch, alpha)
        tasks = [t for t in batch if (t, executor[t]) in good]
        # On an executor, tasks have the order of the plan; orders between executors are tried.
        heads = {}
        for task in sorted(batch, key=position.__getitem__):
            heads.setdefault(executor[task], task)
        for task in heads.values():
            if task in tasks:
                kept = dict(slow.proc), dict(slow.end), list(slow.order)
                slow.place(task, executor[task])
                if possible([t for t in batch if t != task]):
                    return True
                slow.proc, slow.end, slow.order = kept
        return False

    assert possible(batch)


def test_wba_takes_all_good_pairs_alike():
    """1, 2 and 9 s on two executors: 9 s always go last, where they end first.

    One of the short tasks goes first, on either executor; then the other one, on either: half of the plans have both on
    one executor, and end at 9 s; else 9 s begin at 1 s. With alpha=0, 1 s goes first, and 2 s beside it.
    """
    platform = platform_of([1, 2, 9], [], processors=2)
    ends = [makespan_of(platform, ss.policy("wba").plan(platform, seed)) for seed in range(600)]
    assert set(ends) == {9, 10}
    assert 240 < ends.count(9) < 360
    least = {makespan_of(platform, ss.policy("wba[alpha=0.0]").plan(platform, seed)) for seed in range(50)}
    assert least == {10}


def makespan_of(platform, plan):
    return max(replayed(platform, plan)[1])


@pytest.mark.parametrize("alpha", [-0.1, 1.5, float("nan")])
def test_shares_that_are_none(alpha):
    with pytest.raises(SpecError, match="expected a share from 0 to 1"):
        Wba(alpha=alpha)


@pytest.mark.parametrize("name", [*RULES, "duplex", "wba", "dps"])
def test_one_executor_runs_all_in_sequence(name):
    assert makespan(platform_of(*KWOK, processors=1), ss.policy(name)) == 30


#: Seconds on two processors, and bytes from the first task to the others, at 1 B/s.
THREE = ([[2, 3], [3, 1], [4, 2]], [(0, 1, 5), (0, 2, 1)])


@pytest.mark.parametrize(
    ("name", "executors", "starts"),
    [
        # Ends of 0: 2 and 3; of 1: 5 and 8; of 2: 9 and 5.
        ("mct", [0, 0, 1], [0, 2, 3]),
        # Least seconds: 2 on the first, 1 and 2 on the second, from 2 + 5 on, one after the other.
        ("met", [0, 1, 1], [0, 7, 8]),
        # Both are free: the first. Then the second, and after 7 + 1 s the first again, which is free at 2.
        ("olb", [0, 1, 0], [0, 7, 2]),
        # 0: 5.5 + 2.5 - 2 - 1 and 5.5 + 2.5 - 3 + 1: the second. There 1 has 0, and -7 elsewhere; 2 has 1 and -2.
        ("gdl", [1, 1, 1], [0, 3, 4]),
        # 0: levels of 5 and 5. Then makespans of 2 + 3 and 1, of 2 + 4 and 2: 2 goes first, on the second.
        ("bil", [0, 0, 1], [0, 2, 3]),
        # b-levels: 1 has 2, 2 has 3 and goes first: at 3 on the second, which is free, or at 2 where its data are.
        ("fcp", [0, 0, 0], [0, 6, 2]),
        # Both are the first executor's own; 2 goes first for its b-level, then 1: it waits for nobody there.
        ("flb", [0, 0, 0], [0, 6, 2]),
        # Then 2, from 3 to 5, and 1, from 7 to 8, on the second. Without 2 it ends at 8, too; 1 ends at 5 on the first.
        ("hbmct", [0, 0, 1], [0, 2, 3]),
        # Of 2 the levels are 3 and 2 + 1, of 1 they are 2 and 2 + 5: 2 goes first.
        ("dps", [0, 0, 1], [0, 2, 3]),
        # 2 + 3 + 4 and 3 + 1 + 2 s.
        ("fastest-node", [1, 1, 1], [0, 3, 4]),
    ],
)
def test_three_tasks_by_hand(name, executors, starts, engine):
    seconds, edges = THREE
    graph = ss.TaskGraph.from_edges(
        np.array(seconds, float), [edge[:2] for edge in edges], edge_bytes=[float(edge[2]) for edge in edges]
    )
    machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    schedule = ss.simulate(graph, machine, name, "2x1", engine=engine)
    assert (schedule.executor.tolist(), schedule.start_s.tolist()) == (executors, starts)


def test_flb_leaves_a_task_whose_message_is_early_to_others():
    """0 (1 s) and 1 (4 s) run on one executor each, 2 after 0; 3 gets 1 byte of 0 at 2, when 2 runs until 9 there.

    So it is nobody's and goes to the executor that is free first, the second: at 4.
    """
    platform = platform_of([1, 4, 8, 1], [(0, 2, 9), (0, 3, 1)], processors=2)
    starts, _ = replayed(platform, plan := ss.policy("flb").plan(platform, 0))
    assert plan.executor.tolist() == [0, 1, 0, 1]
    assert starts == [0, 0, 1, 4]
