"""StarPU's records: a run by hand, several ranks, the drawing, wrong and damaged files, the shared captures."""

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
from simsched.traces.starpu.reader import STARPU

SAMPLES = Path(__file__).resolve().parents[3] / "../shared/samples/starpu"
CAPTURES = sorted(SAMPLES.glob("*.tasks.rec.gz"))

#: Job 1 runs; control record 2 and pseudo-task 3 stand between it and job 4; job 5 waits for 1 and 4.
BY_HAND = """\
Name: potrf
Model: chol_11
JobId: 1
SubmitOrder: 1
Priority: 2
Tag: 10
WorkerId: 0
MemoryNode: 0
SubmitTime: 100.000001
StartTime: 100.000002
EndTime: 103.500000
Footprint: 54b4
GFlop: 0.005625
Iteration: 0 3
Parameters: M256x128x4 V64x8
Handles: 55b9 55ba
Modes: RW S
Sizes: 131072 512
MPIRank: -1

Control: WontUse
JobId: 2
SubmitOrder: 2
SubmitTime: 100.5
Handles: 55b9
MPIRank: -1

Name: _starpu_data_acquire_pre
JobId: 3
SubmitOrder: 3
Priority: 0
DependsOn: 1 2
DepLabels: task ghost
MPIRank: -1

Name: gemm
JobId: 5
SubmitOrder: 5
Priority: 0
DependsOn: 1 4
WorkerId: 10
StartTime: 110.25
EndTime: 110.25
MPIRank: -1

Name: trsm
JobId: 4
SubmitOrder: 4
Priority: 0
DependsOn: 3
WorkerId: 9
StartTime: 104.0
EndTime: 110.125
Parameters: M256x128x4 X7
Sizes: 100 28
MPIRank: -1

"""


def read(folder: Path, text: str, **options: object) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = folder / "hand.tasks.rec"
    path.write_text(text)
    return STARPU.read(path, **options)


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    """Return the edges as pairs."""
    sources = graph.successors.sources()
    return list(zip(sources.tolist(), graph.successors.indices.tolist(), strict=True))


def test_by_hand(tmp_path: Path) -> None:
    """Tasks are in the order of their submission: jobs 1, 4 and 5."""
    graph = read(tmp_path, BY_HAND)
    assert edges(graph) == [(0, 1), (0, 2), (1, 2)]
    assert graph.kinds.to_list() == ["chol_11", "trsm", "gemm"]
    assert [graph.task_name(i) for i in range(3)] == ["potrf 1", "trsm 4", "gemm 5"]
    assert graph.scopes.to_list() == ["iteration 0/3", "", ""]
    assert graph.shapes.to_list() == ["256x128;64", "", ""]
    assert graph.flops[0] == 5_625_000
    assert np.isnan(graph.flops[1:]).all()
    assert graph.bytes_B[:2].tolist() == [2 * 131072, 128]
    assert (graph.durations_s * 1e9).round().tolist() == [3_499_998, 6_125_000, 0]
    run = graph.recording
    assert run is not None
    assert (run.start_s * 1e9).round().tolist() == [0, 3_999_998, 10_249_998]
    assert run.lane_names == ("worker 0", "worker 9", "worker 10")
    assert run.lanes.tolist() == [0, 1, 2]
    assert graph.report.facts["priorities"] == "0 to 2"
    told = ("records", "control_records", "records_not_run", "dependencies", "zero_length_tasks")
    assert [graph.report.facts[key] for key in told] == [5, 1, 2, 5, 1]
    assert (graph.report.facts["unit"], graph.report.facts["overlaps"]) == ("ms", 0)
    assert (
        read(
            tmp_path, BY_HAND.replace("WorkerId: 9", "WorkerId: 0").replace(": 104.0", ": 103.0")
        ).report.facts["overlaps"]
        == 1
    )


def test_load_finds_the_format(tmp_path: Path) -> None:
    path = tmp_path / "tasks.rec.gz"
    path.write_bytes(gzip.compress(BY_HAND.replace("\n", "\r\n").encode()))
    graph = ss.load(path)
    assert (graph.report.format, graph.n_edges, graph.report.facts["early_starts"]) == ("starpu", 3, 0)
    assert not STARPU.recognises(b"JobId: 1\nEvent: PAPI_TOT_INS\nValue: 3\n\n")
    assert not STARPU.recognises(b"")


