"""Data that move between places, kinds of cores, and planned policies, worked out by hand on both engines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import CostError, LayoutError, PolicyError
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.testing.strategies import graphs

SENT = "generic[cores=2,link_Bps=2.0,link_latency_s=0.5,data=sent]"
ROOT = Path(__file__).parents[2]
FORK = [(0, 1), (0, 2)]


@dataclass(frozen=True, kw_only=True)
class AsTold(PlannedPolicy):
    """Tasks on the executors told, in the order told."""

    name = "as-told"

    executor: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return what was told; without an order that of the indices."""
        order = self.order or range(len(self.executor))
        return Assignment(np.array(self.executor, np.int32), np.array(order, np.int32))


class OnFloats(AsTold):
    """The same, of arrays that NumPy makes where nothing is said of their type."""

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return the first executor for all."""
        return Assignment(np.zeros(platform.successors.n), np.arange(platform.successors.n))


@pytest.fixture
def replay(engine):
    """Replay a graph whose edges carry bytes."""

    def run(seconds, edges, edge_bytes, policy="fifo", machine=SENT, objects=None, layout="2x1", **options):
        graph = ss.TaskGraph.from_edges(seconds, edges, edge_bytes=edge_bytes, edge_objects=objects)
        return ss.simulate(graph, machine, policy, engine=engine, layout=layout, **options)

    return run


@pytest.mark.rule("Sent")
def test_what_a_task_reads_arrives_before_it_starts(replay):
    """0 ends at 1 on core 0. 1 goes on there; 2 is placed on core 1 then: its object takes 0.5 + 4/2 s."""
    schedule = replay([1, 1, 1], FORK, [4, 4])
    assert schedule.executor.tolist() == [0, 0, 1]
    assert schedule.start_s.tolist() == [0, 1, 3.5]
    assert schedule.makespan_s == 4.5
    assert schedule.transfers.values.tolist() == [[1, 0, 4, 0, 1, 1, 3.5]]


@pytest.mark.rule("Sent")
def test_an_object_is_sent_once_to_each_place(replay):
    """1, 2 and 3 read one object: 2 and 3 on core 1; the second finds it there."""
    edges = [(0, 1), (0, 2), (0, 3)]
    schedule = replay([1, 9, 1, 1], edges, [4] * 3, objects=[7] * 3)
    assert schedule.executor.tolist() == [0, 0, 1, 1]
    assert schedule.start_s.tolist() == [0, 1, 3.5, 4.5]
    assert len(schedule.transfers) == 1
    apart = replay([1, 9, 1, 1], edges, [4] * 3)
    assert apart.start_s.tolist() == [0, 1, 3.5, 4.5 + 2.5]
    assert apart.transfers["depart_s"].tolist() == [1, 4.5]


@pytest.mark.rule("Sent")
def test_thousands_of_messages_at_once(replay):
    """60 tasks end at 1, and each of 50 others reads from all of them: b bytes arrive 0.5 + b/2 s later."""
    edges = [(i, 60 + j) for i in range(60) for j in range(50)]
    machine = SENT.replace("cores=2", "cores=60")
    schedule = replay(np.ones(110), edges, np.arange(1.0, 3001), machine=machine, layout="60x1")
    sent = schedule.messages
    assert len(sent.object) == 3000 - 50  # one of each task's is there
    assert sent.arrive_s.tolist() == (1.5 + (1 + sent.object) / 2).tolist()


@pytest.mark.rule("Sent")
@pytest.mark.rule("Plans")
def test_planned_tasks_are_sent_their_data_when_these_are_written(replay):
    """Core 1 runs 1 (5 s) first; the object of 0 is sent at 1 meanwhile and has long arrived when 2 starts at 5."""
    policy = AsTold(executor=(0, 1, 1))
    schedule = replay([1, 5, 1], [(0, 2)], [4], policy)
    assert schedule.start_s.tolist() == [0, 0, 5]
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[1, 3.5]]
    later = replay([1, 2, 1], [(0, 2)], [4], policy)
    assert later.start_s.tolist() == [0, 0, 3.5]


@pytest.mark.rule("Sent")
def test_arrivals_come_after_completions_and_before_decisions(replay):
    """At 3.5, 3 ends on core 0 and 2's object arrives on core 1; 2 starts before 4, which is decided then."""
    schedule = replay([1, 2.5, 1, 1], [(0, 1), (0, 2), (1, 3)], [0, 4, 0])
    assert schedule.start_s.tolist() == [0, 1, 3.5, 3.5]
    assert schedule.start_order.tolist() == [0, 1, 2, 3]


@pytest.mark.rule("Read")
def test_reading_from_afar_takes_longer(replay):
    """2 starts at 1 and reads 4 bytes for 2.5 s: 1 + 1 + 2.5; of two objects the seconds add up."""
    machine = SENT.replace("sent", "read")
    schedule = replay([1, 1, 1], FORK, [4, 4], machine=machine)
    assert (schedule.start_s.tolist(), schedule.finish_s.tolist()) == ([0, 1, 1], [1, 2, 4.5])
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[1, 3.5]]
    both = replay([1, 1, 1], [(0, 2), (1, 2)], [2, 2], machine=machine)
    assert both.makespan_s == 1 + 1 + 1.5


