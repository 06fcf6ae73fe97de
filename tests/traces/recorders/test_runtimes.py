"""The recorder of task runtimes: its programs, and recordings under GNU OpenMP, whose compiler builds simsched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError, SimschedError
from simsched.traces.recorders.runtimes import Program, load, record, save
from simsched.traces.recorders.runtimes.__main__ import main
from simsched.traces.recorders.runtimes.networks import WORK
from simsched.traces.recorders.runtimes.programs import PROGRAMS, cholesky, lu, stencil
from simsched.traces.recorders.runtimes.record import NAMES, RUNTIMES, has, installed, recorded

#: The project's own recordings.
OWN = Path(__file__).parents[3] / "docs" / "learning"

#: Tasks and edges, counted by hand from the loops: n + 2 n (n - 1) / 2 + n (n - 1)(n - 2) / 6 tasks of Cholesky.
COUNTS = {"cholesky": 120, "lu": 91, "lstm": 128, "cnn": 96, "transformer": 180, "stencil": 128}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_graphs_in_order(name: str) -> None:
    program = PROGRAMS[name]()
    assert len(program.kinds) == COUNTS[name]
    assert all(before < after for before, after in program.edges)
    assert set(program.kinds) <= set(WORK)
    graph = ss.TaskGraph.from_edges(np.ones(COUNTS[name]), program.edges, kinds=program.kinds)
    assert graph.n_edges == len(program.edges)


def test_dependencies_by_hand() -> None:
    assert (cholesky(2).kinds, cholesky(2).edges) == (
        ["potrf", "trsm", "syrk", "potrf"],
        [(0, 1), (1, 2), (2, 3)],
    )
    assert lu(2).edges == [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    assert stencil(2, 2).edges == [(0, 2), (1, 2), (0, 3), (1, 3)]


def test_text_of_a_program() -> None:
    program = Program()
    program.add("norm", [program.add("potrf")])
    assert program.text() == "2\n112 0 2 0\n0 65536 1 1 0\n"


def test_priorities_are_longest_paths() -> None:
    assert cholesky(2).priorities() == [4, 3, 2, 1]
    assert Program().priorities() == []


def test_a_recording(tmp_path: Path) -> None:
    assert shutil.which("g++"), "simsched itself is built with it"
    runs = list(record([1, 2], 2, ["lstm"], ["gnu-openmp"]))
    assert [(run.workers, run.run) for run in runs] == [(1, 0), (2, 0), (1, 1), (2, 1)], "settings take turns"
    for run in runs:
        graph, recorded = run.graph, run.graph.recording
        assert recorded is not None
        assert graph.n_tasks == COUNTS["lstm"]
        assert len(recorded.lane_names) <= run.workers
        sources, targets = graph.successors.sources(), graph.successors.indices
        assert (recorded.finish_s[sources] <= recorded.start_s[targets]).all()
        assert graph.report.facts["untraced_s"] > 0
    save(runs, tmp_path)
    again = load(tmp_path)
    assert [run.name for run in again] == [run.name for run in runs]
    for one, other in zip(runs, again, strict=True):
        assert one.makespan_s == pytest.approx(other.makespan_s, abs=1e-9)
        assert one.graph.report.facts["untraced_s"] == other.graph.report.facts["untraced_s"]
        assert one.graph.recording is not None
        assert other.graph.recording is not None
        assert one.graph.recording.lanes.tolist() == other.graph.recording.lanes.tolist()
    learned = ss.learn([run.graph for run in runs])
    assert learned.programs == ("lstm",)
    assert {row.kind for row in learned.seconds} == {"cell", "update"}
    assert RUNTIMES["gnu-openmp"].policy == "runtime[system=gnu-openmp]"


def test_a_worker_that_ran_nothing_has_a_lane() -> None:
    times = np.array([[10 * task, 10 * task + 10, 1] for task in range(COUNTS["lu"])])
    run = recorded(PROGRAMS["lu"](), "lu", times, untraced_s=9e-7, workers=2).recording
    assert run is not None
    assert (run.lane_names, set(run.lanes.tolist())) == (("worker 0", "worker 1"), {1})


def test_numbers_of_workers_that_a_runtime_does_not_have_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (built,) = installed(tmp_path, ["gnu-openmp"]).values()
    limited = tmp_path / "limited"
    refusal = "{ echo 'this StarPU has 1 workers here' >&2; exit 5; }"
    limited.write_text(f'#!/bin/sh\n[ "$1" -gt 1 ] && {refusal}\nexec {built} "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(
        sys.modules[record.__module__], "installed", lambda folder, names: {"starpu-lws": limited}
    )
    with pytest.warns(
        RuntimeWarning, match="on 2 workers is left out: this StarPU has 1 workers here"
    ) as said:
        names = [run.name for run in record([1, 2], 2, ["lu"], ["starpu-lws"])]
    assert names == ["lu.starpu-lws.1w.0", "lu.starpu-lws.1w.1"]
    assert len(said) == 1


def test_impossible_settings() -> None:
    for arguments in (([1], 1, ["none"]), ([0], 1), ([1], 0), ([1], 1, ["lu"], ["none"])):
        with pytest.raises(SimschedError):
            list(record(*arguments))
    with pytest.raises(SimschedError, match="would block"):
        list(record([4096], 1, realtime=True))


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in OWN.rglob("runs.csv")), ids=lambda path: path.name
)
def test_recordings_of_the_project(folder: Path) -> None:
    """Each program of each runtime on each number of workers, as often."""
    runs = load(folder)
    counts = Counter((run.program, run.runtime, run.workers) for run in runs)
    runtimes, workers = {run.runtime for run in runs}, {run.workers for run in runs}
    assert counts.keys() == {(p, r, w) for p in NAMES for r in runtimes for w in workers if has(r, p, w)}
    assert len(set(counts.values())) == 1
    assert all(run.makespan_s > 0 for run in runs)


@pytest.mark.parametrize(
    ("name", "content"),
    [("runs.csv", ""), ("runs.csv", "program\nlu\n"), ("tasks.csv.gz", "no gzip"), ("tasks.csv.gz", None)],
)
def test_damaged_files(tmp_path: Path, name: str, content: str | None) -> None:
    for file in ("runs.csv", "tasks.csv.gz"):
        shutil.copy(OWN / file, tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match="no runs of this recorder"):
        load(tmp_path)


def test_the_command_refuses_an_unknown_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["runtimes", "--out", str(tmp_path), "--programs", "none"])
    assert main() == 2
    assert "no program is called 'none'" in capsys.readouterr().err


def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simsched.traces.recorders.runtimes", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--programs", "lu", "--runtimes", "gnu-openmp", "--workers", "1", "--repeats", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ss.load(tmp_path / "lu.gnu-openmp.1w.0.simsched").n_tasks == COUNTS["lu"]
    assert (
        (tmp_path / "runs.csv")
        .read_text()
        .startswith("program,runtime,workers,run,tasks,makespan_s,untraced_s")
    )
