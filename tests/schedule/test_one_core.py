"""The core that speed-ups are over, one for all tables."""

import pytest

import simsched as ss
from simsched.panel.numbers import details


def test_speed_ups_are_over_the_kind_on_which_all_tasks_take_least():
    """All tables, the report and the panel name that kind, and count from it."""
    graph = ss.TaskGraph.from_edges([1.0] * 10)
    machine = ss.machine("core-i7-1370p[cores=7]")
    one = ss.schedule.one_core.one_core(graph, machine)
    kinds = ss.CostModel().on(graph, machine).kinds_s.sum(axis=0)
    assert (one.seconds_s, one.kind) == (kinds.min(), machine.kinds.names[int(kinds.argmin())])
    note = f"speed-ups are over one core of kind {one.kind}, on which all tasks in sequence take least"
    compared = ss.compare(graph, machine, ["heft"])
    predicted = ss.predict(graph, machine, "heft", [7], samples=1)
    several = ss.machines(graph, [machine], ["heft"], samples=1)
    for frame in (compared, predicted, several):
        assert frame["speedup"][0] == pytest.approx(one.seconds_s / frame["makespan_s"][0])
        assert any(note in said for said in frame.notes)
    made = ss.report(graph, machine, ["heft"], seeds=1, replays=0)
    assert made.findings.one_core == one
    assert f"over one core of kind {one.kind}" in made.html
    schedule = ss.simulate(graph, machine, "heft")
    shown = details(schedule.explain(), ss.bounds(graph, machine), one)
    assert f"times as fast as one core of kind {one.kind}" in shown


def test_an_empty_graph_has_one_efficiency():
    graph, machine = ss.TaskGraph.from_edges([]), ss.machine("generic[cores=4]")
    one = ss.schedule.one_core.one_core(graph, machine)
    row = ss.predict(graph, machine, "fifo", [4], samples=1).iloc[0]
    assert (row["speedup"], row["efficiency"]) == (one.speedup(0.0), one.efficiency(0.0)) == (1.0, 1.0)
    schedule = ss.simulate(graph, machine, "fifo")
    assert "100.0%: 1 times as fast as one core" in details(
        schedule.explain(), ss.bounds(graph, machine), one
    )
