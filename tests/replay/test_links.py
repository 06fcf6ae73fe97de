"""Links that messages share, homes of inputs and outputs, and ways through the host, by hand on both engines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import simsched as ss

SHARED = "generic[cores=3,link_Bps=2.0,data=sent,share_links=true]"
FORK = [(0, 1), (0, 2), (0, 3)]


@pytest.fixture
def replay(engine):
    """Replay a graph; return its schedule, and when its messages depart and arrive."""

    def run(seconds, edges=(), machine=SHARED, policy="fifo", layout="3x1", **data):
        graph = ss.TaskGraph.from_edges(seconds, edges, **data)
        runtime = ss.RuntimeProfile()
        schedule = ss.simulate(graph, machine, policy, layout=layout, engine=engine, runtime=runtime)
        return schedule, schedule.transfers[["depart_s", "arrive_s"]].values.tolist()

    return run


@pytest.mark.rule("Shared links")
@pytest.mark.parametrize(
    ("sizes", "shared", "times"),
    [
        ((4, 4), True, [[1, 5], [1, 5]]),  # each has half of the 2 B/s out of core 0
        ((4, 4), False, [[1, 3], [1, 3]]),
        ((2, 6), True, [[1, 3], [1, 5]]),  # alone from 3 on, the second's 4 bytes pass at 2 B/s
        ((0, 6), True, [[1, 1], [1, 4]]),  # no bytes load no link
    ],
)
def test_messages_share_the_link_out_of_a_place(replay, sizes, shared, times):
    """1 goes on at core 0, 2 and 3 run on the cores 1 and 2 and read an object each."""
    machine = SHARED.replace("=true", f"={str(shared).lower()}")
    schedule, found = replay([1, 9, 1, 1], FORK, machine, edge_bytes=[0, *sizes])
    assert found == times
    assert schedule.start_s.tolist() == [0, 1, times[0][1], times[1][1]]


@pytest.mark.rule("Shared links")
def test_a_latency_loads_no_link(replay):
    """Inputs come from the host at 2 B/s: one leaves at 0 and moves from 0.5 on, one leaves at 1 and moves from 1.5.

    The first's other 2 bytes take 2 s then, in which as many of the second's pass; the rest takes a second.
    """
    machine = SHARED.replace("data", "link_latency_s=0.5,home=host,data")
    _, found = replay([9, 1, 1], [(1, 2)], machine, input_bytes=[4, 0, 4])
    assert found == [[0, 3.5], [1, 4.5]]


@pytest.mark.rule("Shared links")
def test_the_least_of_equal_shares_counts(replay):
    """Two objects leave core 0 and two enter core 2; the message on both has 1/2 of either, not less."""
    edges = [(0, 2), (0, 3), (1, 3)]
    _, found = replay([1, 1, 5, 1], edges, edge_bytes=[4, 4, 4])
    # 2 runs where 0 did, and 3 on core 1: from there nothing has to move, and from core 0 one object alone.
    assert found == [[1, 3]]


@pytest.mark.rule("Homes")
def test_inputs_come_from_memory_and_outputs_go_there(replay):
    """In: 0.5 + 0.25 + 4/2 s; out: 0.75 + 2/2 s. The run ends when the output is home."""
    ways = "link_Bps=2.0,link_latency_s=0.5,memory_Bps=4.0,memory_latency_s=0.25"
    machine = f"generic[cores=2,{ways},data=sent,home=memory]"
    schedule, found = replay([1], (), machine, layout="1x1", input_bytes=[4], output_bytes=[2])
    assert found == [[0, 2.75], [3.75, 5.5]]
    assert (schedule.start_s[0], schedule.makespan_s) == (2.75, 5.5)
    everywhere, found = replay(
        [1], (), machine.replace("memory]", "everywhere]"), layout="1x1", input_bytes=[4]
    )
    assert (everywhere.makespan_s, found) == (1, [])


@pytest.mark.rule("Homes")
def test_an_input_that_two_read_at_a_place_comes_once(replay, engine):
    graph = ss.graph.with_data(
        ss.TaskGraph.from_edges([1.0, 1.0]), ss.graph.DataObjects.from_lists([4.0], [-1], [[0, 1]])
    )
    machine = "generic[cores=1,link_Bps=2.0,data=sent,home=host]"
    schedule = ss.simulate(graph, machine, "fifo", engine=engine)
    assert schedule.start_s.tolist() == [2, 3]
    assert len(schedule.transfers) == 1


@pytest.mark.rule("Sent")
@pytest.mark.parametrize("name", ["host", "master"])
def test_all_goes_through_the_host(replay, name):
    """Up 0.5 + 0.04 s, down as much, even to the core that it came from; input and output as well."""
    machine = f"generic[cores=2,link_Bps=100.0,link_latency_s=0.5,data=sent,home={name},route={name}]"
    chain = {"edge_bytes": [4], "input_bytes": [600, 0], "output_bytes": [0, 700]}
    schedule, found = replay([1, 2], [(0, 1)], machine, layout="1x1", **chain)
    np.testing.assert_allclose(found, [[0, 6.5], [7.5, 8.04], [8.04, 8.58], [10.58, 18.08]])
    assert schedule.makespan_s == pytest.approx(18.08)


@pytest.mark.rule("Ways")
def test_hops_take_time_and_carry_less(replay):
    """Knights Landing's tiles 0 and 1 are next to each other in a row: one link of 1 B/s, 0.25 s."""
    machine = "knl-7250[cores=4,data=sent,places=tile,link_Bps=2.0,hop_Bps=1.0,hop_latency_s=0.25,link_latency_s=0.5]"
    network = ss.machine(machine).network
    n = len(network.listed.neighbours(1)) - 2
    _, found = replay([1, 9, 1], [(0, 1), (0, 2)], machine, layout="2x2", edge_bytes=[4, 4])
    assert n >= 1
    assert found == [[1, 1 + 0.5 + n * 0.25 + 4]]


