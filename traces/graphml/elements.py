"""The elements of a GraphML file, in one pass: nodes and edges with those of their data that are read.

Nothing is kept of the text but these data. Expat itself expands only entities that a file declares, which is rejected
here before the first is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import data_columns
from simsched.graph.budget import budget
from simsched.graph.loading import open_plain
from simsched.graph.xml import XmlReading, refuse_entities
from simsched.text import printable
from simsched.traces.shared.attributes import COLUMNS, OF_GRAPH
from simsched.traces.shared.json_stream import shown

#: Most names of data that are not read in a report.
MOST_UNREAD = 20
HYPEREDGE = "hyperedge: an edge of several tasks is not a dependency; write one edge per pair"
#: With a DOCTYPE, entities that expat does not know would vanish.
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
#: Elements of yEd, which keeps what is written on a node in them.
_DRAWN = frozenset({"GenericNode", "ShapeNode", "SVGNode", "ImageNode"})

Row = dict[str, Any]


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


_TYPES: Mapping[str | None, Callable[[str], Any]] = {
    **dict.fromkeys((None, "string", "yfiles"), str),
    **dict.fromkeys(("int", "integer", "long"), int),
    **dict.fromkeys(("float", "double", "real"), float),
    "boolean": _boolean,
}


@dataclass
class Elements:
    """What a file holds.

    Parameters
    ----------
    rows : dict of str to dict
        The data of every node by id: the columns of a graph, the durations, and names.
    edges : int array, shape (m, 2)
        Positions of their ends in `rows`.
    objects : dict of int to dict
        Data of the edges that have any.
    of_graph : dict of str to str
        Data of the graph: its `name` and those of `OF_GRAPH` that the file has.
    unread : list of str
        Names of other data of nodes.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    edges: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    objects: dict[int, Row] = field(default_factory=dict)
    of_graph: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Key:
    """A kind of data: its name, the type of its values, and of which elements it has a default."""

    name: str
    type: str | None
    of: str | None

    def value(self, text: str) -> Any:
        return _TYPES[self.type](text)


def read_elements(path: Path, duration: str) -> Elements:
    """Return the nodes and edges of a file, plain or gzipped.

    Parameters
    ----------
    path : Path
        The file.
    duration : str
        Name of the data that hold durations.

    Raises
    ------
    FormatError
        If the file is not well-formed, describes anything but one plain directed graph, or a datum is not of its type.
    """
    return _Builder(path, duration).elements()


