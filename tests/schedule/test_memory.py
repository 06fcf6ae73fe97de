"""Live bytes of data objects over time, worked out by hand, and what holds for all schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import EngineError, SimschedError
from simsched.graph import NOBODY, DataObjects, Recording, with_data
from simsched.notes import weight_of
from simsched.testing.strategies import graphs

SENT = "generic[cores=2,link_Bps=2.0,link_latency_s=0.5,data=sent]"
READ = SENT.replace("sent", "read")
FORK = [(0, 1), (0, 2)]


def replay(edge_bytes, machine, objects=None, seconds=(1, 1, 1), edges=FORK, **options):
    graph = ss.TaskGraph.from_edges(seconds, edges, edge_bytes=edge_bytes, edge_objects=objects)
    return ss.simulate(graph, machine, "fifo", "2x1", **options)


def steps(use, place=0):
    return [column.tolist() for column in use.curve(place)]


def test_objects_sent_live_at_both_places():
    """0 and 1 run on core 0, 2 on core 1.

    Object 0 (4 B) lives at core 0 from 0 to 2; object 1 (6 B) there until it has arrived, at 1 + 0.5 + 6/2 = 4.5, and
    at core 1 from its departure at 1 until 2 has finished, at 5.5.
    """
    use = replay([4, 6], SENT).memory()
    assert steps(use, 0) == [[0, 2, 4.5], [10, 6, 0]]
    assert steps(use, 1) == [[0, 1, 5.5], [0, 6, 0]]
    assert use.peak[["name", "peak_B", "at_s"]].values.tolist() == [["core 0", 10, 0], ["core 1", 6, 1]]
    assert use.objects(0).values.tolist() == [[1, 0, 6], [0, 0, 4]]
    assert use.objects(1).values.tolist() == [[1, 0, 6]]


def test_aborted_runs_hold_what_they_read_and_write():
    """1 reads 2 B of 0 and writes 8 B.

    It runs on core 0 in vain from 1 to 4, when core 1 has run 2.

    The 2 B have arrived at core 1 at 4 + 2 / 2 = 5; 1 runs there
    until 7. Its 8 B have arrived at core 0 at 11; 3 reads them until 12.
    """
    seconds, edges = [[1, 90], [90, 2], [90, 4], [1, 90]], [(0, 1), (1, 3)]
    graph = ss.TaskGraph.from_edges(np.array(seconds, float), edges, edge_bytes=[2.0, 8.0])
    machine = "generic[cores=2,kinds=each,link_Bps=2.0,data=sent]"
    schedule = ss.simulate(graph, machine, "heteroprio", "2x1")
    assert schedule.lost_runs[["task", "start_s", "end_s"]].values.tolist() == [[1, 1, 4]]
    use = schedule.memory()
    assert steps(use, 0) == [[0, 1, 4, 5, 7, 12], [2, 10, 2, 0, 8, 0]]
    assert steps(use, 1) == [[0, 4, 5, 7, 11], [0, 2, 10, 8, 0]]


def test_an_input_is_where_its_first_run_starts():
    """1 writes 8 B on core 0 in vain until 2, then on core 1 until 6; its input of 2 B lives until then."""
    graph = ss.TaskGraph.from_edges(np.array([[90.0, 2], [90, 4]]))
    data = DataObjects.from_lists([2, 8], [NOBODY, 1], [[1], []])
    machine = ss.machine("generic[cores=2,domains=2,kinds=each]")
    use = ss.simulate(with_data(graph, data), machine, "heteroprio", "2x1").memory()
    assert steps(use, 0) == [[0, 2, 6], [10, 2, 0]]
    assert steps(use, 1) == [[0, 2], [0, 8]]


def test_a_shared_object_is_counted_once_at_each_place():
    """One object of 4 B: 1 reads it on core 0 until 2, it has arrived at core 1 at 3.5, where 2 reads it until 4.5."""
    use = replay([4, 4], SENT, [7, 7]).memory()
    assert steps(use, 0) == [[0, 3.5], [4, 0]]
    assert steps(use, 1) == [[0, 1, 4.5], [0, 4, 0]]


def test_objects_read_stay_with_their_producer():
    """Both live at core 0 from 0: object 0 until 1 has finished, at 2; 1 until 2 has, at 1 + 1 + 0.5 + 6/2 = 5.5."""
    use = replay([4, 6], READ).memory()
    assert steps(use, 0) == [[0, 2, 5.5], [10, 6, 0]]
    assert steps(use, 1) == [[0], [0]]


def test_places_are_domains_where_data_do_not_move():
    use = replay([4, 6], "generic[cores=2]").memory()
    assert steps(use) == [[0, 2], [10, 0]]
    assert len(use.peak) == 1
    halves = replay([4, 6], "generic[cores=2,domains=2]").memory()
    assert [steps(halves, place)[1] for place in (0, 1)] == [[10, 0], [0]]


def test_inputs_outputs_and_unknown_sizes():
    """The input (8 B) lives from 0 until 2 has finished, on core 0, where 1 starts first; 0's output (3 B) stays."""
    chain = ss.TaskGraph.from_edges([1.0, 1.0, 2.0], [(0, 1), (1, 2)])
    data = DataObjects.from_lists([8, 3, np.nan, 5], [NOBODY, 0, 1, NOBODY], [[1, 2], [], [2], []])
    use = ss.simulate(with_data(chain, data), SENT, "fifo", "2x1").memory()
    assert steps(use) == [[0, 4], [11, 3]]
    assert use.objects(0).values.tolist() == [[0, NOBODY, 8], [1, 0, 3]]
    assert [note.split(" ", 1)[0] for note in use.notes] == ["1", "1"]
    assert "unknown size" in use.notes[0]
    assert "read by no task" in use.notes[1]


