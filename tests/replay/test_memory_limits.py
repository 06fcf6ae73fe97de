"""Places that hold no more than their size: tasks that wait for room, objects that leave, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MemoryLimitError
from simsched.schedule import memory_lives

ONE_PLACE = "generic[cores=2,cores.per_tile=2,data=sent,places=tile,place_B=10.0]"
#: 0 and 1 write 6 bytes each, which 2 and 3 read.
TWO_CHAINS = ([1, 1, 1, 1], [(0, 2), (1, 3)], [6, 6])


@pytest.fixture
def replay(engine):
    def run(seconds, edges, edge_bytes, limit, machine, layout="1x1", objects=None):
        graph = ss.TaskGraph.from_edges(seconds, edges, edge_bytes=edge_bytes, edge_objects=objects)
        return ss.simulate(graph, machine, "fifo", layout=layout, engine=engine, memory_limit=limit)

    return run


@pytest.mark.rule("Limits of memory")
@pytest.mark.parametrize(("limit", "start_s"), [("note", 1), ("ignore", 1), ("wait", 3)])
def test_a_task_waits_for_room(replay, limit, start_s):
    """0's 6 bytes are read by 2, from 1 to 3; 3 writes 6 more, and the place holds 10."""
    edges = [(0, 2), (1, 3), (3, 4)]
    schedule = replay([1, 1, 2, 1, 1], edges, [6, 0, 6], limit, ONE_PLACE, "2x1", [0, -1, 1])
    assert schedule.start_s.tolist()[:3] == [0, 0, 1]
    assert schedule.start_s[3] == start_s
    assert any("would hold 12 B" in note for note in schedule.notes) is (limit == "note")


@pytest.mark.rule("Limits of memory")
def test_copies_go_when_the_last_reader_is_placed(engine):
    """1, 2 and 3 read 0's 6 bytes, which 2 has sent to core 1; 4 needs that room, and has it when 3 is placed at 10."""
    tasks = ss.TaskGraph.from_edges([1, 9, 1, 1, 1], [(0, 1), (0, 2), (0, 3), (1, 3), (2, 4)])
    graph = ss.graph.with_data(tasks, ss.graph.DataObjects.from_lists([6, 6], [0, 4], [[1, 2, 3], []]))
    machine = "generic[cores=2,data=sent,place_B=10.0,link_Bps=2.0]"
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", engine=engine, memory_limit="wait")
    assert schedule.start_s.tolist() == [0, 1, 4, 10, 10]


@pytest.mark.rule("Limits of memory")
def test_room_that_a_decision_makes_is_taken_at_once(engine):
    """At 1, 1 waits on core 0 for the room of what 0 wrote, until the next decision sends this to core 1 in no time."""
    tasks = ss.TaskGraph.from_edges([1, 1, 5], [(0, 1), (0, 2)])
    graph = ss.graph.with_data(tasks, ss.graph.DataObjects.from_lists([6, 6], [0, 1], [[2], []]))
    machine = "generic[cores=2,data=sent,place_B=10.0]"
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", engine=engine, memory_limit="wait")
    assert schedule.start_s.tolist() == [0, 1, 1]


@pytest.mark.rule("Limits of memory")
def test_objects_leave_for_memory_and_come_back(replay):
    """At 1, 0's object leaves for 3 s, then 1 runs; 1's leaves from 5 to 8, 0's is back at 11; 1's at 15."""
    machine = "generic[cores=1,data=sent,place_B=10.0,link_Bps=2.0]"
    schedule = replay(*TWO_CHAINS, "spill", machine)
    assert schedule.start_s.tolist() == [0, 4, 11, 15]
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[1, 4], [5, 8], [8, 11], [12, 15]]
    assert schedule.memory().peak["peak_B"].iloc[0] <= 10
    assert replay(*TWO_CHAINS, "note", machine).start_s.tolist() == [0, 1, 2, 3]


@pytest.mark.rule("Limits of memory")
def test_what_has_left_is_read_from_afar(replay):
    """At 2 the 8 bytes of the place are taken; 0's 4 leave for 2 s, so 2 runs from 4 on, and 3 reads them for 2 s."""
    machine = "generic[cores=1,data=read,place_B=8.0,link_Bps=2.0]"
    schedule = replay([1, 1, 1, 1], [(0, 3), (1, 2), (2, 3)], [4, 4, 4], "spill", machine)
    assert (schedule.start_s.tolist(), schedule.makespan_s) == ([0, 1, 4, 5], 8)