PAIRS = {
    "pair_Bps": [[0, 1, 4], [2, 0, 8], [1, 2, 0]],
    "pair_latency_s": [[9, 0.5, 0.25], [0, 9, 1], [2, 0, 9]],
}


@pytest.mark.rule("Links of pairs")
@pytest.mark.parametrize("shared", [False, True])
def test_each_pair_has_its_own_link(replay, shared):
    """From core 0 to 1: 0.5 + 4/1 s, to 2: 0.25 + 4/4 s; both leave at 1, and share nothing."""
    machine = ss.machine(f"generic[cores=3,share_links={str(shared).lower()}]", **PAIRS)
    schedule, found = replay([1, 9, 1, 1], FORK, machine, edge_bytes=[0, 4, 4])
    assert found == [[1, 5.5], [1, 2.25]]
    assert schedule.start_s.tolist() == [0, 1, 5.5, 2.25]


@pytest.mark.rule("Links of pairs")
@pytest.mark.parametrize(("shared", "arrive_s"), [(False, 4), (True, 6)])
def test_messages_of_a_pair_share_its_link(replay, shared, arrive_s):
    """Two objects of 2 bytes from core 0 to core 1 at 1 B/s, both from 1 on, after 1 s: until 4, or until 6."""
    machine = ss.machine(f"generic[cores=2,share_links={str(shared).lower()}]", pair_Bps=[[0, 1], [1, 0]])
    machine = ss.machine(machine, pair_latency_s=[[0, 1], [1, 0]])
    edges = [(0, 1), (0, 2), (0, 2)]
    _, found = replay([1, 9, 1], edges, machine, layout="2x1", edge_bytes=[0, 2, 2], edge_objects=[0, 1, 2])
    assert found == [[1, arrive_s], [1, arrive_s]]


@pytest.mark.rule("Links of pairs")
def test_one_matrix_and_a_number_for_all(replay):
    """Bandwidths by pair and 0.5 s of latency; latencies by pair and 2 B/s."""
    edges, sizes = [(0, 1), (0, 2)], [0, 8]
    one = ss.machine("generic[cores=2,link_latency_s=0.5]", pair_Bps=[[0, 4], [1, 0]])
    other = ss.machine("generic[cores=2,link_Bps=2.0]", pair_latency_s=[[0, 0.25], [1, 0]])
    for machine, arrive_s in ((one, 1 + 0.5 + 2), (other, 1 + 0.25 + 4)):
        _, found = replay([1, 9, 1], edges, machine, layout="2x1", edge_bytes=sizes)
        assert found == [[1, arrive_s]]


@pytest.mark.rule("Links of pairs")
def test_objects_are_read_over_the_link_of_the_pair(replay):
    """2 runs on core 1 from 1 on and reads 8 bytes at 4 B/s of core 0."""
    machine = ss.machine("generic[cores=2,data=read]", pair_Bps=[[0, 4], [1, 0]])
    schedule, _ = replay([1, 9, 1], [(0, 1), (0, 2)], machine, layout="2x1", edge_bytes=[0, 8])
    assert (schedule.start_s[2], schedule.begun_s[2]) == (1, 3)


@pytest.mark.rule("Links of pairs")
def test_places_of_tiles_and_the_host(replay):
    """Two tiles: 4 B/s from the first to the second; the input comes from the host at 2 B/s, after 0.5 s."""
    pairs = {"pair_Bps": [[0, 4], [1, 0]]}
    ways = "places=tile,home=host,link_Bps=2.0,link_latency_s=0.5"
    machine = ss.machine(f"generic[cores=4,cores.per_tile=2,{ways}]", **pairs)
    _, found = replay(
        [1, 9, 1], [(0, 1), (0, 2)], machine, layout="2x2", edge_bytes=[0, 8], input_bytes=[2, 0, 0]
    )
    assert found == [[0, 1.5], [2.5, 2.5 + 0.5 + 2]]


