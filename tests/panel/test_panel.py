"""The panel, apart from the browser: what its widgets do to the schedule, and what it says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Event, current_thread
from typing import Any

import pytest

import simsched as ss
from simsched.errors import LayoutError, MissingExtraError, SimschedError, SpecError
from simsched.machine.effects import NAMES
from simsched.panel.controls import SWITCHES
from simsched.panel.panel import BackgroundSearch
from simsched.plots.interactive.explorer import ExchangedChart


def graph(name: str = "four") -> ss.TaskGraph:
    """Return four tasks of 1 s that nothing holds back."""
    return ss.TaskGraph.from_edges([1.0] * 4, kinds=["a", "b"] * 2, name=name)


def by_hand(**options: Any) -> ss.Panel:
    """Return a panel whose chart is blank: it is no matter of the widgets, and takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExchangedChart, "frame", lambda chart: "")
        return charted(**options)


def charted(**options: Any) -> ss.Panel:
    return ss.panel(**{"graph": graph(), "machine": "generic[cores=2]", "policy": "fifo", **options})


def control(panel: ss.Panel, called: str) -> Any:
    """Return a widget by what stands beside it."""
    return next(each for each in _widgets(panel.widget) if getattr(each, "description", None) == called)


def _widgets(widget: Any) -> list[Any]:
    return [widget, *(found for child in getattr(widget, "children", ()) for found in _widgets(child))]


def said(panel: ss.Panel) -> str:
    """Return all markup that stands beside the chart."""
    import ipywidgets

    texts = [each.value for each in _widgets(panel.widget) if type(each) is ipywidgets.HTML]
    return "\n".join(text for text in texts if "<iframe" not in text)


def test_another_number_of_cores_is_simulated_and_compared_with_the_base() -> None:
    panel = charted()
    control(panel, "cores").value = 4
    assert (panel.schedule.makespan_s, panel.base.makespan_s) == (1.0, 2.0)
    assert "\u221250.0 % against the base (2 s)" in said(panel)
    control(panel, "cores").value = 1
    assert "+100.0 % against the base (2 s); 4 times the previous setting (1 s)" in said(panel)
    control(panel, "compare with this").click()
    assert panel.base is panel.schedule
    assert "this is the base" in said(panel)


def test_efficiency_is_over_cores_not_over_their_threads() -> None:
    panel = charted(
        machine="knl-7250[cores=2,smt=2,contention=false]", layout="4x1", runtime=ss.RuntimeProfile()
    )
    assert "200.0%: 4 times as fast as one core" in said(panel)


def test_policy_and_layout_are_those_of_simulate() -> None:
    panel = by_hand(machine="knl-7250")
    control(panel, "policy").value = "critical-path[seed_ranks=1]"
    assert "has no parameter" in said(panel)
    control(panel, "policy").value = "critical-path"
    control(panel, "layout").value = " 2x4 "
    own = ss.simulate(graph(), "knl-7250", "critical-path", "2x4")
    assert panel.schedule.start_s.tolist() == own.start_s.tolist()
    assert panel.schedule.layout == "2x4"


def test_the_policys_parameters_are_said_as_they_are_written() -> None:
    panel = by_hand(policy="corun[candidates=2]")
    assert "candidates=2, interval=" in said(panel)
    assert "smt=false" in said(panel)


def test_another_machine_sets_cores_and_switches_to_its_own() -> None:
    panel = by_hand()
    assert not any(control(panel, SWITCHES[name]).value for name in NAMES)
    control(panel, "cores").value = 3
    control(panel, "machine").value = "sw26010"
    assert control(panel, "cores").value == 260
    assert (control(panel, "cores").min, control(panel, "cores").step) == (65, 65)
    machine = panel.schedule.require_machine()
    assert machine == ss.machine("sw26010")
    assert all(control(panel, SWITCHES[name]).value == getattr(machine.effects, name) for name in NAMES)
    assert "4x64" in control(panel, "layout").options


def test_the_slider_shows_the_cores_that_kinds_can_give() -> None:
    panel = charted(machine="core-i7-1370p")
    control(panel, "cores").value = 10
    assert control(panel, "cores").value == panel.schedule.require_machine().n_cores == 7
    assert "core-i7-1370p[cores=10] has 7 cores, not 10" in said(panel)
    control(panel, "policy").value = "critical-path"
    assert panel.schedule.require_machine().spec == "core-i7-1370p[cores=7]"


