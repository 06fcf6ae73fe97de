"""Graphs that grow with the cores, for weak scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simsched.errors import GraphError

if TYPE_CHECKING:
    from simsched.graph import TaskGraph


def grown(graph: TaskGraph | Callable[[int], TaskGraph], cores: Sequence[int], weak: bool) -> list[TaskGraph]:
    """Return the graph for each core count.

    Parameters
    ----------
    graph : TaskGraph or callable
        What is called with a core count returns the graph for it.
    cores : sequence of int
        At least one.
    weak : bool
        Whether a graph is for the fewest cores, and others get as many independent copies of it as they are more, as
        data-parallel workers each take a batch of their own.

    Raises
    ------
    GraphError
        If core counts are not multiples of the fewest.
    """
    if callable(graph):
        return [graph(int(count)) for count in cores]
    if not weak:
        return [graph] * len(cores)
    fewest = min(cores)
    for count in cores:
        if count % fewest:
            raise GraphError(
                f"cores={count} is {count / fewest:.3g} times {fewest}: weak scaling by whole copies needs multiples "
                "of the fewest cores; or give a function of the core count as the graph"
            )
    return [graph if count == fewest else _copies(graph, int(count // fewest)) for count in cores]


def _copies(graph: TaskGraph, number: int) -> TaskGraph:
    return graph.cleaned(f"unroll[iterations={number},between=nothing]")
