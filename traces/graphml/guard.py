"""What a GraphML file must not hold, found before networkx sees it: entities, and what that would pass over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# Expat itself expands only entities that a file declares, which is refused here before the first is read.
from xml.parsers import expat

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.text import printable
from simsched.traces.shared.json_stream import shown

MOST_DEPTH = 30
HYPEREDGE = "hyperedge: an edge of several tasks is not a dependency; write one edge per pair"
#: Only those that every XML file may use. Expat refuses others, but where a DOCTYPE is given they would vanish.
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)[^;&<>\"'\s]{0,40};?")
_UNDEFINED = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]


class Guard:
    """Goes through a file and refuses what is not one plain directed graph."""

    def __init__(self, path: Path) -> None:
        self._path, self._depth, self._graphs = path, 0, 0
        self._nodes: set[str] = set()
        self._ends: list[tuple[str, int]] = []
        self._parser = expat.ParserCreate("UTF-8", "}")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.XmlDeclHandler = self._declared
        self._encoding = ""
        self._document_type = False

    def check(self, data: bytes) -> None:
        """Raise `FormatError` if the file is not well-formed, or describes no plain directed graph."""
        if b"\0" in data:
            raise FormatError(f"{self._path}: NUL bytes in it; expected XML in UTF-8")
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            if error.code == _UNDEFINED:
                self._refuse_entities(data)
            reason = expat.ErrorString(error.code)
            raise FormatError(
                f"{self._path}: line {error.lineno}, column {error.offset + 1}: not well-formed XML ({reason}); "
                f"{self._advice()}"
            ) from None
        if self._document_type:
            self._refuse_entities(data)
        if not self._graphs:
            raise FormatError(f"{self._path}: no element graph in it")
        for node, line in self._strangers():
            raise FormatError(
                f"{self._path}: line {line}: an edge names node {shown(node)}, which is not there"
            )

    def _refuse_entities(self, data: bytes) -> None:
        if unknown := _ENTITY.search(data):
            line = data.count(b"\n", 0, unknown.start()) + 1
            raise FormatError(
                f"{self._path}: line {line}: {shown(plain_text(unknown[0]))} is not a character; entities are refused"
            )

    def _advice(self) -> str:
        if self._encoding.lower() in ("", "utf-8", "us-ascii"):
            return "was it copied completely?"
        return (
            f"it says that it is in {printable(self._encoding)[:40]}, expected UTF-8: "
            "xmllint --encode UTF-8 FILE converts it"
        )

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self._encoding = encoding or ""

    def _strangers(self) -> Iterator[tuple[str, int]]:
        return ((node, line) for node, line in self._ends if node not in self._nodes)

    def _refused(self, message: str) -> FormatError:
        return FormatError(f"{self._path}: line {self._parser.CurrentLineNumber}: {message}")

    def _doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        # One that only names a file is read past; nothing is fetched.
        if internal:
            raise self._refused("a DOCTYPE that declares entities or types of its own is refused; remove it")
        self._document_type = True

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._refused(f"elements nested more than {MOST_DEPTH} deep; refused")
        kind = tag.rpartition("}")[2]
        if kind == "hyperedge":
            raise self._refused(HYPEREDGE)
        if kind == "graph":
            self._graph(attributes)
        elif kind == "node":
            self._node(attributes)
        elif kind == "edge":
            self._edge(attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1

    def _graph(self, attributes: dict[str, str]) -> None:
        self._graphs += 1
        if self._graphs > 1:
            raise self._refused(
                "a second graph; nested graphs and several in one file are refused, write them apart"
            )
        if attributes.get("edgedefault") != "directed":
            raise self._refused(
                f"edgedefault is {shown(attributes.get('edgedefault'))}; expected 'directed': edges of an undirected "
                "graph do not say what comes first"
            )

    def _node(self, attributes: dict[str, str]) -> None:
        node = attributes.get("id")
        if node is None or node in self._nodes:
            raise self._refused(f"node {shown(node)}: every node has an id of its own")
        self._nodes.add(node)

    def _edge(self, attributes: dict[str, str]) -> None:
        if attributes.get("directed", "true") not in ("true", "1"):
            raise self._refused("an undirected edge does not say what comes first")
        for end in ("source", "target"):
            if end not in attributes:
                raise self._refused(f"an edge without {end}")
            self._ends.append((attributes[end], self._parser.CurrentLineNumber))
