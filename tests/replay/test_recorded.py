"""The main job: really recorded training steps, replayed on Knights Landing."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.graph import Recording
from simsched.plots import diagonal_score
from simsched.testing import check_schedule
from simsched.traces.samples import SAMPLES, sample_files

SHARED = Path(__file__).parents[2] / "../shared/samples/pytorch"
POLICIES = ["sequential", "fifo", "critical-path", "corun", "wavefront"]
# Whole tiles and Graphi's counts: every k x w that uses 64 or all 68 cores.
LAYOUTS = [
    "1x64",
    "2x32",
    "4x16",
    "8x8",
    "16x4",
    "32x2",
    "64x1",
    "1x68",
    "2x34",
    "4x17",
    "17x4",
    "34x2",
    "68x1",
]


def recorded(name):
    return loaded(*sample_files(name))


@cache
def loaded(kineto, execution_trace):
    return ss.load(kineto, execution_trace=execution_trace)


def lstms():
    yield "bundled", lambda: recorded("lstm4")
    if SHARED.exists():
        kineto, execution_trace = SHARED / "lstm4_t1.kineto.json.gz", SHARED / "lstm4_t1.et.json.gz"
        yield "shared", lambda: loaded(kineto, execution_trace)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("policy", POLICIES)
def test_samples_replay(name, policy):
    schedule = ss.simulate(recorded(name), "knl-7250", policy)
    check_schedule(schedule)
    assert any("carried to knl-7250" in note for note in schedule.notes)


@pytest.mark.parametrize("graph", [pytest.param(load, id=name) for name, load in lstms()])
@pytest.mark.parametrize("runtime", [None, ss.RuntimeProfile()], ids=["with overheads", "without"])
def test_critical_path_beats_fifo_on_the_lstm(graph, runtime):
    """Geometric mean over all layouts at most 1, no layout above 1.03."""
    lstm = graph()
    ratios = []
    for layout in LAYOUTS:
        one, other = (
            ss.simulate(lstm, "knl-7250", p, layout, runtime=runtime) for p in ("critical-path", "fifo")
        )
        ratios.append(one.makespan_s / other.makespan_s)
    assert np.exp(np.mean(np.log(ratios))) <= 1
    assert max(ratios) <= 1.03


def diagonals(graph):
    """Return layer + step of each forward task of the LSTM's cells, NaN for the others."""
    cells = [re.fullmatch(r"cell\[l=(\d+),t=(\d+)\]", scope) for scope in graph.scopes.labels]
    return np.array([int(c[1]) + int(c[2]) if c else np.nan for c in cells])[graph.scopes.codes]


def test_critical_path_recovers_the_diagonal():
    """Starts follow layer + step; on few executors more closely than under fifo, most closely on two."""
    graph = recorded("lstm4")
    label = diagonals(graph)
    assert np.isfinite(label).sum() > 500
    for layout, least in (("2x32", 0.99), ("4x16", 0.97)):
        path, fifo = (
            diagonal_score(ss.simulate(graph, "knl-7250", p, layout), label)
            for p in ("critical-path", "fifo")
        )
        assert path > least
        assert path > fifo


def test_recorded_schedule_is_kept():
    graph = recorded("cnn")
    assert graph.recorded.engine == "measured"
    assert graph.recorded.makespan_s == pytest.approx(graph.report.facts["span_s"], rel=0.1)
    np.testing.assert_allclose(
        graph.recorded.finish_s - graph.recorded.start_s, graph.durations_s, rtol=0, atol=1e-12
    )


def test_simulate_says_what_the_recording_itself_took():
    """Where a layout of its own takes another time, on as many cores as the recording had; not in its own layout."""
    lanes, start = np.array([0, 1], np.int32), np.array([0.0, 1.0])
    graph = ss.TaskGraph.from_edges([1.0, 1.0], recording=Recording(start, start + 1.0, lanes, ("a", "b")))
    said = "the recording itself took 2 s on 2 threads"
    for layout, told in ((None, True), ("2x1", False)):
        notes = ss.simulate(graph, "generic[cores=2]", "fifo", layout).notes
        assert any(note.startswith(said) for note in notes) == told
    assert not any(said in note for note in ss.simulate(graph, "generic[cores=1]", "fifo").notes)
