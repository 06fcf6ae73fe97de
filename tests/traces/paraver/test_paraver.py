"""Paraver traces of OmpSs by hand: intervals, dependencies, taskwaits, labels; what is refused."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.paraver.reader import PARAVER

from .conftest import DEPENDENCE, NAME, PCF, STATE, TASKWAIT, WD, Trace

New = Callable[[], Trace]


def edges(graph: TaskGraph) -> set[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in pairs}


def ns(seconds: object) -> list[int]:
    return [round(s * 1e9) for s in seconds.tolist()]


def test_by_hand(ompss: Trace) -> None:
    graph = ompss.read()
    assert graph.names is not None
    assert graph.names.to_list() == ["potrf 4", "gemm(double*, int) 5", "gemm(double*, int) 6"]
    assert graph.kinds.to_list() == ["potrf", "gemm(double*, int)", "gemm(double*, int)"]
    assert edges(graph) == {("potrf 4", "gemm(double*, int) 5"), ("potrf 4", "gemm(double*, int) 6")}
    assert ns(graph.durations_s) == [100, 90, 110]
    run = graph.recording
    assert run is not None
    assert (ns(run.start_s), ns(run.finish_s)) == ([0, 110, 120], [100, 200, 230])
    assert (run.lanes.tolist(), run.lane_names) == ([0, 1, 0], ("master", "worker <1>"))
    facts = graph.report.facts
    assert (facts["dependency_events"], facts["dependency_communications"]) == (2, 2)
    assert (facts["threads"], facts["trace_s"], facts["unit"]) == (2, 5e-6, "ns")
    assert facts["in_runtime_s"] == pytest.approx((125 - 100 + 105 - 90 + 124 - 110) * 1e-9)
    # Task 5 begins while thread 1 is still in task 4, whose body has run.
    assert facts["inline_dependents"] == 1


def test_found_by_content(ompss: Trace) -> None:
    path = ompss.write()
    packed = path.with_name("other.prv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    graph = ss.load(packed, pcf=str(path.with_suffix(".pcf")), row=path.with_suffix(".row"))
    assert (graph.n_tasks, graph.n_edges) == (3, 2)
    assert graph.report.facts["early_starts"] == 0
    assert graph.recording is not None
    assert graph.recording.lane_names == ("master", "worker <1>")


def test_microseconds_where_no_unit_is_named(ompss: Trace) -> None:
    ompss.header = ompss.header.replace("_ns", "")
    graph = ompss.read()
    assert (ns(graph.durations_s), graph.report.facts["unit"]) == ([100_000, 90_000, 110_000], "1000 ns")


def test_dependencies_of_communications_alone(ompss: Trace) -> None:
    ompss.lines = [line for line in ompss.lines if f":{DEPENDENCE}:" not in line]
    graph = ompss.read()
    assert graph.n_edges == 2
    assert graph.report.facts["dependency_events"] == 0


def test_dependencies_of_events_alone_and_of_both(ompss: Trace) -> None:
    ompss.lines.remove(next(line for line in ompss.lines if line.endswith(":6:1")))
    graph = ompss.read()
    assert graph.n_edges == 2
    assert "1 dependency named only by events or only by communications; all were kept" in graph.report.notes


def test_a_task_that_was_switched_out(ompss: Trace) -> None:
    """Task 7 runs from 400 to 450, waits for a nested one, and goes on from 480 to 500."""
    ompss.create(60, 7)
    ompss.event(1, 395, WD, 7, STATE, 6)
    ompss.event(1, 400, STATE, 17)
    ompss.event(1, 410, STATE, 10)
    ompss.event(1, 420, STATE, 0)
    ompss.create(425, 8)
    ompss.event(1, 450, WD, 0, STATE, 0, STATE, 0)
    ompss.run(1, 452, 455, 470, 475, 8)
    ompss.event(1, 480, WD, 7, STATE, 6, STATE, 17)
    ompss.event(1, 500, STATE, 0)
    ompss.event(1, 505, WD, 0, STATE, 0)
    graph = ompss.read()
    assert ns(graph.durations_s)[3:] == [70, 15]
    facts = graph.report.facts
    assert (facts["tasks_switched_out"], facts["switched_out_s"]) == (1, pytest.approx(30e-9))
    assert facts["tasks_inside_tasks"] == 1
    assert graph.recording is not None
    assert ns(graph.recording.finish_s)[3] == 400


def test_visits_without_states_count_whole(ompss: Trace) -> None:
    ompss.path.with_suffix(".pcf").write_text(PCF.replace("Thread state", "Something else"))
    assert ns(ompss.read().durations_s) == [125, 105, 124]


def test_a_taskwait_between_tasks(ompss: Trace) -> None:
    """Tasks 7 and 8 were created behind a taskwait: they wait for all before, though no dependency says so."""
    ompss.event(1, 350, WD, 1, STATE, 17)
    ompss.event(1, 351, TASKWAIT, 1)
    ompss.create(360, 7)
    ompss.create(361, 8)
    ompss.event(1, 365, TASKWAIT, 1)
    ompss.event(1, 370, WD, 0)
    ompss.run(1, 380, 390, 400, 401, 7)
    ompss.run(2, 380, 390, 410, 411, 8)
    graph = ompss.read()
    assert graph.kinds.to_list()[5:] == ["taskwait"]
    assert {edge for edge in edges(graph) if "taskwait" in edge} == {
        ("potrf 4", "taskwait"), ("gemm(double*, int) 5", "taskwait"), ("gemm(double*, int) 6", "taskwait"),
        ("taskwait", "task 7"), ("taskwait", "task 8"),
    }  # fmt: skip
    assert ns(graph.durations_s)[5] == 0
    assert graph.recording is not None
    assert ns(graph.recording.start_s)[5] == 230


def test_concurrent_tasks_meet(ompss: Trace) -> None:
    """4 and 5 meet in a point, whose number is that of a task, and 6 comes behind it."""
    ompss.lines = [
        line for line in ompss.lines if f":{DEPENDENCE}:" not in line and not line.endswith(":1\n")
    ]
    ompss.lines = [line for line in ompss.lines if not line.startswith("3:") or line.endswith(":0")]
    ompss.depend(50, 4, 6, 4)
    ompss.depend(51, 5, 6, 6)
    ompss.depend(52, 6, 6, 5)
    assert edges(ompss.read()) == {
        ("potrf 4", "gemm(double*, int) 6"),
        ("gemm(double*, int) 5", "gemm(double*, int) 6"),
    }


def test_a_task_without_an_end(ompss: Trace) -> None:
    ompss.create(60, 7)
    ompss.depend(61, 4, 7)
    ompss.event(2, 400, WD, 7, STATE, 6)
    ompss.event(2, 401, STATE, 17, NAME, 1)
    graph = ompss.read()
    assert (graph.n_tasks, graph.n_edges) == (3, 2)
    assert "1 task never ran to an end, left out with all dependencies" in graph.report.notes


def test_a_task_that_never_began(ompss: Trace) -> None:
    ompss.create(60, 7)
    graph = ompss.read()
    assert (graph.n_tasks, graph.report.facts["tasks_unfinished"]) == (3, 1)


def test_a_task_cut_off_in_its_second_stretch(ompss: Trace) -> None:
    ompss.create(60, 7)
    ompss.event(1, 395, WD, 7, STATE, 6, STATE, 17)
    ompss.event(1, 450, WD, 0)
    ompss.event(1, 480, WD, 7, STATE, 6, STATE, 17)
    graph = ompss.read()
    assert (graph.n_tasks, graph.report.facts["tasks_unfinished"]) == (3, 1)


def test_without_labels_numbers_are_those_of_nanos(ompss: Trace) -> None:
    ompss.path.with_suffix(".pcf").unlink()
    ompss.path.with_suffix(".row").unlink()
    number = re.compile(r"(9[02]00)1(?=[0-9]{2}:)")
    ompss.lines = [number.sub(r"\g<1>0", line).replace("9000000:17", "9000000:7") for line in ompss.lines]
    graph = ompss.read()
    assert (graph.n_tasks, graph.n_edges, ns(graph.durations_s)) == (3, 2, [100, 90, 110])
    assert graph.kinds.labels == ("task",)
    assert graph.recording is not None
    assert graph.recording.lane_names == ("THREAD 1.1.1", "THREAD 1.1.2")
    assert "no .pcf file" in graph.report.notes[0]


def test_two_processes_count_their_tasks_apart(ompss: Trace) -> None:
    ompss.header = ompss.header.replace("1(2:1),0", "2(2:1,2:1),0")
    for line in list(ompss.lines):
        fields = line.split(":")
        if fields[0] in ("2", "3"):
            fields[3] = "2"
        if fields[0] == "3":
            fields[9] = "2"
        ompss.lines.append(":".join(fields))
    graph = ompss.read()
    assert (graph.n_tasks, graph.n_edges) == (6, 4)
    assert graph.scopes.to_list() == [""] * 3 + ["1.2"] * 3


def test_messages_between_processes_are_no_dependencies(ompss: Trace) -> None:
    """A message of MPI of 6 bytes with tag 1, sent in task 5; its own process would mean that 6 waits for 5."""
    ompss.lines.append("3:2:1:1:2:250:250:3:1:2:1:260:260:6:1")
    assert ompss.read().n_edges == 2


def test_nanos6(new_trace: New) -> None:
    """Tasks of OmpSs-2: the next number ends the task before, dependencies are communications of a tag of their own."""
    trace = new_trace()
    trace.path.with_suffix(".pcf").write_text(
        "EVENT_TYPE\n0    9200002    Task instance\n\nEVENT_TYPE\n0 9200011 Running Name\nVALUES\n0 End\n7 axpy\n"
    )
    trace.event(1, 100, 9200002, 1, 9200011, 7)
    trace.event(1, 200, 9200002, 0, 9200011, 0)
    for tag in (0xFFFFFF01, 0xFFFFFF00, 0xFFFFFF02):
        trace.hand(201, (1 << 32) + 2 if tag == 0xFFFFFF01 else (2 << 32) + 1, tag=tag)
    trace.event(2, 210, 9200002, 2, 9200011, 7)
    trace.event(2, 250, 9200002, 3)
    trace.event(2, 280, 9200002, 0)
    graph = trace.read()
    assert edges(graph) == {("axpy 1", "axpy 2")}
    assert ns(graph.durations_s) == [100, 40, 30]


def test_traces_without_tasks_are_refused(ompss: Trace) -> None:
    ompss.lines = [
        "1:1:1:1:1:0:90:1",
        "2:1:1:1:1:5:50000001:3",
        "3:1:1:1:1:5:5:2:1:1:2:6:6:8:0",
        "4:2:1:2:1:7:91:3:0:1:0",
    ]
    with pytest.raises(
        FormatError,
        match=r"a trace of MPI without tasks: 1 states, 1 events, 1 communications.*record an OmpSs",
    ):
        ompss.read()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2:1:1:1:1:x:9200102:1", "is not a record of Paraver; expected numbers with colons between"),
        ("2:1:1:1:1:5:9200102", "a record of kind 2 with 7 fields; is it cut off?"),
        ("3:1:1:1:1:5:5:2:1:1:2", "a record of kind 3 with 11 fields"),
        ("1:1:1:1:1:5", "a record of kind 1 with 6 fields"),
        ("2:1:1:1:1:-5:9200102:1", "time -5; expected 0 to"),
        ("2:1:1:1:1:99999999999999999999:9200102:1", "time 99999999999999999999; expected 0 to"),
        ("2:1:1:1:1:5:9200102:99999999999999999999", "which takes more than 64 bits"),
        ("3:1:1:1:1:5:5:2:1:1:2:6:6:-1:1", "size -1; expected a whole number of 0 or more"),
        ("5:1:1", "is not a record of Paraver"),
        ("hello", "b'hello' is not a record of Paraver"),
    ],
)
def test_wrong_lines(ompss: Trace, line: str, message: str) -> None:
    ompss.lines.insert(0, line)
    with pytest.raises(FormatError, match=re.escape("run.prv: line 2: ") + ".*" + re.escape(message)):
        ompss.read(tolerant=True)


def test_a_last_line_that_is_cut_off(ompss: Trace) -> None:
    path = ompss.write()
    path.write_bytes(path.read_bytes() + b"2:1:1:1:1:350:92")
    with pytest.raises(FormatError, match="a record of kind 2 with 7 fields"):
        PARAVER.read(path)
    graph = PARAVER.read(path, tolerant="true")
    assert graph.n_tasks == 3
    assert "it is the last line and was left out" in graph.report.notes[0]


def test_wrong_headers_options_and_companions(ompss: Trace) -> None:
    ompss.header = "#Paraver (20/11/2026 at 09:19):5000_fs:1(2):1:1(2:1),0"
    with pytest.raises(FormatError, match="line 1: times are in 'fs'; expected ns, us, ms or no unit"):
        ompss.read()
    ompss.header = "#Paraver (once upon a time)"
    with pytest.raises(FormatError, match=r"line 1: '.* is not a header of Paraver"):
        ompss.read()
    with pytest.raises(FormatError, match=r"missing\.pcf: no such file"):
        ompss.read(pcf=Path("missing.pcf"))
    with pytest.raises(FormatError, match="row is 3; expected the path"):
        ompss.read(row=3)


def test_dependencies_that_form_a_cycle(ompss: Trace) -> None:
    ompss.depend(60, 5, 4)
    with pytest.raises(GraphError, match="the graph has a cycle"):
        ompss.read()
