"""The compiled replay that asks a Python object: whatever that answers, it is carried out or refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.native import Core

Arguments = dict[str, Any]


class Answers:
    """A chooser that gives these, then None."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    def released(self, tasks: list[int], now_s: float) -> None:
        """Take no note."""

    def finished(self, task: int) -> None:
        """Take no note."""

    def next(self, now_s: float) -> object:
        """Return the next answer."""
        return self.answers.pop(0) if self.answers else None


IDLE = SimpleNamespace(memory_share=0.0, overhead_share=0.0, demand_Bps=0)


def start(**changes: object) -> SimpleNamespace:
    """Return a decision for task 0, changed."""
    fitting: dict[str, object] = {
        "task": 0, "team": 0, "executor": 0, "seconds": 1.0, "delay_s": 0.0, "cores": [0], "load": IDLE
    }  # fmt: skip
    return SimpleNamespace(**fitting | changes)


def asking(**changes: object) -> SimpleNamespace:
    """Return a decision for task 0 with a load, changed."""
    return start(load=SimpleNamespace(**vars(IDLE) | changes))


def without(decision: SimpleNamespace, *names: str) -> SimpleNamespace:
    """Return a decision that lacks something."""
    return SimpleNamespace(**{name: value for name, value in vars(decision).items() if name not in names})


@pytest.fixture(params=[False, True], ids=["alone", "sharing"])
def given(request: pytest.FixtureRequest, native: Core, asked: Arguments, sharing: Arguments) -> Arguments:
    """Return arguments, where nothing is shared and where everything is."""
    return asked | {"shared": native.Sharing(**sharing) if request.param else None}


def test_what_fits_is_asked(native: Core, given: Arguments) -> None:
    done = native.replay_callback(**given, chooser=Answers(start(), None, start(task=1)))
    assert done[3].tolist() == [1, 2]
    assert native.replay_callback(**given, chooser=Answers())[0] == 0


@pytest.mark.parametrize(
    "cores", [[1], (0, 1), [1, 1, 1], np.array([1, 0]), np.array([0], np.int8), range(2)], ids=str
)
def test_teams_of_all_kinds(native: Core, given: Arguments, cores: object) -> None:
    assert native.replay_callback(**given, chooser=Answers(start(cores=cores), None, start(task=1)))[0] == 2


def test_what_it_asks_for_is_shared(native: Core, sharing: Arguments, asked: Arguments) -> None:
    """Two tasks of 1 s on one domain that moves 4 B/s ask for 8: p = 1 + (2 - 1) / 0.5 = 3, 0.5 + 0.5 x 3 = 2 s."""
    alone = dict.fromkeys(("tiles", "cores", "interconnect", "remote"), False) | {
        "domain_of": [0, 0],
        "n_domains": 1,
    }
    graph = {"indptr": np.zeros(3, np.int64), "indices": np.empty(0, np.int32)}
    load = SimpleNamespace(memory_share=0.5, overhead_share=0.5, demand_Bps=4)
    chooser = Answers(start(load=load), start(load=load, task=1, cores=[1]))
    shared = native.Sharing(**sharing | alone)
    result = native.replay_callback(**asked | graph | {"shared": shared}, chooser=chooser)
    assert result[3].tolist() == [2, 2]


@pytest.mark.parametrize(
    "answers",
    [
        [start(), start()],
        [start(), None, start()],
        [start(task=2)],
        [start(task=-1)],
        [start(task=-(2**31))],
        [start(seconds=np.nan)],
        [start(seconds=-1.0)],
        [start(seconds=np.inf)],
        [start(delay_s=np.inf)],
        [start(delay_s=-1.0)],
        [start(cores=[])],
        [start(cores=())],
        [start(cores=[2])],
        [start(cores=[0, -1])],
        [start(cores=[2**31 - 1])],
        [start(cores=[-(2**31)])],
        [start(cores=range(100_000))],
        *([asking(memory_share=bad)] for bad in (-0.1, 1.5, np.nan, np.inf)),
        *([asking(overhead_share=bad)] for bad in (-0.1, 1.5, np.nan, np.inf)),
        [asking(memory_share=0.75, overhead_share=0.5)],
        [asking(demand_Bps=-1)],
        [asking(demand_Bps=-(2**63))],
        [asking(demand_Bps=2**61 + 1)],
        [asking(demand_Bps=2**63 - 1)],
    ],
    ids=lambda answers: str(answers)[:150],
)  # fmt: skip
def test_impossible_decisions(native: Core, given: Arguments, answers: list[object]) -> None:
    with pytest.raises(
        ValueError, match=r"started a task|zero or more|a (share|demand) is from 0|core of the team|a team"
    ):
        native.replay_callback(**given, chooser=Answers(*answers))


