"""DOT's grammar, and what its statements mean: scopes with defaults, chains, subgraphs as ends of edges.

Lark parses it. pydot and networkx, which parse with it, stop at an unquoted negative id, which Nanos++ writes; Graphviz
itself is a program that would have to be installed.

References
----------
"DOT Language", https://graphviz.org/doc/info/lang.html, and Graphviz's own scanner where the page is silent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Files that programs write nest two or three deep.
MAX_DEPTH = 100

# Graphviz reads an unquoted 2.5e3 as 2.5 and another id e3, with a warning; here it is refused.
# Statements are rules of their own, as are the openings of graphs, because each acts when it is complete.
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
    """A directed graph as its file tells it.

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
