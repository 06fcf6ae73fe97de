"""Recordings of several ranks as one graph: ranks by file names, one clock or several, companions of each rank."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph.ranks import combined, ranks_of
from simsched.testing.reading import check_graph

ROOT = Path(__file__).parents[2]
SAMPLES, SEEDS = ROOT / "traces" / "samples", ROOT / "tests" / "traces" / "seeds"


def chrome(path: Path, start_us: float, kind: str = "work", thread: int = 1) -> None:
    event = {"ph": "X", "name": kind, "dur": 4, "pid": 1, "tid": thread}
    events = [{**event, "ts": start_us}, {**event, "ts": start_us + 5}]
    path.write_text(json.dumps({"traceEvents": events}))


def test_a_folder_on_one_clock(tmp_path: Path) -> None:
    for rank, start in ((0, 1000), (2, 1003), (10, 1001)):
        chrome(tmp_path / f"rank{rank}.json", start)
    (tmp_path / ".hidden").write_text("no")
    graph = ss.load(tmp_path)
    check_graph(graph)
    assert (graph.n_tasks, graph.n_edges, graph.name) == (6, 3, tmp_path.name)
    assert graph.report.format == "chrome"
    assert graph.report.facts["rank_numbers"] == "0, 2, 10"
    assert graph.report.facts["one_clock"] == "true"
    assert graph.recording is not None
    assert graph.recording.lane_names == ("rank 0: thread 1", "rank 2: thread 1", "rank 10: thread 1")
    np.testing.assert_allclose(graph.recording.start_s[::2], [0, 3e-6, 1e-6], atol=1e-12)
    assert graph.recorded is not None
    assert graph.recorded.makespan_s == pytest.approx(12e-6)
    assert graph.report.facts["covered_s"] == pytest.approx(12e-6)
    assert "what ranks wait for of each other is not in the graph" in graph.report.doubts[0]
    assert any(note.startswith("3 of 3 ranks: a Chrome trace records no dep") for note in graph.report.doubts)


def test_a_file_of_another_sort_in_a_folder(tmp_path: Path) -> None:
    """A program's own notes beside its traces: the error was that of one file alone."""
    chrome(tmp_path / "rank0.x.trace", 0)
    (tmp_path / "rank1.json").write_text('{"tool": "mine"}')
    with pytest.raises(FormatError, match=r"rank1.json: not a .*; all files .* you mean, as .*/\*\.trace$"):
        ss.load(tmp_path)
    (tmp_path / "rank0.x.trace").rename(tmp_path / "rank0.json")
    with pytest.raises(FormatError, match=r"by format=$"):
        ss.load(tmp_path)


@pytest.mark.parametrize(
    ("seed", "name"), [("onnxruntime", "main.json"), ("starpu", "main.rec"), ("ninja", "main.log")]
)
def test_clocks_that_begin_with_their_process_tell_nothing_of_other_ranks(
    tmp_path: Path, seed: str, name: str
) -> None:
    """Two runs of one program, one of which took 1 s to set up: its tasks lay 1 s behind those of the other."""
    source = next(path for path in sorted((SEEDS / seed).rglob("main*")) if path.suffix == Path(name).suffix)
    later = {"onnxruntime": _later_onnxruntime, "starpu": _later_starpu, "ninja": _later_ninja}[seed]
    suffix = ".ninja_log" if seed == "ninja" else source.suffix
    copyfile(source, tmp_path / f"rank0{suffix}")
    (tmp_path / f"rank1{suffix}").write_text(later(source.read_text()))
    alone, graph = ss.load(source), ss.load(tmp_path)
    assert alone.recorded is not None
    assert graph.recorded is not None
    assert graph.recorded.makespan_s == pytest.approx(alone.recorded.makespan_s)
    assert any("clocks are not one clock" in doubt for doubt in graph.report.doubts)


def _later_onnxruntime(text: str) -> str:
    return re.sub(r'("ts"\s*:\s*)([0-9]+)', lambda found: f"{found[1]}{int(found[2]) + 10**6}", text)


def _later_starpu(text: str) -> str:
    return re.sub(
        r"((?:Start|End)Time: )([0-9.]+)", lambda found: f"{found[1]}{float(found[2]) + 1e3:.6f}", text
    )


def _later_ninja(text: str) -> str:
    return re.sub(
        r"(?m)^([0-9]+)\t([0-9]+)\t",
        lambda found: f"{int(found[1]) + 1000}\t{int(found[2]) + 1000}\t",
        text,
    )


def test_seconds_on_kinds_of_cores() -> None:
    """Kept where all ranks have them for as many kinds; else dropped, which is said."""
    two, three = (ss.TaskGraph.from_edges(np.arange(1.0, 2 * n + 1).reshape(2, n), [(0, 1)]) for n in (2, 3))
    both = combined(Path("runs"), [0, 1], [two, two])
    assert both.seconds_by_kind is not None
    assert both.seconds_by_kind.tolist() == [[1, 2], [3, 4]] * 2
    assert both.report.doubts == [
        "what ranks wait for of each other is not in the graph: each is a part of its own"
    ]
    uneven = combined(Path("runs"), [0, 1], [two, three])
    assert uneven.seconds_by_kind is None
    assert any("seconds on kinds of cores are dropped" in note for note in uneven.report.doubts)


def test_kinds_that_name_no_ops_do_so_in_all_ranks() -> None:
    one = ss.TaskGraph.from_edges([1.0], kinds="copy")
    one.report.facts["kinds_are"] = "rules"
    assert combined(Path("runs"), [0, 1], [one, one]).report.facts["kinds_are"] == "rules"


