"""Logs by hand: what each construct of OpenMP imposes; wrong and damaged files; the shared capture."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.traces.ompt.reader import OMPT

SAMPLES = Path(__file__).resolve().parents[3] / "../shared/samples/ompt"
IMPLICIT, TASKWAIT, TASKGROUP, BARRIER = 2, 5, 6, 3
DEFERRED, UNDEFERRED, WAITS = 4, 0x8000004, 0x18000010


def test_dependencies_threads_and_times(log: Any) -> None:
    log.create(1, 0, deps=[["x", 3]]).create(2, 0, deps=[["x", 1]]).create(3, 0, deps=[["x", 1]]).create(
        4, 0, deps=[["x", 2]]
    )
    log.run(1).run(2).run(3, tid=1).run(4, tid=1)
    assert log.named_edges() == [("1", "2"), ("1", "3"), ("2", "4"), ("3", "4")]
    graph = log.read()
    assert (graph.durations_s * 1e9).round().tolist() == [10, 10, 10, 10]
    assert graph.recording is not None
    assert (graph.recording.start_s * 1e9).round().tolist() == [0, 20, 40, 60]
    assert graph.recording.lane_names == ("thread 0", "thread 1")
    assert graph.kinds.to_list() == ["0x1", "0x2", "0x3", "0x4"]


def test_a_machine_that_is_up_for_years(log: Any) -> None:
    """The clock counts from the machine's start: from 104 days on beyond what a float holds exactly."""
    log.ns = 10**17
    log.create(1, 0, deps=[["x", 3]]).create(2, 0, deps=[["x", 1]]).run(1).run(2)
    assert (log.read().durations_s * 1e9).round().tolist() == [10, 10]


def test_lines_of_threads_need_no_order(log: Any) -> None:
    log.create(1, 0, deps=[["x", 3]]).create(2, 0, deps=[["x", 3]]).run(1).run(2, tid=1)
    expected = log.named_edges()
    log.lines.sort(key=lambda line: -line.get("tid", 2))
    assert log.named_edges() == expected == [("1", "2")]


def test_taskwait_joins_what_was_created(log: Any) -> None:
    log.create(1, 9).create(2, 9).sync(TASKWAIT, "begin", 9).run(1, 2).sync(TASKWAIT, "end", 9)
    log.create(3, 9).create(4, 9).run(3, 4)
    assert log.named_edges() == [("1", "wait"), ("2", "wait"), ("wait", "3"), ("wait", "4")]


def test_what_nothing_comes_behind_is_left_out(log: Any) -> None:
    log.create(1, 9).create(2, 9).run(1, 2).sync(TASKWAIT, "end", 9)
    assert log.named_edges() == []


def test_taskgroup_joins_descendants_and_no_others(log: Any) -> None:
    """Task 1 was created before the group, task 3 by task 2 within."""
    log.create(1, 9).sync(TASKGROUP, "begin", 9).create(2, 9).sched(9, 7, 2).create(3, 2).sched(2, 1, 9)
    log.run(3, 1).sync(TASKGROUP, "end", 9).create(4, 9).run(4)
    assert log.named_edges() == [("2 part 1", "2 part 2"), ("2 part 1", "3"), ("2 part 2", "wait"), ("3", "wait"),
                                 ("wait", "4")]  # fmt: skip


def test_barriers_join_the_team(log: Any) -> None:
    """Two threads, each with a task before and behind; the second thread leaves the barrier late."""
    log.add("parallel", scope="begin", parallel=1, task=7, threads=2)
    log.add("implicit", scope="begin", parallel=1, task=8).add(
        "implicit", 1, scope="begin", parallel=1, task=9
    )
    log.create(1, 8).create(2, 9, tid=1).run(1, under=8).run(2, under=9, tid=1)
    log.sync(BARRIER, "end", 8).create(3, 8).sync(BARRIER, "end", 9, tid=1).create(4, 9, tid=1)
    log.run(3, under=8).run(4, under=9, tid=1).sync(2, "end", 8).add(
        "parallel", scope="end", parallel=1, task=7
    )
    log.add("parallel", scope="begin", parallel=2, task=7, threads=1).add(
        "implicit", scope="begin", parallel=2, task=10
    )
    log.create(5, 10).run(5, under=10)
    before, behind = [("1", "barrier"), ("2", "barrier")], [("barrier", "3"), ("barrier", "4")]
    last = [("barrier", "barrier"), ("3", "barrier"), ("4", "barrier"), ("barrier", "5")]
    assert sorted(log.named_edges()) == sorted(before + behind + last)


def test_barriers_are_counted_from_where_a_task_joins_its_team(log: Any) -> None:
    """In a damaged log the clock goes wrong, and a barrier stands before its region."""
    log.sync(BARRIER, "end", 8).add("parallel", scope="begin", parallel=1, task=7, threads=1)
    log.add("implicit", scope="begin", parallel=1, task=8).create(1, 8).run(1, under=8)
    log.sync(BARRIER, "end", 8).create(2, 8).run(2, under=8)
    assert log.named_edges() == [("1", "2")]


