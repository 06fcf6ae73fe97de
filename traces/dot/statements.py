"""DOT's grammar, and its statements, each when it is complete: nodes with defaults of their scope, chains, subgraphs.

Lark parses it. pydot and networkx, which parse with it, stop at an unquoted negative id, which Nanos++ writes; Graphviz
itself is a program that would have to be installed.

References
----------
"DOT Language", https://graphviz.org/doc/info/lang.html, and Graphviz's own scanner where the page is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any

from simsched.errors import FormatError, MissingExtraError
from simsched.graph.columns import plain_text
from simsched.graph.contracting import MAX_EDGES
from simsched.graph.loading import open_plain
from simsched.traces.shared.json_stream import shown

if TYPE_CHECKING:
    from lark import Lark

#: Deepest nesting: files written by programs nest two or three deep.
MAX_DEPTH = 100

# Graphviz reads an unquoted 2.5e3 as 2.5 and another id e3, with a warning; here it is rejected.
# Statements are separate rules, as are the openings of graphs, because each acts when it is complete.
GRAMMAR = r"""
start: opening body
opening: STRICT? (GRAPH | DIGRAPH) id? -> graph_opening
body: "{" statements "}"
statements: | statements statement | statements ";"
?statement: node | edge | defaults | assignment | subgraph

node: point attributes?
edge: end (EDGEOP end)+ attributes?
?end: point | subgraph
point: id port?
port: ":" id (":" id)?
defaults: (GRAPH | NODE | EDGE) attributes
assignment: id "=" id
subgraph: scope statements "}"
scope: (SUBGRAPH id?)? "{"

attributes: ("[" (id ["=" id] (";" | ",")?)* "]")+
id: NAME | NUMBER | HTML | QUOTED ("+" QUOTED)*

STRICT.2: /strict(?![\w\x80-\U0010ffff])/i
GRAPH.2: /graph(?![\w\x80-\U0010ffff])/i
DIGRAPH.2: /digraph(?![\w\x80-\U0010ffff])/i
NODE.2: /node(?![\w\x80-\U0010ffff])/i
EDGE.2: /edge(?![\w\x80-\U0010ffff])/i
SUBGRAPH.2: /subgraph(?![\w\x80-\U0010ffff])/i
EDGEOP: "->" | "--"
NAME: /[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*/
NUMBER: /-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)(?![\w.])/
QUOTED: /"(?:[^"\\]++|\\[\s\S])*+"/
HTML: /<(?:[^<>]++|<(?:[^<>]++|<[^<>]*+>)*+>)*+>/

