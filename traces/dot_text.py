"""DOT, the language of Graphviz's drawings, as nodes and edges; those inside subgraphs, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.columns import plain_text
from simsched.graph.loading import open_plain, read_bounded

#: Drawings of a million edges have some tens of MB.
MAX_B = 64 * 1024 * 1024
MAX_DEPTH = 50
#: `{a b c} -> {d e f}` draws an edge from each to each.
MAX_EDGES = 4_000_000

GRAMMAR = r"""
start: STRICT? (GRAPH | DIGRAPH) name? body
body: "{" (statement ";"?)* "}"
?statement: edges | node | defaults | setting | subgraph
setting: name "=" name
defaults: (GRAPH | NODE | EDGE) attributes+
node: end attributes*
edges: (end | subgraph) (_OPERATOR (end | subgraph))+ attributes*
?end: name | name ":" name -> port | name ":" name ":" name -> port
subgraph: (SUBGRAPH name?)? body
attributes: "[" (attribute (";" | ",")?)* "]"
attribute: name ("=" name)?
?name: WORD | NUMBER | HTML | quoted
quoted: QUOTED ("+" QUOTED)*
STRICT.2: /strict\b/i
DIGRAPH.2: /digraph\b/i
GRAPH.2: /graph\b/i
SUBGRAPH.2: /subgraph\b/i
NODE.2: /node\b/i
EDGE.2: /edge\b/i
_OPERATOR.3: "->" | "--"
WORD: /[A-Za-z_\u0080-\U0010FFFF][A-Za-z0-9_\u0080-\U0010FFFF]*/
NUMBER: /-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)/
QUOTED: /"(?:[^"\\]|\\.)*"/s
HTML: /<(?:[^<>]|<[^<>]*>)*>/
%ignore /\s+/
%ignore /\/\*.*?\*\//s
%ignore /\/\/[^\n]*/
%ignore /^\#[^\n]*/m
"""


@dataclass(frozen=True, slots=True)
class DotEdge:
    """One edge of a drawing, with its attributes."""

    before: str
    after: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Dot:
    """A drawing.

    Parameters
    ----------
    directed : bool
        Whether it is a `digraph`.
    nodes : dict of str to mapping
        Attributes of each node, in order of appearance.
    edges : list of DotEdge
        In the file's order.
    """

    directed: bool
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[DotEdge] = field(default_factory=list)


def read_dot(path: Path) -> Dot:
    """Return the first drawing of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not DOT, or would need unbounded memory.
    MissingExtraError
        If lark is not installed.
    """
    try:
        import lark
    except ImportError:
        raise MissingExtraError("lark", "formats", "reading DOT drawings") from None
    with open_plain(path) as stream:
        raw = read_bounded(stream, MAX_B + 1)
    if len(raw) > MAX_B:
        raise FormatError(f"{path}: more than {MAX_B} bytes of DOT; refused")
    _refuse_deep(path, raw)
    text = plain_text(raw)
    parser = lark.Lark(GRAMMAR, parser="lalr", transformer=_Compact(), maybe_placeholders=False)
    try:
        parsed: Any = parser.parse(text)
    except lark.exceptions.UnexpectedInput as error:
        near = text[error.pos_in_stream or 0 :][:40]
        raise FormatError(f"{path}: not DOT at line {error.line}: {near!r}") from None
    dot = Dot(parsed[0])
    _Walk(path, dot).body(parsed[1], {}, {}, 0)
    return dot


def _refuse_deep(path: Path, raw: bytes) -> None:
    depth = 0
    for found in re.finditer(rb"[{}]", raw):
        depth += 1 if found[0] == b"{" else -1
        if depth > 4 * MAX_DEPTH:
            raise FormatError(f"{path}: braces nested more than {4 * MAX_DEPTH} deep; refused")


Attributes = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Defaults:
    what: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class _Edges:
    #: Names of nodes, and subgraphs.
    ends: list[Any]
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class _Subgraph:
    statements: list[Any]


class _Compact:
    """Makes small objects of what the parser finds, in place of its trees: a method a rule of the grammar."""

    def start(self, found: list[Any]) -> tuple[bool, list[Any]]:
        return any(getattr(one, "type", "") == "DIGRAPH" for one in found), found[-1]

    def body(self, found: list[Any]) -> list[Any]:
        return [one for one in found if one is not None]

    def setting(self, found: list[Any]) -> None:
        return None

    def defaults(self, found: list[Any]) -> _Defaults:
        return _Defaults(found[0].type, _merged(found[1:]))

    def node(self, found: list[Any]) -> _Node:
        return _Node(str(found[0]), _merged(found[1:]))

    def edges(self, found: list[Any]) -> _Edges:
        ends = [one if isinstance(one, _Subgraph) else str(one) for one in found if not isinstance(one, dict)]
        return _Edges(ends, _merged([one for one in found if isinstance(one, dict)]))

    def port(self, found: list[Any]) -> str:
        return str(found[0])

    def subgraph(self, found: list[Any]) -> _Subgraph:
        return _Subgraph(found[-1])

    def attributes(self, found: list[Any]) -> Attributes:
        return dict(found)

    def attribute(self, found: list[Any]) -> tuple[str, str]:
        return str(found[0]), str(found[1]) if len(found) > 1 else "true"

    def quoted(self, found: list[Any]) -> str:
        text = "".join(str(part)[1:-1] for part in found)
        return text.replace("\\\n", "").replace('\\"', '"')


def _merged(lists: list[Attributes]) -> Attributes:
    return {key: value for one in lists for key, value in one.items()}


class _Walk:
    """Goes through a parsed drawing, statement by statement, with the defaults that hold there."""

    def __init__(self, path: Path, dot: Dot) -> None:
        self._path, self._dot = path, dot

    def body(
        self, statements: list[Any], nodes: Attributes, edges: Attributes, depth: int
    ) -> dict[str, None]:
        """Add what stands between braces, and return its nodes."""
        if depth > MAX_DEPTH:
            raise FormatError(f"{self._path}: subgraphs nested more than {MAX_DEPTH} deep; refused")
        nodes, edges = dict(nodes), dict(edges)
        found: dict[str, None] = {}
        for one in statements:
            if isinstance(one, _Defaults):
                {"NODE": nodes, "EDGE": edges}.get(one.what, {}).update(one.attributes)
            elif isinstance(one, _Node):
                self._node(one.name, nodes).update(one.attributes)
                found[one.name] = None
            else:
                ends = one.ends if isinstance(one, _Edges) else [one]
                reached = [self._end(end, nodes, edges, depth) for end in ends]
                found.update((name, None) for end in reached for name in end)
                if isinstance(one, _Edges):
                    self._join(reached, edges | one.attributes)
        return found

    def _node(self, name: str, defaults: Attributes) -> Attributes:
        return self._dot.nodes.setdefault(name, dict(defaults))

    def _end(self, end: str | _Subgraph, nodes: Attributes, edges: Attributes, depth: int) -> dict[str, None]:
        if isinstance(end, _Subgraph):
            return self.body(end.statements, nodes, edges, depth + 1)
        self._node(end, nodes)
        return {end: None}

    def _join(self, ends: list[dict[str, None]], attributes: Attributes) -> None:
        for before, after in pairwise(ends):
            if len(self._dot.edges) + len(before) * len(after) > MAX_EDGES:
                raise FormatError(f"{self._path}: more than {MAX_EDGES} edges; refused")
            self._dot.edges.extend(DotEdge(a, b, attributes) for a, b in product(before, after))
