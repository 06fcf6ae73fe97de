"""What a report finds out, against numbers by hand and against the functions it is made of."""

from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.report import Question
from simsched.report.findings import Findings
from simsched.units import format_time


def test_the_best_policy_and_how_far_it_is_from_the_bounds(three):
    found = three.findings
    assert [run.name for run in found.done] == ["fifo", "critical-path", "sequential"]
    assert found.best.makespans_s.tolist() == [4.0]
    assert (found.limits.critical_path_s, found.limits.area_s) == (4.0, 3.0)
    assert three.headline == (
        "three takes 4 s on generic[cores=2] (2 cores) under fifo, 2x1, the shortest of 3 policies, layouts found "
        "by replays, level with critical-path, sequential takes 50.0% longer."
    )
    assert (
        "No policy takes less than 4 s, which the critical path sets; the best one is 0.0% above it"
        in three.sentences[0]
    )
    assert three.sentences[1] == "Of the cores' time 75.0% is work; most of the rest is idle: tail (25.0%)."


def test_all_policies_that_are_level_are_counted():
    graph = ss.TaskGraph.from_edges([1.0] * 4)
    policies = ["fifo", "critical-path", "wavefront"]
    made = ss.report(graph, "knl-7250[cores=2,smt=2,contention=false]", policies, seeds=1, replays=0)
    assert "level with fifo and 1 other, sequential" in made.headline
    assert made.sentences[1].startswith("Of the hardware threads' time")


def test_turns_of_threads_on_a_core_are_said_to_be_those_of_each():
    """Six threads on two cores take three times as long, side by side: each waits two thirds of its time."""
    graph, policy = ss.TaskGraph.from_edges([1.0] * 6), "fifo[oversubscribe=fair]"
    made = ss.report(graph, "generic[cores=2]", [policy], layout="6x1", seeds=1, replays=0)
    assert made.sentences[1].endswith(
        "slow-down: hardware threads (200.0%), counted for each of the threads that share a core."
    )


def test_the_table_of_policies(three):
    first, *_, last = three.tables()["Policies on generic[cores=2], the shortest first"]
    assert first == {
        "policy": "fifo", "layout": "2x1", "chosen by": "replays", "makespan": "4 s",
        "over best": "+0.0%",
        "above bound": "+0.0%",
        "speed-up": "1.5", "efficiency": "75.0%", "in use": "75.0%",
    }  # fmt: skip
    assert (last["policy"], last["over best"], last["efficiency"]) == ("sequential", "+50.0%", "50.0%")
    assert {
        "Layouts of the policies; replays are those made to choose, before any of this report",
        "What would help most, each row a replay with the same layout; the policy still plans with the old seconds",
    } <= three.tables().keys()


def test_intervals_are_those_of_compare_and_predict():
    """The headline says how wrong it may be, as the table of policies and that of core counts do."""
    graph = ss.TaskGraph.from_edges(
        [1e-3, 2e-3, 1e-3, 3e-3], [(0, 2), (1, 3)], kinds="MatMul", name="uncertain"
    )
    policies = ["sequential", "fifo"]
    made = ss.report(graph, "knl-7250", policies, replays=0)
    compared = ss.compare(graph, "knl-7250", policies).frame.set_index("policy")
    for run in made.findings.done:
        low_s, high_s = compared.loc[run.name, ["low_s", "high_s"]]
        assert run.may_take == (run.interval.middle, low_s, high_s)
        assert low_s < high_s
    scaling, counts = made.findings.scaling, made.findings.scaling["cores"].tolist()
    again = ss.predict(graph, "knl-7250", made.findings.best.policy, counts)
    assert scaling[["low_s", "high_s"]].values.tolist() == again[["low_s", "high_s"]].values.tolist()
    assert scaling["samples"].tolist() == again["samples"].tolist()
    between = made.tables()["Policies on knl-7250, the shortest first"][0]["interval"]
    assert (
        f"uncertain takes {format_time(made.findings.best.interval.middle)} ({between}) on" in made.headline
    )


def test_intervals_that_can_take_long_are_left_out_and_the_report_says_so():
    graph = ss.TaskGraph.from_edges([1e-3, 2e-3, 1e-3, 3e-3], [(0, 2), (1, 3)], kinds="MatMul")
    made = ss.report(graph, "knl-7250", ["optimal[effort=0.01]"], replays=0)
    (left_out,) = made.findings.left_out
    assert (
        left_out
        == "intervals: of these policies they can take minutes; compare with samples=20 (--samples 20) has them"
    )


@pytest.mark.parametrize(("machine", "layout"), [("grace-hopper", "1x72+1"), ("core-i7-1370p", "3x4")])
def test_layouts_on_several_kinds_of_cores_have_teams_of_one_kind(machine, layout):
    """One layout of the grid, of all cores, had teams of several, and no layout was in the report for it."""
    graph = ss.TaskGraph.from_edges([1e-3] * 8, kinds="MatMul", flops=[1e9] * 8, bytes_B=[1e6] * 8)
    made = ss.report(graph, machine, ["critical-path"], replays=0)
    assert made.findings.left_out == []
    assert layout in made.findings.layouts["layout"].tolist()