def test_clocks_of_their_own(tmp_path: Path) -> None:
    chrome(tmp_path / "a.json", 0)
    chrome(tmp_path / "b.json", 10**12)
    graph = ss.load(tmp_path)
    assert graph.recording is not None
    assert graph.recording.start_s.tolist() == [0.0, 5e-6, 0.0, 5e-6]
    assert any("clocks are not one clock" in note for note in graph.report.doubts)


def test_a_pattern_and_the_companions_of_each_rank(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(2):
        copyfile(SAMPLES / "cnn.kineto.json.gz", traces / f"rank{rank}.kineto.json.gz")
        copyfile(SAMPLES / "cnn.et.json.gz", traces / f"rank{rank}.et.json.gz")
    one = ss.load(SAMPLES / "cnn.kineto.json.gz", execution_trace=SAMPLES / "cnn.et.json.gz")
    both = ss.load(traces / "*.kineto.json.gz", execution_trace=traces / "*.et.json.gz")
    check_graph(both)
    assert (both.n_tasks, both.n_edges) == (2 * one.n_tasks, 2 * one.n_edges)
    assert both.kinds.to_list() == one.kinds.to_list() * 2
    assert both.shapes.to_list() == one.shapes.to_list() * 2
    assert (both.recorded_on, both.name) == (one.recorded_on, "traces")
    assert one.data is not None
    assert both.data is not None
    assert both.data.n == 2 * one.data.n
    assert both.data.producer.tolist()[one.data.n :] == [
        task if task < 0 else task + one.n_tasks for task in one.data.producer.tolist()
    ]
    assert ss.simulate(both, "generic[cores=2]", "fifo", layout="2x1").makespan_s > 0


def test_several_formats_and_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no file in this folder"):
        ss.load(tmp_path)
    chrome(tmp_path / "rank0.json", 0)
    with pytest.raises(FormatError, match=r"no file of this pattern"):
        ss.load(tmp_path / "*.et")
    with pytest.raises(FormatError, match="format chrome has no option 'execution_trace'"):
        ss.load(tmp_path, execution_trace=tmp_path)
    (tmp_path / "rank1.stg").write_bytes(b"1\n0 0 0\n1 7 1 0\n2 0 1 1\n")
    with pytest.raises(
        FormatError, match=r"files of several formats \(chrome, stg\); a pattern chooses some"
    ):
        ss.load(tmp_path)
    assert ss.load(tmp_path / "*.stg").n_tasks == 3
    (tmp_path / "rank2.json").write_text("{")
    with pytest.raises(FormatError, match=r"rank2\.json: not a format"):
        ss.load(tmp_path / "*.json")


def test_no_name_is_no_folder() -> None:
    with pytest.raises(FormatError, match="this is a folder; expected a file"):
        ss.load("")


def test_a_rank_without_its_companion(tmp_path: Path) -> None:
    copyfile(SAMPLES / "cnn.kineto.json.gz", tmp_path / "rank1.kineto.json.gz")
    copyfile(SAMPLES / "cnn.et.json.gz", tmp_path / "rank0.et.json.gz")
    with pytest.raises(FormatError, match=r"execution_trace has no file of rank 1; it has \[0\]"):
        ss.load(tmp_path / "*.kineto.json.gz", execution_trace=tmp_path / "*.et.json.gz")


def test_recorded_and_not(tmp_path: Path) -> None:
    for rank, seed in enumerate(("v2", "v3")):
        (tmp_path / f"{rank}.dax").write_bytes(
            gzip.compress((SEEDS / "dax" / seed / "main.dax").read_bytes())
        )
    graph = ss.load(tmp_path)
    assert (graph.n_tasks, graph.recording) == (8, None)
    assert [graph.task_name(i) for i in (0, 4)] == ["ID00000", "ID1"]


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["hta_rank_1.json", "hta_rank_0.json"], [1, 0]),
        (["h1.worker3.json", "h2.worker4.json"], [3, 4]),
        (["2024-run-5.et", "2024-run-7.et"], [5, 7]),
        (["run1-rank0.json", "run1-rank1.json"], [0, 1]),
        (["node0-rank0.json", "node0-rank1.json", "node1-rank0.json", "node1-rank1.json"], [0, 1, 2, 3]),
        (["x.json"], [0]),
        ([f"host_{pid}.17000000000{pid}.pt.trace.json" for pid in (12, 34)], [12, 34]),
    ],
)
def test_ranks_by_names(names: list[str], ranks: list[int]) -> None:
    assert ranks_of(names) == ranks


@pytest.mark.parametrize("process", ["host_1234", "rank0"])
def test_windows_of_one_process_are_no_ranks(process: str) -> None:
    """As `tensorboard_trace_handler` writes them, one after the other."""
    names = [
        f"{process}.{time}.pt.trace.json{gz}" for time, gz in ((1700000000000, ""), (1700000000977, ".gz"))
    ]
    with pytest.raises(FormatError, match=f"several windows of one process, as {process}.* load one"):
        ranks_of([*names, "host_7.1700000000000.pt.trace.json"])


def test_a_companion_is_no_rank(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"several files of one rank, as rank1\.a\.json and rank1\.b\.json"):
        ranks_of(["rank1.a.json", "rank1.b.json"])
    ss.TaskGraph.from_edges([1.0]).save(tmp_path / "a.simsched")
    ss.TaskGraph.from_edges([np.nan], flops=[1.0]).save(tmp_path / "b.simsched")
    with pytest.raises(
        FormatError, match=r"b\.simsched has no seconds, a\.simsched has: companions are no ranks"
    ):
        ss.load(tmp_path)
