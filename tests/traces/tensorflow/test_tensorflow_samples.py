"""Real steps, where the shared samples stand beside the repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simsched.execute.recorded.recorded import replay_recorded
from simsched.graph import TaskGraph
from simsched.graph.loading import load as read

pytest.importorskip("google.protobuf")
pytest.importorskip("ijson")

SAMPLES = Path(__file__).parents[3] / "../shared/samples/tensorflow"
STEPS = sorted(p.name.removesuffix(".runmetadata.pb.gz") for p in SAMPLES.glob("*.runmetadata.pb.gz"))
if not SAMPLES.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)


@cache
def load(name: str) -> TaskGraph:
    return read(SAMPLES / name)


def test_both_steps_are_here() -> None:
    assert STEPS == ["lstm4.inter1_intra1", "lstm4.inter2_intra1"]


@pytest.mark.parametrize("form", ["pb", "pbtxt"])
@pytest.mark.parametrize("step", STEPS)
def test_the_executed_graph(step: str, form: str) -> None:
    """2706 inputs, two of them twice by the same node; `_SOURCE` is in no graph."""
    graph = load(f"{step}.runmetadata.{form}")
    facts = graph.report.facts
    assert (graph.n_tasks, graph.n_edges, facts["control_edges"]) == (1201, 2704, 358)
    assert (facts["stats"], facts["matched_tasks"], facts["early_starts"]) == (1202, 1201, 0)
    assert facts["workers_guess"] == int(step[len("lstm4.inter")])
    assert facts["tasks_without_flops"] == 0
    assert np.isfinite(graph.bytes_B).all()


@pytest.mark.parametrize("step", STEPS)
def test_the_timeline_has_the_data_edges(step: str) -> None:
    full, timeline = load(f"{step}.runmetadata.pb"), load(f"{step}.timeline.json")
    edges = [
        {(g.task_name(int(a)), g.task_name(int(b))) for a, b in
         zip(g.successors.sources(), g.successors.indices, strict=True)}
        for g in (full, timeline)
    ]  # fmt: skip
    assert edges[1] <= edges[0]
    assert len(edges[1]) > 2300
    assert timeline.report.facts["early_starts"] == 0


@pytest.mark.parametrize("step", STEPS)
def test_its_own_order_replays_within_7_percent(step: str) -> None:
    assert abs(replay_recorded(load(f"{step}.runmetadata.pb")).calibrated_error) < 0.07
