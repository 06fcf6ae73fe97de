"""Fair shares of cores, worked out by hand on both engines; the first two are SimGrid's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import SpecError
from simsched.testing.strategies import graphs, machines

FAIR = "fifo[oversubscribe=fair]"


@pytest.mark.rule("Fair shares")
@pytest.mark.parametrize(("threads", "makespan_s"), [(2, 10), (4, 10), (6, 15)])
def test_threads_share_four_cores(replay, threads, makespan_s):
    """Up to four have a core each; six have 4 / 6 of one: 15 s. Pinned, two cores have two threads in turns: 20 s."""
    seconds, layout = [10] * threads, f"{threads}x1"
    assert replay(seconds, [], FAIR, "generic[cores=4]", layout=layout).makespan_s == makespan_s
    pinned = replay(
        seconds, [], "fifo[oversubscribe=true]", "generic[cores=4,share_cores=true]", layout=layout
    )
    assert pinned.makespan_s == (20 if threads == 6 else 10)


@pytest.mark.rule("Fair shares")
def test_threads_that_cost_nothing_are_told(replay):
    """Six tasks of 10 s on four cores end at 10 s where nothing is shared: 15 s of work per core, which a note says."""
    free = replay([10] * 6, [], "fifo[oversubscribe=true]", "generic[cores=4]", layout="6x1")
    told = [note for note in free.notes if "6 threads on 4 cost nothing" in note]
    assert (free.makespan_s, len(told)) == (10, 1)
    turns = "generic[cores=4,share_cores=true]"
    for policy, machine in (
        ("fifo[oversubscribe=true]", turns),
        ("fifo[oversubscribe=fair]", "generic[cores=4]"),
    ):
        shared = replay([10] * 6, [], policy, machine, layout="6x1")
        assert not any("cost nothing" in note for note in shared.notes)


def test_two_on_one_core_and_a_third_after_them(replay):
    """1 s and 2 s side by side: 1 s of each is done at 2; the rest of the other at 3; their successor at 4."""
    schedule = replay([1, 2, 1], [(0, 2), (1, 2)], FAIR, "generic[cores=1]", layout="2x1")
    assert schedule.finish_s.tolist() == pytest.approx([2, 3, 4], rel=1e-12)


@pytest.mark.rule("Fair shares")
def test_a_core_with_several_ways_does_more_with_several_threads(replay, engine):
    """Three threads on two cores: 1.5 on each, whose throughput is midway between those of 1 and of 2."""
    machine = ss.machine("knl-7250[cores=2,contention=false]")
    throughput = machine.compute_throughput
    found = replay([10] * 3, [], FAIR, machine, layout="3x1").makespan_s
    assert found == pytest.approx(10 * 1.5 / ((throughput[0] + throughput[1]) / 2), rel=1e-6)
    many = replay([10] * 20, [], FAIR, machine, layout="20x1").makespan_s
    assert many == pytest.approx(10 * 10 / throughput[-1], rel=1e-6)


def test_the_word_is_fair():
    with pytest.raises(SpecError, match="oversubscribe"):
        ss.policy("fifo[oversubscribe=unfair]")
    assert str(ss.policy(FAIR)) == FAIR
    assert ss.policy("tensorflow[oversubscribe=fair]").oversubscribe == "fair"


@given(st.data())
def test_engines_agree(data):
    graph, machine = data.draw(graphs(max_tasks=12)), data.draw(machines(max_cores=4))
    layout = ss.Layout(data.draw(st.integers(1, 9)), data.draw(st.integers(1, 3)))
    one, other = (
        ss.simulate(graph, machine, FAIR, layout=layout, engine=engine) for engine in ("simpy", "native")
    )
    for column in ("ready_s", "start_s", "finish_s", "executor", "start_order"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), column)
    why = one.explain()
    assert why.core_time["core_s"].sum() == pytest.approx(one.n_cores * one.makespan_s, rel=1e-6, abs=1e-9)
