"""Graphs written in every format and read back: tasks, edges and times; of DOT and GraphML all columns, to the bit."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, LostObjectsWarning
from simsched.graph import NOBODY, DataObjects, Recording, TaskGraph, with_data
from simsched.graph.recording import UNKNOWN, measured_on
from simsched.graph.saving import writers
from simsched.plugins import named, registered
from simsched.testing.strategies import carried, graphs
from simsched.text import printable

WORDS = st.text(max_size=6) | st.sampled_from(
    ["", '"', "\\", 'a"\\', "\\N", "<b>", "]]>", "&amp;", "a\nb", "nan", "\x00"]
)
ENDINGS = ["dot", "graphml"]
#: Formats that graphs are both written in and read from.
BOTH_WAYS = [name for name, _ in writers("graph") if name in registered("formats")]


def same(one: TaskGraph, other: TaskGraph) -> None:
    """Check that two graphs are the same but for characters that cannot be printed."""
    for column in ("durations_s", "flops", "bytes_B", "widths"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    for column in ("kinds", "shapes", "scopes"):
        assert [printable(s) for s in getattr(one, column).to_list()] == getattr(other, column).to_list()
    assert (one.names is None or not one.n_tasks) == (other.names is None)
    if one.names is not None and other.names is not None:
        assert [printable(s) for s in one.names.to_list()] == other.names.to_list()
    np.testing.assert_array_equal(one.successors.indptr, other.successors.indptr)
    np.testing.assert_array_equal(one.successors.indices, other.successors.indices)
    assert objects_of(one) == objects_of(other)
    assert (one.seconds_by_kind is None) == (other.seconds_by_kind is None)
    if one.seconds_by_kind is not None and other.seconds_by_kind is not None:
        np.testing.assert_array_equal(one.seconds_by_kind, other.seconds_by_kind)
    if one.recording is None or not one.n_tasks:
        assert other.recording is None
        return
    assert other.recording is not None
    for column in ("start_s", "finish_s", "lanes"):
        np.testing.assert_array_equal(getattr(one.recording, column), getattr(other.recording, column))
    assert one.recording.lane_names == other.recording.lane_names


def objects_of(graph: TaskGraph) -> list[tuple[int, list[int], str]]:
    """Return producer, readers and bytes of each object, sorted."""
    data = graph.data
    if data is None:
        return []
    readers = [data.readers.neighbours(i).tolist() for i in range(data.n)]
    return sorted(zip(data.producer.tolist(), readers, map(str, data.size_B.tolist()), strict=True))


@st.composite
def dressed(draw: st.DrawFn) -> TaskGraph:
    """Random graphs with names, scopes, shapes and a recording, or without."""
    graph = draw(graphs(max_tasks=6, widths=3))
    n = graph.n_tasks
    seconds = st.floats(0, 1e300) | st.just(5e-324)
    start = np.array(draw(st.lists(seconds, min_size=n, max_size=n)))
    lanes = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int32)
    run = Recording(start, start * 1.1, lanes, (draw(WORDS), draw(WORDS)))
    words = st.lists(WORDS, min_size=n, max_size=n)
    durations = np.array(draw(st.lists(seconds | st.just(float("nan")), min_size=n, max_size=n)))
    edges = np.stack([graph.successors.sources(), graph.successors.indices], axis=1)
    if draw(st.booleans()):
        edges = np.concatenate([edges, edges[:2]])  # edges with two objects
    sizes, objects = draw(carried(edges.astype(np.int64)))
    if objects is not None:
        objects[:2] = -1
    by_kind = np.stack([durations, durations / 3], axis=1)
    if draw(st.booleans()):
        by_kind[~np.isnan(durations) & (np.arange(n) % 2 == 0), 1] = np.inf  # cannot run there
    known = bool(n) and not np.isnan(durations).all() and durations[~np.isnan(durations)].max() < 1e100
    return TaskGraph.from_edges(
        by_kind if known and draw(st.booleans()) else durations,
        edges,
        kinds=draw(words),
        scopes=draw(words),
        shapes=draw(st.sampled_from(["", "64x512;512x512"])),
        names=draw(st.none() | words),
        bytes_B=graph.bytes_B,
        widths=graph.widths,
        name=draw(WORDS) or "graph",
        recording=draw(st.none() | st.just(run)),
        edge_bytes=sizes,
        edge_objects=objects,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12)
@pytest.mark.parametrize("ending", ENDINGS)
@given(graph=dressed())
def test_round_trip(graph: TaskGraph, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"written.{ending}"
    graph.save(path)
    same(graph, ss.load(path))


def test_formats_both_ways() -> None:
    assert {"csv", "dot", "graphml", "parquet", "taskgraph", "wfformat"} <= set(BOTH_WAYS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12)
@pytest.mark.parametrize("name", BOTH_WAYS)
@given(graph=graphs(max_tasks=8, widths=3).filter(lambda graph: graph.n_tasks > 0))
def test_tasks_edges_and_times_come_back(graph: TaskGraph, name: str, tmp_path: Path) -> None:
    for suffix in named("writers", name).suffixes:
        path = tmp_path / f"written{suffix}"
        graph.save(path)
        again = ss.load(path)
        assert again.report.format in ("", name)
        np.testing.assert_array_equal(again.durations_s, graph.durations_s)
        np.testing.assert_array_equal(again.widths, graph.widths)
        np.testing.assert_array_equal(again.successors.indptr, graph.successors.indptr)
        np.testing.assert_array_equal(again.successors.indices, graph.successors.indices)
        assert again.kinds.to_list() == graph.kinds.to_list()
        assert objects_of(again) == objects_of(graph)


@pytest.mark.parametrize("whose", ["functions", 'a "rule" \\n', None])
def test_whose_names_kinds_are_and_where_seconds_come_from_comes_back(
    whose: str | None, tmp_path: Path
) -> None:
    run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 0], np.int32), ("main",))
    origin = ss.RecordedOn(f"a {whose} \N{GREEK SMALL LETTER MU}, 4 cores", 1e11 / 3, clock_Hz=2e9)
    graph = TaskGraph.from_edges(
        [1.0, 2.0], [(0, 1)], kinds=["sum", "mine"], flops=[1e9 / 3, np.nan], bytes_B=[np.nan, 7.0],
        shapes=["", "2x2"], scopes=["f/g", ""], widths=[1, 2],
        recording=run, recorded_on=origin if whose else None,
    )  # fmt: skip
    graph.report.facts |= {"kinds_are": whose} if whose else {}
    ways = {"networkx": TaskGraph.from_networkx(graph.to_networkx())}
    recorded = graph.recorded
    assert recorded is not None
    recorded.save(tmp_path / "written.json")
    ways["chrome"] = ss.load(tmp_path / "written.json")
    for column in ("flops", "bytes_B", "widths"):
        np.testing.assert_array_equal(getattr(graph, column), getattr(ways["chrome"], column))
    assert ways["chrome"].shapes.to_list() == ["", "2x2"]
    assert ways["chrome"].scopes.to_list() == ["f/g", ""]
    for name in BOTH_WAYS:
        path = tmp_path / f"written{named('writers', name).suffixes[0]}"
        graph.save(path)
        ways[name] = ss.load(path)
    assert {name: back.report.facts.get("kinds_are") for name, back in ways.items()} == dict.fromkeys(
        ways, whose
    )
    assert {name: measured_on(back) for name, back in ways.items()} == dict.fromkeys(
        ways, origin if whose else UNKNOWN
    )


@pytest.mark.parametrize(
    "text",
    ["{", "[" * 5000, '{"name": 3}', '{"name": "a", "clock_Hz": -1}', '{"name": "a", "x": 1}', "{" * 9000],
)
def test_an_odd_origin_is_an_error_and_a_name_is_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "one.tasks.csv"
    (tmp_path / "one.edges.csv").write_text("before,after\n")
    quoted = text.replace('"', '""')
    path.write_text(f'task,duration_s,recorded_on\n0,1,"{quoted}"\n')
    if text.startswith("["):
        with pytest.raises(FormatError, match="5000 characters"):
            ss.load(path)
    else:
        with pytest.raises(FormatError, match=r"one\.tasks\.csv: recorded_on"):
            ss.load(path)
    path.write_text("task,duration_s,recorded_on\n0,1,2024-01-01\n")
    assert ss.load(path).recorded_on == ss.RecordedOn("2024-01-01")


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_inputs_and_outputs_come_back(name: str, tmp_path: Path) -> None:
    graph = TaskGraph.from_edges(
        [1.0, 2.0, 3.0],
        [(0, 1)],
        edge_bytes=[8.0],
        input_bytes=[5.0, 0.0, 1 / 3],
        output_bytes=[0.0, 7.0, 2.0],
    )
    path = tmp_path / f"written{named('writers', name).suffixes[0]}"
    graph.save(path)
    back = ss.load(path)
    assert objects_of(back) == objects_of(graph) == objects_of(TaskGraph.from_networkx(graph.to_networkx()))
    assert not back.report.notes
    machine = "generic[cores=2,link_Bps=1,home=host]"
    assert ss.simulate(back, machine, "heft").makespan_s == ss.simulate(graph, machine, "heft").makespan_s


@pytest.mark.parametrize("name", ["csv", "dot", "graphml", "parquet"])
def test_lost_objects_are_told(name: str, tmp_path: Path) -> None:
    """An input of two tasks, a second output, and one of unknown bytes have no place."""
    data = DataObjects.from_lists(
        [4.0, 8.0, 6.0, float("nan"), 1.0], [NOBODY, 0, 0, 1, NOBODY], [[0, 1], [], [], [], [1]]
    )
    graph = with_data(TaskGraph.from_edges([1.0, 1.0]), data)
    path = tmp_path / f"written{named('writers', name).suffixes[0]}"
    with pytest.warns(LostObjectsWarning, match=r"3 data objects on no edge.*\.wfformat\.json all objects"):
        graph.save(path)
    assert objects_of(ss.load(path)) == [(-1, [1], "1.0"), (0, [], "8.0")]


def test_workflows_say_whether_seconds_are_recorded(tmp_path: Path) -> None:
    """A recording came back as numbers that are exact, in intervals of no width."""
    recorded = TaskGraph.from_edges([1.0, 2.0], [(0, 1)], recorded_on=ss.RecordedOn("laptop"))
    for graph, told in ((recorded, True), (TaskGraph.from_edges([1.0]), False)):
        graph.save(tmp_path / "written.wfformat.json")
        assert (ss.load(tmp_path / "written.wfformat.json").recorded_on is not None) == told


def test_networkx_reads_what_is_written(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges([0.1, 1 / 3], [(0, 1)], kinds=["a", "b"], widths=[1, 4])
    graph.save(tmp_path / "g.graphml")
    read = nx.read_graphml(tmp_path / "g.graphml")
    assert read.nodes["1"] == {"duration_s": 1 / 3, "threads": 4, "kind": "b"}
    again = TaskGraph.from_networkx(nx.convert_node_labels_to_integers(read))
    assert (again.durations_s.tolist(), again.kinds.to_list(), again.n_edges) == ([0.1, 1 / 3], ["a", "b"], 1)


@pytest.mark.parametrize("name", ["run.json", "run.pftrace"])
def test_tasks_that_whole_nanoseconds_round_are_counted(tmp_path: Path, name: str) -> None:
    graph = ss.TaskGraph.from_edges([1e-12, 3e-10, 1e-7], [(0, 1), (1, 2)])
    ss.simulate(graph, "generic[cores=1]", "fifo", runtime=ss.RuntimeProfile()).save(tmp_path / name)
    back = ss.load(tmp_path / name)
    assert back.durations_s.tolist() == [0.0, 0.0, 1e-7]
    assert any(note.startswith("2 tasks take less than 100 ns") for note in back.report.notes)
