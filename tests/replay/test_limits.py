"""What would make a result wrong: overflow, deep graphs, stories without end."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import CostError, PolicyError


@pytest.mark.parametrize("noise", [0.0, 1e3])
def test_seconds_that_add_up_to_infinity(engine, noise):
    seconds = [1e308, 1e308] if not noise else np.ones(100)
    graph = ss.TaskGraph.from_edges(seconds, [(0, 1)])
    with pytest.raises(CostError, match="add up to infinity"):
        ss.simulate(graph, "generic", "fifo", costs=ss.CostModel(noise=noise), engine=engine)


def test_times_beyond_all_numbers(engine):
    """Dispatching that takes longer than there are numbers may not make a replay that never ends."""
    runtime = ss.RuntimeProfile(dispatch_s=1.7e308)
    with pytest.raises(CostError, match="beyond all numbers"):
        ss.simulate(
            ss.TaskGraph.from_edges([1, 1, 1]), "generic", "critical-path", runtime=runtime, engine=engine
        )


def test_a_story_ends(engine):
    """The last task of a long chain is asked for: the message stays short."""

    class Hasty(ss.Policy):
        def decide(self, view):
            return [ss.Start(4999)]

    chain = ss.TaskGraph.from_edges(np.ones(5000), [(i, i + 1) for i in range(4999)])
    with pytest.raises(PolicyError, match="not ready: task 4999") as raised:
        ss.simulate(chain, "generic", Hasty, engine=engine)
    assert len(str(raised.value)) < 500


def test_a_long_chain(engine):
    chain = ss.TaskGraph.from_edges(np.ones(20_000), [(i, i + 1) for i in range(19_999)])
    assert ss.simulate(chain, "generic", "critical-path", engine=engine).makespan_s == 20_000


def test_a_schedule_cannot_be_changed(engine):
    schedule = ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", engine=engine)
    with pytest.raises(ValueError, match="read-only"):
        schedule.start_s[0] = 9
    tasks = schedule.tasks
    tasks.loc[0, "start_s"] = 9
    assert schedule.start_s[0] == schedule.tasks["start_s"][0] == 0


def test_core_counts_may_be_numpys():
    frame = ss.predict(ss.TaskGraph.from_edges([1.0, 1.0]), "generic", "fifo", np.array([1, 2]))
    assert frame["makespan_s"].tolist() == [2, 1]


@pytest.mark.parametrize("policy", ["corun", "fifo"])
def test_the_shortest_seconds_that_there_are(engine, policy):
    """Half of the least number above 0 is 0: a share of that is none."""
    graph = ss.TaskGraph.from_edges([5e-324, 1.0], [(0, 1)], kinds="MatMul", bytes_B=[1.0, 1.0])
    machine = "generic[cores=2,contention=true]"
    assert ss.simulate(graph, machine, policy, "1x2", engine=engine).makespan_s == 0.5
