"""Machines compared by a graph's makespan."""

import math
from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError, SpecError
from simsched.study.machines import chosen_machines

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])


def test_by_hand():
    """On one core 6 s; on two 4 s, the critical path; on four the same, for twice the core-seconds."""
    names = ["generic[cores=1]", "generic[cores=2]", "generic[cores=4]"]
    found = ss.machines(GRAPH, names, ["sequential", "fifo"])
    assert found["machine"].tolist() == [names[1], names[2], names[0]]
    assert found["makespan_s"].tolist() == [4, 4, 6]
    assert found["times_best"].tolist() == [1, 1, 1.5]
    assert found["fastest_share"].tolist() == [1, 1, 0]
    assert found["core_s"].tolist() == [8, 16, 6]
    assert found["policy"].tolist() == ["fifo", "fifo", "sequential"]
    assert found["binds"].tolist() == ["critical path", "critical path", "cores"]
    assert found["low_s"].tolist() == found["high_s"].tolist() == found["makespan_s"].tolist()
    assert found.plot().get_legend_handles_labels()[1] == ["lower bound (costs as they are)", "interval"]


def test_which_is_fastest_is_said_to_be_undecided_where_it_is():
    """One chip twice as fast as itself in every world; two chips with the same numbers, of which nothing is exact."""
    graph = ss.TaskGraph.from_edges([1.0] * 8, kinds="MatMul", flops=[1e9] * 8, recorded_on="xeon-8160x2")
    found = ss.machines(graph, ["grace[cores=2]", "grace[cores=4]"], ["fifo"], samples=10)
    assert found["fastest_share"].tolist() == [1.0, 0.0]
    assert not any("not decided" in note for note in found.notes)
    found = ss.machines(graph, ["grace[cores=4]", "graviton4[cores=4]"], ["fifo"], samples=10)
    assert found["fastest_share"].sum() == pytest.approx(1.0)
    first, other = found["machine"]
    share = {row.machine: row.fastest_share for row in found.itertuples()}
    assert 0 < share[other] < 1
    assert found.notes[0].startswith(
        "which machine is the fastest is not decided; of the worlds that were sampled"
    )
    assert f"{first} in {share[first]:.0%}" in found.notes[0]
    (alone,) = ss.machines(graph, ["grace"], ["fifo"], samples=1)["fastest_share"]
    assert math.isnan(alone)


def test_machines_that_differ_by_the_time_of_a_decision_are_both_the_fastest():
    """The critical path takes 4 s on each; dispatching takes nanoseconds."""
    found = ss.machines(GRAPH, ["a64fx", "grace"], ["critical-path"], samples=10)
    assert found["fastest_share"].tolist() == [1.0, 1.0]
    assert not any("not decided" in note for note in found.notes)


def test_power_is_stated_or_said_to_be_unknown():
    found = ss.machines(GRAPH, ["xeon-8470", "generic"], ["fifo"], samples=1).set_index("machine")
    watts = ss.machine("xeon-8470").power_W
    assert found["energy_J"]["xeon-8470"] == watts * found["makespan_s"]["xeon-8470"]
    assert math.isnan(found["energy_J"]["generic"])
    stated = ss.machines(GRAPH, ["generic[idle_W=10,busy_W=20,all_cores_W=30]"], ["fifo"], samples=1)
    schedule = ss.simulate(GRAPH, "generic[idle_W=10,busy_W=20,all_cores_W=30]", "fifo", stated["layout"][0])
    assert stated["energy_J"].tolist() == [schedule.metrics()["energy_J"]]
    alone = ss.machines(GRAPH, ["generic"], ["fifo"], samples=1)
    assert "energy_J" not in alone.shown
    assert alone.notes[-1].startswith("energy_J is empty")
    both = ss.machines(GRAPH, ["xeon-8470", "generic"], ["fifo"], samples=1)
    assert both.notes[-1].endswith("empty where no power is known: generic")

    few = ss.machines(GRAPH, ["xeon-8470[cores=13]", "knl-7250"], ["fifo"], samples=1)
    assert few.set_index("machine")["power_W"]["xeon-8470[cores=13]"] == watts
    assert [note for note in few.notes if note.startswith("xeon-8470[cores=13] is its whole chips")]


