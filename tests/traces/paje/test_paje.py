"""Paje traces with headers of their own, links, StarPU's jobs, wrong and damaged files, the shared captures."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.paje.reader import PAJE

SAMPLES = Path(__file__).resolve().parents[3] / "../shared/samples/starpu"

#: Old and new names of fields, in an order and with numbers of its own.
HEADER = """\
# made by hand
%EventDef PajeDefineContainerType 7
% Name string
% ContainerType string
% Alias string
%EndEventDef
%EventDef PajeDefineStateType 1
%\tAlias string
%\tType string
%\tName string
%EndEventDef
%EventDef PajeDefineEntityValue 2
% Name string
% EntityType string
% Alias string
% Color color
%EndEventDef
%EventDef PajeCreateContainer 3
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
% Time date
% Name string
% Type string
%EndEventDef
%EventDef PajeSetState 10
% Time date
% EntityType string
% Container string
% Value string
%EndEventDef
%EventDef PajePushState 11
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 12
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeResetState 13
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeStartLink 42
% Time date
% Type string
% Container string
% SourceContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeEndLink 43
% Time date
% Type string
% Container string
% DestContainer string
% Value string
% Key string
%EndEventDef
"""
NAMES = """\
7 Thread 0 T
1 S T "State of a thread"
2 "a long task" S a "1 0 0"
2 Idle S i "0 0 0"
3 0 n T 0 node
3 0 t1 T n "thread 1"
3 0 t2 T n "thread 2"
"""
#: Thread 1: a from 0 to 4 s, interrupted by b from 1 to 2.5 s; idle; c from 5 to 6 s. Thread 2: d from 4.5 to 7 s,
#: which the end of thread 1's a reaches by a link, then its container is destroyed.
BODY = """\
10 0 S t1 a
11 1.0 S t1 b
12 2.5 S t1
10 4e0 S t1 i
42 4.25 L n t1 v key1
10 4.5 S t2 d
43 4.5 L n t2 v key1
11 5 S t1 "c"
12 6 S t1
13 6.5 S t1
4 7 t2 T
"""
BY_HAND = HEADER + NAMES + BODY


def read(folder: Path, text: str, **options: object) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = folder / "hand.paje.trace"
    path.write_text(text)
    return PAJE.read(path, **options)


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    """Return the edges as pairs."""
    sources = graph.successors.sources()
    return list(zip(sources.tolist(), graph.successors.indices.tolist(), strict=True))


def test_by_hand(tmp_path: Path) -> None:
    """Pieces of a, b, a on thread 1, then d on thread 2 and c on thread 1; d comes behind a by the link."""
    graph = read(tmp_path, BY_HAND)
    assert graph.kinds.to_list() == ["a long task", "b", "a long task", "d", "c"]
    assert graph.durations_s.tolist() == [1.0, 1.5, 1.5, 2.5, 1.0]
    assert edges(graph) == [(0, 1), (1, 2), (2, 3), (2, 4)]
    run = graph.recording
    assert run is not None
    assert run.start_s.tolist() == [0, 1, 2.5, 4.5, 5]
    assert [run.lane_names[lane] for lane in run.lanes] == ["node/thread 1"] * 3 + [
        "node/thread 2",
        "node/thread 1",
    ]
    facts = graph.report.facts
    assert [facts[key] for key in ("unit", "states", "states_left_out", "links_used")] == ["s", 7, 2, 1]
    assert any(note.startswith("a chain per lane") for note in graph.report.notes)


def test_times_since_1970(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(1\d|4\d?) ([\d.e]+)", lambda m: f"{m[1]} {1_700_000_000 + float(m[2])}", BY_HAND)
    graph, early = read(tmp_path, text), read(tmp_path, BY_HAND)
    assert graph.durations_s.tolist() == early.durations_s.tolist()
    assert edges(graph) == edges(early)


def test_load_finds_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.gz"
    path.write_bytes(gzip.compress(BY_HAND.encode()))
    assert ss.load(path).report.format == "paje"
    assert not PAJE.recognises(b"%%MatrixMarket")


def test_single_quotes_as_vite_takes_them(tmp_path: Path) -> None:
    """Idle stays what waits, and names with blanks or apostrophes stay whole."""
    quoted = NAMES.replace('"', "'").replace(" Idle S", " 'Idle' S").replace("'thread 2'", "rank'2")
    assert "'a long task' S a '1 0 0'" in quoted
    graph, plain = read(tmp_path, HEADER + quoted + BODY), read(tmp_path, BY_HAND)
    assert graph.kinds.to_list() == plain.kinds.to_list()
    assert edges(graph) == edges(plain)
    assert set(graph.recording.lane_names) == {"node/thread 1", "node/rank'2"}


def test_containers_destroyed_by_the_field_of_old_simgrid(tmp_path: Path) -> None:
    before = "PajeDestroyContainer 4\n% Time date\n% Name string"
    assert before in BY_HAND
    graph = read(tmp_path, BY_HAND.replace(before, before.replace("Name", "Container")))
    assert graph.durations_s.tolist() == read(tmp_path, BY_HAND).durations_s.tolist()
    with pytest.raises(FormatError, match="a PajeDestroyContainer without Container"):
        read(tmp_path, BY_HAND.replace(before, before.replace("Name", "Title")))


def test_options(tmp_path: Path) -> None:
    assert read(tmp_path, BY_HAND, states="b, c").n_tasks == 2
    assert read(tmp_path, BY_HAND, unit="ms").work_s == pytest.approx(7.5e-3)
    for options, message in (
        ({"states": "e"}, "states names 'e'; the trace has 'Idle, a long task, b, c, d'"),
        ({"states": 3}, "states is 3"),
        ({"unit": "days"}, "unit is 'days'; expected one of s, ms, us, ns"),
        ({"dag": "x"}, "not every task has a JobId of its own"),
    ):
        with pytest.raises(FormatError, match=message):
            read(tmp_path, BY_HAND, **options)


def test_without_states(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="no state in it lasts any time, so there are no tasks; record states"
    ):
        read(tmp_path, HEADER + NAMES + "10 1 S t1 a\n10 1 S t1 b\n")


def test_links_of_the_platform_join_nothing(tmp_path: Path) -> None:
    """SimGrid draws a link for every two hosts before anything runs."""
    graph = read(tmp_path, HEADER + NAMES + "42 0 L n t1 v k\n43 0 L n t2 v k\n10 1 S t1 a\n13 2 S t1\n")
    assert [graph.report.facts[key] for key in ("links", "links_used")] == [1, 0]
    assert not any("links join lanes" in note for note in graph.report.notes)


def test_several_types_of_states_are_several_lanes(tmp_path: Path) -> None:
    body = BODY + '1 P T "Power"\n10 0 P t1 high\n13 6 P t1\n'
    graph = read(tmp_path, HEADER + NAMES + body)
    assert graph.recording is not None
    names = graph.recording.lane_names
    assert names == (
        "node/thread 1 Power",
        "node/thread 1 State of a thread",
        "node/thread 2 State of a thread",
    )


def test_oddities_are_told(tmp_path: Path) -> None:
    """A pop of nothing, a state without an end, one without length, half a link, time that goes back."""
    body = BODY + "12 8 S t1\n10 9 S t1 e\n10 8.5 S t1 f\n10 9 S t1 g\n10 9 S t1 h\n42 9 L n t1 v key2\n"
    notes = "; ".join(read(tmp_path, HEADER + NAMES + body).report.notes)
    for told in (
        "1 end of a state that never began", "1 state not ended", "2 states without a length", "1 link with a start",
        "1 state that ends before it begins",
    ):  # fmt: skip
        assert told in notes


def test_tolerant_puts_together_what_ends_before_it_begins(tmp_path: Path) -> None:
    """Buffers of two threads were written one after the other: the end of g, at 10 s, comes before its begin at 9 s."""
    body = BODY + "12 10 S t1\n11 9 S t1 g\n"
    strict, tolerant = (read(tmp_path, HEADER + NAMES + body, tolerant=wanted) for wanted in (False, True))
    assert "g" not in strict.kinds.to_list()
    assert any("of a state that never began" in note for note in strict.report.notes)
    assert tolerant.kinds.to_list() == [*strict.kinds.to_list(), "g"]
    assert tolerant.durations_s[-1] == 1.0
    assert any("1 state of which the file has the end first" in note for note in tolerant.report.notes)


STARPU = HEADER.replace("Value string\n%EndEventDef\n%EventDef PajePush", "Value string\n% GFlop double\n% JobId "
                        "string\n% Params string\n%EndEventDef\n%EventDef PajePush", 1) + NAMES.replace(
                            '"State of a thread"', '"Worker State"')  # fmt: skip


def test_jobs_of_starpu(tmp_path: Path) -> None:
    """States of jobs are the tasks, names with spaces stand unquoted between tabs, the drawing tells the edges."""
    body = (
        "10\t1.0\tS\tt1\tmy task\t0.5\t4\tM8x8x4_M8x4x4\n13 3 S t1\n10\t3.5\tS\tt1\tB\n13 4 S t1\n"
        "10\t3.25\tS\tt2\tmy task\t0.5\t7\tV8x8\n13 4 S t2\n"
    )
    graph = read(tmp_path, STARPU + body)
    assert [graph.task_name(i) for i in range(graph.n_tasks)] == ["my task 4", "my task 7"]
    assert graph.shapes.to_list() == ["8x8;8x4", "8"]
    assert graph.flops.tolist() == [5e8, 5e8]
    assert graph.durations_s.tolist() == [2e-3, 0.75e-3]
    assert graph.n_edges == 0
    dag = tmp_path / "dag.dot"
    dag.write_text('digraph G { subgraph c { "task_4" -> "task_5" -> "task_7" } }')
    assert edges(read(tmp_path, STARPU + body, dag=dag)) == [(0, 1)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%EndEventDef\n", "", "line 6 is '%EventDef PajeDefineStateType 1'; expected %EventDef NAME ID"),
        ("% Name string\n", "% Name\n", "line 3 is '%Name'"),
        ("10 0 S t1 a", "99 0 S t1 a", "line 75 is '99 0 S t1 a'; the header defines no such event"),
        ("10 0 S t1 a", "10 0 S t1", "line 75: a PajeSetState without Value"),
        ("10 0 S t1 a", "10 zero S t1 a", "line 75: Time is 'zero'; expected a decimal number"),
        ("10 0 S t1 a", "10 1e30 S t1 a", "line 75: Time is '1e30'"),
        ("3 0 n T 0 node", "3 0 n T t1 node", "containers nested more than 100 deep, or in each other"),
        (BODY, "10 0 S t1 Idle\n13 1 S t1\n", "no state is a task; states= names them; the trace has 'Idle'"),
        (BODY, "11 0 S t1 b\n" * 10_001, "more than 10000 states on top of each other"),
    ],
)
def test_wrong_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BY_HAND
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path, BY_HAND.replace(old, new, 1))


def test_a_file_cut_off(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"line 86 is '77 6'.*tolerant=true"):
        read(tmp_path, BY_HAND + "77 6")
    graph = read(tmp_path, BY_HAND + "77 6", tolerant="true")
    assert graph.n_tasks == 5
    assert any("77 6" in note for note in graph.report.notes)
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(BY_HAND.encode())[:-40])
    with pytest.raises(FormatError, match="cut off"):
        PAJE.read(path)
    assert PAJE.read(path, tolerant=True, states="b").n_tasks == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    """Lines dropped, doubled, swapped, bytes broken: a valid graph or one of two errors."""
    lines = BY_HAND.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(0, 4))):
        i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[i : i + 1] = data.draw(st.sampled_from([[], [lines[i]] * 2, [lines[j]]]))
    damaged = bytearray("".join(lines).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + 1] = data.draw(
            st.sampled_from([b"", b"\xff", b"9", b"-", b"\n", b"%", b'"', b"e"])
        )
    path = tmp_path / "damaged.trace"
    path.write_bytes(damaged)
    try:
        graph = PAJE.read(path, tolerant=data.draw(st.booleans()))
    except (FormatError, GraphError):
        return
    assert graph.recorded is not None


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.paje.trace.gz")), ids=lambda file: file.name)
def test_captures(file: Path) -> None:
    """The states of jobs are what the records of the same run tell, and with the drawing so are the edges."""
    records = ss.load(str(file).replace("paje.trace", "tasks.rec"))
    chained = ss.load(file)
    drawn = ss.load(file, dag=str(file).replace("paje.trace", "dag.dot"))
    lanes = chained.report.facts["lanes"]
    assert (chained.n_tasks, chained.n_edges) == (220, 220 - lanes)
    assert (drawn.n_edges, drawn.report.facts["early_starts"]) == (495, 0)
    assert drawn.critical_path_s == pytest.approx(records.critical_path_s, abs=1e-12)
    assert np.allclose(np.sort(drawn.durations_s), np.sort(records.durations_s), atol=1e-12)
    assert np.nansum(drawn.flops) == pytest.approx(np.nansum(records.flops))
