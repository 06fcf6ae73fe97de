"""Logs of ninja: a recorded build, joined by hand; several builds; logs written anew; damaged files."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.graph.recording import UNKNOWN

#: A build recorded with ninja 1.11.1: a.o, b.o and c.o read gen.h, which only b.o and c.o wait for.
REAL = Path(__file__).parents[1] / "seeds" / "ninja" / "real"
HEAD = "# ninja log v7\n"


def line(start: int, end: int, output: str, hash_: str = "") -> str:
    return f"{start}\t{end}\t9\t{output}\t{hash_ or output.encode().hex()[-16:]}\n"


def log(*lines: str) -> bytes:
    return (HEAD + "".join(lines)).encode()


def named(graph: TaskGraph) -> list[tuple[str, str]]:
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return sorted((graph.task_name(a), graph.task_name(b)) for a, b in ends)


JOINED = [
    ("a.o", "libx.a"),
    ("b.o", "libx.a"),
    ("c.o", "app"),
    ("gen.h", "b.o"),
    ("gen.h", "c.o"),
    ("libx.a", "app"),
]


def test_a_recorded_build() -> None:
    graph = ss.load(REAL / "main.log", graph=REAL / "graph.dot")
    assert named(graph) == JOINED
    assert graph.kinds.to_list() == ["cc", "gen", "cc", "cc", "link", "link"]
    assert graph.report.facts["outputs"] == 7
    assert graph.recording is not None
    assert graph.recording.lane_names == ("job 1", "job 2")
    assert graph.recorded is not None
    assert graph.recorded.makespan_s == pytest.approx(0.220)
    assert graph.report.facts["early_starts"] == 0


DEPS = "a.o: #deps 2, deps mtime 5 (VALID)\n    a.c\n    gen.h\n\nx.o: deps not found\n"


@pytest.mark.parametrize("deps", [REAL / "deps.bin", DEPS.encode()])
def test_headers_that_compilers_read(deps: Any) -> None:
    graph = ss.load(REAL / "main.log", graph=REAL / "graph.dot", deps=deps)
    assert named(graph) == sorted([*JOINED, ("gen.h", "a.o")])
    # build.ninja forgot to say so: a.o was compiled before gen.h was there.
    assert graph.report.facts["early_starts"] == 1


def test_without_a_graph() -> None:
    graph = ss.load(log(line(0, 4, "a.o"), line(0, 5, "b.o"), line(5, 9, "app")))
    assert named(graph) == [("a.o", "app")]
    assert graph.kinds.to_list() == [".o", ".o", "file"]
    assert "inferred from overlaps" in graph.report.doubts[0]


def test_steps_that_did_not_run_are_passed_through() -> None:
    dot = b"""digraph ninja { a [label="a.o"]; p [label="objects"]; b [label="app"]; s [label="a.c"]
    s -> a [label=" cc"]; a -> p [label=" phony"]; p -> b [label=" link"] }"""
    assert named(ss.load(log(line(0, 4, "a.o"), line(5, 9, "app")), graph=dot)) == [("a.o", "app")]


def test_builds() -> None:
    two = log(line(0, 4, "a.o"), line(5, 9, "app"), line(0, 3, "a.o"))
    dot = b'digraph ninja { a [label="a.o"]; b [label="app"]; a -> b [label=" link"] }'
    last = ss.load(two)
    assert (last.n_tasks, last.durations_s.tolist()) == (1, [0.003])
    assert "the log has 2 builds; the last one was taken" in last.report.notes[0]
    assert ss.load(two, build="1").durations_s.tolist() == [0.004, 0.004]
    every = ss.load(two, build="all", graph=dot)
    assert (sorted(every.durations_s.tolist()), every.recording) == ([0.003, 0.004], None)
    assert every.recorded_on == UNKNOWN
    assert named(every) == [("a.o", "app")]


def test_a_log_written_anew() -> None:
    lines = [line(0, 10 + i % 2, f"{i}.o") for i in range(60)]
    with pytest.raises(FormatError, match="wrote this log anew: its builds are not known; graph= "):
        ss.load(log(*lines))
    dot = b'digraph ninja { a [label="1.c"]; b [label="1.o"]; a -> b [label=" cc"] }'
    graph = ss.load(log(*lines), graph=dot)
    assert (graph.n_tasks, graph.report.facts["commands_without_step"]) == (60, 59)


def test_zero_length() -> None:
    graph = ss.load(log(line(3, 3, "stamp")))
    assert graph.durations_s.tolist() == [0.0]


GRAPH = (REAL / "graph.dot").read_bytes()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"# ninja log v4\n", {}, "line 1 is '# ninja log v4'; expected '# ninja log v5' to v7"),
        (HEAD.encode(), {}, "no command in the log"),
        (log("0\t1\tx\n"), {}, r"line 2 is '0\\t1\\tx'; expected start, end"),
        (log(line(5, 4, "a.o")), {}, "line 2 is "),
        (log(line(0, 4, "a.o")), {"build": 2}, "build is 2; expected all, or one of the builds 1 to 1"),
        (log(line(0, 4, "a.o")), {"build": "all"}, "build=all; graph= "),
        (log(line(0, 4, "a.o")), {"deps": DEPS.encode()}, "deps= needs graph="),
        (log(line(0, 4, "z.o")), {"graph": GRAPH}, "it has none of the outputs in <bytes>, as 'z.o'"),
        (log(line(0, 4, "a.o")), {"graph": b"digraph ninja { a }"}, "no step of a build"),
        (
            log(line(0, 4, "a.o")),
            {"graph": GRAPH, "deps": b"what\n"},
            "line 1: expected what ninja -t deps prints",
        ),
        (
            log(line(0, 4, "a.o")),
            {"graph": GRAPH, "deps": b"# ninjadeps\n\x09\0\0\0"},
            "version 9; expected one of 3, 4",
        ),
        (
            log(line(0, 4, "a.o")),
            {"graph": GRAPH, "deps": b"# ninjadeps\n\x04\0\0\0\x0c\0\0\x80" + bytes(12)},
            "a record names a file that is not there",
        ),
    ],
)
def test_refused(content: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ss.load(content, **options)


def test_a_cycle() -> None:
    dot = b'digraph ninja { a [label="a.o"]; b [label="b.o"]; a -> b [label=" x"]; b -> a [label=" x"] }'
    with pytest.raises(GraphError, match="cycle"):
        ss.load(log(line(0, 4, "a.o"), line(0, 5, "b.o")), graph=dot)


def test_tolerant_passes_damaged_lines_over() -> None:
    content = log(line(0, 4, "a.o"), "\0\0what\n", line(5, 9, "app"), "9\t12\t")
    graph = ss.load(content, tolerant=True)
    assert (graph.n_tasks, graph.report.facts["mended"]) == (2, 2)
    assert re.search("line 3 is .* and was passed over", graph.report.notes[0])


def test_headers_count_against_the_budget() -> None:
    """Nothing is left out in silence: the same file with room for its edges is read."""
    files = b"".join(
        struct.pack("<I", len(name) + 4) + name + struct.pack("<I", ~number & 2**32 - 1)
        for number, name in enumerate((b"a.o\0", b"gen.h\0\0\0"))
    )
    read = struct.pack("<IQ", 0, 5) + struct.pack("<I", 1) * 3000
    deps = b"# ninjadeps\n" + struct.pack("<I", 4) + files + struct.pack("<I", len(read) | 1 << 31) + read
    given: dict[str, Any] = {"graph": REAL / "graph.dot", "deps": deps}
    with pytest.raises(FormatError, match="more than 2500 edges, the most within limit"):
        ss.load(REAL / "main.log", limit=20_000, **given)
    before = named(ss.load(REAL / "main.log", graph=REAL / "graph.dot"))
    assert named(ss.load(REAL / "main.log", **given)) == sorted({*before, ("gen.h", "a.o")})


def test_deps_that_are_cut_off_end_there() -> None:
    deps = (REAL / "deps.bin").read_bytes()
    for end in range(16, len(deps), 7):
        graph = ss.load(REAL / "main.log", graph=GRAPH, deps=deps[:end])
        assert set(JOINED) <= set(named(graph))