def test_data_move_as_chosen() -> None:
    """0 hands 4 B to 1 on its core and to 2 on the other one, at 2 B/s each out and in; then in no time."""
    fork = ss.TaskGraph.from_edges([1.0] * 3, [(0, 1), (0, 2)], edge_bytes=[4, 4])
    panel = charted(graph=fork, machine="generic[cores=2,link_Bps=2]", layout="2x1")
    assert (control(panel, "data").value, panel.schedule.makespan_s) == ("sent", 4)
    control(panel, "data").value = "none"
    assert panel.schedule.makespan_s == 2
    control(panel, "machine").value = "generic[cores=2]"
    assert control(panel, "data").value == "none"
    control(panel, "data").value = "read"
    assert panel.schedule.require_machine() == ss.machine("generic[cores=2,data=read]")


@pytest.mark.parametrize("name", NAMES)
def test_each_effect_has_its_switch(name: str) -> None:
    panel = by_hand(machine="knl-7250")
    control(panel, SWITCHES[name]).value = False
    assert panel.schedule.require_machine() == ss.machine(f"knl-7250[{name}=false]")
    control(panel, SWITCHES[name]).value = True
    assert panel.schedule.require_machine() == ss.machine("knl-7250")


@pytest.mark.parametrize(
    ("called", "value", "told"),
    [
        ("layout", "3x1", "the layout 3x1 needs 3 cores"),
        ("layout", "wide", "is not a layout"),
        ("policy", "fifi", "did you mean fifo?"),
        ("policy", "", "is not a spec"),
        ("machine", "nowhere.toml", "no such file"),
        ("machine", "generic[cores=0]", "expected a whole number"),
    ],
)
def test_what_is_impossible_is_said_and_the_last_schedule_stays(called: str, value: str, told: str) -> None:
    panel = by_hand()
    before, good = panel.schedule, control(panel, called).value
    control(panel, called).value = value
    assert told in said(panel)
    assert panel.schedule is before
    control(panel, called).value = good
    assert told not in said(panel)
    assert panel.schedule.makespan_s == 2.0


def test_a_policy_of_ones_own_that_fails_is_said() -> None:
    class Moody(ss.Policy):
        name = "moody"

        def decide(self, view: Any) -> Any:
            if len(view.idle_cores) > 2:
                raise ZeroDivisionError("<b>no mood</b>")
            yield from (ss.Start(task) for task in view.ready[: len(view.idle_cores)])

    panel = by_hand(policy=Moody)
    assert control(panel, "policy").value == "moody"
    control(panel, "cores").value = 3
    assert "&lt;b&gt;no mood&lt;/b&gt;" in said(panel)
    assert panel.schedule.makespan_s == 2.0


def test_of_several_graphs_one_is_chosen_and_is_the_new_base() -> None:
    two = ss.TaskGraph.from_edges([3.0], name="<i>one</i>")
    panel = by_hand(graph=[graph(), two])
    control(panel, "graph").value = 1
    assert panel.schedule.graph is two
    assert panel.base is panel.schedule
    assert "this is the base" in said(panel)


def test_it_begins_with_objects_and_what_is_passed_on() -> None:
    machine = ss.machine("generic[cores=2]")
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    panel = by_hand(machine=machine, layout=(1, 2), runtime=runtime, seed=3)
    assert panel.schedule.machine is machine
    own = ss.simulate(graph(), machine, "fifo", "1x2", runtime=runtime, seed=3)
    assert (panel.schedule.makespan_s, panel.schedule.seed) == (own.makespan_s, 3)


def test_an_impossible_beginning_is_an_error() -> None:
    for wrong in ([], None, "lstm"):
        with pytest.raises(SimschedError, match="TaskGraph"):
            by_hand(graph=wrong)
    with pytest.raises(LayoutError, match="9x9"):
        by_hand(layout="9x9")
    with pytest.raises(SpecError, match="fifi"):
        by_hand(policy="fifi")


def test_without_ipywidgets_the_line_to_type_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[notebook\]'"):
        by_hand()


def test_an_empty_graph_takes_no_time() -> None:
    panel = charted(graph=ss.TaskGraph.from_edges([]))
    control(panel, "cores").value = 1
    assert "+0.0 % against the base (0 s)" in said(panel)