def test_a_task_is_cut_where_it_creates_and_waits(log: Any) -> None:
    """What it waits in costs no time of its own: 10 ns until it creates, 10 until it waits, 10 behind."""
    log.create(1, 0).sched(0, 7, 1).create(2, 1).sync(TASKWAIT, "begin", 1).sched(1, 7, 2).sched(2, 1, 1)
    log.sync(TASKWAIT, "end", 1).sched(1, 1, 0)
    assert log.named_edges() == [
        ("1 part 1", "1 part 2"),
        ("1 part 1", "2"),
        ("1 part 2", "1 part 3"),
        ("2", "1 part 3"),
    ]
    graph = log.read()
    assert (graph.durations_s * 1e9).round().tolist() == [10, 10, 10, 10]
    assert graph.report.facts["pieces"] == 4


def test_waiting_in_a_taskgroup_is_no_work(log: Any) -> None:
    log.create(1, 0).sched(0, 7, 1).sync(TASKGROUP, "begin", 1).create(2, 1).sync(
        TASKGROUP, "begin", 1, ev="wait"
    )
    log.run(2, tid=1).sync(TASKGROUP, "end", 1, ev="wait").sync(TASKGROUP, "end", 1).sched(1, 1, 0)
    assert ("2", "1 part 3") in log.named_edges()
    assert log.read().work_s == pytest.approx(50e-9)


def test_taskwait_with_dependencies(log: Any) -> None:
    """It waits for task 1 alone, and what is created behind waits for it."""
    log.create(1, 9, deps=[["x", 2]]).create(2, 9).create(3, 9, flags=WAITS, deps=[["x", 1]])
    log.run(1).sched(3, 8, 0).create(4, 9).run(2, 4)
    assert log.named_edges() == [("1", "4")]


def test_undeferred_tasks_hold_up_their_creator(log: Any) -> None:
    """Unless all are undeferred, as in a team of one thread."""
    log.create(1, 9).create(2, 9, flags=UNDEFERRED).run(2).create(3, 9).run(1, 3)
    assert log.named_edges() == [("2", "3")]
    log.lines[0]["flags"] = log.lines[4]["flags"] = UNDEFERRED
    assert log.named_edges() == []
    assert any("all tasks ran at once" in note for note in log.read().report.notes)


@pytest.mark.parametrize(("threads", "expected"), [(1, []), (2, [("1", "2")])])
def test_undeferred_tasks_of_one_team_beside_others(
    log: Any, threads: int, expected: list[tuple[str, str]]
) -> None:
    """A team of one thread defers nothing, whatever the program's other teams do."""
    for region, team, task in ((1, threads, 8), (2, 4, 9)):
        log.add("parallel", scope="begin", parallel=region, task=7, threads=team)
        log.add("implicit", scope="begin", parallel=region, task=task, threads=team)
    log.create(1, 8, flags=UNDEFERRED).run(1, under=8).create(2, 8, flags=UNDEFERRED).run(2, under=8)
    log.create(3, 9).run(3, under=9)
    assert log.named_edges() == expected
    told = [note for note in log.read().report.notes if "ran at once" in note]
    assert [note.partition(" tasks")[0] for note in told] == (["2"] if threads == 1 else [])


def test_tasks_that_never_ran_hand_their_dependencies_on(log: Any) -> None:
    log.create(1, 0, deps=[["x", 3]]).create(2, 0, deps=[["x", 3]]).create(3, 0, deps=[["x", 3]]).run(1, 3)
    assert log.named_edges() == [("1", "3")]
    assert any("1 task did not finish" in note for note in log.read().report.notes)


def test_detached_and_cancelled_tasks_end(log: Any) -> None:
    log.create(1, 0, deps=[["x", 3]]).create(2, 0, deps=[["x", 3]]).sched(0, 7, 1).sched(1, 4, 0).sched(
        1, 6, 0
    )
    log.sched(0, 7, 2).sched(2, 3, 0)
    assert log.named_edges() == [("1", "2")]
    assert log.read().report.notes == [
        "only explicit tasks are tasks here: what threads did outside them (loops, serial code) is not recorded",
        "the order that taskwait, taskgroup and barriers impose is not recorded",
    ]


def test_names(log: Any, tmp_path: Path) -> None:
    log.create(1, 0).create(2, 0).run(1, 2)
    log.lines.append({"ev": "code", "codeptr": "0x1", "at": "program+0x17"})
    assert log.read().kinds.to_list() == ["program+0x17", "0x2"]
    names = tmp_path / "names.txt"
    names.write_text("program+0x17 potrf\n\n0x2 gemm at night\n")
    assert log.read(names=names).kinds.to_list() == ["potrf", "gemm at night"]
    names.write_text("0x2\n")
    with pytest.raises(FormatError, match="line 1 is '0x2'; expected ADDRESS NAME"):
        log.read(names=names)
    with pytest.raises(FormatError, match="names is 3"):
        log.read(names=3)


