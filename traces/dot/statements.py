"""DOT's statements, each read when it is complete: nodes with defaults of their scope, chains, subgraphs.

One pass over the text with regular expressions, in time that grows with its length alone. pydot and networkx stop at an
unquoted negative id, which Nanos++ writes; Graphviz itself is a program that would have to be installed.

References
----------
"DOT Language", https://graphviz.org/doc/info/lang.html, and Graphviz's own scanner where the page is silent.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import open_plain
from simsched.traces.shared.json_stream import shown

#: Deepest nesting: files written by programs nest two or three deep.
MAX_DEPTH = 100

# Up to Python 3.11.4, a group that is repeated possessively ends where its last try stopped, though this one failed
# (gh-106052). So its last alternative is one that never matches, `(?!)`, which is tried from where the try began.
_SKIP = r"(?:[ \t\r\n\f\v\ufeff]++|//[^\n]*+|/\*[\s\S]*?\*/|^\#[^\n]*+)*+"
_QUOTED = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
# Graphviz reads an unquoted 2.5e3 as 2.5 and another id e3, with a warning; here it is rejected.
_NAME = (
    r"[A-Za-z_\x80-\ufefe\uff00-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+"
    r"|-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?![\w.])"
)
_ID = (
    rf"({_NAME}"
    rf"|{_QUOTED}(?:{_SKIP}\+{_SKIP}{_QUOTED}|(?!))*+"
    r"|<(?:[^<>]++|<(?:[^<>]++|<[^<>]*+>)*+>)*+>)"
)
_TOKEN = re.compile(rf"{_SKIP}(?:{_ID}|(->|--)|([{{}}\[\];:=])|\Z)", re.MULTILINE)
_ATTRIBUTE = re.compile(rf"{_SKIP}{_ID}(?:{_SKIP}={_SKIP}{_ID})?{_SKIP}[;,]?", re.MULTILINE)
_BLANKS, _PLAIN = r"[ \t\r\n]*+", rf"({_NAME}|{_QUOTED})"
#: The most frequent statements, which are read at once: a node or an edge, with or without attributes, no comments.
_SIMPLE = re.compile(
    rf"{_BLANKS}{_PLAIN}{_BLANKS}(?>(?:->{_BLANKS}{_PLAIN}{_BLANKS})?)"
    rf"(?>(?:\[([^\]\"<]*+(?:{_QUOTED}[^\]\"<]*+|(?!))*+)\]{_BLANKS})?)(?:;|(?!-[->]|[:=\[+/#\f\v\ufeff]))"
)
#: An attribute of theirs, or what is none.
_PAIR = re.compile(rf"{_BLANKS}{_PLAIN}(?>(?:{_BLANKS}={_BLANKS}{_PLAIN})?){_BLANKS}[;,]?+|([\s\S])")
_KEYWORDS = frozenset({"node", "edge", "graph", "subgraph"})
_MORE = re.compile(r"[;\s]*+")
_BLANK = re.compile(_SKIP, re.MULTILINE)
_PART = re.compile(rf"({_QUOTED}){_SKIP}\+?{_SKIP}", re.MULTILINE)
#: What `lastindex` of a token is; None at the end of the text.
_WORD, _ARROW = 1, 2
#: Separator of a graph after another.
_OPENING = re.compile(r"(strict\s+)?(di)?graph\b", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\\nlrN])")
#: Most names of ignored attributes in a report.
MAX_UNREAD = 20

#: Most shapes of lists of attributes that are remembered.
MAX_SHAPES = 1000

Attributes = Mapping[str, str]


@dataclass
class Dot:
    """A directed graph as its file describes it.

    Parameters
    ----------
    nodes : dict of str to mapping
        The attributes of every node that were asked for, by id, in order of first appearance.
    before, after : array of int, one per edge
        Positions of its nodes in `nodes`; edges are in file order.
    of_edges : dict of int to mapping
        The attributes that were asked for of each edge that has any.
    clusters : dict of str to dict of int to None
        Positions of the nodes in all subgraphs of a name.
    attributes : dict of str to str
        Of the graph, those that were asked for.
    unread : set of str
        Names of attributes of nodes that were not asked for.
    name : str
        Of the graph; "" where it has none.
    """

    nodes: dict[str, Attributes] = field(default_factory=dict)
    before: array[int] = field(default_factory=lambda: array("i"))
    after: array[int] = field(default_factory=lambda: array("i"))
    of_edges: dict[int, Attributes] = field(default_factory=dict)
    clusters: dict[str, dict[int, None]] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    name: str = ""

    def edges(self) -> Iterator[tuple[str, str, Attributes]]:
        """Yield the ids of each edge's nodes, and its attributes."""
        names = list(self.nodes)
        for i, (before, after) in enumerate(zip(self.before, self.after, strict=True)):
            yield names[before], names[after], self.of_edges.get(i, {})