@pytest.mark.rule("Limits of memory")
def test_copies_are_dropped_rather_than_sent(engine):
    """Core 1 reads 0's object in 2 and in 4, and between them writes an output of 6 bytes in 3.

    For that the copy goes, without a message; for the copy that 4 needs, the output leaves for memory first.
    """
    chain = ss.TaskGraph.from_edges([1, 99, 1, 1, 1], [(0, 1), (0, 2), (2, 3), (0, 4), (3, 4)])
    graph = ss.graph.with_data(chain, ss.graph.DataObjects.from_lists([6, 6], [0, 3], [[1, 2, 4], []]))
    machine = "generic[cores=2,data=sent,place_B=10.0,link_Bps=2.0]"
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", engine=engine, memory_limit="spill")
    found = schedule.transfers[["object", "from_place", "to_place", "depart_s", "arrive_s"]].values.tolist()
    assert found == [[0, 0, 1, 1, 4], [1, 1, 2, 6, 9], [0, 0, 1, 9, 12]]


@pytest.mark.rule("Limits of memory")
def test_what_can_never_run_is_an_error(replay):
    machine = "generic[cores=1,data=sent,place_B=10.0]"
    with pytest.raises(
        MemoryLimitError, match=r"task 0 needs 12 B .* at core 0, which holds 10 B; memory_limit='note'"
    ):
        replay([1, 1], [(0, 1)], [12], "wait", machine)
    with pytest.raises(
        MemoryLimitError, match=r"task 1 needs 12 B for what it reads and writes at core 0, which holds"
    ):
        # Of these 6 are there, and 6 fit, but not both.
        replay([1, 1, 1], [(0, 1), (1, 2)], [6, 6], "spill", machine)
    with pytest.raises(
        MemoryLimitError,
        match=r"task 1 waits for 6 B at core 0 for ever: 6 B of 10 B .* memory_limit='spill' moves these",
    ):
        replay(*TWO_CHAINS, "wait", machine)


@pytest.mark.rule("Limits of memory")
def test_parts_of_bytes_take_whole_ones(replay):
    """Two objects of 1.4 bytes do not fit into 3, though their whole bytes alone would; two of 0.6 fit into 2."""
    machine = "generic[cores=1,data=sent,place_B=%s]"
    join = [1, 1, 1], [(0, 2), (1, 2)]
    for size_B, place_B in ((1.4, 2.0), (1.4, 3.0), (0.4, 1.0)):
        with pytest.raises(MemoryLimitError):
            replay(*join, [size_B, size_B], "wait", machine % place_B)
    held = replay(*join, [0.6, 0.6], "wait", machine % 2.0)
    assert held.memory().peak.peak_B[0] == 1.2


def test_a_search_for_a_layout_passes_over_those_without_room():
    """On one core the two chains never end; on two they do."""
    graph = ss.TaskGraph.from_edges(TWO_CHAINS[0], TWO_CHAINS[1], edge_bytes=TWO_CHAINS[2])
    schedule = ss.simulate(
        graph, "generic[cores=2,data=sent,place_B=10.0]", "fifo", memory_limit="wait", layout="best"
    )
    assert schedule.inputs.layout.executors == 2
    with pytest.raises(MemoryLimitError):
        ss.simulate(
            graph, "generic[cores=1,data=sent,place_B=10.0]", "fifo", memory_limit="wait", layout="best"
        )


def test_unlimited_places_change_nothing(engine):
    """Without sizes, all limits give the same times as none; a planned policy fetches when it is placed."""
    rng = np.random.default_rng(1)
    edges = sorted({(int(a), int(b)) for a, b in rng.integers(0, 30, (60, 2)) if a < b})
    graph = ss.TaskGraph.from_edges(
        rng.random(30), edges, edge_bytes=rng.integers(0, 9, len(edges)).astype(float)
    )
    machine = "generic[cores=4,data=sent,link_Bps=5.0]"
    starts = [
        ss.simulate(graph, machine, "fifo", layout="4x1", engine=engine, memory_limit=limit).start_s.tolist()
        for limit in ("note", "wait", "spill")
    ]
    assert starts[0] == starts[1] == starts[2]


def test_graphs_without_objects_need_no_network(replay, monkeypatch):
    """Of a machine of two sockets it was made anew for each replay, a quarter of whose time that took."""

    def made(*_):
        raise AssertionError("a network was made")

    monkeypatch.setattr(memory_lives, "network_of", made)
    assert replay([1, 1], [(0, 1)], None, "note", "xeon-8160x2").makespan_s > 2
