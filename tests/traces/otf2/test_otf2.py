"""OTF2 archives: what is a task, what waits for what, by hand; and that the library of OTF2 reads the same."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

from .archives import Sketch
from .conftest import Bytes

SEEDS = Path(__file__).parents[1] / "seeds/otf2"
Written = Callable[[Callable[[Sketch], Any]], Path]


def rows(graph: TaskGraph) -> list[tuple[str, int, int, int]]:
    """Return kind, lane, start and finish of each task, in nanoseconds."""
    run = graph.recording
    assert run is not None
    times = zip((run.start_s * 1e9).round().tolist(), (run.finish_s * 1e9).round().tolist(), strict=True)
    return [(graph.kinds[i], int(run.lanes[i]), int(a), int(b)) for i, (a, b) in enumerate(times)]


def after(graph: TaskGraph, task: int) -> list[int]:
    return graph.successors.neighbours(task).tolist()


def pairs(graph: TaskGraph) -> set[tuple[str, str]]:
    return {
        (graph.kinds[before], graph.kinds[task])
        for before in range(graph.n_tasks)
        for task in after(graph, before)
    }


def test_pieces_messages_and_collectives() -> None:
    graph = ss.load(SEEDS / "messages/main.tar")
    assert rows(graph) == [
        ("main", 0, 0, 500), ("main", 1, 0, 1000), ("work", 0, 500, 2500), ("MPI_Send", 0, 2500, 2600),
        ("MPI_Send", 0, 2600, 2700),
        ("MPI_Recv", 1, 2600, 3000),  # came at 1000, and waited
        ("main", 0, 2700, 3000), ("work", 1, 3000, 4000), ("main", 1, 4000, 4200),
        ("MPI_Allreduce", 0, 4200, 4400),  # came at 3000, and waited
        ("MPI_Allreduce", 1, 4200, 4400), ("main", 0, 4400, 4900), ("main", 1, 4400, 4900),
    ]  # fmt: skip
    assert after(graph, 3) == [4, 5]
    assert after(graph, 6) == after(graph, 8) == [9, 10]
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [4096.0]
    assert graph.recording is not None
    assert graph.recording.lane_names == ("MPI Rank 0: Master thread", "MPI Rank 1: Master thread")
    facts = graph.report.facts
    assert (facts["messages"], facts["collectives"], facts["processes"]) == (1, 1, 2)
    assert facts["waited_in_calls_s"] == pytest.approx(1.6e-6 + 1.2e-6)
    assert facts["system"] == "machine unknown: machine Linux, node n1 (processes: 2)"


def test_tasks_of_a_team() -> None:
    graph = ss.load(SEEDS / "tasks/main.tar")
    named = rows(graph)
    tasks = [i for i, row in enumerate(named) if row[0] == "!$omp task"]
    assert [named[i] for i in tasks] == [("!$omp task", 0, 2000, 3000), ("!$omp task", 1, 2000, 3500)]
    # Each comes after the first half of the call that created it, and the second half does, too.
    assert [[i for i in range(graph.n_tasks) if task in after(graph, i)] for task in tasks] == [[3], [6]]
    assert (named[3], named[6]) == (
        ("!$omp create task", 1, 1000, 1050),
        ("!$omp create task", 1, 1200, 1250),
    )
    (barrier,) = (i for i, row in enumerate(named) if row[2] == row[3])
    assert named[barrier] == ("!$omp implicit barrier", 1, 4000, 4000)
    assert after(graph, tasks[0]) == after(graph, tasks[1]) == [barrier]
    assert len(after(graph, barrier)) == 2
    # The second thread begins after the fork, and the first one goes on after it has ended.
    assert named[0] == ("main", 0, 0, 500)
    assert named[2] in [named[i] for i in after(graph, 0)]
    assert after(graph, 13) == [15]
    assert "depend clauses" in graph.report.doubts[0]


def test_actions_with_identifiers() -> None:
    graph = ss.load(SEEDS / "actions/main.tar")
    assert rows(graph) == [
        ("run_helper", 0, 0, 1000), ("fib_action", 0, 1500, 2000), ("fib_action", 1, 1500, 2500),
        ("fib_action", 0, 3000, 3500),
    ]  # fmt: skip
    assert [after(graph, i) for i in range(4)] == [[1, 2], [], [3], []]


def test_folder_anchor_gzip_and_bytes_are_the_same(by_hand: Bytes, tmp_path: Path) -> None:
    anchor = by_hand.write()
    seed = SEEDS / "actions/main.tar"
    packed = tmp_path / "packed.tar.gz"
    packed.write_bytes(gzip.compress(seed.read_bytes()))
    assert rows(ss.load(anchor)) == rows(ss.load(anchor.parent)) == [("work", 0, 0, 1000)]
    assert ss.load(anchor.parent).name == "run"
    with seed.open("rb") as opened:
        assert (
            rows(ss.load(packed))
            == rows(ss.load(seed.read_bytes()))
            == rows(ss.load(opened))
            == rows(ss.load(seed))
        )


def test_big_endian_is_the_same(tmp_path: Path) -> None:
    found = []
    for big in (False, True):
        made = Bytes(tmp_path / str(big), big)
        made.definitions += [made.record(10, made.whole(70000) + b"far\0"), made.region(70000, 70000)]
        made.events[3] += [made.at(2**40), made.enter(70000), made.at(2**40 + 500), made.leave(70000)]
        found.append(rows(ss.load(made.write())))
    assert found[0] == found[1]
    assert found[0][1] == ("far", 0, 2**40 - 100, 2**40 + 400)


def test_several_chunks(by_hand: Bytes) -> None:
    """A chunk ends where the next event does not fit; the next one begins with a header."""
    events, chunks, ticks = [], list[bytes](), 100
    for _ in range(40_000):
        for event in (by_hand.enter(0), by_hand.leave(0)):
            events += [by_hand.at(ticks), event]
            ticks += 10
    filled = by_hand.chunk(b"")
    for event, time in zip(events[1::2], events[::2], strict=True):
        if len(filled) + len(time + event) + 1 > 256 * 1024:
            chunks.append(filled.ljust(256 * 1024, b"\0"))
            filled = by_hand.chunk(b"")
        filled += time + event
    anchor = by_hand.write()
    (anchor.parent / "run/3.evt").write_bytes(b"".join([*chunks, filled + bytes([2, 1])]))
    graph = ss.load(anchor)
    assert len(chunks) > 2
    assert graph.n_tasks == 40_000
    assert rows(graph)[-1] == ("work", 0, 20 * 39_999, 20 * 39_999 + 10)


def test_names_choose_the_regions_that_count(by_hand: Bytes) -> None:
    by_hand.definitions += [by_hand.record(10, by_hand.whole(2) + b"inner\0"), by_hand.region(5, 2)]
    at, enter, leave = by_hand.at, by_hand.enter, by_hand.leave
    by_hand.events[3] = [at(100), enter(0), at(200), enter(5), at(300), leave(5), at(400), leave(0)]
    anchor = by_hand.write()
    assert rows(ss.load(anchor)) == [("work", 0, 0, 100), ("inner", 0, 100, 200), ("work", 0, 200, 300)]
    assert rows(ss.load(anchor, names="work")) == [("work", 0, 0, 300)]
    assert rows(ss.load(anchor, names="inn*")) == [("inner", 0, 0, 100)]
    with pytest.raises(
        FormatError, match="names chooses none of the regions that ran; there are inner, work"
    ):
        ss.load(anchor, names="nobody")


def test_edges_choose_where_edges_come_from() -> None:
    seed = SEEDS / "messages/main.tar"
    lanes, flows = ss.load(seed, edges="lanes"), ss.load(seed, edges="flows")
    assert lanes.n_edges == lanes.n_tasks - 2
    assert ("MPI_Send", "MPI_Recv") not in pairs(lanes)
    assert ("MPI_Send", "MPI_Recv") in pairs(flows)
    assert ("main", "work") not in pairs(flows)
    assert {row[0] for row in rows(ss.load(SEEDS / "tasks/main.tar", edges="lanes"))} == {
        "main", "!$omp parallel", "!$omp create task", "!$omp task",
    }  # fmt: skip


def test_regions_that_do_not_nest(by_hand: Bytes) -> None:
    by_hand.definitions += [by_hand.record(10, by_hand.whole(2) + b"inner\0"), by_hand.region(5, 2)]
    at, enter, leave = by_hand.at, by_hand.enter, by_hand.leave
    by_hand.events[3] = [
        at(100), leave(5), enter(0), at(200), enter(5), at(400), leave(0), at(500), enter(5), at(600), leave(5),
    ]  # fmt: skip
    graph = ss.load(by_hand.write())
    assert rows(graph) == [("work", 0, 0, 100), ("work", 0, 100, 300), ("inner", 0, 400, 500)]
    assert graph.report.facts["regions left, never entered"] == 1
    assert graph.report.facts["regions entered, never left"] == 1


def test_numbers_and_clocks_of_locations(by_hand: Bytes) -> None:
    """Tables map what a location calls differently; offsets of its clock grow between two measurements, and beyond."""
    offset = lambda at, by: by_hand.record(6, by_hand.full(at) + by_hand.whole(by) + bytes(8))  # noqa: E731
    by_hand.local[3] = [
        by_hand.record(5, bytes([3]) + by_hand.whole(1) + bytes([1]) + by_hand.whole(44) + by_hand.whole(0)),
        offset(100, 1000),
        offset(1100, 1100),
    ]
    by_hand.events[3] = [by_hand.at(100), by_hand.enter(44), by_hand.at(600), by_hand.leave(44),
                         by_hand.at(2100), by_hand.enter(44), by_hand.at(2200), by_hand.leave(44)]  # fmt: skip
    graph = ss.load(by_hand.write())
    assert rows(graph) == [("work", 0, 0, 550), ("work", 0, 2200, 2310)]


def test_calling_contexts_are_regions(by_hand: Bytes) -> None:
    by_hand.definitions.append(by_hand.record(34, by_hand.whole(8) + by_hand.whole(0) + b"\xff\xff"))
    entered = by_hand.record(66, by_hand.whole(8) + by_hand.whole(1))
    by_hand.events[3] = [by_hand.at(100), entered, by_hand.at(300), by_hand.record(67, by_hand.whole(8))]
    assert rows(ss.load(by_hand.write())) == [("work", 0, 0, 200)]


def test_what_is_left_out_is_said(by_hand: Bytes) -> None:
    by_hand.events[3][2:2] = [
        by_hand.record(31, by_hand.whole(0) + b"\1\4" + by_hand.whole(7)) for _ in range(3)
    ]
    by_hand.events[3].insert(2, by_hand.record(150, b"to come"))
    by_hand.definitions += [by_hand.location(4), by_hand.location(5, kind=3)]
    graph = ss.load(by_hand.write())
    assert "left out: metrics (3), unknown events (1)" in graph.report.notes
    assert (
        graph.report.facts["locations without events"]
        == graph.report.facts["locations of metrics alone"]
        == 1
    )


def test_taskwait_waits_for_the_children(sketched: Written) -> None:
    def write(sketch: Sketch) -> None:
        thread = sketch.thread("Master thread", sketch.process(0))
        team = sketch.comm("team", [thread], "OPENMP")
        main, task = sketch.region("main"), sketch.region("!$omp task", "TASK", "OPENMP")
        wait = sketch.region("!$omp taskwait", "TASK_WAIT", "OPENMP")
        thread.enter(2000, main)
        thread.thread_task_create(4000, team, 0, 1)
        thread.enter(5000, wait)
        thread.thread_task_switch(6000, team, 0, 1)
        thread.enter(6000, task)
        thread.leave(8000, task)
        thread.thread_task_complete(8000, team, 0, 1)
        thread.thread_task_switch(8000, team, 0, 0)
        thread.leave(9000, wait)
        thread.leave(11000, main)

    graph = ss.load(sketched(write))
    assert rows(graph) == [
        ("main", 0, 0, 1000), ("main", 0, 1000, 1500), ("!$omp task", 0, 2000, 3000), ("main", 0, 3500, 4500),
    ]  # fmt: skip
    assert [after(graph, i) for i in range(4)] == [[1, 2], [3], [3], []]


def test_threads_that_are_created_and_awaited(sketched: Written) -> None:
    def write(sketch: Sketch) -> None:
        process = sketch.process(0)
        first, second = sketch.thread("Master thread", process), sketch.thread("Pthread 1", process)
        team = sketch.comm("threads", [first, second], "PTHREAD")
        main, work = sketch.region("main"), sketch.region("work")
        join = sketch.region("pthread_join", "THREAD_WAIT", "PTHREAD")
        first.enter(2000, main)
        first.thread_create(4000, team, 1)
        second.thread_begin(4400, team, 1)
        second.enter(5000, work)
        second.leave(7000, work)
        second.thread_end(7200, team, 1)
        first.enter(5000, join)
        first.thread_wait(7600, team, 1)
        first.leave(7600, join)
        first.leave(8600, main)

    graph = ss.load(sketched(write))
    assert rows(graph) == [
        ("main", 0, 0, 1000), ("main", 0, 1000, 1500), ("work", 1, 1500, 2500), ("main", 0, 2800, 3300),
    ]  # fmt: skip
    assert [after(graph, i) for i in range(4)] == [[1, 2], [3], [3], []]


@pytest.mark.parametrize("of_processes", [False, True])
def test_messages_of_further_threads(by_hand: Bytes, of_processes: bool) -> None:
    """Ranks are processes: groups name them, or their first threads, and any thread may send."""
    whole, at, enter, leave = by_hand.whole, by_hand.at, by_hand.enter, by_hand.leave
    members = [0, 8] if of_processes else [3, 6]
    kind = 7 if of_processes else 4

    def group(number: int, kind: int, members: list[int]) -> bytes:
        fields = [
            whole(number),
            whole(1),
            bytes([kind]),
            whole(len(members)),
            *map(whole, members),
            bytes([kind, 4, 0]),
        ]
        return by_hand.record(18, b"".join(fields))

    by_hand.definitions += [
        by_hand.record(13, whole(8) + whole(1) + b"\1" + whole(-1)),
        by_hand.location(5), by_hand.location(6, process=8), by_hand.region(2, 0, 28, 4),
        group(1, kind, members), group(2, 5, [0, 1]), by_hand.record(22, whole(9) + whole(1) + whole(2) + b"\xff"),
    ]  # fmt: skip
    message = [whole(1), whole(9), whole(0), whole(64)]
    by_hand.events[5] = [at(200), enter(0), at(300), by_hand.record(14, b"".join(message)), at(400), leave(0)]
    received = by_hand.record(18, whole(0) + b"".join(message[1:]))
    by_hand.events[6] = [at(250), enter(2), at(350), received, leave(2)]
    graph = ss.load(by_hand.write())
    assert graph.report.facts["messages"] == 1
    assert rows(graph) == [
        ("work", 0, 0, 1000),
        ("work", 1, 100, 200),
        ("work", 2, 200, 250),
        ("work", 1, 200, 300),
    ]
    assert after(graph, 1) == [2, 3]


@pytest.mark.parametrize(
    ("operation", "root", "waits"),
    [("BARRIER", None, (300, 300, 300)), ("BCAST", 1, (200, 200, 300)), ("REDUCE", 1, (100, 300, 300))],
)
def test_who_waits_in_collectives(
    sketched: Written, operation: str, root: int | None, waits: tuple[int, ...]
) -> None:
    """Three ranks come at 100, 200 and 300: all wait for the last, or all for the root, or the root for all."""

    def write(sketch: Sketch) -> None:
        ranks = [sketch.thread("Master thread", sketch.process(rank)) for rank in range(3)]
        world = sketch.comm("MPI_COMM_WORLD", ranks, "MPI")
        main, call = sketch.region("main"), sketch.region("MPI_Call", "COLL_OTHER", "MPI")
        code = getattr(sketch.otf2.enums.CollectiveOp, operation)
        for number, rank in enumerate(ranks):
            rank.enter(0, main)
            rank.enter(200 + 200 * number, call)
            rank.mpi_collective_begin(200 + 200 * number)
            rank.mpi_collective_end(800, code, world, 2**32 - 1 if root is None else root, 8, 8)
            rank.leave(800, call)
            rank.leave(1000, main)

    graph = ss.load(sketched(write))
    begun = {
        lane: start for kind, lane, start, finish in rows(graph) if kind == "MPI_Call" and finish > start
    }
    assert tuple(begun[lane] for lane in range(3)) == waits
    assert graph.report.facts["early_starts"] == 0


def test_the_library_reads_the_same(sketched: Written) -> None:
    """Events of the library's own reader, through a stack in Python, are our pieces."""
    otf2 = pytest.importorskip("otf2")

    def write(sketch: Sketch) -> None:
        threads = [sketch.thread(f"t{i}", sketch.process(i)) for i in range(3)]
        for number, thread in enumerate(threads):
            ticks, open_ = 1000 * number, list[str]()
            for step in range(20_000):
                ticks += 2 + 2 * ((step * 7919 + number) % 13)
                if len(open_) < 4 and (step * 104729 + number) % 5 < 3:
                    open_.append(f"f{step % 30}")
                    thread.enter(ticks, sketch.region(open_[-1]))
                elif open_:
                    thread.leave(ticks, sketch.region(open_.pop()))
            while open_:
                ticks += 4
                thread.leave(ticks, sketch.region(open_.pop()))

    folder = sketched(write)
    expected, stacks, before = [], dict[str, list[str]](), dict[str, int]()
    with otf2.reader.open(str(folder / "traces.otf2")) as trace:
        begin = trace.definitions.clock_properties.global_offset
        for location, event in trace.events:
            stack, lane = stacks.setdefault(location.name, []), location.name
            if stack and event.time > before[lane]:
                expected.append((before[lane], event.time, lane, stack[-1]))
            before[lane] = event.time
            if isinstance(event, otf2.events.Enter):
                stack.append(event.region.name)
            else:
                stack.pop()
    graph = ss.load(folder)
    assert graph.recording is not None
    origin = graph.recording.origin_ns
    assert origin is not None
    found = [
        (2 * (start + origin) + begin, 2 * (finish + origin) + begin, f"t{lane}", kind)
        for kind, lane, start, finish in rows(graph)
    ]
    assert len(found) > 40_000
    assert sorted(found) == sorted(expected)