class _Builder(XmlReading):
    """Builder of the elements from the parser's events."""

    def __init__(self, path: Path, duration: str) -> None:
        super().__init__(path)
        self._found, self._graphs = Elements(), 0
        self._wanted = {
            "node": {*COLUMNS, duration, "label"},
            "edge": set(data_columns.COLUMNS),
            "graph": {"name", *OF_GRAPH},
        }
        self._duration = duration
        self._keys: dict[str | None, _Key] = {}
        self._defaults: dict[str, Row] = {"node": {}, "edge": {}, "graph": {}}
        self._unread: dict[str, None] = {}
        # Nodes by number in order of their first mention, and the lines of edges to those that were not there yet.
        self._numbers: dict[str, int] = {}
        self._missing: dict[int, int] = {}
        self._places, self._ends = array("q"), array("q")
        self._budget = budget()
        self._open: list[str] = []
        # Data of the node or edge at hand; key and text of the datum, and whether it has no elements in it.
        self._row: Row = {}
        self._key: str | None = None
        self._text: list[str] = []
        self._plain = True
        self._document_type = False
        self.parser.buffer_text = True

    def elements(self) -> Elements:
        """Read the file, and return what it holds."""
        with open_plain(self.path) as stream:
            self.read(stream)
        if self._document_type:
            self._refuse_entities()
        if not self._graphs:
            raise FormatError(f"{self.path}: no element graph in it")
        return self._complete()

    def malformed(self, error: expat.ExpatError) -> FormatError:
        """Return the error of a place that is no XML, or of an entity before it."""
        if error.code == _UNDEFINED:
            self._refuse_entities()
        return super().malformed(error)

    def _complete(self) -> Elements:
        """Return what was found, with nodes in the order of the file."""
        found = self._found
        if self._missing:
            number, line = min(self._missing.items(), key=lambda item: item[1])
            node = next(name for name, n in self._numbers.items() if n == number)
            raise FormatError(
                f"{self.path}: line {line}: an edge names node {shown(node)}, which is not there"
            )
        places = np.empty(len(self._numbers), np.int64)
        places[np.array(self._places, np.int64)] = np.arange(len(self._places))
        found.edges = places[np.array(self._ends, np.int64).reshape(-1, 2)]
        if defaults := self._defaults["node"]:
            found.rows = {node: {**defaults, **row} for node, row in found.rows.items()}
        if defaults := self._defaults["edge"]:
            found.objects = {i: {**defaults, **found.objects.get(i, {})} for i in range(len(found.edges))}
        self._name_by_labels()
        found.unread = list(self._unread)
        return found

    def _name_by_labels(self) -> None:
        """Make labels names, as in yEd and Gephi, unless the file has names."""
        rows = self._found.rows.values()
        if self._duration == "label" or not any("label" in row for row in rows):
            return
        if any("name" in row for row in rows):
            self._unread["label"] = None
            return
        for row in rows:
            if "label" in row:
                row["name"] = row.pop("label")

    def _refuse_entities(self) -> None:
        with open_plain(self.path) as stream:
            refuse_entities(self.path, stream.read())

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        """Read past a DOCTYPE that only names a file, as nothing is fetched; refuse others."""
        if internal:
            raise self.refused("a DOCTYPE that declares entities or types of its own is refused; remove it")
        self._document_type = True

    def start(self, kind: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""
        around = self._open[-1] if self._open else ""
        self._open.append(kind)
        if kind == "data" and around in self._wanted:
            self._begin(attributes.get("key"))
        elif kind == "default" and around == "key":
            self._begin(self._key)
        elif around == "data":
            self._plain = False
        elif kind == "NodeLabel" and around in _DRAWN and "label" not in self._row:
            self._text = []
            self.parser.CharacterDataHandler = self._text.append
        elif kind in _STARTS:
            _STARTS[kind](self, attributes)

    def _begin(self, key: str | None) -> None:
        """Begin a datum of an element."""
        if key not in self._keys:
            raise self.refused(f"data of key {shown(key)}, which is not declared before")
        self._key, self._text, self._plain = key, [], True
        self.parser.CharacterDataHandler = self._text.append

    def end(self, kind: str) -> None:
        """Take the end of an element."""
        kind, around = self._open.pop(), self._open[-1] if self._open else ""
        if kind == "data" and around in self._wanted:
            self.parser.CharacterDataHandler = None
            # An empty datum is absent, but a task may have an empty name.
            if self._plain and (self._text or self._keys[self._key].name == "name"):
                self._keep(around)
        elif kind == "default" and around == "key":
            self.parser.CharacterDataHandler = None
            key = self._keys[self._key]
            for of in ("node", "edge"):
                if key.of in (of, "all", None) and key.name in self._wanted[of] and self._text:
                    self._defaults[of][key.name] = self._value(key)
        elif kind == "NodeLabel" and around in _DRAWN and self._text:
            self._row["label"] = "".join(self._text)
            self.parser.CharacterDataHandler = None

    def _keep(self, of: str) -> None:
        key = self._keys[self._key]
        if key.name not in self._wanted[of]:
            if of == "node" and len(self._unread) < MOST_UNREAD:
                self._unread[key.name] = None
        elif of == "graph":
            # It may come after the nodes.
            self._found.of_graph[key.name] = str(self._value(key))
        else:
            self._row[key.name] = self._value(key)
            if of == "edge":
                self._found.objects[len(self._ends) // 2 - 1] = self._row

    def _value(self, key: _Key) -> Any:
        text = "".join(self._text)
        try:
            return key.value(text)
        except (KeyError, ValueError):
            raise self.refused(
                f"{printable(key.name)[:60]} is {shown(text)}; expected {key.type}, the type of its key"
            ) from None

    def _declare(self, attributes: dict[str, str]) -> None:
        name = attributes.get("attr.name")
        kind = attributes.get("attr.type")
        if "yfiles.type" in attributes:
            name, kind = attributes["yfiles.type"], "yfiles"
        if name is None or kind not in _TYPES:
            problem = (
                "no attr.name" if name is None else f"attr.type {shown(kind)}, which GraphML does not have"
            )
            raise self.refused(f"key {shown(attributes.get('id'))} has {problem}")
        self._key = attributes.get("id")
        self._keys[self._key] = _Key(name, kind, attributes.get("for"))
        self._budget.check(self.path, len(self._keys), "columns")

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
        if node is None or node in self._found.rows:
            raise self.refused(f"node {shown(node)}: every node has an id of its own")
        number = self._numbers.setdefault(node, len(self._numbers))
        self._missing.pop(number, None)
        self._places.append(number)
        self._row = self._found.rows[node] = {}
        self._budget.check(self.path, len(self._places), "tasks")

    def _edge(self, attributes: dict[str, str]) -> None:
        if attributes.get("directed", "true") not in ("true", "1"):
            raise self.refused("an undirected edge does not say what comes first")
        for end in ("source", "target"):
            if end not in attributes:
                raise self.refused(f"an edge without {end}")
            number = self._numbers.setdefault(attributes[end], len(self._numbers))
            if number == len(self._places) + len(self._missing):
                self._missing[number] = self.parser.CurrentLineNumber
            self._ends.append(number)
        self._row = {}
        self._budget.check(self.path, len(self._ends) // 2, "edges")

    def _hyperedge(self, attributes: dict[str, str]) -> None:
        raise self.refused(HYPEREDGE)


_STARTS = {
    "key": _Builder._declare,
    "graph": _Builder._graph,
    "node": _Builder._node,
    "edge": _Builder._edge,
    "hyperedge": _Builder._hyperedge,
}
