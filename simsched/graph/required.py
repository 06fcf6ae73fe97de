"""The check that an argument is a graph, which says how to get one."""

from __future__ import annotations

from pathlib import Path

from simsched.errors import SimschedError
from simsched.graph.taskgraph import TaskGraph
from simsched.plugins import registered


def check_graph(graph: object) -> None:
    """Raise `SimschedError` unless it is a graph; the message has the call that makes one of it.

    Examples
    --------
    >>> check_graph("resnet50")
    Traceback (most recent call last):
    simsched.errors.SimschedError: graph is 'resnet50'; expected a TaskGraph, as ss.workload('resnet50') returns
    """
    if not isinstance(graph, TaskGraph):
        raise SimschedError(f"graph is {graph!r:.80}; expected a TaskGraph, as {_call(graph)} returns")


def _call(graph: object) -> str:
    if isinstance(graph, str | Path):
        if str(graph).split("[")[0].strip() in registered("workloads"):
            return f"ss.workload({str(graph)!r})"
        if Path(graph).is_file():
            return f"ss.load({str(graph)!r})"
    elif hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return "ss.TaskGraph.from_networkx"
    return "ss.load(FILE) or ss.workload(NAME)"