@pytest.mark.parametrize("home", ["memory", "host"])
def test_inputs_begin_and_outputs_end_at_home(home):
    """An input of 4 B is sent to core 0 by 4 and read by 5; the output of 3 B is home at 8, and stays there."""
    data = DataObjects.from_lists([4, 3], [NOBODY, 0], [[0], []])
    machine = f"generic[cores=1,link_Bps=1.0,data=sent,home={home}]"
    use = ss.simulate(with_data(ss.TaskGraph.from_edges([1.0]), data), machine, "fifo").memory()
    assert steps(use, 0) == [[0, 4, 5, 8], [4, 7, 3, 0]]
    assert steps(use, len(use.peak) - 1) == [[0, 4, 5], [4, 0, 3]]


def test_a_recorded_run_has_one_place():
    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4)
    run = Recording(np.array([0.5, 1.5]), np.array([1.5, 3.5]), np.array([0, 1], np.int32), ("a", "b"))
    use = ss.Schedule.from_recording(graph, run).memory()
    assert steps(use) == [[0, 0.5, 3.5], [0, 4, 0]]
    assert np.isinf(use.peak["size_B"]).all()
    assert (use.peak["share"] == 0).all()


def test_an_object_that_had_to_leave_is_read_where_it_went():
    """2 needs 4 B when 0 and 1 have filled the place, so the object of 0 goes to memory, from where 3 reads it."""
    graph = ss.TaskGraph.from_edges([1.0] * 4, [(0, 3), (1, 2), (2, 3)], edge_bytes=4)
    machine = "generic[cores=1,link_Bps=2,data=read,place_B=8]"
    schedule = ss.simulate(graph, machine, "fifo", memory_limit="spill")
    use = schedule.memory()
    assert schedule.transfers[["object", "depart_s", "arrive_s"]].values.tolist() == [[0, 2, 4], [0, 5, 7]]
    assert steps(use, 0)[1] == [4, 8, 8, 4, 0]
    assert steps(use, 1) == [[0, 2, schedule.finish_s[3]], [0, 4, 0]]
    assert not any("would hold" in note for note in schedule.notes)


@pytest.mark.parametrize(("size_B", "drawn"), [(40, True), (4000, False)])
def test_a_size_far_above_all_bytes_is_told_and_not_drawn(size_B, drawn):
    """4 B are a line at 0 in a picture that reaches to 4000 B."""
    use = replay([4, 0], f"generic[cores=2,link_Bps=2,data=sent,place_B={size_B}]").memory()
    ax = use.plot()
    assert (ax.get_ylim()[1] >= size_B) == drawn
    assert (ax.get_ylim()[1] < 10) != drawn
    told = ax.get_legend().get_texts()[-1].get_text()
    assert told == ("size of each" if drawn else "size of each: 4 kB, beyond the picture")


def test_graphs_without_data_need_nothing():
    use = ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic[cores=1]", "fifo").memory()
    assert steps(use) == [[0], [0]]
    assert "no data objects" in use.notes[0]
    assert use.objects(0).empty


