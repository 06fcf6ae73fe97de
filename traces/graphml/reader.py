"""GraphML files: nodes with their data, every edge a dependency."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.loading import open_plain
from simsched.text import one_line
from simsched.traces.shared.attributes import LANE_NAMES, OPTIONS, Durations, Nodes
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.xml import XmlReading

if TYPE_CHECKING:
    import networkx as nx

    from simsched.graph.taskgraph import TaskGraph

HYPEREDGE = "hyperedge: an edge of several tasks is not a dependency; write one edge per pair"
#: Only those that every XML file may use. Expat rejects others, but with a DOCTYPE they would vanish.
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)[^;&<>\"'\s]{0,40};?")
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]


class Guard(XmlReading):
    """Checker that rejects files which are not one plain directed graph."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._graphs = 0
        self._nodes: set[str] = set()
        self._ends: list[tuple[str, int]] = []
        self._data = b""
        self._document_type = False

    def check(self, data: bytes) -> None:
        """Raise `FormatError` if the file is not well-formed, or describes no plain directed graph."""
        self._data = data
        self.feed(data, last=True)
        if self._document_type:
            self._refuse_entities()
        if not self._graphs:
            raise FormatError(f"{self.path}: no element graph in it")
        for node, line in self._ends:
            if node not in self._nodes:
                raise FormatError(
                    f"{self.path}: line {line}: an edge names node {shown(node)}, which is not there"
                )

    def malformed(self, error: expat.ExpatError) -> FormatError:
        """Return the error of a place that is no XML, or of an entity before it."""
        if error.code == _UNDEFINED:
            self._refuse_entities()
        return super().malformed(error)

    def _refuse_entities(self) -> None:
        if unknown := _ENTITY.search(self._data):
            line = self._data.count(b"\n", 0, unknown.start()) + 1
            raise FormatError(
                f"{self.path}: line {line}: {shown(plain_text(unknown[0]))} is not a character; entities are refused"
            )

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        """Read past a DOCTYPE that only names a file, as nothing is fetched; refuse others."""
        if internal:
            raise self.refused("a DOCTYPE that declares entities or types of its own is refused; remove it")
        self._document_type = True

    def start(self, kind: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""
        if kind == "hyperedge":
            raise self.refused(HYPEREDGE)
        if kind == "graph":
            self._graph(attributes)
        elif kind == "node":
            self._node(attributes)
        elif kind == "edge":
            self._edge(attributes)

    def _graph(self, attributes: dict[str, str]) -> None:
        self._graphs += 1
        if self._graphs > 1:
            raise self.refused(
                "a second graph; nested graphs and several in one file are refused, write them apart"
            )
        if attributes.get("edgedefault") != "directed":
            raise self.refused(
                f"edgedefault is {shown(attributes.get('edgedefault'))}; expected 'directed': edges of an undirected "
                "graph do not say what comes first"
            )

    def _node(self, attributes: dict[str, str]) -> None:
        node = attributes.get("id")
        if node is None or node in self._nodes:
            raise self.refused(f"node {shown(node)}: every node has an id of its own")
        self._nodes.add(node)

    def _edge(self, attributes: dict[str, str]) -> None:
        if attributes.get("directed", "true") not in ("true", "1"):
            raise self.refused("an undirected edge does not say what comes first")
        for end in ("source", "target"):
            if end not in attributes:
                raise self.refused(f"an edge without {end}")
            self._ends.append((attributes[end], self.parser.CurrentLineNumber))


#: After blanks, instructions, comments and a DOCTYPE.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->|<![A-Z](?:[^>\[]|\[[^\]]*+\])*+>)*+"
    rb"<(?:[A-Za-z_][\w.-]{0,40}:)?graphml[\s>]"
)
#: Replacement of a root without attributes.
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
        """Recognise XML whose first element is graphml."""
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
        edges = [(str(a), str(b)) for a, b, _ in graph.edges(data=True)]
        objects = [data for *_, data in graph.edges(data=True)]
        name, lanes = (str(graph.graph.get(key, "")) for key in ("name", LANE_NAMES))
        others = [
            key for key in dict.fromkeys(str(k) for row in rows.values() for k in row) if key != duration
        ]
        return Nodes(path, "graphml", rows, edges, name, lanes, others[:MOST_UNREAD], objects).graph(
            durations
        )


GRAPHML = GraphmlFile()


def _parsed(path: Path, data: bytes) -> tuple[nx.MultiDiGraph[str], dict[str, Any]]:
    """Return the graph of a file, and the defaults of nodes' data."""
    from networkx import NetworkXException
    from networkx.readwrite.graphml import GraphMLReader

    # A multigraph, because networkx otherwise tries ids of edges as numbers.
    reader: Any = GraphMLReader(edge_key_type=str, force_multigraph=True)
    try:
        with warnings.catch_warnings():
            # It warns where a key has no type; its data are text then.
            warnings.simplefilter("ignore", UserWarning)
            graph = next(reader(string=data.decode().replace("<graphml>", _ROOT, 1)), None)
            keys, defaults = reader.find_graphml_keys(reader.xml)
    except (NetworkXException, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: networkx cannot read this GraphML: {one_line(str(error))}") from None
    if graph is None:
        raise FormatError(f"{path}: its namespace is none of GraphML; expected {_ROOT}")
    # networkx itself ignores those for all elements.
    of_nodes = (key for key in defaults if keys[key]["for"] in ("node", "all", None))
    return graph, {keys[key]["name"]: defaults[key] for key in of_nodes}


def _labelled(rows: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return nodes with their labels as names, as in yEd and Gephi, unless the file has names."""
    if any("name" in row for row in rows.values()):
        return rows
    return {
        node: {"name" if key == "label" else key: value for key, value in row.items()}
        for node, row in rows.items()
    }