def test_the_end_of_a_job_waits_for_its_end_dependencies(tmp_path: Path) -> None:
    """StarPU writes them last, without a blank line behind; who waits for job 1 waits for job 4, too."""
    records = [
        f"Name: {name}\nJobId: {job}\nSubmitOrder: {job}\nStartTime: {job}.0\nEndTime: {job}.5\n{more}"
        f"MPIRank: -1\n{end}"
        for job, name, more, end in [
            (1, "a", "", "EndDependencies: 4, 2 \n"),
            (2, "b", "", "\n"),
            (3, "c", "DependsOn: 1\n", "\n"),
            (4, "d", "", "\n"),
        ]
    ]
    assert edges(read(tmp_path, "".join(records))) == [(0, 2), (1, 2), (3, 2)]


def test_ranks_have_jobs_of_their_own(tmp_path: Path) -> None:
    """Job ids carry the rank, those of control records do not."""
    text = "".join(
        f"Name: a\nJobId: {r}_1\nSubmitOrder: 1\nWorkerId: 0\nStartTime: 1\nEndTime: 2\nMPIRank: {r}\n\n"
        f"Control: WontUse\nJobId: 2\nSubmitOrder: 2\nMPIRank: {r}\n\n"
        f"Name: b\nJobId: {r}_3\nSubmitOrder: 3\nDependsOn: {r}_1 {r}_2\nWorkerId: 0\nStartTime: 3\nEndTime: 4\n"
        f"MPIRank: {r}\n\n"
        for r in range(2)
    )
    graph = read(tmp_path, text)
    assert edges(graph) == [(0, 2), (1, 3)]
    assert graph.report.facts["mpi_ranks"] == 2
    assert graph.recording is not None
    assert graph.recording.lane_names == ("rank 0 worker 0", "rank 1 worker 0")
    dag = tmp_path / "dag.dot"
    dag.write_text('digraph G { subgraph c { "task_0_1" -> "mpi_7_0" } "mpi_7_0" -> "task_1_3" }')
    assert (0, 3) in edges(read(tmp_path, text, dag=dag))


def test_the_drawing_adds_edges(tmp_path: Path) -> None:
    """Tag 2 is of task 4 and waits for tag 1, which is of task 1; task 9 is not recorded."""
    dag = tmp_path / "dag.dot"
    dag.write_text(
        'digraph G {\nsubgraph cluster_0 {\n"tag_1"->"task_1"->"tag_1" [style=dashed]\n"tag_2"->"task_4"->"tag_2" '
        '[style=dashed]\n"tag_1"->"tag_2"\n"task_4"->"task_9"->"task_5"\n}\n}\n'
    )
    graph = read(tmp_path, re.sub("DependsOn:.*\n", "", BY_HAND), dag=dag)
    assert edges(graph) == [(0, 1), (1, 2)]
    assert graph.report.facts["added_by_dag"] == 2
    assert not any("dag.dot" in note for note in graph.report.notes)
    dag.write_text('digraph G { "task_5" -> "task_77" }')
    with pytest.raises(
        FormatError, match="draws 1 of the 5 jobs of the run and 1 other, so that it is of another"
    ):
        read(tmp_path, BY_HAND, dag=dag)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("JobId: 2", "JobId: 1", "line 21: JobId '1' stands also at line 1; are these the records of two runs"),
        ("JobId: 2\n", "", "line 21: JobId is missing; expected the job's id"),
        ("EndTime: 103.500000", "EndTime: 99", "line 1: EndTime is '99'; expected no time before StartTime 100.000002"),
        ("StartTime: 104.0", "StartTime: nan", "StartTime is 'nan'; expected milliseconds"),
        ("StartTime: 104.0", "StartTime: 1e99", "StartTime is '1e99'; expected milliseconds"),
        ("DependsOn: 1 4", "DependsOn: 5", "job '5' depends on itself"),
        ("GFlop: 0.005625", "GFlop: -1", "GFlop is '-1'; expected a number of 0 or more"),
        ("Sizes: 100 28", "Sizes: 100 x", "Sizes is '100 x'; expected whole numbers of bytes"),
        ("WorkerId: 9", "WorkerId: " + "9" * 30, "expected a whole number"),
        ("Name: trsm", "Name trsm", "line 46 is 'Name trsm'; expected Key: value"),
        ("Name: trsm", "Name", "line 46 is 'Name'; expected Key: value"),
        ("Name: trsm", "JobId: 7", "line 47: a second JobId in one record; is a blank line missing?"),
        ("MPIRank: -1\n\n", "", "line 20: a second JobId"),
    ],
)  # fmt: skip
def test_wrong_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BY_HAND
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path, BY_HAND.replace(old, new, 1))


