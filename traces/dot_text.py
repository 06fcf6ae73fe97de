"""DOT, the language of Graphviz's drawings, as nodes and edges; those inside subgraphs, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.columns import plain_text
from simsched.graph.loading import open_plain, read_bounded

#: Real drawings of a million edges are some tens of MB; parsing takes about 20 bytes of memory for each of the file.
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
end: name (":" name (":" name)?)?
subgraph: (SUBGRAPH name?)? body
attributes: "[" (attribute (";" | ",")?)* "]"
attribute: name ("=" name)?
name: WORD | NUMBER | HTML | QUOTED ("+" QUOTED)*
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


@dataclass(frozen=True)
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
    try:
        tree = lark.Lark(GRAMMAR, parser="lalr").parse(text)
    except lark.exceptions.UnexpectedInput as error:
        near = text[error.pos_in_stream or 0 :][:40]
        raise FormatError(f"{path}: not DOT at line {error.line}: {near!r}") from None
    dot = Dot(any(child.type == "DIGRAPH" for child in tree.children if isinstance(child, lark.Token)))
    _Walk(path, dot).body(tree.children[-1], {}, {}, 0)
    return dot


def _refuse_deep(path: Path, raw: bytes) -> None:
    depth = 0
    for found in re.finditer(rb"[{}]", raw):
        depth += 1 if found[0] == b"{" else -1
        if depth > 4 * MAX_DEPTH:
            raise FormatError(f"{path}: braces nested more than {4 * MAX_DEPTH} deep; refused")


class _Walk:
    """Goes through a parsed drawing, statement by statement, with the defaults that hold there."""

    def __init__(self, path: Path, dot: Dot) -> None:
        self._path, self._dot = path, dot

    def body(self, tree: Any, nodes: dict[str, str], edges: dict[str, str], depth: int) -> dict[str, None]:
        """Add what stands between braces, and return its nodes."""
        if depth > MAX_DEPTH:
            raise FormatError(f"{self._path}: subgraphs nested more than {MAX_DEPTH} deep; refused")
        nodes, edges = dict(nodes), dict(edges)
        found: dict[str, None] = {}
        for one in tree.children:
            if one.data == "defaults":
                target = {"NODE": nodes, "EDGE": edges}.get(one.children[0].type, {})
                target.update(_attributes(one.children[1:]))
            elif one.data == "subgraph":
                found.update(self.body(one.children[-1], nodes, edges, depth + 1))
            elif one.data == "node":
                name = _name(one.children[0].children[0])
                self._node(name, nodes).update(_attributes(one.children[1:]))
                found[name] = None
            elif one.data == "edges":
                found.update(self._edges(one, nodes, edges, depth))
        return found

    def _node(self, name: str, defaults: dict[str, str]) -> dict[str, str]:
        return self._dot.nodes.setdefault(name, dict(defaults))

    def _edges(self, tree: Any, nodes: dict[str, str], edges: dict[str, str], depth: int) -> dict[str, None]:
        attributes = edges | _attributes(one for one in tree.children if one.data == "attributes")
        ends: list[dict[str, None]] = []
        for one in tree.children:
            if one.data == "end":
                name = _name(one.children[0])
                self._node(name, nodes)
                ends.append({name: None})
            elif one.data == "subgraph":
                ends.append(self.body(one.children[-1], nodes, edges, depth + 1))
        for before, after in pairwise(ends):
            if len(self._dot.edges) + len(before) * len(after) > MAX_EDGES:
                raise FormatError(f"{self._path}: more than {MAX_EDGES} edges; refused")
            self._dot.edges.extend(DotEdge(a, b, attributes) for a, b in product(before, after))
        return {name: None for end in ends for name in end}


def _attributes(lists: Any) -> dict[str, str]:
    return dict(_pairs(lists))


def _pairs(lists: Any) -> Iterator[tuple[str, str]]:
    for one in lists:
        for attribute in one.children:
            key, *value = map(_name, attribute.children)
            yield key, value[0] if value else "true"


def _name(tree: Any) -> str:
    """Return an identifier's text: without quotes, joined where it is a sum."""
    first = tree.children[0]
    if first.type != "QUOTED":
        return str(first)
    text = "".join(str(part)[1:-1] for part in tree.children)
    return text.replace("\\\n", "").replace('\\"', '"')
