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
    "load": lambda: ss.load(5),  # type: ignore[arg-type]
    "load None": lambda: ss.load(None),  # type: ignore[arg-type]
    "save": lambda: GRAPH.save(5),  # type: ignore[arg-type]
    "from_networkx": lambda: ss.TaskGraph.from_networkx(5),  # type: ignore[arg-type]
    "from_frames": lambda: ss.TaskGraph.from_frames(5, 5),  # type: ignore[arg-type]
    "recording": lambda: ss.TaskGraph.from_edges([1.0], recording=5),  # type: ignore[arg-type]
    "report": lambda: ss.TaskGraph.from_edges([1.0], report=5),  # type: ignore[arg-type]
    "layout": lambda: ss.Layout("a", 2),  # type: ignore[arg-type]
    "curve": lambda: ss.Curve(serial_share="x"),  # type: ignore[arg-type]
    "bounds": lambda: ss.bounds(5, "generic"),  # type: ignore[arg-type]
    "optimum": lambda: ss.optimum(5),  # type: ignore[arg-type]
    "calibrate": lambda: ss.calibrate(5),  # type: ignore[arg-type]
    "crosscheck": lambda: ss.crosscheck(5),  # type: ignore[arg-type]
    "progress": lambda: ss.simulate(GRAPH, "generic", "fifo", progress=5),  # type: ignore[arg-type]
    "calibrated_on": lambda: ss.replay_recorded(_recorded(), calibrated_on=5),  # type: ignore[arg-type]
    "learn": lambda: ss.learn(5),  # type: ignore[arg-type]
    "explain": lambda: ss.explain(GRAPH),  # type: ignore[arg-type]
    "machines": lambda: ss.machines(["generic"], GRAPH),  # type: ignore[arg-type]
    "cores": lambda: ss.predict(GRAPH, "generic", "fifo", ["4"]),  # type: ignore[list-item]
    "a class of a policy": lambda: ss.simulate(GRAPH, "generic", Wanting),
}


def _recorded() -> ss.TaskGraph:
    import numpy as np

    from simsched.graph import Recording

    run = Recording(np.zeros(1), np.ones(1), np.zeros(1, np.int32), ("a",))
    return ss.TaskGraph.from_edges([1.0], recording=run)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types(name: str) -> None:
    with pytest.raises(ss.SimschedError):
        CALLS[name]()


def test_a_format_that_is_no_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("duration_s\n1\n")
    with pytest.raises(ss.SimschedError):
        ss.load(path, format=5)  # type: ignore[arg-type]