%ignore /[\s\ufeff]+/
%ignore /\/\/[^\n]*/
%ignore /\/\*[\s\S]*?\*\//
%ignore /(?m:^)#[^\n]*/
"""


@dataclass(frozen=True)
class Edge:
    """An edge of the file.

    Parameters
    ----------
    before, after : str
        Ids of its nodes.
    attributes : dict of str to str
        Those that were asked for.
    """

    before: str
    after: str
    attributes: dict[str, str]


@dataclass
class Dot:
    """A directed graph as its file describes it.

    Parameters
    ----------
    nodes : dict of str to dict
        The attributes of every node that were asked for, by id, in order of first appearance.
    edges : list of Edge
        In file order.
    clusters : dict of str to dict of str to None
        Ids of the nodes in each named subgraph.
    attributes : dict of str to str
        Of the graph, those that were asked for.
    unread : set of str
        Names of attributes of nodes that were not asked for.
    name : str
        Of the graph; "" where it has none.
    """

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    clusters: dict[str, dict[str, None]] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    name: str = ""


#: Separator of a graph after another.
_OPENING = re.compile(r"(strict\s+)?(di)?graph\b", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\\nlrN])")
#: Most names of ignored attributes in a report.
MAX_UNREAD = 20


@dataclass
class _Scope:
    """An open graph or subgraph: its defaults, and its nodes in order."""

    name: str
    nodes: dict[str, str]
    edges: dict[str, str]
    members: dict[str, None] = field(default_factory=dict)


class Statements:
    """Actions of the parser, by the names of the grammar's rules; `dot` is the result."""

    def __init__(self, path: Path, nodes: Set[str], edges: Set[str], graph: Set[str]) -> None:
        self.dot = Dot()
        self._path, self._wanted = path, {"NODE": nodes, "EDGE": edges, "GRAPH": graph}
        self._scopes = [_Scope("", {}, {})]

    def graph_opening(self, children: list[Any]) -> None:
        """Reject an undirected graph; `strict` needs nothing, as a task graph has every edge once anyway."""
        kinds = {token.type for token in children if hasattr(token, "type")}
        if "DIGRAPH" not in kinds:
            raise FormatError(
                f"{self._path}: an undirected graph, whose edges do not say what comes first; "
                "write a digraph with ->"
            )
        self.dot.name = children[-1] if isinstance(children[-1], _Id) else ""

    def id(self, tokens: list[Any]) -> _Id:
        r"""Return an id as text: quotes taken off and `\"` undone, parts joined, line ends after a backslash gone."""
        parts = (_unquoted(token) if token.type == "QUOTED" else str(token) for token in tokens)
        return _Id("".join(parts))

    def port(self, children: list[Any]) -> None:
        """Ignore a port, which only affects drawing."""

    def point(self, children: list[Any]) -> tuple[str, ...]:
        """Create a node at its first occurrence, with the defaults at that point."""
        name = str(children[0])
        scope = self._scopes[-1]
        if name not in self.dot.nodes:
            self.dot.nodes[name] = dict(scope.nodes)
        scope.members[name] = None
        return (name,)

    def node(self, children: list[Any]) -> None:
        """Give a node its attributes."""
        if len(children) > 1:
            self.dot.nodes[children[0][0]] |= self._kept("NODE", children[1])

    def edge(self, children: list[Any]) -> None:
        """Add the edges of a chain, from each node of an end to each of the next."""
        attributes = dict(self._scopes[-1].edges)
        if isinstance(children[-1], dict):
            attributes |= self._kept("EDGE", children.pop())
        for arrow in children[1::2]:
            if arrow != "->":
                raise FormatError(
                    f"{self._path}: line {arrow.line}: an edge -- in a directed graph does not say what comes first; "
                    "write ->"
                )
        for firsts, seconds in pairwise(children[::2]):
            if len(self.dot.edges) + len(firsts) * len(seconds) > MAX_EDGES:
                raise FormatError(f"{self._path}: more than {MAX_EDGES} edges; refused")
            self.dot.edges += [Edge(a, b, attributes) for a in firsts for b in seconds]

    def attributes(self, children: list[Any]) -> dict[str, str]:
        """Return attributes by name; one without a value is true."""
        return {
            str(a): "true" if b is None else str(b)
            for a, b in zip(children[::2], children[1::2], strict=True)
        }

    def defaults(self, children: list[Any]) -> None:
        """Change the defaults of the open scope."""
        kind, attributes = children[0].type, self._kept(children[0].type, children[1])
        if kind == "GRAPH":
            self._of_graph(attributes)
        else:
            scope = self._scopes[-1]
            (scope.nodes if kind == "NODE" else scope.edges).update(attributes)

    def assignment(self, children: list[Any]) -> None:
        """Set one attribute of the open scope."""
        self._of_graph(self._kept("GRAPH", {str(children[0]): str(children[1])}))

    def scope(self, children: list[Any]) -> None:
        """Open a subgraph."""
        if len(self._scopes) > MAX_DEPTH:
            raise FormatError(f"{self._path}: subgraphs nested more than {MAX_DEPTH} deep; refused")
        outer = self._scopes[-1]
        name = str(children[-1]) if children and isinstance(children[-1], _Id) else ""
        self._scopes.append(_Scope(name, dict(outer.nodes), dict(outer.edges)))

    def subgraph(self, children: list[Any]) -> Collection[str]:
        """Close a subgraph and return its nodes, with those from its earlier occurrences."""
        scope = self._scopes.pop()
        self._scopes[-1].members |= scope.members
        members = self.dot.clusters.setdefault(scope.name, {}) if scope.name else {}
        members |= scope.members
        return members.keys()

    def _of_graph(self, attributes: dict[str, str]) -> None:
        if len(self._scopes) == 1:
            self.dot.attributes |= attributes

    def _kept(self, kind: str, attributes: dict[str, str]) -> dict[str, str]:
        wanted = self._wanted[kind]
        if kind == "NODE" and len(self.dot.unread) < MAX_UNREAD:
            self.dot.unread |= attributes.keys() - wanted
        return {name: value for name, value in attributes.items() if name in wanted}