def test_more_tasks_than_cores(native: Core, given: Arguments) -> None:
    """Two cores may be asked for 2^61 bytes a second each; a third task on them is one too many."""
    graph = {"indptr": np.zeros(5, np.int64), "indices": np.empty(0, np.int32)}
    load = SimpleNamespace(memory_share=0.5, overhead_share=0.5, demand_Bps=2**61)

    def begin(*tasks: int) -> list[SimpleNamespace]:
        return [start(task=task, load=load) for task in tasks]

    two = Answers(*begin(0, 1), None, *begin(2, 3))
    assert native.replay_callback(**given | graph, chooser=two)[0] == 4
    with pytest.raises(ValueError, match="more tasks at once than there are cores"):
        native.replay_callback(**given | graph, chooser=Answers(*begin(0, 1, 2)))


@pytest.mark.parametrize(
    "answer",
    [
        7,
        "task",
        SimpleNamespace(task=0),
        *(without(start(), name) for name in vars(start())),
        *(start(load=without(IDLE, name)) for name in vars(IDLE)),
        start(load=None),
        start(load=0),
    ],
    ids=str,
)
def test_what_is_no_decision(native: Core, given: Arguments, answer: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        native.replay_callback(**given, chooser=Answers(answer))


@pytest.mark.parametrize("method", ["released", "finished", "next"])
def test_what_a_chooser_raises_comes_out(native: Core, given: Arguments, method: str) -> None:
    def fail(*_: object) -> None:
        raise KeyError(method)

    chooser = Answers(start())
    setattr(chooser, method, fail)
    with pytest.raises(KeyError, match=method):
        native.replay_callback(**given, chooser=chooser)


class Raising:
    """Raises when it is read."""

    def __getattr__(self, name: str) -> object:
        raise KeyError(name)

    def __len__(self) -> int:
        raise KeyError("len")

    __iter__ = __len__


def test_what_a_decision_raises_comes_out(native: Core, given: Arguments) -> None:
    for answer in (Raising(), start(load=Raising())):
        with pytest.raises(KeyError):
            native.replay_callback(**given, chooser=Answers(answer))
    with pytest.raises(TypeError, match="not a number"):
        native.replay_callback(**given, chooser=Answers(start(cores=Raising())))


@pytest.mark.parametrize("chooser", [None, 3, Answers])
def test_what_is_no_chooser(native: Core, given: Arguments, chooser: object) -> None:
    with pytest.raises((TypeError, AttributeError)):
        native.replay_callback(**given, chooser=chooser)


@pytest.mark.parametrize(
    "answer",
    [
        start(task="a"),
        start(task=0.5),
        start(task=2**40),
        start(task=10**400),
        start(seconds=None),
        start(seconds="1"),
        start(seconds=10**400),
        start(delay_s=1j),
        start(team=2**33),
        start(executor=None),
        start(cores=None),
        start(cores=0),
        start(cores="01"),
        start(cores=b"01"),
        start(cores={0: 1}),
        start(cores=[0, None]),
        start(cores=[0.5]),
        start(cores=["0"]),
        start(cores=[[0]]),
        start(cores=[2**31]),
        start(cores=[10**400]),
        start(cores=np.zeros((1, 1))),
        asking(memory_share=None),
        asking(overhead_share="0"),
        asking(overhead_share=10**400),
        asking(demand_Bps=0.5),
        asking(demand_Bps=None),
        asking(demand_Bps=2**63),
    ],
    ids=lambda answer: str(answer)[:150],
)
def test_decisions_of_wrong_types(native: Core, given: Arguments, answer: object) -> None:
    with pytest.raises(TypeError, match="holds what is not a number, or one that is too large"):
        native.replay_callback(**given, chooser=Answers(answer))


def test_a_task_that_is_not_ready(native: Core, given: Arguments) -> None:
    with pytest.raises(ValueError, match="started a task"):
        native.replay_callback(**given, chooser=Answers(start(task=1), start()))


@pytest.mark.parametrize(
    "change", [{"shared": 1}, {"shared": "x"}, {"cores": -1}, {"cores": 2.0}, {"cores": 2**64}], ids=str
)
def test_wrong_types(native: Core, asked: Arguments, change: Arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.replay_callback(**asked | change, chooser=Answers())


@pytest.mark.parametrize("cores", [0, 1, 3, 2**64 - 1])
def test_what_another_machine_shares(native: Core, sharing: Arguments, asked: Arguments, cores: int) -> None:
    with pytest.raises(ValueError, match="what is shared is another machine's"):
        native.replay_callback(
            **asked | {"shared": native.Sharing(**sharing), "cores": cores}, chooser=Answers()
        )
