"""Widths by kind: the queues that it keeps decide as looking at every ready task would."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.policy import Policy, Start
from simsched.testing.strategies import graphs

WIDTHS = {"a": 2, "b": 3}
CASES = settings(max_examples=20)


@dataclass(frozen=True)
class Looking(Policy):
    """The rule as it is written: of all ready tasks the highest level first, what does not fit is passed over."""

    name = "looking"

    def decide(self, view):
        graph, idle = view.problem.graph, len(view.idle_cores)
        each = np.array([WIDTHS.get(graph.kinds[task], 1) for task in range(graph.n_tasks)], np.int64)
        levels = graph.levels(view.problem.costs.seconds(each))
        for task in sorted(view.ready, key=lambda task: (-levels[task], task)):
            if each[task] <= idle:
                idle -= int(each[task])
                yield Start(task, int(each[task]))


@pytest.mark.parametrize("dispatch_s", [0.0, 0.25])
@CASES
@given(graph=graphs(max_tasks=12), data=st.data())
def test_it_is_the_rule(graph, data, dispatch_s):
    n = graph.n_tasks
    kinds = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
    again = ss.TaskGraph.from_edges(
        graph.durations_s, graph.to_frames()[1][["before", "after"]].to_numpy(), kinds=kinds
    )
    widths = ";".join(f"{kind}:{width}" for kind, width in WIDTHS.items() if kind in kinds)
    options = {
        "runtime": ss.RuntimeProfile(dispatch_s=dispatch_s),
        "costs": ss.CostModel(curves={"a": ss.Curve(0.5)}),
    }
    policy = f"kind-widths[widths={widths}]" if widths else "kind-widths"
    kept, looked = (ss.simulate(again, "generic[cores=4]", rule, **options) for rule in (policy, Looking))
    assert kept.start_s.tolist() == looked.start_s.tolist()
    assert [kept.cores(task).tolist() for task in range(n)] == [
        looked.cores(task).tolist() for task in range(n)
    ]


def test_each_task_is_told_once_when_it_became_ready(engine):
    """0 and 1 at first; 2 after both, when 3, ready before it and not taken, is no news."""
    told = []

    @dataclass(frozen=True)
    class Telling(Policy):
        name = "telling"

        def decide(self, view):
            told.append((view.now_s, view.ready, view.newly_ready))
            if view.idle_cores:
                yield Start(view.ready[0])

    graph = ss.TaskGraph.from_edges([1.0, 2.0, 1.0, 4.0], [(0, 2), (1, 2)])
    ss.simulate(graph, "generic[cores=1]", Telling, engine=engine)
    assert told == [
        (0.0, (0, 1, 3), (0, 1, 3)),
        (1.0, (1, 3), ()),
        (3.0, (2, 3), (2,)),
        (4.0, (3,), ()),
    ]


def test_without_widths_an_estimate_finds_them(engine):
    """A divides perfectly, b not at all: a gets all cores, b one, and the schedule says who chose."""
    graph = ss.TaskGraph.from_edges([4.0, 1.0], kinds=["a", "b"])
    costs = ss.CostModel(curves={"a": ss.Curve(0.0), "b": ss.Curve(1.0)})
    schedule = ss.simulate(graph, "generic[cores=4]", "kind-widths", costs=costs, engine=engine)
    assert schedule.policy == "kind-widths[widths=a:4;b:1]"
    assert schedule.inputs.layout_by == "estimate"
    given = ss.simulate(graph, "generic[cores=4]", "kind-widths[widths=a:2]", costs=costs, engine=engine)
    assert (given.widths.tolist(), given.inputs.layout_by) == ([2, 1], "")
