"""GraphML files: nodes with their data, every edge a dependency."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import FormatError
from simsched.graph.loading import open_plain
from simsched.text import one_line
from simsched.traces.graphml.guard import Guard
from simsched.traces.shared.attributes import LANE_NAMES, OPTIONS, Durations, Nodes

if TYPE_CHECKING:
    import networkx as nx

    from simsched.graph.taskgraph import TaskGraph

#: Behind blanks, instructions, comments and a DOCTYPE.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->|<![A-Z](?:[^>\[]|\[[^\]]*+\])*+>)*+"
    rb"<(?:[A-Za-z_][\w.-]{0,40}:)?graphml[\s>]"
)
#: What a root without attributes stands for.
_ROOT = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
MOST_UNREAD = 20


class GraphmlFile:
    """Reader of GraphML files.

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

    title = "GraphML (.graphml)"
    dependencies = "in the file"
    times = "data duration_s, or that which duration= names"
    options: dict[str, str] = OPTIONS

    def recognises(self, head: bytes) -> bool:
        """Tell by XML whose first element is graphml."""
        return _BEGINNING.match(head) is not None

    def read(self, path: Path, *, duration: str = "duration_s", unit: str = "s") -> TaskGraph:
        """Return the graph of a file, plain or gzipped.

        Raises
        ------
        FormatError
            If the file is not GraphML, holds anything but one plain directed graph, or a datum is not what it should
            be.
        GraphError
            If its edges form a cycle.
        """
        durations = Durations.of(path, duration, unit)
        with open_plain(path) as stream:
            data = stream.read()
        Guard(path).check(data)
        graph, defaults = _parsed(path, data)
        rows: dict[str, Mapping[str, Any]] = {
            str(node): {**defaults, **attributes} for node, attributes in graph.nodes(data=True)
        }
        if duration != "label":
            rows = _labelled(rows)
        edges = [(str(a), str(b)) for a, b, *_ in graph.edges]
        name, lanes = (str(graph.graph.get(key, "")) for key in ("name", LANE_NAMES))
        return Nodes(path, "graphml", rows, edges, name, lanes, _unread(rows, duration)).graph(durations)


GRAPHML = GraphmlFile()


def _parsed(path: Path, data: bytes) -> tuple[nx.MultiDiGraph[str], dict[str, Any]]:
    """Return the graph of a file, and what nodes' data are where a node has none."""
    from networkx import NetworkXException
    from networkx.readwrite.graphml import GraphMLReader

    # A multigraph, because networkx otherwise tries ids of edges as numbers.
    reader: Any = GraphMLReader(edge_key_type=str, force_multigraph=True)
    try:
        with warnings.catch_warnings():
            # It says so where a key has no type; its data are text then.
            warnings.simplefilter("ignore", UserWarning)
            graph = next(reader(string=data.decode().replace("<graphml>", _ROOT, 1)), None)
            keys, defaults = reader.find_graphml_keys(reader.xml)
    except (NetworkXException, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: networkx cannot read this GraphML: {one_line(str(error))}") from None
    if graph is None:
        raise FormatError(f"{path}: its namespace is none of GraphML; expected {_ROOT}")
    # networkx itself passes over those for all elements.
    of_nodes = (key for key in defaults if keys[key]["for"] in ("node", "all", None))
    return graph, {keys[key]["name"]: defaults[key] for key in of_nodes}


def _labelled(rows: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return nodes with their labels as names, as yEd and Gephi call them, unless the file has names."""
    if any("name" in row for row in rows.values()):
        return rows
    return {
        node: {"name" if key == "label" else key: value for key, value in row.items()}
        for node, row in rows.items()
    }


def _unread(rows: Mapping[str, Mapping[str, Any]], duration: str) -> list[str]:
    names = dict.fromkeys(str(name) for row in rows.values() for name in row)
    return [name for name in names if name != duration][:MOST_UNREAD]
