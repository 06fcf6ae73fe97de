"""Co-running by hand."""

from dataclasses import fields

import numpy as np
import pytest

import simsched as ss
from simsched.policies.corun import candidate_widths
from simsched.policy import CandidateRule, Running


def costs(serial=0.0):
    return ss.CostModel(default=ss.Curve(serial))


def test_alone_a_task_takes_its_fastest_width():
    """A perfectly parallel 8 s task on 8 cores: 1 s on all of them."""
    schedule = ss.simulate(ss.TaskGraph.from_edges([8.0]), "generic[cores=8]", "corun", costs=costs())
    assert schedule.widths.tolist() == [8]
    assert schedule.makespan_s == 1


def test_the_papers_example():
    """20 idle cores, the running task has 1.9 s left; offers: 18 in 1.5 s, 20 in 1.3 s, 16 in 2.1 s: 18 is chosen.

    Concurrency control, Sec. III-D, strategy 3. Here as a view with just these numbers.
    """

    class View:
        now_s = 10.0
        ready = (4,)
        running = (Running(0, tuple(range(48)), 11.9),)
        idle_cores = tuple(range(48, 68))

    widths, seconds = np.full((5, 3), [20, 18, 16], np.int32), np.full((5, 3), [1.3, 1.5, 2.1])
    assert list(CandidateRule(widths, seconds, max_running=68).decide(View())) == [ss.Start(4, 18)]


def test_a_rule_of_ones_own_can_be_given_as_it_is(engine):
    """Two tasks of 4 s that offer two cores each: side by side on four."""
    rule = CandidateRule(np.full((2, 1), 2, np.int32), np.full((2, 1), 4.0), max_running=2)
    graph = ss.TaskGraph.from_edges([4.0, 4.0])
    schedule = ss.simulate(graph, "generic[cores=4]", rule, costs=costs(1.0), engine=engine)
    assert schedule.start_s.tolist() == [0, 0]
    assert schedule.policy == "CandidateRule"


def test_equal_tasks_run_side_by_side():
    """Two tasks of 1 s that cannot be split: the second does not outlast the first, to the last bit."""
    graph = ss.TaskGraph.from_edges([0.1, 0.1], [])
    schedule = ss.simulate(graph, "generic[cores=4]", "corun", costs=costs(1.0))
    assert schedule.start_s.tolist() == [0, 0]


def test_the_longest_starts_where_nothing_fits():
    """Serial tasks of 1, 3 and 2 s on two cores: 1 (3 s) first; beside it 0 and 2 fit, the lower index first."""
    schedule = ss.simulate(
        ss.TaskGraph.from_edges([1.0, 3.0, 2.0]), "generic[cores=2]", "corun", costs=costs(1.0)
    )
    assert schedule.start_order.tolist() == [1, 0, 2]
    assert schedule.makespan_s == 3


def test_cores_idle_rather_than_take_a_team_far_from_its_best():
    """Eight cores, two perfectly parallel tasks: widths 8, 6, 4 are offered. The first takes all; the second waits."""
    schedule = ss.simulate(ss.TaskGraph.from_edges([8.0, 4.0]), "generic[cores=8]", "corun", costs=costs())
    assert schedule.start_s.tolist() == [0, 1]


def test_candidates_are_the_fastest_widths():
    """Widths 1, 2, 4, ... 16 of a curve with its best at 8: t(w) = 1/w + (w-1)/64: 8, 10 (0.241), 6 (0.245)."""
    curve = ss.CostModel(default=ss.Curve(0.0, thread_overhead=1 / 64 / np.sqrt(1e-3)))
    tasks = curve.on(ss.TaskGraph.from_edges([1.0]), ss.machine("generic[cores=16]"))
    widths, seconds = candidate_widths(tasks, widest=16, interval=2, candidates=3)
    assert widths[0].tolist() == [8, 10, 6]
    assert (np.diff(seconds[0]) > 0).all()
    assert tasks.fastest_widths.tolist() == [8]


def test_ten_thousand_tasks_in_chunks():
    """The candidates of a task do not depend on the chunk it falls in."""
    seconds = np.random.default_rng(0).uniform(1e-6, 1, 40_000)
    tasks = ss.CostModel().on(ss.TaskGraph.from_edges(seconds, kinds="mm"), ss.machine("knl-7250"))
    widths, _ = candidate_widths(tasks, 68, 2, 3)
    for task in (0, 16_383, 16_384, 39_999):
        alone, _ = candidate_widths(tasks.part(slice(task, task + 1)), 68, 2, 3)
        assert widths[task].tolist() == alone[0].tolist()


def test_old_names_of_parameters_work_with_a_warning():
    widths, seconds = np.ones((1, 1), np.int32), np.ones((1, 1))
    with pytest.warns(DeprecationWarning, match=r"corun\[beside=...\] is now corun\[corun=...\]"):
        policy = ss.policy("corun[beside=false]")
    assert str(policy) == "corun[corun=false]"
    with pytest.warns(
        DeprecationWarning, match=r"CandidateRule\(most=\) is now CandidateRule\(max_running=\)"
    ):
        rule = CandidateRule(widths, seconds, most=3)
    assert rule.max_running == 3
    with pytest.warns(DeprecationWarning, match="CandidateRule.beside is now CandidateRule.corun"):
        assert rule.beside
    none = np.zeros(2, bool)
    with pytest.warns(DeprecationWarning, match=r"Shortcuts\(apart=\)"):
        assert not ss.Shortcuts(apart=none, inline=none).single_threaded.any()
    assert [f.name for f in fields(ss.Shortcuts)] == ["single_threaded", "inline", "threads", "buffered"]
