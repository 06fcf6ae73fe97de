"""What policies answer before the replay: arrays that fit, or an error that says what does not, on both engines."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import LayoutError, PolicyError
from simsched.graph.adjacency import Csr
from simsched.policy import CandidateRule, Shortcuts
from simsched.testing import check_policy

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], kinds="MatMul")
NONE = np.zeros(3, np.bool_)


def ruled(**columns):
    """Return a policy that prepares a rule: all tasks offer two cores, but for what is given."""

    class Ruled(ss.Policy):
        name = "ruled"

        def prepared(self, problem):
            two = {
                "widths": np.full((3, 1), 2, np.int32),
                "estimates_s": problem.costs.seconds(2)[:, None],
                "max_running": 4,
            }
            return CandidateRule(**two | columns)

    return Ruled()


def ranked(**answers):
    """Return a policy that ranks by index, but for what is given."""

    def rank(self, problem):
        return np.arange(3)

    return type("Ranked", (ss.RankPolicy,), {"name": "ranked", "rank": rank} | answers)()


def answer(value):
    return lambda *_: value


def simulate(policy, engine, layout=None):
    return ss.simulate(GRAPH, "generic[cores=4]", policy, layout, engine=engine)


@pytest.mark.rule("Information")
def test_a_rule_may_estimate_otherwise_than_the_costs(engine):
    """By the rule all take 1 s, so that 1 starts beside 0. Really they take 0.5, 1 and 1.5 s: 2 follows 0 at 0.5."""
    schedule = simulate(ruled(estimates_s=np.ones((3, 1))), engine)
    assert schedule.start_s.tolist() == [0, 0, 0.5]
    assert schedule.finish_s.tolist() == [0.5, 1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"widths": [[2]] * 3}, "widths is .*; expected an array of int32 and 2 dimensions"),
        ({"widths": np.full((3, 1), 2)}, "widths is int64"),
        ({"widths": np.zeros((3, 1), np.int32)}, "widths has an entry .* below 1"),
        ({"widths": np.full((3, 1), 5, np.int32)}, "a task offers 5 threads; .* has 4"),
        (
            {"widths": np.ones((3, 2), np.int32)},
            r"widths of shape \(3, 2\) and estimates_s of shape \(3, 1\)",
        ),
        ({"widths": np.ones((2, 1), np.int32), "estimates_s": np.ones((2, 1))}, "widths has 2 rows"),
        ({"estimates_s": np.full((3, 1), np.nan)}, "estimates_s has an entry that is not finite"),
        ({"serial_s": np.ones(2)}, "serial_s has 2 rows"),
        ({"serial_s": np.ones(3)}, "serial_s needs two hardware threads"),
        ({"max_running": 0}, "max_running is 0"),
        ({"max_running": 1.5}, "max_running is 1.5"),
        ({"offered": 2}, "offered is 2; expected a whole number of 1 to 1"),
    ],
)
def test_rules_that_do_not_fit(engine, columns, message):
    with pytest.raises(PolicyError, match=message):
        simulate(ruled(**columns), engine)


def test_more_at_once_than_any_machine_has_threads(engine):
    assert simulate(ruled(max_running=10**30), engine).start_s.tolist() == [0, 0, 0.5]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"queue": "Central"}, "its queue is 'Central'; expected one of central, shared"),
        ({"discipline": "sjf"}, "its discipline is 'sjf'; expected one of rank, fifo, lifo"),
        ({"rank": answer([[1], [2, 3]])}, r"rank\(\) returned \[\[1\], \[2, 3\]\]"),
        ({"layouts": answer((ss.Layout(3, 2),))}, "the layout 3x2 needs 6 cores; .* has 4"),
        ({"layouts": answer(("2x1",))}, "its layouts are .*'2x1'.*; expected a tuple of Layout"),
        ({"layouts": answer(())}, "it names no layouts for generic.*; expected at least one"),
        ({"checked_layout": answer("2x1")}, "its layout is '2x1'; expected a Layout"),
        ({"executors": answer(None)}, r"executors\(\) returned None"),
        (
            {"executors": answer(Csr(np.array([0, 1, 3]), np.arange(3, dtype=np.int32)))},
            "2 executors of 1 to 2",
        ),
        (
            {
                "executors": answer(Csr(np.arange(5), np.arange(1, 5, dtype=np.int32))),
                "layouts": answer((ss.Layout(4, 1),)),
            },
            "threads 1 to 4; those of",
        ),
        ({"decide": answer([])}, r"is a RankPolicy and has decide\(\), which nothing calls"),
        ({"prepared": answer(None)}, r"is a RankPolicy and has prepared\(\)"),
        ({"shortcuts": answer({})}, r"shortcuts\(\) returned {}"),
        ({"shortcuts": answer(Shortcuts(NONE, NONE, np.array([0.5])))}, "threads of float64"),
    ],
)
def test_answers_that_do_not_fit(engine, answers, message):
    with pytest.raises((PolicyError, LayoutError), match=message):
        simulate(ranked(**answers), engine)


def test_answers_of_other_integers_and_strides(engine):
    """Executors and singles as NumPy makes them by default, and every other element of longer columns."""
    past = Shortcuts(np.array([True, False] * 3)[::2], np.zeros(6, np.bool_)[::2], np.array([3]))
    apart = simulate(
        ranked(shortcuts=answer(past), executors=answer(Csr(np.arange(5), np.arange(4)))), engine, "4x1"
    )
    assert apart.executor.tolist() == [4, 4, 4]


def test_shortcuts_are_columns():
    with pytest.raises(PolicyError, match=r"single_threaded of shortcuts is .*; expected an array"):
        Shortcuts([True], [False])


@pytest.mark.parametrize("made", [3, ss.policy("fifo")])
def test_what_is_prepared_is_a_policy_that_is_asked(made):
    policy = type("Odd", (ss.Policy,), {"prepared": answer(made)})
    with pytest.raises(PolicyError, match=r"prepared\(\) returned .*; expected a Policy that is asked"):
        ss.simulate(GRAPH, "generic", policy)


@pytest.mark.parametrize(
    "cores", [[0, 1], [0, 1, 4], [-1, 0, 1], [0.0, 1.0, 2.0], [[0], [1, 2], [3]], "0 1 2"]
)
def test_planned_cores_are_one_per_task(engine, cores):
    policy = type("Odd", (ss.Policy,), {"planned_cores": cores})
    with pytest.raises(PolicyError, match=r"its planned cores are .*; expected 3 whole numbers from 0 to 3"):
        simulate(policy, engine)


def test_more_threads_than_any_replay_has():
    with pytest.raises(LayoutError, match="has 999999998000000001 threads; a replay has at most"):
        ss.simulate(GRAPH, "generic", "fifo[oversubscribe=true]", "999999999x999999999")
    graph = ss.TaskGraph.from_edges(np.ones(1000))
    with pytest.raises(LayoutError, match="at most 2147483648 can be"):
        ss.simulate(graph, "generic", "fifo[pinned=false,oversubscribe=true]", "1x9999999")


@pytest.mark.parametrize("remarks", ["a sentence", ["a list"], (1,), None])
def test_remarks_that_are_no_tuple_of_texts(engine, remarks):
    with pytest.raises(PolicyError, match=r"its remarks are .*; expected a tuple of strings"):
        simulate(ranked(remarks=remarks), engine)


def test_remarks_are_among_the_notes(engine):
    assert simulate(ranked(remarks=("as it comes",)), engine).notes[-1] == "as it comes"


class Turn(ss.Policy):
    name = "turn"

    def __init__(self, seen=None):
        self.turn, self.seen = 0, {} if seen is None else seen

    def decide(self, view):
        self.turn += 1
        for task in view.ready[: len(view.idle_cores)]:
            self.seen[view.problem.graph.kinds[task]] = self.turn
            yield ss.Start(task)


class Shared(ss.Policy):
    name, queue_of = "shared", []

    def decide(self, view):
        self.queue_of.append(len(view.ready))
        yield from map(ss.Start, view.ready[: len(view.idle_cores)])


class Fresh(Turn):
    name = "fresh"

    def prepared(self, problem):
        return Turn({})


def test_what_a_policy_keeps_from_replay_to_replay_is_noted(engine):
    mend = "from one replay to the next: put it into what prepared() returns (docs/howto/own_policy.md)"
    said, policy = f"policy turn remembers `turn`, `seen` {mend}", Turn()
    assert [simulate(policy, engine).notes[0] for _ in range(2)] == [said] * 2
    assert not any("remembers" in note for note in simulate(Fresh, engine).notes)
    assert simulate(Shared, engine).notes[0] == f"policy shared remembers `queue_of` {mend}"
    with pytest.raises(PolicyError, match="policy turn remembers `turn`"):
        check_policy(Turn, examples=5)


def test_rows_call_a_policy_as_it_was_given():
    policy, where = Turn(), (GRAPH, "generic[cores=2]")
    found = ss.compare(*where, [policy, "fifo"], samples=2)
    assert found["policy"].tolist() == ["turn[turn=0]", "fifo"]
    given = str(policy)
    assert ss.verdicts(*where, [policy, "fifo"], seeds=range(2))["policy"].tolist() == [given]
    given = str(policy)
    assert given in ss.tune(*where, [policy, "fifo"], samples=2)["policy"].tolist()
    assert "turn remembers" in " ".join(found.notes)
