"""The identity of a user's code: what it does changes it, where it stands does not."""

import copy

import pytest

import simsched as ss
from simsched.costs.noise import LogNormal
from simsched.errors import SweepError
from simsched.sweep.code import code_id
from simsched.sweep.description import content

MINE = '''
import functools
from dataclasses import dataclass, field

import numpy as np
import simsched as ss

NAMES = {"a", "b", "c"}
WEIGHTS = np.arange(3.0)

def weight(task):
    return SIGN * inner(task)

@functools.cache
def inner(task):
    return weight and (task in {"x", "y"}) + len(NAMES) + WEIGHTS[0]

@dataclass(frozen=True)
class State(ss.Policy):
    stack: list = field(default_factory=list)

    def decide(self, view):
        """Start the first."""
        yield from map(ss.Start, sorted(view.ready, key=lambda task: -view.levels[task])[: len(view.idle_cores)])

class Base(ss.Policy):
    share = 0.5

    def key(self):
        return lambda task: weight(task) * self.share

SIGN = 1
class Mine(Base):
    name = "mine"

    def prepared(self, problem):
        return State([self.key()])
'''


def made(source):
    """Return the class that a source makes, as a cell of a notebook does."""
    found = {"__name__": "__main__"}
    exec(compile(source, "cell", "exec"), found)  # noqa: S102 - a source of this test
    return found["Mine"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIGN = 1", "SIGN = -1"),
        ("SIGN * inner", "SIGN + inner"),
        ('{"a", "b", "c"}', '{"a", "b", "d"}'),
        ("arange(3.0)", "arange(4.0)"),
        ('in {"x", "y"}', 'in {"x", "z"}'),
        ("-view.levels", "view.levels"),
        ("share = 0.5", "share = 0.75"),
        ("default_factory=list", "default_factory=tuple"),
        ("* self.share", "* 2 * self.share"),
        ("[self.key()]", "[]"),
    ],
)
def test_a_change_of_what_code_does_is_another_identity(old, new):
    assert code_id(made(MINE)()) != code_id(made(MINE.replace(old, new))())


def test_the_place_of_code_its_docstrings_and_its_use_are_no_change():
    moved = made("# moved\n\n" + MINE.replace("Start the first.", "Start the first one."))
    copy.copy(moved())  # leaves __slotnames__ in its class
    assert code_id(made(MINE)()) == code_id(moved())
    assert code_id(ss.policy("fifo")) == ""


class Odd:
    """Cannot be read, and refers to itself."""

    def __init__(self):
        self.me = self

    def __getattr__(self, name):
        raise ValueError(name)


def test_what_objects_hold_counts():
    class Given(ss.RankPolicy):
        def __init__(self, function, given=None):
            self.function, self.given = function, given

    seen = [
        Given(lambda x: x),
        Given(lambda x: -x),
        Given(len),
        Given(len, {"a": [1]}),
        Given(len, {"a": [2]}),
    ]
    assert len({code_id(one) for one in seen}) == len(seen)
    assert code_id(Given(len, {1: object()})) == code_id(Given(len, {1: object()}))
    assert code_id(Given(len, Odd())) == code_id(Given(len, Odd()))


def test_a_cost_model_counts_with_the_code_of_its_classes():
    def noise(factor):
        class Mine(LogNormal):
            def sampled(self, n_tasks, generator):
                return factor * super().sampled(n_tasks, generator)

        return Mine(0.1)

    first, same, other = (content(ss.CostModel(noise=noise(factor))) for factor in (1.0, 1.0, 2.0))
    assert first == same != other


def test_a_store_has_no_rows_of_the_policy_that_it_was_before(graph, tmp_path):
    def sweep(sign, seeds=(0,)):
        class Cell(ss.RankPolicy):
            name = "cell"

            def rank(self, problem):
                return sign * problem.levels

        return ss.Sweep([graph], ["generic[cores=2]"], ["fifo", Cell], seeds=seeds)

    rows = sweep(1).run(tmp_path / "store")
    assert sweep(1).run(tmp_path / "store").equals(rows)
    with pytest.raises(SweepError, match="rows of another version of policy cell: its code, or a value"):
        sweep(-1).run(tmp_path / "store")
    with pytest.raises(SweepError, match="store of another sweep: policies, seed, points differ"):
        sweep(-1, (0, 1)).run(tmp_path / "store")