def test_a_report_says_where_another_policy_may_be_the_fastest():
    """The policies differ by less than what is not known of their costs."""
    graph, asked = ss.workload("lstm[size=small,layers=1,steps=3]"), ["critical-path", "data-parallel"]
    made = ss.report(graph, "xeon-8160x2", asked, replays=0)
    compared = ss.compare(graph, "xeon-8160x2", asked)
    (said,) = [note for note in compared.notes if "is not decided" in note]
    assert made.sentences[0] == made.findings.undecided == f"W{said[1:]}."
    np.testing.assert_array_equal(
        made.findings.fastest_share, compared.frame.sort_values("makespan_s")["fastest_share"]
    )


def test_tables_are_those_of_the_functions(three):
    found, graph = three.findings, three.findings.question.graph
    again = ss.predict(graph, "generic[cores=2]", "fifo", found.scaling["cores"].tolist())
    np.testing.assert_array_equal(found.scaling["makespan_s"], again["makespan_s"])
    assert found.helps.equals(found.schedule.explain().what_if(replays=8))
    assert sorted(found.layouts["layout"]) == ["1x1", "1x2", "2x1"]


def test_efficiency_is_over_one_core_where_teams_gain_more_than_their_cores():
    """1 s on one core, 0.4 s on two: the least core-seconds are 0.8, but one core alone takes 1 s."""
    op = MeasuredOp(Op("mine", "2x2"), (Point(1, 1.0), Point(2, 0.4)))
    graph = ss.TaskGraph.from_edges([1.0] * 3, kinds="mine", shapes="2x2")
    costs = ss.CostModel(measured=MeasuredCurves((op,)))
    made = ss.report(graph, "generic[cores=2]", ["sequential"], costs=costs, seeds=1, replays=0)
    assert made.findings.one_core.efficiency(1.2) == pytest.approx(1.25)
    assert "| work on one core | 3 s |" in made.markdown


def test_efficiency_is_over_cores_in_reports_and_predictions_alike():
    """Four threads of two cores, which lose nothing here, do four times the work of one core in its time."""
    machine, graph = "knl-7250[cores=2,smt=2,contention=false]", ss.TaskGraph.from_edges([1.0] * 8)
    made = ss.report(graph, machine, ["fifo"], seeds=1, replays=0)
    row = ss.predict(graph, machine, "fifo", [2], samples=1).iloc[0]
    assert made.findings.one_core.efficiency(row["makespan_s"]) == row["efficiency"] == pytest.approx(2.0)
    assert made.findings.scaling["efficiency"][0] == row["efficiency"]


def test_seeds_count_where_they_make_a_difference():
    graph = ss.TaskGraph.from_edges(np.linspace(1, 2, 20))
    quiet = ss.report(graph, "generic[cores=2]", ["fifo"], seeds=4, replays=0)
    assert quiet.findings.best.makespans_s.shape == (1,)
    noisy = ss.report(
        graph,
        "generic[cores=2]",
        ["fifo", "critical-path"],
        costs=ss.CostModel(noise=0.3),
        seeds=4,
        replays=0,
    )
    best = noisy.findings.best
    again = [
        ss.simulate(
            graph, "generic[cores=2]", best.policy, costs=ss.CostModel(noise=0.3), seed=seed
        ).makespan_s
        for seed in range(4)
    ]
    assert best.makespans_s.tolist() == again
    assert best.interval.low <= best.interval.middle <= best.interval.high
    assert best.interval.middle == pytest.approx(np.prod(again) ** (1 / len(again)))
    assert "95 % interval" in noisy.markdown
    own = noisy.findings.scaling.set_index("cores").loc[2]
    assert own[["makespan_s", "low_s", "high_s"]].tolist() == [*best.may_take]


def test_a_policy_that_fails_is_a_row_with_its_error():
    graph = ss.TaskGraph.from_edges([1.0, 2.0])
    found = ss.report(graph, "generic[cores=2]", ["fifo", "critical-path[reserved=5]"], seeds=1, replays=0)
    assert [run.schedule is None for run in found.findings.runs] == [False, True]
    assert any(sentence.startswith("Not replayed: critical-path") for sentence in found.sentences)
    assert "failed: " in found.markdown