@pytest.mark.rule("Plans")
def test_simgrids_tutorial(replay):
    """dag-tuto: 1e9, 5e9 and 2e9 operations on hosts of 98.095 and 76.296 Mflop/s; 5e8 bytes in 75.089178 s."""
    flops, host_flops = np.array([1e9, 5e9, 2e9]), np.array([98.095e6, 76.296e6])
    schedule = replay(
        flops[:, None] / host_flops,
        [(0, 2), (1, 2)],
        [5e8, 0],
        AsTold(executor=(0, 1, 1)),
        f"generic[cores=2,kinds=each,data=sent,link_Bps={5e8 / 75.089178!r}]",
    )
    assert schedule.finish_s == pytest.approx([10.194200, 65.534235, 111.497072], abs=1e-6)
    assert schedule.transfers["arrive_s"].max() == pytest.approx(85.283378, abs=1e-6)


@pytest.mark.rule("Places")
@pytest.mark.parametrize(("places", "start_s"), [("core", 3.5), ("domain", 1)])
def test_within_a_place_objects_take_no_time(replay, places, start_s):
    """Both cores are in one domain. Objects of unknown size take the latency alone: 0.5 s."""
    machine = SENT.replace("data=sent", f"data=sent,places={places}")
    assert replay([1, 1, 1], FORK, [4, 4], machine=machine).start_s.tolist() == [0, 1, start_s]
    assert replay([1, 1, 1], FORK, [np.nan] * 2, machine=machine).start_s[2] == min(start_s, 1.5)


@pytest.mark.rule("Places")
def test_a_team_is_at_the_place_of_its_first_thread(replay):
    """Executors of two cores: from core 0 to core 2."""
    machine = SENT.replace("cores=2", "cores=4")
    schedule = replay([1, 1, 1], FORK, [4, 4], machine=machine, layout="2x2")
    assert schedule.transfers[["from_place", "to_place"]].values.tolist() == [[0, 2]]


@pytest.mark.parametrize("machine", ["generic[cores=2]", "generic[cores=2,data=none,kinds=none]"])
def test_without_ways_nothing_moves(replay, machine):
    schedule = replay([1, 1, 1], FORK, [4, 4], machine=machine)
    assert schedule.start_s.tolist() == [0, 1, 1]
    assert schedule.transfers.empty


@pytest.mark.rule("Kinds of cores")
def test_seconds_depend_on_the_kind_of_core(replay):
    """Ready in order, lowest executor first: 0 on core 0 (4 s), 1 on core 1 (3 s); 2 on core 1 at 3 (6 s)."""
    schedule = replay([[4, 2], [1, 3], [5, 6]], [], [], machine="generic[cores=2,kinds=each]")
    assert schedule.finish_s.tolist() == [4, 3, 9]
    assert schedule.alone_s.tolist() == [4, 3, 6]
    assert ss.bounds(schedule.graph, "generic[cores=2,kinds=each]").critical_path_s == 5


@pytest.mark.rule("Kinds of cores")
def test_kinds_of_a_file_differ_in_speed(replay, tmp_path):
    """Half as fast: twice as long. The layouts found have teams of one kind."""
    path = tmp_path / "hybrid.toml"
    source = (
        (ROOT / "hwmodels/generic.toml").read_text("utf-8").replace('name = "generic"', 'name = "hybrid"')
    )
    path.write_text(
        source + "\n[kinds]\nnames = ['P', 'E']\n"
        "cores = { value = [4, 12], unit = 'core', source = 'made up', confidence = 'low' }\n"
        "speed = { value = [1.0, 0.5], unit = '', source = 'made up', confidence = 'low' }\n",
        "utf-8",
    )
    schedule = replay([1.0] * 16, [], [], machine=path, layout=None)
    assert schedule.layout == "16x1"
    assert schedule.finish_s.tolist() == [1] * 4 + [2] * 12
    with pytest.raises(LayoutError, match="teams of several kinds"):
        replay([1.0], [], [], machine=path, layout="2x8")
    assert replay([1.0], [], [], machine=path, layout="4x4").makespan_s == 1


@pytest.mark.rule("Plans")
def test_executors_wait_for_their_next_task(replay):
    """Core 1 waits for 2, which 0 makes ready at 3, and runs 1, ready all along, after it."""
    schedule = replay(
        [3, 1, 1], [(0, 2)], [0], AsTold(executor=(0, 1, 1), order=(0, 2, 1)), "generic[cores=2]"
    )
    assert schedule.start_s.tolist() == [0, 4, 3]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (AsTold(executor=(0, 1)), r"executors int32 of shape \(2,\)"),
        (OnFloats(), "executors float64 .*; expected 3 whole numbers of each"),
        (AsTold(executor=(0, 1, 2)), "names executors 0 to 2; there are 2"),
        (AsTold(executor=(0, 0, 0), order=(0, 1, 1)), "not one of all tasks"),
        (AsTold(executor=(0, 0, 0), order=(2, 1, 0)), "each after those before it"),
        (PlannedPolicy(), "has no plan"),
    ],
)
def test_impossible_plans(replay, policy, message):
    with pytest.raises(PolicyError, match=message):
        replay([1, 1, 1], FORK, [4, 4], policy)


