"""DOT files by hand: scopes, chains, subgraphs, ports, all ways to write an id; what is refused; Graphviz' view."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.dot.format import DOT

TRICKY = r"""
// what a program may write
# 1 "preprocessed.c"
STRICT Digraph "with \"quotes\"" {
  node [duration_s=2]; edge [style=dashed] rankdir=LR
  a -> b -> c [label="chain"];
  subgraph cluster_x { node [duration_s=0.5 kind="in, a [box]"]; d; "e e":port:sw -> f }
  { a b } -> subgraph { -59 1.5 } /* all with all */
  a:p:n -> "jo" + "ined";
  <<b>html &amp; <i>more</i></b>> -> c;
  "a" [duration_s="7.25", threads=3; kind=first][scope="x/y"]
  nodes -> Node_2
  subgraph twice { one } subgraph twice { two } subgraph twice {} -> last
}
"""


def read(tmp_path: Path, text: str | bytes, **options: str) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = tmp_path / "hand.dot"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return DOT.read(path, **options)


def edges(graph: TaskGraph) -> set[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in pairs}


def test_tricky(tmp_path: Path) -> None:
    graph = read(tmp_path, TRICKY)
    html = "<<b>html &amp; <i>more</i></b>>"
    assert graph.names is not None
    assert graph.names.to_list() == [
        "a", "b", "c", "d", "e e", "f", "-59", "1.5", "joined", html, "nodes", "Node_2",
        "one", "two", "last",
    ]  # fmt: skip
    assert edges(graph) == {
        ("a", "b"), ("b", "c"), ("e e", "f"), ("a", "-59"), ("a", "1.5"), ("b", "-59"), ("b", "1.5"),
        ("a", "joined"), (html, "c"), ("nodes", "Node_2"), ("one", "last"), ("two", "last"),
    }  # fmt: skip
    assert graph.durations_s.tolist() == [7.25, 2, 2, 0.5, 0.5, 0.5, *[2] * 9]
    assert graph.kinds.to_list()[:6] == ["first", "", "", "in, a [box]", "in, a [box]", "in, a [box]"]
    assert (graph.scopes[0], graph.widths.tolist()[:2], graph.name) == ("x/y", [3, 1], 'with "quotes"')


SUBGRAPHS = """digraph { { subgraph s { a } } b -> subgraph s { c }
  subgraph s { node [duration_s=3] d; subgraph s { e } } f; subgraph s { g } -> h
  "x\\\\"/* " */+"y" -> { subgraph t { i } k -> subgraph t {} } }"""


def test_subgraphs_are_those_of_their_name_in_the_same_one(tmp_path: Path) -> None:
    graph = read(tmp_path, SUBGRAPHS)
    ends = {("b", "c"), *((name, "h") for name in "cdeg"), *(("x\\\\y", name) for name in "ik")}
    assert edges(graph) == {*ends, ("k", "i")}
    seconds = {graph.task_name(i): s for i, s in enumerate(graph.durations_s.tolist()) if s == 3}
    assert set(seconds) == {"d", "e", "g"}


@pytest.mark.skipif(shutil.which("gvpr") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("text", [TRICKY, SUBGRAPHS], ids=["tricky", "subgraphs"])
def test_graphviz_finds_the_same_edges(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tricky.dot"
    path.write_text(text)
    program = 'E{printf("%s\\t%s\\n", $.tail.name, $.head.name)}'
    seen = subprocess.run(
        ["gvpr", program, path], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    # Graphviz tells an HTML id without its outer brackets.
    mine = {tuple(re.sub(r"^<(.*)>$", r"\1", end) for end in edge) for edge in edges(read(tmp_path, text))}
    assert {tuple(line.split("\t")) for line in seen.splitlines()} == mine


def test_other_attributes_and_units(tmp_path: Path) -> None:
    text = 'digraph { a [cost="1500", color=red]; b [cost="2.5e3"]; c; a -> b -> c }'
    graph = read(tmp_path, text, duration="cost", unit="us")
    assert graph.durations_s.tolist()[:2] == [0.0015, 0.0025]
    assert graph.report.facts["tasks_without_duration"] == 1
    assert graph.report.notes == ["not kept, as task graphs have no such columns: color"]
    graph = read(tmp_path, text)
    assert graph.report.notes == [
        "no node has an attribute duration_s, so durations are unknown; other attributes are color, cost: "
        "duration=NAME takes one"
    ]


def test_ids_that_are_indices_are_no_names(tmp_path: Path) -> None:
    assert read(tmp_path, "digraph { 0 -> 1 -> 2 }").names is None
    assert read(tmp_path, r'digraph { 0 [label="task \N\\"]; 1 }').task_name(0) == "task 0\\"


def test_gzipped_and_recognised(tmp_path: Path) -> None:
    path = tmp_path / "g.gv.gz"
    path.write_bytes(gzip.compress(b"digraph g { a -> b }"))
    assert (DOT.read(path).n_edges, DOT.read(path).name) == (1, "g")
    for text in (
        TRICKY,
        "digraph{}",
        "\ufeff/* c */ strict graph {",
        "digraph x\n{",
        '# c\nDIGRAPH "a b" {a}',
        "strict/**/digraph // c\n x /* { */\n{ a }",
    ):
        assert DOT.recognises(text.encode())
    for text in (
        "",
        "graph [\n node [",
        "{}",
        "digraph",
        "#Paraver (",
        "<graphml>",
        "digraphs {",
        "/*" * 30_000,
    ):
        assert not DOT.recognises(text.encode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "an undirected graph, whose edges do not say what comes first"),
        ("digraph {\n a -- b }", "line 2: an edge -- in a directed graph"),
        ("digraph {\n a -> b", "the DOT text ends early; was the file copied completely?"),
        ("digraph {\n a -> b \n", "the DOT text ends early; was the file copied completely?"),
        ('digraph {\n a -> "b }', "line 2, column 7: what '\"b }' begins does not end, or may not stand here"),
        ("digraph {\n a -> ; }", "line 2, column 7: '; }' is not what DOT expects here"),
        ("digraph { a } digraph { b }", "line 1, column 15: 'digraph { b }' begins a second graph; write each"),
        ("digraph { a }\nstrict graph { b }", "line 2, column 1: 'strict graph { b }' begins a second graph"),
        ('digraph { a [duration_s="1s"] }', "node 'a' has duration_s '1s'; expected a number"),
        ('digraph { a [duration_s="-1"] }', "node 'a' has duration_s '-1'; expected a finite number of zero or more"),
        ("digraph { a [duration_s=1e999] }", "line 1, column 25: '1e999] }' is not what DOT expects"),
        ('digraph { a [duration_s="1e999"] }', "node 'a' has duration_s '1e999'; expected a finite number"),
        ("digraph { a [threads=1.5] }", "node 'a' has threads '1.5'; expected a whole number"),
        ("digraph { a [start_s=0, finish_s=1, lane=2] lane_names=\"[1]\" }", "lane_names is '[1]'; expected"),
        ("digraph {" + "{" * 200 + "}" * 200 + "}", "subgraphs nested more than 100 deep"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path, text)


def test_wrong_options_and_cycles(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="unit is 'min'; expected one of s, ms, us, ns"):
        read(tmp_path, "digraph {}", unit="min")
    with pytest.raises(FormatError, match=r"unit is \['s'\]; expected one of"):
        read(tmp_path, "digraph {}", unit=["s"])
    with pytest.raises(FormatError, match="duration is ''; expected the name of an attribute"):
        read(tmp_path, "digraph {}", duration="")
    with pytest.raises(GraphError, match="the graph has a cycle: task 0 'a' -> task 1 'b' -> task 0 'a'"):
        read(tmp_path, "digraph { a -> b -> a }")


def test_product_of_subgraphs_is_bounded(tmp_path: Path) -> None:
    many = " ".join(f"a{i}" for i in range(3000))
    with pytest.raises(
        FormatError, match=r"more than 1\d{6} edges, the most for files of this size; .* higher limit"
    ):
        read(tmp_path, f"digraph {{ {{ {many} }} -> {{ {many.replace('a', 'b')} }} }}")


def test_subgraphs_count_as_tasks(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="more than 41 tasks, the most within limit=1 kB"):
        load(f"digraph {{ {'{}' * 50} }}".encode(), limit="1kB")


def test_a_long_chain_is_refused_as_it_is_read() -> None:
    with pytest.raises(FormatError, match="more than 125 edges, the most within limit=1 kB"):
        load(f"digraph {{ a{'->a' * 200} ???".encode(), limit="1kB")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        # Lists that differ between their quotes only, and ones that merely look so.
        ('a [kind="x", label="1"]; b [kind="y", label="2"];', ["x", "y"]),
        ('a [kind="x", label="1"]; b [kind="\\"", label="2"];', ["x", '"']),
        ('a [kind="x"]; b [kind="y" + "z"];', ["x", "yz"]),
        ('a ["kind"="x"]; b ["label"="kind"];', ["x", ""]),
        ('a [kind="x"]; b [kind=y];', ["x", "y"]),
        ('a [kind="]"]; b [kind="x"] [kind="y"];', ["]", "y"]),
        ('a [kind="x" /* " */]; b [kind="y" /* " */];', ["x", "y"]),
        ('node [kind="x"]; a; b [label="1"] "node" [kind=z];', ["x", "x", "z"]),
    ],
)
def test_lists_of_attributes(tmp_path: Path, text: str, kinds: list[str]) -> None:
    assert read(tmp_path, f"digraph {{ {text} }}").kinds.to_list() == kinds


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    damaged = bytearray(TRICKY.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        end = place + data.draw(st.sampled_from([0, 1, 1, 30]))
        damaged[place:end] = data.draw(
            st.sampled_from(
                [b"", b"\xff", b"\0", b'"', b"{", b"}", b"->", b"[", b"<", b"\\", b"=", b"/*", b"9"]
            )
        )
    try:
        graph = read(tmp_path, bytes(damaged))
    except (FormatError, GraphError):
        return
    assert graph.report.facts["tasks"] == graph.n_tasks