def test_the_recorded_run_stands_beside_its_replay(recorded):
    assert list(recorded.findings.charted) == ["recorded", "fifo"]
    rows = recorded.tables()["The recorded run beside its replay on its own lanes"]
    assert [(row["makespan"], row["error"]) for row in rows] == [
        ("4 s", "-"),
        ("3 s", "-25.00%"),
        ("4 s", "+0.00%"),
    ]
    assert any("The recorded run took 4 s" in sentence for sentence in recorded.sentences)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "nothing"}, "nothing"),
        ({"policies": ["nothing"]}, "nothing"),
        ({"policies": "fifo"}, "expected a list"),
        ({"policies": ss.Policy}, "expected a list"),
        ({"policies": []}, r"policies is \[\]; expected at least one"),
        ({"layout": "8y8"}, "8y8"),
        ({"layout": "9x9", "policies": ["fifo"]}, "needs 81 cores"),
        ({"seeds": 0}, "seeds is 0"),
        ({"replays": -1}, "replays is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"graph": 3}, "expected a TaskGraph"),
    ],
)
def test_impossible_questions(options, message):
    asked = {
        "graph": ss.TaskGraph.from_edges([1.0]),
        "machine": "generic[cores=2]",
        "policies": ["fifo"],
        **options,
    }
    with pytest.raises(ss.SimschedError, match=message):
        ss.report(**asked)


class Failing(ss.Policy):
    """A policy that does not know what to do on one core, or when told so."""

    name = "failing"
    cores = 1

    def decide(self, view):
        if view.problem.machine.n_cores <= self.cores:
            raise KeyError("mine")
        return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]


def test_what_a_policy_raises_is_its_row():
    """Of others nothing is lost; alone its error comes out as it is."""
    graph, machine = ss.TaskGraph.from_edges([1.0, 1.0]), "generic[cores=2]"
    always = type("Always", (Failing,), {"name": "always", "cores": 2})
    report = ss.report(graph, machine, [always, Failing])
    assert [run.error for run in report.findings.runs] == ["KeyError: 'mine'", ""]
    assert report.findings.left_out == ["core counts: KeyError: 'mine'"]
    with pytest.raises(KeyError, match="mine"):
        ss.report(graph, machine, [always])


def test_a_graph_without_costs_is_refused():
    with pytest.raises(ss.SimschedError, match="task 0"):
        ss.report(ss.TaskGraph.from_edges([np.nan]), "generic[cores=2]", ["fifo"])


def test_core_counts_are_whole_tiles_and_possible():
    graph = ss.TaskGraph.from_edges([1.0])
    assert Question.of(graph, "knl-7250").core_counts == [2, 4, 8, 16, 34, 68, 136, 272]
    assert Question.of(graph, "generic[cores=1]").core_counts == [1, 2, 4]
    counts = Question.of(graph, "sw26010").core_counts
    assert counts == [
        count for count in counts if ss.machine("sw26010").varied({"cores": count}).n_cores == count
    ]


def test_progress_counts_what_is_replayed(three):
    seen = []
    graph = three.findings.question.graph
    ss.report(graph, "generic[cores=2]", ["fifo"], seeds=1, replays=2, progress=seen.append)
    assert sum(seen) >= 2 * graph.n_tasks


def test_the_call_makes_the_same_report(three):
    graph = three.findings.question.graph
    again = eval(three.findings.question.call, {"ss": ss, "graph": graph})  # noqa: S307 - our own text
    assert again.markdown == three.markdown


def test_the_layout_that_is_used_is_among_those_that_are_tried():
    graph = ss.TaskGraph.from_edges([1.0] * 6)
    found = ss.report(graph, "generic[cores=3]", ["data-parallel"], replays=0)
    said = next(sentence for sentence in found.sentences if "layouts" in sentence)
    assert said == (
        "Of 4 layouts of data-parallel, all replayed, 3x1 is the shortest; the other tables have it, too."
    )


def test_classics_that_are_left_out_have_a_note():
    graph, machine = ss.TaskGraph.from_edges([1.0]), "generic[cores=2,kinds=each]"
    question = Question.of(graph, machine, ["fifo", "classics"])
    (note,) = question.notes
    assert note.startswith("left out on kinds of cores: backfilling, cpa")
    assert note in Findings.of(replace(question, policies=question.policies[:1], replays=0)).notes


def test_a_given_layout_stands_and_what_the_best_saves_is_said():
    """Six tasks of 1 s: three executors take 2 s, one takes 6 s."""
    graph = ss.TaskGraph.from_edges([1.0] * 6)
    found = ss.report(graph, "generic[cores=3]", ["fifo", "sequential"], "1x1", replays=0)
    assert found.findings.best.layout_by == "given"
    assert found.headline.startswith("tasks takes 6 s") or "under fifo, 1x1" in found.headline
    assert any("66.7% less than 1x1, which was given" in sentence for sentence in found.sentences)
    assert any("the layout 1x1 was given; 3x1 takes 67 % less" in note for note in found.findings.notes)


def test_findings_say_what_is_extrapolated_and_which_tasks_are_meant():
    graph = ss.TaskGraph.from_edges([1e-3] * 300, kinds="split")
    made = ss.report(graph, "grace", ["fifo"], replays=4, seeds=1)
    (help_,) = (said for said in made.sentences if "would help most" in said)
    assert "all tasks of kind 'split' 1.1 times as fast" in help_
    (cores,) = (said for said in made.sentences if said.startswith("Fewer or more cores"))
    assert cores.endswith("(extrapolated).")
    assert "beyond what the machine is built with or tasks were measured on: 288, 576 cores." in made.markdown