def test_what_the_recorder_tells_of_itself(log: Any) -> None:
    log.lines.append({"ev": "tool", "version": 1, "dependences": 3})
    log.create(1, 0, deps=[["x", 4]]).run(1)
    notes = "; ".join(log.read().report.notes)
    assert all(
        told in notes
        for told in ("did not reach its end", "not tell all dependencies", "1 task of mutexinoutset")
    )
    log.add("end", lost_B=7)
    notes = "; ".join(log.read().report.notes)
    assert "could not write 7 bytes" in notes
    assert "did not reach its end" not in notes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", r"line 1 is '\[\]', no JSON object; is the file cut off"),
        ('{"ev":"create"', "line 1 is .*, no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ('{"ev":"tool","version":2}', "line 1: version is 2; expected at most 1"),
        ('{"ev":7}', "line 1: ev is 7; expected the name of an event"),
        (
            '{"ev":"sched","prior":1,"status":1,"next":0,"tid":0}',
            "line 1: ns is missing; expected a whole number",
        ),
        ('{"ev":"sched","prior":1,"status":1,"next":0,"tid":0,"ns":-1}', "ns is -1"),
        ('{"ev":"sched","prior":1,"status":1,"next":0,"tid":0,"ns":NaN}', "ns is nan"),
        ('{"ev":"sched","prior":true,"status":1,"next":0,"tid":0,"ns":1}', "prior is True"),
        ('{"ev":"depend","task":1,"deps":[["x"]]}', "deps is"),
        ('{"ev":"sync","task":1,"kind":5,"scope":1,"tid":0,"ns":1}', "scope is 1; expected begin or end"),
        ('{"ev":"future","ns":1}', "no explicit task ran"),
    ],
)
def test_wrong_files(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(FormatError, match=message):
        OMPT.read(path)


def test_impossible_runs(log: Any) -> None:
    log.create(1, 0).run(1).create(1, 0)
    with pytest.raises(GraphError, match="task 1 is created twice"):
        log.read()
    log.lines = []
    for _ in range(101):
        log.sync(TASKGROUP, "begin", 9)
    with pytest.raises(GraphError, match="more than 100 taskgroups in each other"):
        log.read()


def test_a_file_cut_off(log: Any) -> None:
    log.create(1, 0).run(1)
    log.path.write_bytes(gzip.compress((log.text() + '{"ev":"cre').encode()))
    with pytest.raises(FormatError, match="tolerant=true"):
        ss.load(log.path)
    assert ss.load(log.path, tolerant="true").n_tasks == 1
    log.path.write_text(log.text() + "x\n" * 100)
    report = ss.load(log.path, tolerant=True).report
    assert report.facts["mended"] == 100
    assert len(report.notes) < 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data())
def test_damage(data: st.DataObject, log: Any) -> None:
    """Events dropped, doubled, swapped, numbers changed: a valid graph or one of two errors."""
    log.lines = []
    log.add("implicit", scope="begin", parallel=1, task=9).sync(TASKGROUP, "begin", 9)
    log.create(1, 9, deps=[["x", 3]]).create(2, 9, deps=[["x", 1]]).sched(9, 7, 1).create(3, 1)
    log.sync(TASKWAIT, "begin", 1).sched(1, 7, 3).sched(3, 1, 1).sync(TASKWAIT, "end", 1).sched(1, 1, 9).run(
        2, under=9
    )
    log.sync(TASKGROUP, "end", 9).create(4, 9).run(4, under=9).sync(BARRIER, "end", 9)
    lines = log.lines
    for _ in range(data.draw(st.integers(1, 4))):
        i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        key = data.draw(st.sampled_from(sorted(lines[i])))
        value = data.draw(
            st.sampled_from([0, 1, 2, 3, 5, 6, 8, 9, -1, 2**70, 1.5, None, "begin", "x", [], 1100])
        )
        lines[i : i + 1] = data.draw(
            st.sampled_from([[], [lines[i]] * 2, [lines[j]], [lines[i] | {key: value}]])
        )
    try:
        graph = log.read(tolerant=data.draw(st.booleans()))
    except (FormatError, GraphError):
        return
    assert graph.recorded is not None


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.jsonl.gz")), ids=lambda file: file.name)
def test_captures(file: Path) -> None:
    """A Cholesky factorisation of 10 x 10 tiles on one thread: 220 tasks, 495 dependencies as the other tools told."""
    graph = ss.load(file)
    assert (graph.n_tasks, graph.n_edges) == (220, 495)
    assert (graph.report.facts["early_starts"], graph.report.facts["lanes"]) == (0, 1)
    assert len(graph.kinds.labels) == 4
    assert abs(ss.replay_recorded(graph, "fifo", "1x1").calibrated_error) < 0.03