class _Delegate:
    """Forwarding of the parser's calls to the statements of the file that this thread reads."""

    def __init__(self) -> None:
        self._reading = local()

    def begin(self, statements: Statements) -> None:
        """Forward all that follows to some statements."""
        self._reading.statements = statements

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Any]:
        if rule.startswith("_") or not hasattr(Statements, rule):
            raise AttributeError(rule)
        return partial(self._hand_on, rule)

    def _hand_on(self, rule: str, children: list[Any]) -> Any:
        return getattr(self._reading.statements, rule)(children)


@cache
def _parser() -> tuple[Lark, _Delegate]:
    """Return the parser, whose tables take longer to make than a small file takes to read."""
    from lark import Lark

    delegate = _Delegate()
    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=True, transformer=delegate), delegate


def parsed_into(statements: Statements, text: str) -> None:
    """Parse a text into statements; raise `lark.exceptions.UnexpectedInput` if it is not DOT."""
    parser, delegate = _parser()
    delegate.begin(statements)
    parser.parse(text)


class _Id(str):
    """An id, as opposed to a token of the parser."""


def _unquoted(token: str) -> str:
    return token[1:-1].replace("\\\r\n", "").replace("\\\n", "").replace('\\"', '"')


def unescaped(text: str, node: str = "\\N") -> str:
    r"""Return text with the escapes of Graphviz' `escString` undone: `\\`, ends of lines, `\N` for the node's id.

    Examples
    --------
    >>> unescaped(r"C:\\temp\nof \N", "a")
    'C:\\temp\nof a'
    """
    meant = {"n": "\n", "l": "\n", "r": "\n", "N": node}
    return _ESCAPE.sub(lambda found: meant.get(found[1], found[1]), text)


def read_dot(
    path: Path, *, nodes: Collection[str], edges: Collection[str] = (), graph: Collection[str] = ()
) -> Dot:
    """Return the directed graph in a DOT file, plain or gzipped.

    Parameters
    ----------
    path : Path
        The file.
    nodes, edges, graph : collection of str
        Names of the attributes to keep; others are dropped immediately.

    Raises
    ------
    FormatError
        If the file is not DOT, its graph is undirected, or it is out of bounds.
    MissingExtraError
        If Lark is not installed.
    """
    try:
        from lark.exceptions import UnexpectedInput
    except ImportError:
        raise MissingExtraError("lark", "formats", "reading DOT files") from None
    with open_plain(path) as stream:
        text = plain_text(stream.read())
    statements = Statements(path, set(nodes), set(edges), set(graph))
    try:
        parsed_into(statements, text)
    except UnexpectedInput as error:
        raise _misplaced(path, text, error) from None
    return statements.dot


def _misplaced(path: Path, text: str, error: Any) -> FormatError:
    if getattr(getattr(error, "token", None), "type", "") == "$END":
        return FormatError(f"{path}: the DOT text ends early; was the file copied completely?")
    found = shown(text[error.pos_in_stream : error.pos_in_stream + 40])
    if _OPENING.match(text, error.pos_in_stream):
        return FormatError(
            f"{path}: line {error.line}, column {error.column}: {found} begins a second graph; write each to a file of "
            "its own"
        )
    if text[error.pos_in_stream : error.pos_in_stream + 1] in ('"', "<"):
        return FormatError(
            f"{path}: line {error.line}, column {error.column}: what {found} begins does not end, or may not stand "
            "here; was the file copied completely?"
        )
    return FormatError(
        f"{path}: line {error.line}, column {error.column}: {found} is not what DOT expects here; "
        "ids that are neither words nor plain numbers, as 1e-5, need quotes"
    )