def test_kinds_that_do_not_fit(replay):
    with pytest.raises(
        CostError, match=r"seconds for 2 kinds of cores, and all cores of generic.* are alike"
    ):
        replay([[1, 2]], [], [], machine="generic[cores=2]")
    with pytest.raises(CostError, match=r"seconds for 2 kinds of cores; generic\[cores=3,kinds=each\] has 3"):
        replay([[1, 2]], [], [], machine="generic[cores=3,kinds=each]", layout=None)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_engines_agree(data):
    """Random graphs, sizes, objects, machines and policies: every column and every message the same to the bit."""
    graph = data.draw(graphs(max_tasks=12))
    rows = np.column_stack([graph.successors.sources(), graph.successors.indices])
    sizes = data.draw(st.lists(st.floats(0, 100), min_size=len(rows), max_size=len(rows)))
    shared = data.draw(st.booleans())  # one object per producer
    if shared:
        sizes = [float(source) for source, _ in rows]
    seconds = np.nan_to_num(graph.durations_s, nan=1.0)
    kinds = data.draw(st.sampled_from(["", ",kinds=each"]))
    contention = data.draw(st.sampled_from(["", ",contention=true,bandwidth_Bps=2e10"]))
    cores = data.draw(st.integers(1, 5))
    if kinds:
        seconds = np.outer(seconds, np.arange(1, cores + 1))
    again = ss.TaskGraph.from_edges(
        seconds,
        rows,
        edge_bytes=sizes,
        edge_objects=rows[:, 0] if shared else None,
        bytes_B=1e9 * np.arange(len(seconds)),
    )
    mode, latency = data.draw(st.sampled_from(["sent", "read"])), data.draw(st.sampled_from([0.0, 0.3]))
    machine = f"generic[cores={cores},data={mode},link_Bps=3.0,link_latency_s={latency}{kinds}{contention}]"
    executors = data.draw(st.lists(st.integers(0, cores - 1), min_size=len(seconds), max_size=len(seconds)))
    dispatch_s = data.draw(st.sampled_from([0.0, 0.1]))
    planned = AsTold(executor=tuple(executors), order=tuple(again.topological_order.tolist()))
    policies = [
        planned,
        "fifo",
        "critical-path[prefer=producer]",
        *([] if kinds else ["corun", "tensorflow"]),
    ]
    policy = data.draw(st.sampled_from(policies))
    layout = {"layout": f"{cores}x1"} if policy is planned else {}
    one, other = (
        ss.simulate(
            again, machine, policy, engine=engine, runtime=ss.RuntimeProfile(dispatch_s=dispatch_s), **layout
        )
        for engine in ("simpy", "native")
    )
    for column in ("ready_s", "start_s", "finish_s", "executor", "start_order", "alone_s"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column), column)
    assert one.transfers.equals(other.transfers)


def test_the_layout_found_knows_what_data_cost(replay):
    """Side by side 1, 2 and what is sent take 10 s; one after another on one executor, where all data are, 5 s."""
    schedule = replay([1, 1, 1, 2], [(0, 1), (0, 2), (1, 3), (2, 3)], [4, 4, 6, 6], layout=None)
    assert schedule.layout == "1x1"
    assert schedule.makespan_s == 5
    assert schedule.inputs.layout_by == "replays"


@pytest.mark.parametrize("engine", ["native", "simpy"])
def test_data_that_move_in_no_time_are_noted(engine: str) -> None:
    """24 MB at 1 GB/s, of which 8 and 4 are on the way that decides: 16 ms, and 4 where nothing says how they move."""
    graph = ss.TaskGraph.from_edges(
        [1e-3, 2e-3, 2e-3, 1e-3], [(0, 1), (0, 2), (1, 3), (2, 3)], edge_bytes=[8e6, 8e6, 4e6, 4e6]
    )

    def replay(machine: str) -> tuple[float, int]:
        made = ss.simulate(graph, machine, "fifo", "2x1", engine=engine)
        return made.makespan_s, sum("takes no time" in note for note in made.notes)

    assert replay("generic[cores=2,link_Bps=1e9]") == (pytest.approx(16e-3), 0)
    for still in ("generic[cores=2]", "generic[cores=2,data=sent]"):
        assert replay(still) == (pytest.approx(4e-3), 1)
    assert replay("knl-7250[data=sent]")[1] == 0
    alone = ss.simulate(ss.workload("rnn[layers=1,steps=2]"), "knl-7250", "fifo")
    assert not any("takes no time" in note for note in alone.notes), "the tasks' bytes contain them"
