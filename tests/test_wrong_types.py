"""Arguments of wrong types are errors of simsched, which name the argument, never Python's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import simsched as ss

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])


class Wanting(ss.Policy):
    """A policy whose constructor needs more than a name can give."""

    name = "wanting"

    def __init__(self, more: int) -> None:
        self.more = more


CALLS: dict[str, Callable[..., object]] = {
    "load": lambda: ss.load(5),
    "load None": lambda: ss.load(None),
    "save": lambda: GRAPH.save(5),
    "from_networkx": lambda: ss.TaskGraph.from_networkx(5),
    "from_frames": lambda: ss.TaskGraph.from_frames(5, 5),
    "recording": lambda: ss.TaskGraph.from_edges([1.0], recording=5),
    "report": lambda: ss.TaskGraph.from_edges([1.0], report=5),
    "layout": lambda: ss.Layout("a", 2),
    "curve": lambda: ss.Curve(serial_share="x"),
    "bounds": lambda: ss.bounds(5, "generic"),
    "optimum": lambda: ss.optimum(5),
    "calibrate": lambda: ss.calibrate(5),
    "crosscheck": lambda: ss.crosscheck(5),
    "letters of a graph to calibrate": lambda: ss.calibrate("rnn"),
    "letters of a graph to cross-check": lambda: ss.crosscheck("rnn"),
    "letters of a parameter": lambda: ss.sensitivity(GRAPH, "generic", parameters="cores.clock"),
    "a number of seeds": lambda: ss.replayed(GRAPH, "generic", ["fifo", "lifo"], seeds=4),
    "schedules without names": lambda: ss.plots.stacked([ss.simulate(GRAPH, "generic", "fifo")]),
    "letters of parameters": lambda: ss.sobol(GRAPH, "generic", parameters="cores.clock", samples=2),
    "progress": lambda: ss.simulate(GRAPH, "generic", "fifo", progress=5),
    "calibrated_on": lambda: ss.replay_recorded(_recorded(), calibrated_on=5),
    "learn": lambda: ss.learn(5),
    "explain": lambda: ss.explain(GRAPH),
    "machines": lambda: ss.machines(["generic"], GRAPH),
    "cores": lambda: ss.predict(GRAPH, "generic", "fifo", ["4"]),
    "a class of a policy": lambda: ss.simulate(GRAPH, "generic", Wanting),
}


def _recorded() -> ss.TaskGraph:
    import numpy as np

    from simsched.graph import Recording

    run = Recording(np.zeros(1), np.ones(1), np.zeros(1, np.int32), ("a",))
    return ss.TaskGraph.from_edges([1.0], recording=run)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types(name: str) -> None:
    with pytest.raises(ss.SimschedError) as raised:
        CALLS[name]()
    assert "'r'" not in str(raised.value), "no letter of a name is taken for an argument"
    assert "'c'" not in str(raised.value)


def test_a_format_that_is_no_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("duration_s\n1\n")
    with pytest.raises(ss.SimschedError):
        ss.load(path, format=5)