#: A node, or the nodes of a subgraph, in an edge.
_End = Collection[int]


@dataclass
class _Place:
    """A subgraph, which may be opened again under its name in the same one: its nodes, defaults and own subgraphs."""

    members: dict[int, None] = field(default_factory=dict)
    nodes: Attributes = field(default_factory=dict)
    edges: Attributes = field(default_factory=dict)
    inner: dict[str, _Place] = field(default_factory=dict)


@dataclass
class _Scope:
    """An open graph or subgraph: its defaults, its nodes in order, and the chain of edges that it is an end of."""

    name: str
    place: _Place
    nodes: Attributes
    edges: Attributes
    chain: list[_End]
    members: dict[int, None] = field(default_factory=dict)


class _Parser:
    """Parser of one text; `dot` is the result."""

    def __init__(
        self, path: Path, text: str, nodes: Collection[str], edges: Collection[str], graph: Collection[str]
    ) -> None:
        self.dot = Dot()
        self._path, self._text = path, text
        self._wanted = {"node": set(nodes), "edge": set(edges), "graph": set(graph)}
        self._scopes = [_Scope("", _Place(), {}, {}, [])]
        self._index: dict[str, int] = {}
        self._last: tuple[str, str] = ("", "")
        self._last_found: Attributes = {}
        self._opened = 0
        self._shapes: dict[tuple[str, ...], dict[str, int]] = {}
        self._most_nodes, self._most_edges = (budget().most(path, what) for what in ("tasks", "edges"))
        self._at, self._begin, self._kind, self._word, self._mark = 0, 0, 0, "", ""
        self._next()

    def parse(self) -> Dot:
        """Read the whole text."""
        self._open_graph()
        while self._statement():
            pass
        if self._kind:
            raise self._wrong()
        return self.dot

    def _next(self) -> None:
        """Go on to the next token: an id, an arrow, another mark, or the end of the text."""
        if (found := _TOKEN.match(self._text, self._at)) is None:
            self._begin = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches ""
            raise self._wrong()
        self._kind = kind = found.lastindex or 0
        self._word, self._mark = (found[1], "") if kind == _WORD else ("", found[kind] if kind else "")
        self._begin, self._at = found.start(kind) if kind else found.end(), found.end()

    def _open_graph(self) -> None:
        word = self._keyword()
        if word == "strict":  # needs nothing, as a task graph has every edge once anyway
            self._next()
            word = self._keyword()
        if word not in ("digraph", "graph"):
            raise self._wrong()
        self._next()
        self.dot.name = self._taken() if self._word else ""
        if self._mark != "{":
            raise self._wrong()
        if word == "graph":
            raise FormatError(
                f"{self._path}: an undirected graph, whose edges do not say what comes first; write a digraph with ->"
            )
        self._next()

    def _keyword(self) -> str:
        """Return the word at hand in lower case, in which keywords are told from ids; "" for anything else."""
        return self._word.lower() if len(self._word) < 9 else ""

    def _taken(self) -> str:
        """Return the id at hand, and go on."""
        name = _id(self._word)
        self._next()
        return name

    def _statement(self) -> bool:
        """Read a statement, or the part of one up to a subgraph; return whether the graph goes on."""
        if self._word:
            if not self._simple():
                self._of_word(self._keyword())
        elif self._mark == "{":
            self._open("", [])
        elif self._mark == "}":
            return self._close()
        elif self._mark == ";":
            self._at = _MORE.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches ""
            self._next()
        else:
            raise self._wrong()
        return True

    def _simple(self) -> bool:
        """Read statements of one node or one edge, as long as there are such; return whether there were any."""
        at, text, dot, defaults = self._begin, self._text, self.dot, self._scopes[-1].edges
        while found := _SIMPLE.match(text, at):
            first, second, listed = found.groups()
            if first.lower() in _KEYWORDS or (second and second.lower() in _KEYWORDS):
                break
            own = self._listed("edge" if second else "node", listed) if listed else {}
            if own is None:
                break
            number = self._number(_id(first))
            if second:
                if defaults or own:
                    dot.of_edges[len(dot.before)] = {**defaults, **own} if defaults else own
                dot.before.append(number)
                dot.after.append(self._number(_id(second)))
            elif own:
                name = _id(first)
                dot.nodes[name] = {**dot.nodes[name], **own}
            at = found.end()
        if at == self._begin:
            return False
        if len(dot.before) > self._most_edges:
            budget().check(self._path, len(dot.before), "edges")
        self._at = at
        self._next()
        return True

    def _listed(self, kind: str, text: str) -> Attributes | None:
        """Return the attributes between two brackets; None where one is not plain.

        Most lists of a file differ in the texts between their quotes only, if at all, and are parsed once.
        """
        if (kind, text) == self._last:
            return self._last_found
        parts = text.split('"')
        shape = (kind, *parts[::2])
        if "\\" not in text and (places := self._shapes.get(shape)) is not None:
            self._last, self._last_found = (kind, text), {name: parts[at] for name, at in places.items()}
            return self._last_found
        pairs = _PAIR.findall(text)
        if any(other for _, _, other in pairs):
            return None
        if len(parts) == 2 * len(pairs) + 1 and all(value[:1] == '"' for _, value, _ in pairs):
            if len(self._shapes) >= MAX_SHAPES:
                self._shapes.clear()
            wanted = self._wanted[kind]
            self._shapes[shape] = {key: 2 * i + 1 for i, (key, *_) in enumerate(pairs) if key in wanted}
        found = self._kept(kind, {_id(key): _id(value) if value else "true" for key, value, _ in pairs})
        self._last, self._last_found = (kind, text), found
        return found

    def _of_word(self, word: str) -> None:
        if word in self._wanted:
            self._next()
            if self._mark != "[":
                raise self._wrong()
            self._defaults(word, self._kept(word, self._attributes()))
        elif word == "subgraph":
            self._subgraph([])
        else:
            name = self._taken()
            if self._mark == "=":
                self._next()
                if not self._word:
                    raise self._wrong()
                self._of_graph(self._kept("graph", {name: self._taken()}))
                return
            end = self._node(name)
            if self._mark != "[":
                self._chain([end])
            elif kept := self._kept("node", self._attributes()):
                self.dot.nodes[name] = {**self.dot.nodes[name], **kept}

    def _defaults(self, kind: str, attributes: Attributes) -> None:
        """Change the defaults of the open scope; nodes share them, so that they are never changed in place."""
        scope = self._scopes[-1]
        if kind == "graph":
            self._of_graph(attributes)
        elif kind == "node":
            scope.nodes, scope.place.nodes = (
                {**scope.nodes, **attributes},
                {**scope.place.nodes, **attributes},
            )
        else:
            scope.edges, scope.place.edges = (
                {**scope.edges, **attributes},
                {**scope.place.edges, **attributes},
            )

    def _number(self, name: str) -> int:
        """Return the position of a node, created with the defaults at its first occurrence."""
        number = self._index.get(name)
        scope = self._scopes[-1]
        if number is None:
            number = self._index[name] = len(self._index)
            self.dot.nodes[name] = scope.nodes
            if number >= self._most_nodes:
                budget().check(self._path, number + 1, "tasks")
        if len(self._scopes) > 1:
            scope.members[number] = None
        return number

    def _node(self, name: str) -> _End:
        """Return the node of an id as the end of an edge; a port only affects drawing."""
        number = self._number(name)
        for _ in range(2):
            if self._mark == ":":
                self._next()
                if not self._word:
                    raise self._wrong()
                self._next()
        return (number,)

    def _chain(self, chain: list[_End]) -> None:
        """Read what follows an end of a chain of edges: further ends, up to one that is a subgraph, and attributes."""
        while self._kind == _ARROW:
            if self._mark != "->":
                raise FormatError(
                    f"{self._path}: line {self._line()}: an edge -- in a directed graph does not say what comes first; "
                    "write ->"
                )
            self._next()
            if self._mark == "{":
                self._open("", chain)
                return
            if not self._word:
                raise self._wrong()
            if self._keyword() == "subgraph":
                self._subgraph(chain)
                return
            chain.append(self._node(self._taken()))
            if len(chain) > self._most_edges:
                budget().check(self._path, len(chain), "edges")
        if len(chain) > 1:
            attributes = self._scopes[-1].edges
            if self._mark == "[":
                attributes = {**attributes, **self._kept("edge", self._attributes())}
            self._add(chain, attributes)

    def _add(self, chain: list[_End], attributes: Attributes) -> None:
        """Add the edges of a chain, from each node of an end to each of the next."""
        dot = self.dot
        for firsts, seconds in pairwise(chain):
            begin, more = len(dot.before), len(firsts) * len(seconds)
            if begin + more > self._most_edges:
                budget().check(self._path, begin + more, "edges")
            for first in firsts:
                dot.before.extend([first] * len(seconds))
                dot.after.extend(seconds)
            if attributes:
                dot.of_edges.update(dict.fromkeys(range(begin, begin + more), attributes))

    def _subgraph(self, chain: list[_End]) -> None:
        self._next()
        name = self._taken() if self._word else ""
        if self._mark != "{":
            raise self._wrong()
        self._open(name, chain)

    def _open(self, name: str, chain: list[_End]) -> None:
        """Open a subgraph, which may be an end of a chain."""
        if len(self._scopes) > MAX_DEPTH:
            raise FormatError(f"{self._path}: subgraphs nested more than {MAX_DEPTH} deep; refused")
        self._opened += 1
        budget().check(self._path, self._opened, "tasks")
        outer = self._scopes[-1]
        place = outer.place.inner.setdefault(name, _Place()) if name else _Place()
        nodes = {**outer.nodes, **place.nodes} if place.nodes else outer.nodes
        edges = {**outer.edges, **place.edges} if place.edges else outer.edges
        self._scopes.append(_Scope(name, place, nodes, edges, chain))
        self._next()

    def _close(self) -> bool:
        """Close a subgraph, whose nodes include those from its earlier occurrences; or the graph, returning False."""
        self._next()
        if len(self._scopes) == 1:
            return False
        scope = self._scopes.pop()
        if len(self._scopes) > 1:
            self._scopes[-1].members |= scope.members
        scope.place.members |= scope.members
        if scope.name:
            self.dot.clusters.setdefault(scope.name, {}).update(scope.members)
        scope.chain.append(scope.place.members.keys())
        self._chain(scope.chain)
        return True

    def _attributes(self) -> dict[str, str]:
        """Return attributes by name, of all brackets that follow each other; one without a value is true."""
        found: dict[str, str] = {}
        while self._mark == "[":
            while one := _ATTRIBUTE.match(self._text, self._at):
                found[_id(one[1])] = "true" if one[2] is None else _id(one[2])
                self._at = one.end()
            self._next()
            if self._mark == "=":  # what follows it is no id
                self._next()
            if self._mark != "]":
                raise self._wrong()
            self._next()
        return found

    def _of_graph(self, attributes: Attributes) -> None:
        if len(self._scopes) == 1:
            self.dot.attributes |= attributes

    def _kept(self, kind: str, attributes: Attributes) -> Attributes:
        wanted = self._wanted[kind]
        if kind == "node" and len(self.dot.unread) < MAX_UNREAD:
            self.dot.unread |= attributes.keys() - wanted
        return {name: value for name, value in attributes.items() if name in wanted}

    def _line(self) -> int:
        return self._text.count("\n", 0, self._begin) + 1

    def _wrong(self) -> FormatError:
        """Return the error of what stands where a token begins."""
        text, at = self._text, self._begin
        if at >= len(text):
            return FormatError(f"{self._path}: the DOT text ends early; was the file copied completely?")
        found, line_end = shown(text[at : at + 40]), text.rfind("\n", 0, at)
        place = f"{self._path}: line {self._line()}, column {at - line_end}:"
        if _OPENING.match(text, at):
            return FormatError(f"{place} {found} begins a second graph; write each to a file of its own")
        if text[at] in '"<':
            return FormatError(
                f"{place} what {found} begins does not end, or may not stand here; was the file copied completely?"
            )
        return FormatError(
            f"{place} {found} is not what DOT expects here; ids that are neither words nor plain numbers, as 1e-5, "
            "need quotes"
        )


def _id(text: str) -> str:
    r"""Return an id as text: quotes taken off and `\"` undone, parts joined, line ends after a backslash gone."""
    if text[0] != '"':
        return text
    if "\\" not in text and text.count('"') == 2:
        return text[1:-1]
    parts, at = [], 0
    while found := _PART.match(text, at):
        parts.append(_unquoted(found[1]))
        at = found.end()
    return "".join(parts)


def _unquoted(part: str) -> str:
    return part[1:-1].replace("\\\r\n", "").replace("\\\n", "").replace('\\"', '"')


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
    """
    with open_plain(path) as stream:
        text = plain_text(stream.read())
    return _Parser(path, text, nodes, edges, graph).parse()