def test_it_begins_with_the_best_layout_and_keeps_finding_it() -> None:
    panel = by_hand(machine="generic[cores=4]")
    assert control(panel, "layout").value == "best"
    assert control(panel, "layout").options[:2] == ("best", "estimate")
    for cores in (4, 2, 3):
        control(panel, "cores").value = cores
        best = ss.simulate(graph(), f"generic[cores={cores}]", "fifo", "best")
        assert (panel.schedule.layout, panel.schedule.makespan_s) == (best.layout, best.makespan_s)
    assert best.inputs is not None
    assert f"{best.layout}, {best.inputs.layout_why}" in said(panel)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Hold searches beside what somebody does until this is set."""
    go, run = Event(), BackgroundSearch.run

    def later(search: BackgroundSearch) -> None:
        if current_thread() is search:
            go.wait(60)
        run(search)

    monkeypatch.setattr(BackgroundSearch, "run", later)
    yield go
    go.set()


def many(n: int = 4001) -> ss.TaskGraph:
    """Return more tasks than a change has the time to find the best layout of; the estimate takes all of one width."""
    return ss.TaskGraph.from_edges([1.0] * n, [(0, i) for i in range(1, n)])


def test_of_a_large_graph_the_estimate_is_shown_until_the_best_is_found(held: Event) -> None:
    panel = charted(graph=many())
    assert control(panel, "layout").value == "best"
    assert panel.schedule.inputs is not None
    assert panel.schedule.inputs.layout_by == "estimate"
    assert "looking for the best layout" in said(panel)
    assert "found by an estimate" in said(panel)
    held.set()
    panel.wait()
    best = ss.simulate(panel.schedule.graph, "generic[cores=2]", "fifo", "best")
    assert (panel.schedule.layout, panel.schedule.makespan_s) == (best.layout, best.makespan_s)
    assert best.inputs is not None
    assert best.inputs.layout_why in said(panel)
    assert "looking for" not in said(panel)
    assert panel.base is panel.schedule
    assert "this is the base" in said(panel)


def test_another_change_ends_the_search_for_the_one_before(held: Event) -> None:
    panel = by_hand(graph=many())
    first = panel._search
    assert first is not None
    control(panel, "cores").value = 3
    second = panel._search
    assert second is not None
    shown = panel.schedule
    base = panel.base
    held.set()
    first.join(60)
    second.join(60)
    # What was found for two cores is dropped: the base stays that of the estimate.
    assert panel.base is base
    assert panel.schedule is not shown
    assert panel.schedule.n_cores == 3
    control(panel, "layout").value = "estimate"
    panel.wait()
    assert panel.schedule.inputs is not None
    assert panel.schedule.inputs.layout_by == "estimate"


def test_a_search_that_nobody_waits_for_ends_in_the_middle_of_a_replay() -> None:
    calls: list[int] = []

    def find(progress: Callable[[int], object]) -> ss.Schedule:
        def told(finished: int) -> None:
            calls.append(finished)
            search.stop()
            progress(finished)

        return ss.simulate(many(300_000), "generic[cores=2]", "fifo", "2x1", progress=told)

    ended: list[object] = []
    search = BackgroundSearch(find, lambda *found: ended.append(found), lambda *failed: ended.append(failed))
    search.run()
    assert len(calls) == 1
    assert ended == []


def test_a_search_that_fails_says_why_and_what_is_shown_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def moody(*_: object, **__: object) -> ss.Schedule:
        raise ZeroDivisionError("<b>no mood</b>")

    monkeypatch.setattr(sys.modules["simsched.panel.panel"], "advised", moody)
    panel = by_hand(layout="1x1")
    assert "the best layout is not known: ZeroDivisionError: &lt;b&gt;no mood&lt;/b&gt;" in said(panel)
    assert panel.schedule.makespan_s == 4.0


@pytest.mark.parametrize("n", [4, 4001])
def test_what_a_given_layout_costs_over_the_best_is_said(n: int) -> None:
    panel = by_hand(graph=many(n), layout="1x1")
    panel.wait()
    best = ss.simulate(many(n), "generic[cores=2]", "fifo", "best")
    saved = 100 * (1 - best.makespan_s / panel.schedule.makespan_s)
    sentence = f"fifo: the layout 1x1 was given; {best.layout} takes {saved:.0f} % less"
    # In sight, and among the notes.
    assert said(panel).count(sentence) == 2
    assert panel.base is panel.schedule
    control(panel, "layout").value = "2x1"
    panel.wait()
    assert "was given" not in said(panel)
    assert "2x1, given by the caller" in said(panel)


def test_it_offers_the_layouts_that_the_policy_chooses_from() -> None:
    """With two threads of each core in use, teams of all threads, too; one team for `sequential`."""
    panel = by_hand(machine="knl-7250[cores=2,smt=2,contention=false]")
    assert control(panel, "layout").options == ("best", "estimate", "1x4", "2x2", "4x1", "1x2", "2x1")
    control(panel, "policy").value = "sequential"
    offered = control(panel, "layout").options[2:]
    assert offered == tuple(map(str, ss.policy("sequential").layouts(panel.schedule.require_machine())))
    assert all(layout.startswith("1x") for layout in offered)
    control(panel, "cores").value = 4
    assert "1x8" in control(panel, "layout").options
