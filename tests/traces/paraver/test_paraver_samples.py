"""Real traces, where the shared samples stand beside the repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.execute import replay_recorded

SAMPLES = Path(__file__).parents[3] / "../shared/samples"
if not SAMPLES.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)
TRACES = sorted((SAMPLES / "ompss").glob("*.prv.gz"))


def test_both_are_here() -> None:
    assert len(TRACES) == 2


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_a_tiled_cholesky(path: Path) -> None:
    """220 tasks; 495 dependencies, as many by events as by communications; no body begins before its predecessors'."""
    graph = ss.load(path)
    assert (graph.n_tasks, graph.n_edges) == (220, 495)
    facts = graph.report.facts
    assert (facts["dependency_events"], facts["dependency_communications"], facts["early_starts"]) == (
        495,
        495,
        0,
    )
    assert facts["inline_dependents"] in (8, 9)
    run = graph.recording
    assert run is not None
    np.testing.assert_allclose(run.finish_s - run.start_s, graph.durations_s, rtol=0, atol=1e-15)


def test_its_dependencies_are_those_of_the_task_graph() -> None:
    """Tasks of the two files of one run have the same numbers; the task graph has a taskwait more."""
    trace = ss.load(next(path for path in TRACES if ".2w." in path.name))
    tdg = ss.load(next((SAMPLES / "ompss").glob("*.tdg.dot.gz")))

    def pairs(graph: ss.TaskGraph) -> set[tuple[str, ...]]:
        ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
        return {tuple(graph.task_name(end).removeprefix("task ") for end in edge) for edge in ends}

    assert pairs(tdg) - pairs(trace) == {("223", "-223")}
    assert pairs(trace) < pairs(tdg)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_replay_of_the_breadth_first_scheduler(path: Path) -> None:
    """At most 3 % from the recorded span, with the overheads that the trace tells."""
    assert abs(replay_recorded(ss.load(path), "fifo").row()["calibrated_error"]) < 0.03


@pytest.mark.parametrize("path", sorted((SAMPLES / "paraver").glob("*.prv*")), ids=lambda path: path.name)
def test_traces_of_mpi_are_refused(path: Path) -> None:
    with pytest.raises(FormatError, match="a trace of MPI without tasks"):
        ss.load(path)
