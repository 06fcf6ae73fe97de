"""DOT: what the language allows, defaults, edges of subgraphs; refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simsched.errors import FormatError
from simsched.traces.dot_text import MAX_DEPTH, Dot, read_dot

pytest.importorskip("lark")

ALL = """\
# a line of the preprocessor
strict digraph "a graph" {
  color = white; node [shape=box, width=1] // the rest of the line
  edge [style=solid]
  a -> b -> "c d":port:ne [label="says \\"x\\""] [weight=2];
  subgraph cluster_0 { node [width=2]; b; e -> f; -59 [width="-inf"] }
  {g h} -> subgraph s {i; j} /* over
  lines */ -> "k" + "l"
  k [label=<<B>bold</B> html>, alone]
  digraphs -> nodes
}
"""


def read(folder: Path, text: str) -> Dot:
    path = folder / "g.dot"
    path.write_text(text)
    return read_dot(path)


def test_the_language(tmp_path: Path) -> None:
    dot = read(tmp_path, ALL)
    assert dot.directed
    assert [(edge.before, edge.after) for edge in dot.edges] == [
        ("a", "b"), ("b", "c d"), ("e", "f"), ("g", "i"), ("g", "j"), ("h", "i"), ("h", "j"), ("i", "kl"), ("j", "kl"),
        ("digraphs", "nodes"),
    ]  # fmt: skip
    assert dot.edges[0].attributes == {"style": "solid", "label": 'says "x"', "weight": "2"}
    assert dot.nodes["a"] == {"shape": "box", "width": "1"}
    assert dot.nodes["e"] == {"shape": "box", "width": "2"}
    assert dot.nodes["-59"]["width"] == "-inf"
    assert dot.nodes["k"] == {"shape": "box", "width": "1", "label": "<<B>bold</B> html>", "alone": "true"}


def test_an_undirected_one(tmp_path: Path) -> None:
    dot = read(tmp_path, "GRAPH { a -- b }")
    assert not dot.directed
    assert len(dot.edges) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { a -> }", r"g\.dot: not DOT at line 1: '}'"),
        ("digraph { a -> b", "not DOT at line"),
        ("", "not DOT at line"),
        ('digraph { "a }', "not DOT at line 1"),
        ("digraph {" + "{" * 60 + "}" * 61, f"nested more than {MAX_DEPTH} deep"),
        ("digraph " + "{" * 9999, "braces nested more than"),
        ("digraph {{" + " ".join(f"a{i}" for i in range(2100)) + "} -> {" +
         " ".join(f"b{i}" for i in range(2100)) + "}}", "more than 4000000 edges"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.sampled_from([*'{}[]"<>-=;:,+#/*\n ', "->", "a", "digraph", "node", "\\", "é"]), max_size=30)
)
@example(["digraph", "{", "a", "->", "{", "}", "}"])
def test_any_words(tmp_path: Path, words: list[str]) -> None:
    try:
        dot = read(tmp_path, "digraph {" + " ".join(words) + "}")
    except FormatError:
        return
    assert {edge.before for edge in dot.edges} <= dot.nodes.keys()