@pytest.mark.parametrize("place", [-1, 2, 0.5])
def test_places_that_do_not_exist(place):
    with pytest.raises(SimschedError, match="does not exist: there are 0 to 1"):
        replay([4, 6], SENT).memory().curve(place)


def test_a_peak_above_the_size_is_noted_or_an_error():
    """MCDRAM has 16 GiB; 0 writes 12 GB and 8.1 GB."""
    sizes, machine = [12e9, 8.1e9], "knl-7250[cores=2]"
    none = ss.RuntimeProfile()
    schedule = replay(sizes, machine, runtime=none)
    found = [note for note in schedule.notes if note.startswith("memory:")]
    assert len(found) == 1
    assert weight_of(found[0]).name == "DOUBT"
    assert (
        "would hold 20.1 GB at 0 s, it has 17.2 GB; simulate(..., memory_limit='wait' or 'spill') or --memory-limit "
        in found[0]
    )
    assert not any(note.startswith("memory:") for note in replay([1e9, 1e9], machine).notes)
    assert not any(note.startswith("memory:") for note in replay(sizes, machine, memory_limit="ignore").notes)
    with pytest.raises(
        EngineError, match=r"would hold 20.1 GB .* largest object there is 0, 12 GB, written by task"
    ):
        replay(sizes, machine, memory_limit="error")
    with pytest.raises(
        SimschedError, match="memory_limit='stop' is unknown; give one of ignore, note, spill, wait, error"
    ):
        replay(sizes, machine, memory_limit="stop")


def test_local_memories_of_cores_have_a_size():
    """A CPE's LDM holds 64 KiB; an MPE has none, and its data are in memory."""
    machine = ss.machine("sw26010").varied({"cores": 65, "data": "sent"})
    schedule = replay([7e4, 1e3], machine)
    assert schedule.memory().peak["size_B"].tolist() == [*[65536.0] * 64, np.inf]
    assert any("memory: core 0 would hold 71 kB" in note for note in schedule.notes)


def test_a_task_that_moves_more_than_the_memory_holds_is_noted():
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], bytes_B=[1e14, 1e9, 2e13])
    notes = ss.simulate(graph, "knl-7250", "fifo", "4x1").notes
    found = [note for note in notes if "moves" in note]
    assert len(found) == 1
    assert found[0].startswith("task 'task 0' moves 1e+14 bytes, more than the 1.72e+10 that MCDRAM")
    assert found[0].endswith("holds; 1 other does, too")
    assert not any("moves" in note for note in ss.simulate(graph, "generic", "fifo", "4x1").notes)


def test_display_and_drawing():
    use = replay([4e6, 6e6], "knl-7250[cores=2]").memory()
    assert use.summary()["highest peak"] == "10 MB"
    assert "highest peak" in use._repr_html_()
    assert "10 MB" in repr(use)
    ax = use.plot()
    assert ax.get_ylabel() == "live bytes (MB)"
    assert len(ax.lines) == 2
    many = replay([4, 6], "generic[cores=12,data=sent,link_Bps=1.0]").memory()
    assert len(ss.plots.memory(many).lines) == 8
    assert set(ss.plots.memory_frame(many)["place"]) == set(range(12))


@given(
    graphs(12),
    st.sampled_from([SENT, READ, "generic[cores=3]", "generic[cores=4,domains=2]"]),
    st.sampled_from(["fifo", "heft"]),
)
def test_bytes_add_up(graph, machine, policy):
    """Bytes are never negative, end with the outputs, and the peaks hold the largest objects that live for a time."""
    schedule = ss.simulate(graph, machine, policy, "2x1" if policy == "fifo" else None)
    use = schedule.memory()
    lives, size_B = use.lives, use.size_B[use.lives.object]
    for place in range(len(use.peak)):
        times_s, bytes_B = use.curve(place)
        here = lives.place == place
        assert times_s[0] == 0
        assert (np.diff(times_s) > 0).all()
        assert (bytes_B >= 0).all()
        assert bytes_B[-1] == size_B[here & np.isinf(lives.end_s)].sum()
        some = here & (lives.begin_s < lives.end_s)
        assert bytes_B.max() >= size_B[some].max(initial=0)
        assert use.objects(place)["bytes_B"].sum() == use.peak["peak_B"][place]
        at = times_s[:, None]
        naive = (size_B * here * (lives.begin_s <= at) * (at < lives.end_s)).sum(axis=1)
        assert np.array_equal(naive, bytes_B)
    if graph.data is not None:
        assert (lives.begin_s <= lives.end_s).all()
