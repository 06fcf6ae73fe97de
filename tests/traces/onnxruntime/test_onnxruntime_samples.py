"""Real captures, where the shared samples stand beside the repository."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from simsched.errors import FormatError
from simsched.graph import TaskGraph
from simsched.graph.loading import find_file
from simsched.traces.onnxruntime.profile import read_contents, read_events
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

pytest.importorskip("onnx")
pytest.importorskip("ijson")

SAMPLES = Path(__file__).parents[3] / "../shared/samples/onnx"
CAPTURES = sorted(p.name.removesuffix(".ortprof.json.gz") for p in SAMPLES.glob("*.ortprof.json.gz"))
if not SAMPLES.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)
#: Tasks and edges, as recorded with the captures.
COUNTS = {"inception": (47, 58), "lstm4_unrolled": (846, 1157)}


def test_all_captures_are_here() -> None:
    assert {capture.partition(".")[0] for capture in CAPTURES} == COUNTS.keys()


def sessions(model: str) -> list[str]:
    return [capture for capture in CAPTURES if capture.partition(".")[0] == model]


@cache
def read(profile: str, model: str, run: int | None = None) -> TaskGraph:
    file = find_file(SAMPLES / f"{profile}.ortprof.json")
    return ONNXRUNTIME.read(file, model=SAMPLES / f"{model}.optimized.zeroed.onnx", run=run)


@pytest.mark.parametrize("run", [None, 0, 1])
@pytest.mark.parametrize("capture", CAPTURES)
def test_own_model_joins_with_exact_times_and_no_violated_edge(capture: str, run: int | None) -> None:
    graph = read(capture, capture, run)
    assert (graph.n_tasks, graph.n_edges) == COUNTS[capture.partition(".")[0]]
    facts, recording = graph.report.facts, graph.recording
    assert recording is not None
    assert (facts["early_starts"], facts["nodes_not_run"], facts["tasks_without_flops"]) == (0, 0, 0)
    assert (facts["runs"], facts["run"]) == (3, 2 if run is None else run)
    assert 0.6 < facts["covered_share"] <= 1
    assert np.isfinite(graph.bytes_B).all()
    before, after = graph.successors.sources(), graph.successors.indices
    assert (recording.start_s[after] >= recording.finish_s[before]).all()


@pytest.mark.parametrize("capture", CAPTURES)
def test_times_survive_as_integer_nanoseconds(capture: str) -> None:
    file = find_file(SAMPLES / f"{capture}.ortprof.json")
    graph = read(capture, capture)
    events = read_events(file, read_contents(file).runs[-1])
    first = events[0].start_us
    expected = {e.name: (1000 * (e.start_us - first), 1000 * (e.finish_us - first)) for e in events}
    assert graph.recording is not None
    times = zip(graph.recording.start_s, graph.recording.finish_s, strict=True)
    assert {
        graph.task_name(i): (round(s * 1e9), round(f * 1e9)) for i, (s, f) in enumerate(times)
    } == expected


@pytest.mark.parametrize(("profile", "model"), [*permutations(sessions("inception"), 2)])
def test_join_across_sessions_is_refused(profile: str, model: str) -> None:
    """The sessions name their nodes differently."""
    with pytest.raises(FormatError, match=r"edges of .* are impossible in this run.*of one session"):
        read(profile, model)


def test_sessions_that_saved_the_same_model_join() -> None:
    """The files are the same byte for byte, so that one model for each profile shows it."""
    captures = sessions("lstm4_unrolled")
    files = [find_file(SAMPLES / f"{capture}.optimized.zeroed.onnx") for capture in captures]
    assert len({file.read_bytes() for file in files}) == 1
    for profile, model in pairwise([*captures, captures[0]]):
        assert read(profile, model).n_edges == read(profile, profile).n_edges


@pytest.mark.parametrize("capture", CAPTURES)
def test_exported_model_is_refused(capture: str) -> None:
    model = SAMPLES / f"{capture.partition('.')[0]}.zeroed.onnx"
    with pytest.raises(FormatError, match="is not in"):
        ONNXRUNTIME.read(find_file(SAMPLES / f"{capture}.ortprof.json"), model=model)


@pytest.mark.parametrize("capture", [c for c in CAPTURES if c.endswith(".t2")])
def test_pool_helps_some_nodes_and_not_others(capture: str) -> None:
    assert set(read(capture, capture).widths.tolist()) == {1, 2}
