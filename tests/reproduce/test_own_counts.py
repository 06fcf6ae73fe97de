"""Strategy 3 where nothing fits: the most time-consuming op starts at its own count, in part on busy cores."""

import numpy as np

import simsched as ss
from simsched.costs import Curve
from simsched.reproduce.concurrency_control.runs import Strategies

FREE = ss.RuntimeProfile()
MACHINE = "knl-7250[cores=4,smt=2,contention=false]"


def replay(seconds, widths, small):
    """Return the schedule of ops that are fastest on some threads of 4 cores."""
    # Seconds t on one thread take t / w + A (w - 1) on w, least at w = (t / A)^(1/2), of widths up to 4.
    curves = {
        f"{w}": Curve(0.0, thread_overhead=t / w**2 / np.sqrt(1e-3 * t))
        for t, w in zip(seconds, widths, strict=True)
    }
    graph = ss.TaskGraph.from_edges(seconds, kinds=[str(w) for w in widths])
    rule = Strategies(candidates=1, interval=1, small=small)
    target = ss.machine(MACHINE)
    return ss.simulate(graph, MACHINE, rule, rule.no_cap(target), ss.CostModel(curves=curves), FREE)


def test_the_longest_starts_at_its_own_count():
    """8 s take 6 s on two cores; 9 s want three threads: the cores that idle, and a second thread of a busy one."""
    schedule = replay([9.0, 8.0], [3, 2], small=False)
    assert schedule.start_s.tolist() == [0, 0]
    assert (schedule.cores(1).tolist(), schedule.cores(0).tolist()) == ([0, 1], [2, 3, 4])


def test_no_core_idle_nothing_starts():
    """One op on all cores: with strategy 3 the other waits; with 4 it runs on second threads, as it ends first."""
    waits, beside = (replay([8.0, 1e-3], [4, 1], small).start_s[1] for small in (False, True))
    assert waits > 0 == beside
