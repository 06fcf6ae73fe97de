"""GraphML files, read and, through networkx, written: nodes with their data; every edge is a dependency."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.files import replacing
from simsched.graph.loading import Reader
from simsched.graph.saving import Writer
from simsched.graph.taskgraph import TaskGraph
from simsched.text import printable
from simsched.traces.graphml.elements import read_elements
from simsched.traces.shared.attributes import (
    OPTIONS,
    Durations,
    Nodes,
    edge_rows,
    of_graph,
    rows,
)

if TYPE_CHECKING:
    import networkx as nx


def _write(graph: TaskGraph, path: Path) -> None:
    """Write a graph; ids are the tasks' indices, in order. A warning tells of data objects that are left out.

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

    edges = list(edge_rows(graph))
    # An edge with several objects is written as often.
    result: nx.DiGraph[int] = nx.DiGraph() if len(edges) == graph.n_edges else nx.MultiDiGraph()
    result.graph.update({"name": printable(graph.name)} if graph.name else {}, **of_graph(graph))
    result.add_nodes_from(enumerate(rows(graph)))
    for before, after, row in edges:
        result.add_edge(before, after, **row)
    return result


#: After blanks, instructions, comments and a DOCTYPE.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?>[\s\S]*?\?>)|<!--(?>[\s\S]*?-->)|<![A-Z](?:[^>\[]|\[[^\]]*+\])*+>)*+"
    rb"<(?:[A-Za-z_][\w.-]{0,40}:)?graphml[\s>]"
)


def _read(path: Path, *, duration: str = "duration_s", unit: str = "s") -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not GraphML, holds anything but one plain directed graph, or a datum is not what it should
        be.
    GraphError
        If its edges form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
    ... <key id="d" for="node" attr.name="duration_s" attr.type="double"/>
    ... <graph edgedefault="directed"><node id="a"><data key="d">1</data></node>
    ... <node id="b"><data key="d">2</data></node><edge source="a" target="b"/></graph></graphml>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "two.graphml").write_text(text)
    ...     graph = ss.load(Path(folder, "two.graphml"))
    >>> graph.report.format, graph.durations_s.tolist(), graph.n_edges
    ('graphml', [1.0, 2.0], 1)
    """
    durations = Durations.of(path, duration, unit)
    file = read_elements(path, duration)
    name = file.of_graph.get("name", "")
    return Nodes(
        path, "graphml", file.rows, file.edges, name, file.of_graph, file.unread, file.objects
    ).graph(durations)


GRAPHML = Reader(
    title="GraphML (.graphml)",
    dependencies="in the file",
    times="data duration_s, or that which duration= names",
    options=OPTIONS,
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)