@pytest.mark.rule("Read")
@pytest.mark.parametrize(("between_B", "start_to_compute_s"), [(300_000, 0), (600_000, 1)])
def test_the_l2_keeps_what_was_used_last(engine, between_B, start_to_compute_s):
    """0 writes 0.6 MB in a tile with 1 MiB; if 1 writes as much, 2 reads from memory below, at 0.6 MB/s."""
    graph = ss.TaskGraph.from_edges(
        [1.0] * 4, [(0, 2), (1, 2), (1, 3)], edge_bytes=[600_000, 0, between_B], edge_objects=[0, -1, 1]
    )
    machine = "knl-7250[cores=2,data=read,places=tile,link_Bps=600000.0,caches.l2=1024]"
    schedule = ss.simulate(graph, machine, "fifo", layout="1x2", engine=engine, runtime=ss.RuntimeProfile())
    assert (schedule.start_s + start_to_compute_s).tolist()[2] == schedule.begun_s[2]
    assert schedule.makespan_s == 4 + 2 * start_to_compute_s  # and 3 reads what 2 displaced


@pytest.mark.rule("Read")
def test_objects_are_read_one_after_another_over_shared_links(replay):
    """1 and 2 start at 1 on the cores 0 and 1; 2 reads 4 + 4 bytes of 0 at 2 B/s."""
    machine = SHARED.replace("sent", "read")
    schedule, found = replay([1, 9, 1], [(0, 1), (0, 2), (0, 2)], machine, edge_bytes=[1, 4, 4])
    assert found == [[1, 3], [3, 5]]
    assert (schedule.start_s[2], schedule.begun_s[2], schedule.finish_s[2]) == (1, 5, 6)


def _number(values, unit):
    return f"{{ value = {values}, unit = '{unit}', source = 'made up', confidence = 'low' }}\n"


def with_devices(tmp_path, processor_cores, places="domain"):
    """A file of cores of a processor, if any, and a device of 1 GB on a link of 4 GB/s and 2 us."""
    own = [] if not processor_cores else ["processor"]
    source = (Path(__file__).parents[2] / "hwmodels/generic.toml").read_text("utf-8")
    source = re.sub(r"count( +)= { value = 16", rf"count\1= {{ value = {processor_cores + 1}", source)
    zero, cores = [0] * len(own), [processor_cores] * len(own)
    kinds = (
        f"\n[kinds]\nnames = {[*own, 'device']}\ncores = " + _number([*cores, 1], "core")
        + "link_bandwidth = " + _number([*zero, 4], "GB/s") + "link_latency = " + _number([*zero, 2], "us")
        + "memory_size = " + _number([*zero, 1], "GB") + f"[data]\nmode = 'sent'\nplaces = '{places}'\n"
    )  # fmt: skip
    path = tmp_path / "with-device.toml"
    path.write_text(source.replace('name = "generic"', 'name = "with-device"') + kinds, "utf-8")
    return path


@pytest.mark.rule("Places")
def test_a_device_has_a_memory_and_a_link(replay, tmp_path):
    """From the processor's cores to the device: 2 us + 8 MB at 4 GB/s; its seconds are its own."""
    machine = ss.machine(with_devices(tmp_path, 2))
    network = machine.network
    assert (network.names[1], network.size_B[1]) == ("device (core 2)", 1e9)
    seconds = [[1, 9], [9, 1], [9, 1]]
    schedule, found = replay(seconds, [(0, 1), (1, 2)], machine, "heft", edge_bytes=[8e6, 8e6])
    assert schedule.executor.tolist() == [0, 2, 2]
    np.testing.assert_allclose(found, [[1, 1.002002]])


@pytest.mark.rule("Shared links")
def test_links_tell_what_passed_over_them(replay):
    """8 bytes leave core 0 from 1 to 5; the same way at 2 B/s for all of 10 s would carry 20."""
    schedule, _ = replay([1, 9, 1, 1], FORK, edge_bytes=[0, 4, 4])
    table = schedule.links.set_index("name")
    assert table.loc["out of core 0", ["bytes_B", "busy_s", "busy", "load"]].tolist() == [8, 4, 0.4, 0.4]
    assert table.loc["into core 1", ["bytes_B", "busy_s"]].tolist() == [4, 4]
    nothing, _ = replay([1.0])
    assert nothing.links.empty
    stays, _ = replay([1.0, 1.0], [(0, 1)], edge_bytes=4)
    assert stays.links.empty


@pytest.mark.rule("Homes")
@pytest.mark.parametrize("places", ["core", "domain"])
def test_without_a_memory_inputs_are_at_the_host(replay, tmp_path, places):
    machine = ss.machine(with_devices(tmp_path, 0, places)).varied({"home": "memory"})
    schedule, found = replay([1.0], machine=machine, layout="1x1", input_bytes=[4e9])
    assert schedule.start_s[0] >= 1
    assert len(found) == 1
