"""Memory bandwidth that running tasks share, by hand (rule 5)."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.loads import Load
from simsched.replay.contention import Bandwidth
from simsched.replay.decision import Decision
from simsched.testing.strategies import graphs, layouts, machines

# Cores of 10 GB/s on a memory of 10 GB/s: one memory-bound task fills it.
TWO_CORES = "generic[cores=2,bandwidth_Bps=1e10,share_bandwidth=true]"


def share(engine, seconds, bytes_B, edges=(), machine=TWO_CORES, policy="fifo", **options):
    graph = ss.TaskGraph.from_edges(seconds, edges, bytes_B=bytes_B)
    return ss.simulate(graph, machine, policy, engine=engine, **options)


@pytest.mark.rule("Memory bandwidth")
def test_two_tasks_that_fill_the_memory_take_twice_as_long(engine):
    """Both move 10 GB in 1 s alone; together they ask for 20 of 10 GB/s: p = 2, 2 s each."""
    assert share(engine, [1, 1], [1e10, 1e10]).finish_s.tolist() == [2, 2]


@pytest.mark.rule("Sharing")
def test_rates_change_when_a_task_finishes(engine):
    """1 needs 0.5 s alone and ends at 1 s, p = 2 until then; 0 has done half of its 1 s and needs 0.5 s more."""
    assert share(engine, [1, 0.5], [1e10, 5e9]).finish_s.tolist() == [1.5, 1]


@pytest.mark.rule("Sharing")
def test_rates_change_when_a_task_starts(engine):
    """0 (2 s alone) has the memory to itself until 1 s, when the chain 1 -> 2 reaches its memory-bound part.

    2 (1 s alone) starts at 1 s: both run at half speed. 0 has 1 s left and ends at 3 s, as does 2.
    """
    schedule = share(engine, [2, 1, 1], [2e10, 0, 1e10], [(1, 2)])
    assert schedule.start_s.tolist() == [0, 0, 1]
    assert schedule.finish_s.tolist() == [3, 1, 3]


@pytest.mark.rule("Memory bandwidth")
def test_only_the_memory_bound_share_is_slowed_down(engine):
    """Each moves 5 GB in 1 s: half of its time at 10 GB/s. Three at once ask for 15 of 10 GB/s.

    p = 1 + (1.5 - 1) / 0.5 = 2, so each takes 0.5 + 0.5 x 2 = 1.5 s, in which the memory moves its 15 GB.
    """
    machine = "generic[cores=3,bandwidth_Bps=1e10,share_bandwidth=true]"
    assert share(engine, [1, 1, 1], [5e9] * 3, machine=machine).finish_s.tolist() == [1.5] * 3


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12), st.floats(0.1, 1.0))
def test_a_memory_moves_no_more_than_it_can(seconds, share_of_core):
    """Tasks of one memory share, all at once: no sooner than their bytes over the bandwidth."""
    moved = [s * 10e9 * share_of_core for s in seconds]
    machine = "generic[cores=12,bandwidth_Bps=1e10,share_bandwidth=true]"
    assert share("simpy", seconds, moved, machine=machine).makespan_s >= sum(moved) / 1e10 * (1 - 1e-6)


def test_tasks_within_the_bandwidth_do_not_disturb_each_other(engine):
    assert share(engine, [1, 1], [5e9, 5e9]).finish_s.tolist() == [1, 1]


def test_unknown_bytes_ask_for_nothing(engine):
    assert share(engine, [1, 1], [1e10, np.nan]).finish_s.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("stated", "finish_s"),
    [
        ("", 1),  # 160 GB/s by definition, which nothing shares
        (",bandwidth_Bps=1e10", 2),
        (",memory.modes.memory.bandwidth=10", 2),
        (",core_bandwidth_Bps=1e10", 1),
        (",bandwidth_Bps=1e10,share_bandwidth=false", 1),
        (",bandwidth_Bps=1e10,contention=false", 1),
        (",contention=false,bandwidth_Bps=1e10,share_bandwidth=true", 2),
    ],
)
@pytest.mark.rule("Switches")
def test_a_bandwidth_in_the_brackets_is_shared_unless_they_switch_that_off(engine, stated, finish_s):
    """As in the first test where the memory is shared, 1 s where not."""
    machine = f"generic[cores=2{stated}]"
    schedule = share(engine, [1, 1], [1e10, 1e10], machine=machine)
    assert schedule.finish_s.tolist() == [finish_s] * 2
    assert not ss.machine(machine).notes


@pytest.mark.rule("Sharing")
def test_a_dispatch_that_ends_between_changes_nothing_twice(engine):
    """Dispatch 0.5 s: 0 runs alone from 0.5 to 1 and has 0.5 s left when 1 starts; at half speed it ends at 2.

    1 (1 s) has done half by then and ends at 2.5.
    """
    schedule = share(
        engine,
        [1, 1],
        [1e10, 1e10],
        policy="critical-path",
        layout="2x1",
        runtime=ss.RuntimeProfile(dispatch_s=0.5),
    )
    assert schedule.start_s.tolist() == [0.5, 1]
    assert schedule.finish_s.tolist() == [2, 2.5]


def test_corun_on_a_shared_memory(engine):
    """Two serial memory-bound tasks side by side, as in the first test."""
    done = share(engine, [1, 1], [1e10, 1e10], policy="corun", layout="2x1")
    assert done.finish_s.tolist() == [2, 2]


def test_demand_leaves_no_rest():
    memory = Bandwidth(1e9)
    for task, demand in enumerate((3, 10**12, 7)):
        memory.begin(Decision(task, 0, 0, 1.0, 0.0, (0,), Load(1.0, 0.0, demand)))
    assert dict(memory.update()) == dict.fromkeys(range(3), (10**12 + 10) / 1e9)
    for task in (1, 2, 0):
        memory.end(task)
    assert memory.update() == []
    memory.begin(Decision(0, 0, 0, 1.0, 0.0, (0,), Load(1.0, 0.0, 10**9)))
    assert memory.update() == ()


@given(graphs(), machines(), st.data())
def test_a_memory_that_is_never_short_changes_nothing(graph, machine, data):
    """With endless bandwidth, sharing it gives the same bits as not sharing it; with little, nothing gets faster."""
    layout = data.draw(layouts(machine))
    plain = machine.varied({"bandwidth_Bps": 1e15, "contention": False})
    alone, endless = (
        ss.simulate(graph, m, "fifo", layout, engine="simpy")
        for m in (plain, plain.varied({"share_bandwidth": True}))
    )
    assert alone.finish_s.tobytes() == endless.finish_s.tobytes()
    shared = ss.simulate(graph, machine, "fifo", layout, engine="simpy")
    least = shared.start_s + shared.alone_s
    assert (shared.finish_s >= least * (1 - 1e-9)).all()


@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_switch_is_true_or_false(value):
    with pytest.raises(ss.SimschedError, match="expected true or false"):
        ss.machine(f"generic[share_bandwidth={value}]")


def test_a_large_machine(engine):
    """1,024 cores: each of two tasks draws at most what its 512 cores reach, 5.12e12 of 1e14 B/s: no pressure."""
    machine = "generic[cores=1024,bandwidth_Bps=1e14,share_bandwidth=true]"
    schedule = share(engine, [1, 1], [1e14, 1e14], machine=machine, layout="2x512")
    assert schedule.finish_s.tolist() == [1, 1]


@pytest.mark.rule("Memory bandwidth")
@pytest.mark.parametrize("more", ["", ",contention=true"])
def test_clusters_have_a_limit_of_their_own(engine, more):
    """Two cores of a cluster move 10 GB/s, the memory 40: two tasks of 10 GB/s take 2 s on one cluster, 1 s on two.

    One task on both cores of a cluster is no faster than on one, and not slowed down by itself.
    """
    machine = (
        "generic[cores=4,cores.per_tile=2,core_bandwidth_Bps=1e10,bandwidth_Bps=4e10,cluster_bandwidth_Bps=1e10"
        f"{more}]"
    )
    one = share(engine, [1, 1], [1e10, 1e10], machine=machine, layout="4x1")
    two = share(engine, [1, 1, 1], [1e10, 0, 1e10], machine=machine, layout="4x1")
    team = share(engine, [1, 1], [1e10, 0], machine=machine, layout="2x2")
    assert one.finish_s.tolist() == [2, 2]
    assert two.finish_s.tolist() == [1, 1, 1]
    assert team.finish_s[0] == 1
    assert one.explain(1) is not None


@given(st.integers(0, 2**32))
def test_engines_agree_where_clusters_limit(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    edges = [(a, b) for b in range(1, n) for a in rng.choice(b, min(b, 2), replace=False).tolist()]
    graph = ss.TaskGraph.from_edges(rng.uniform(0.1, 2, n), edges, bytes_B=rng.uniform(0, 2e10, n))
    machine = (
        "xeon-8160x2[cores=16,contention=true]"
        if seed % 2
        else "generic[cores=16,domains=2,cores.per_tile=4,contention=true]"
    )
    limited = ss.machine(machine).varied({"cluster_bandwidth_Bps": 1.5e10, "bandwidth_Bps": 3e10})
    layout = ["12x1", "3x4", "4x3", "2x5"][int(rng.integers(4))]
    runs = [
        ss.simulate(graph, limited, "fifo", layout=layout, engine=engine) for engine in ("simpy", "native")
    ]
    assert runs[0].finish_s.tolist() == runs[1].finish_s.tolist()


def test_links_beside_one_memory_change_no_bit():
    """Both engines take the simpler model where tasks share one memory alone, whatever moves on links."""
    none = float("nan")
    graph = ss.TaskGraph.from_edges(
        [0.0, 1e-6, 0.1, 0.1, 0.0], kinds="MatMul", bytes_B=[none, 1e6, 1e6, 5e9, none]
    )
    costs = ss.CostModel(default=ss.Curve(1.0, 0.0))
    machines = [f"generic[cores=11,bandwidth_Bps=1e9,data=sent,share_links={on}]" for on in ("true", "false")]
    finish_s = [
        ss.simulate(graph, machine, "corun", costs=costs, engine=engine).finish_s.tolist()
        for machine in machines
        for engine in ("simpy", "native")
    ]
    assert finish_s == [finish_s[0]] * 4