def test_the_interval_is_that_of_predict():
    graph = ss.workload("rnn[layers=2,steps=8]")
    cores = ss.machine("a64fx").n_cores
    predicted = ss.predict(graph, "a64fx", "fifo", [cores], samples=6)
    (found,) = ss.machines(graph, ["a64fx"], ["fifo"], samples=6).to_dict("records")
    (wanted,) = predicted.to_dict("records")
    for column in ("layout", "makespan_s", "low_s", "high_s", "binds", "bound_s"):
        assert found[column] == wanted[column]


def test_the_shortest_policy_is_taken():
    graph = ss.workload("rnn[layers=2,steps=8]")
    compared = ss.compare(graph, "knl-7250", ["sequential", "fifo", "critical-path"])
    (found,) = ss.machines(graph, ["knl-7250"], ["sequential", "fifo", "critical-path"], samples=1).to_dict(
        "records"
    )
    assert found["makespan_s"] == compared["makespan_s"].min()


def test_the_shortest_policy_is_that_of_compare_where_estimated_layouts_are_level():
    """All policies take as long by the estimated 1x16, and `critical-path` 6 % less by another layout."""
    generator = np.random.default_rng(3)
    edges = [(i, j) for j in range(60) for i in range(max(0, j - 9), j) if generator.random() < 0.2]
    kinds = ["MatMul", "Conv2D", "Add"] * 20
    graph = ss.TaskGraph.from_edges(generator.lognormal(-7, 1, 60), edges, kinds=kinds)
    machine = "knl-7250[cores=16]"
    first = ss.compare(graph, machine, samples=1).nsmallest(1, "makespan_s").iloc[0]
    found = ss.machines(graph, [machine], samples=1).iloc[0]
    assert (
        found[["policy", "layout", "makespan_s"]].tolist()
        == first[["policy", "layout", "makespan_s"]].tolist()
    )


def test_a_machine_that_cannot_run_the_graph():
    """Seconds for two kinds of cores fit a machine of two kinds, no other."""
    graph = ss.TaskGraph.from_edges([[1.0, 2.0], [2.0, 1.0]])
    found = ss.machines(graph, ["generic", "generic[cores=2,kinds=each]"], ["fifo"], samples=2)
    assert found["makespan_s"].isna().tolist() == [False, True]
    assert found["fastest_share"].fillna(-1).tolist() == [1.0, -1]
    assert any(note.startswith("generic: not run: ") for note in found.notes)
    assert found.plot().texts[-1].get_text() == " failed"
    with pytest.raises(SimschedError, match="kinds"):
        ss.machines(graph, ["generic"], ["fifo"])


def test_an_empty_graph():
    found = ss.machines(
        ss.TaskGraph.from_edges([]), ["generic", "a64fx", "grace-hopper"], ["fifo"], samples=2
    )
    assert found["makespan_s"].tolist() == found["high_s"].tolist() == [0, 0, 0]
    assert found["times_best"].tolist() == [1, 1, 1]


def test_which_machines():
    with pytest.raises(SpecError, match="expected a list of machines"):
        ss.machines(GRAPH, "grace")
    with pytest.raises(SpecError, match=r"machines is \[\]"):
        ss.machines(GRAPH, [])
    with pytest.raises(SimschedError, match="no-such"):
        ss.machines(GRAPH, ["grace", "no-such"])
    names = {one.spec for one in chosen_machines(None)}
    assert {"grace", "knl-7250"} <= names
    assert not names & {"host", "generic"}


@pytest.mark.parametrize("seconds", [[1.0, 2.0], [1.0, np.nan]])
def test_seconds_of_nowhere_are_the_same_on_every_machine(seconds):
    """The chips were ranked, with intervals of next to nothing."""
    given = ss.TaskGraph.from_edges(seconds, flops=[1e9, 1e9])
    said = (
        "the graph's seconds are the same on every machine, so that this table compares only numbers of cores"
    )
    found = ss.machines(given, ["grace", "a64fx"], ["fifo"], samples=2)
    assert found.notes[0].startswith(said)
    for known in (
        replace(given, recorded_on=ss.RecordedOn.of("grace")),
        ss.TaskGraph.from_edges([np.nan], flops=[1e9]),
    ):
        assert said not in "".join(ss.machines(known, ["grace", "a64fx"], ["fifo"], samples=2).notes)
