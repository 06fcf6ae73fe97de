"""By what tasks were slowed down, by hand, and against the slow-down that the engine works with."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import simsched as ss
from simsched.errors import EngineError
from simsched.explain import causes
from simsched.replay.contention import Contention
from simsched.testing.equivalence import LIMITS, cases
from simsched.testing.strategies import of_kinds

# Endless bandwidth, 10 GB/s a core: a task of 1 s and 10 GB waits for the memory all the time, and for nobody.
WIDE = "core_bandwidth_Bps=1e10,bandwidth_Bps=1e15"


def told(seconds, bytes_B, machine, policy="fifo", edges=(), **options):
    graph = ss.TaskGraph.from_edges(seconds, edges, bytes_B=bytes_B)
    schedule = ss.simulate(graph, machine, policy, runtime=ss.RuntimeProfile(), **options)
    frame = causes.slow_downs(schedule)
    return {cause: column.round(9).tolist() for cause, column in frame.items() if column.abs().max() > 1e-9}


def test_tiles():
    """Half of 1 s waits for the memory, 1.5 times as long on a tile of two busy cores: a quarter of a second."""
    machine = f"knl-7250[cores=2,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    assert told([1, 1], [5e9, 5e9], machine, layout="2x1") == {"tiles": [0.25, 0.25]}


def test_only_while_the_other_runs():
    """1 s beside 3 s, all waiting for the memory: 1.5 s together, in which 1 s of each is done; then one is alone."""
    machine = f"knl-7250[cores=2,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    assert told([1, 3], [1e10, 3e10], machine, layout="2x1") == {"tiles": [0.5, 0.5]}


def test_hardware_threads():
    """Two ways of one core: 1 s each takes 2 / throughput."""
    knl = ss.machine(f"knl-7250[cores=2,{WIDE},smt=2,contention=false,share_cores=true]")
    found = told([1, 1], None, knl, "fifo[placement=dense]", layout="4x1")
    assert found == {"hardware threads": [round(2 / knl.compute_throughput[1] - 1, 9)] * 2}


def test_remote_memory():
    """2 reads what 1 made on the other socket: it takes the penalty's times as long."""
    machine = ss.machine(f"xeon-8160x2[cores=2,{WIDE},contention=false,remote_memory=true]")
    found = told([1, 1, 1], [0, 0, 1e10], machine, "fifo", [(1, 2)], layout="2x1")
    assert found == {"remote memory": [0, 0, round(machine.memory.remote_penalty - 1, 9)]}


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(cases())
def test_parts_of_a_slowdown_add_up_to_it(case):
    """At every update of every replay."""

    class Checked(Contention):
        def update(self):
            changed = list(super().update())
            for task, team in self._running.items():
                assert 1 + sum(self.excess(task)) == pytest.approx(team.slowdown, rel=1e-9)
            return changed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simsched.replay.sharing_replay.Contention", Checked)
        ss.simulate(**case, engine="simpy")


def test_aborted_runs_slow_others_down_while_they_run():
    """1 needs the whole memory of 10 GB/s for its second, and 0 half a GB/s, until core 1 takes it over."""
    bandwidth = "core_bandwidth_Bps=1e10,bandwidth_Bps=1e10,contention=false,share_bandwidth=true"
    machine = f"generic[cores=2,kinds=each,{bandwidth}]"
    graph = ss.TaskGraph.from_edges([[20.0, 1.0], [20.0, 1.0]], bytes_B=[1e10, 1e10])
    schedule = ss.simulate(graph, machine, "heteroprio", "2x1", runtime=ss.RuntimeProfile())
    assert schedule.lost_runs["task"].tolist() == [0]
    found = causes.slow_downs(schedule)
    assert schedule.finish_s[1] > 1.05
    assert found["memory bandwidth"].tolist() == pytest.approx([0, schedule.finish_s[1] - 1])
    assert found["cause unknown"].abs().max() < 1e-12


def test_what_slowed_an_aborted_run_down_counts_for_none(monkeypatch):
    """2 runs on two cores, whose threads' overhead the interconnect lengthens, and then alone on the device."""
    machine = of_kinds("generic[cores=7]").varied({"share_interconnect": True})
    graph = ss.TaskGraph.from_edges([1e-6, 3, 4], kinds="Conv")
    runtime = ss.RuntimeProfile(barrier_per_thread_s=0.5)
    schedule = ss.simulate(graph, machine, "heteroprio", "3x2+1", runtime=runtime)
    assert schedule.lost_runs["task"].tolist() == [1, 2]
    for _ in range(2):
        assert causes.slow_downs(schedule)["interconnect"].tolist() == [0, 0, 0]
        monkeypatch.setattr(causes, "find", lambda: None)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(st.one_of(cases(), cases(LIMITS, st.just(ss.policy("heteroprio")))))
def test_the_compiled_walk_is_that_in_python(case):
    """To the bit, of all tasks and of some; also without a compiled module, where there is one walk only."""
    try:
        schedule = ss.simulate(**case)
    except EngineError:
        assume(False)
    some = np.arange(0, schedule.graph.n_tasks, 3, dtype=np.int32)
    found = causes.slow_downs(schedule)
    of_some = causes.slow_downs_of(schedule, some)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causes, "find", lambda: None)
        assert causes.slow_downs(schedule).equals(found)
    for cause, seconds in of_some.items():
        assert seconds.tolist() == found[cause].to_numpy()[some].tolist()


def test_large_schedules_are_not_walked_through_unless_asked(monkeypatch):
    for most in ("MOST_LOOKS", "MOST_LOOKS_COMPILED"):
        monkeypatch.setattr(causes, most, 3)
    machine = f"knl-7250[cores=2,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    graph = ss.TaskGraph.from_edges([1, 1], bytes_B=[1e10, 1e10])
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", runtime=ss.RuntimeProfile())
    why = ss.explain(schedule)
    assert why.slow_downs["cause unknown"].tolist() == [0.5, 0.5]
    assert any("causes=True" in note for note in why.notes)
    asked = ss.explain(schedule, causes=True)
    assert asked.slow_downs["tiles"].tolist() == [0.5, 0.5]
    assert asked.notes == ()
    assert np.allclose(asked.core_time["core_s"].sum(), 2 * schedule.makespan_s)
