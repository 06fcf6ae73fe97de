"""Writer of GraphML files, through networkx: every task with its columns as data, which the reader reads back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simsched.files import replacing
from simsched.graph.saving import Writer
from simsched.text import printable
from simsched.traces.shared.attributes import LANE_NAMES, edge_rows, lane_names, rows

if TYPE_CHECKING:
    import networkx as nx

    from simsched.graph.taskgraph import TaskGraph


def _write(graph: TaskGraph, path: Path) -> None:
    """Write a graph; ids are the tasks' indices, in order. Data objects that no edge carries are left out.

    Raises
    ------
    SimschedError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.graphml")
    ...     back = ss.load(f"{folder}/two.graphml")
    >>> back.report.format, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('graphml', ['load', 'sum'], [1.0, 2.0], 1)
    """
    import networkx as nx

    with replacing(path) as file:
        nx.write_graphml_xml(_as_networkx(graph), file)


GRAPHML_WRITER = Writer(
    title="GraphML",
    suffixes=(".graphml",),
    writes="graph",
    write=_write,
)


def _as_networkx(graph: TaskGraph) -> nx.DiGraph[int]:
    import networkx as nx

    graph_attributes = {"name": printable(graph.name), LANE_NAMES: lane_names(graph)}
    edges = list(edge_rows(graph))
    # An edge with several objects is written as often.
    result: nx.DiGraph[int] = nx.DiGraph() if len(edges) == graph.n_edges else nx.MultiDiGraph()
    result.graph.update({key: text for key, text in graph_attributes.items() if text})
    result.add_nodes_from(enumerate(rows(graph)))
    for before, after, row in edges:
        result.add_edge(before, after, **row)
    return result