def test_nothing_ran(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="none of 5 records has StartTime and EndTime; no task ran"):
        read(tmp_path, re.sub("(Start|End)Time:.*\n", "", BY_HAND))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "DependsOn: 1 2",
            "DependsOn: 1 5",
            "the graph has a cycle: task 1 'trsm 4' -> task 2 'gemm 5' -> task 1 'trsm 4'",
        ),
        ("DependsOn: 1 2", "DependsOn: 1 4", "self-loop"),
        (
            "Control: WontUse",
            "Control: WontUse\nDependsOn: 3",
            "nodes that are left out depend on each other in a cycle: 'task 2' -> '_starpu_data_acquire_pre 3'",
        ),
    ],
)
def test_a_cycle(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        read(tmp_path, BY_HAND.replace(old, new))


def test_a_file_cut_off(tmp_path: Path) -> None:
    cut = BY_HAND[: BY_HAND.index("Parameters: M256x128x4 X7") + 9]
    with pytest.raises(FormatError, match="tolerant=true"):
        read(tmp_path, cut)
    graph = read(tmp_path, cut, tolerant=True)
    assert graph.n_tasks == 2
    assert any("cut off" in note for note in graph.report.notes)
    assert graph.report.facts["unknown_dependencies"] == 1


def test_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="dag is 3; expected the path"):
        read(tmp_path, BY_HAND, dag=3)
    with pytest.raises(FormatError, match="tolerant is 'perhaps'"):
        read(tmp_path, BY_HAND, tolerant="perhaps")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    """Lines dropped, doubled, swapped, bytes broken: a valid graph or one of two errors."""
    lines = BY_HAND.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(0, 3))):
        i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[i : i + 1] = data.draw(st.sampled_from([[], [lines[i]] * 2, [lines[j]], ["\n"]]))
    damaged = bytearray("".join(lines).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + 1] = data.draw(
            st.sampled_from([b"", b"\xff", b"9", b"-", b"\n", b":", b"\0"])
        )
    path = tmp_path / "damaged.rec"
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        graph = STARPU.read(path, tolerant=data.draw(st.booleans()))
    except (FormatError, GraphError):
        return
    assert graph.n_tasks
    assert graph.recorded is not None


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize("file", CAPTURES, ids=lambda file: file.name)
def test_captures(file: Path) -> None:
    """A Cholesky factorisation of 10 x 10 tiles: n + n(n-1) + n(n-1)(n-2)/6 tasks, drawn with the same edges."""
    graph = ss.load(file)
    facts = graph.report.facts
    told = [
        facts[key]
        for key in ("records", "control_records", "records_not_run", "dependencies", "early_starts")
    ]
    assert told == [407, 55, 187, 616, 0]
    assert (graph.n_tasks, graph.n_edges) == (220, 495)
    assert facts["lanes"] == int(file.name.split(".")[2][0])
    assert np.isfinite(graph.flops).all()
    assert set(graph.shapes.to_list()) == {"256x256", "256x256;256x256", "256x256;256x256;256x256"}
    drawn = ss.load(file, dag=str(file).replace("tasks.rec", "dag.dot"))
    assert (drawn.report.facts["dag_edges"], drawn.report.facts["added_by_dag"], drawn.n_edges) == (
        616,
        0,
        495,
    )
    if ".eager." in file.name:
        replayed = ss.replay_recorded(graph, "fifo", f"{facts['lanes']}x1")
        assert abs(replayed.calibrated_error) < 0.03


def test_records_are_refused_as_they_come() -> None:
    """A second one of a job, and more than the budget allows, before the file is read to its end."""
    record = "JobId: {}\n\n"
    with pytest.raises(FormatError, match="line 3: JobId '1' stands also at line 1"):
        ss.load((record.format(1) * 2 + "no key").encode(), format="starpu")
    many = "".join(map(record.format, range(500))) + "no key"
    with pytest.raises(FormatError, match="more than 416 tasks, the most within limit=10 kB"):
        ss.load(many.encode(), format="starpu", limit="10kB")
