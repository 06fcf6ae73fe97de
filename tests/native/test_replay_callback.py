"""The compiled replay that asks a Python object: whatever that answers, it is carried out or refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.native import Core, find

pytestmark = pytest.mark.skipif(find() is None, reason="installed without the compiled module")

#: 0 -> 1.
CALLBACK: dict[str, Any] = {
    "indptr": np.array([0, 1, 1], np.int64), "indices": np.array([1], np.int32), "capacity_Bps": 0.0, "cores": 2,
    "progress": None,
}  # fmt: skip


@pytest.fixture
def native() -> Core:
    """The compiled module."""
    module = find()
    assert module is not None
    return module


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


def start(**changes: object) -> SimpleNamespace:
    """Return a decision for task 0, changed."""
    fitting: dict[str, object] = {
        "task": 0, "team": 0, "executor": 0, "seconds": 1.0, "delay_s": 0.0, "memory_share": 0.0, "demand_Bps": 0
    }  # fmt: skip
    return SimpleNamespace(**fitting | changes)


def test_what_fits_is_asked(native: Core) -> None:
    done = native.replay_callback(**CALLBACK, chooser=Answers(start(), None, start(task=1)))
    assert done[3].tolist() == [1, 2]
    assert native.replay_callback(**CALLBACK, chooser=Answers())[0] == 0


@pytest.mark.parametrize(
    "answers",
    [
        [start(), start()],
        [start(), None, start()],
        [start(task=2)],
        [start(task=-1)],
        [start(seconds=np.nan)],
        [start(seconds=-1.0)],
        [start(delay_s=np.inf)],
        [start(memory_share=1.5)],
        [start(demand_Bps=-1)],
    ],
    ids=str,
)
def test_impossible_decisions(native: Core, answers: list[object]) -> None:
    with pytest.raises(ValueError, match=r"started a task|zero or more|from 0 to 1"):
        native.replay_callback(**CALLBACK, chooser=Answers(*answers))


@pytest.mark.parametrize("answer", [7, "task", SimpleNamespace(task=0)], ids=str)
def test_what_is_no_decision(native: Core, answer: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        native.replay_callback(**CALLBACK, chooser=Answers(answer))


@pytest.mark.parametrize("method", ["released", "finished", "next"])
def test_what_a_chooser_raises_comes_out(native: Core, method: str) -> None:
    def fail(*_: object) -> None:
        raise KeyError(method)

    chooser = Answers(start())
    setattr(chooser, method, fail)
    with pytest.raises(KeyError, match=method):
        native.replay_callback(**CALLBACK, chooser=chooser)


@pytest.mark.parametrize("chooser", [None, 3, Answers])
def test_what_is_no_chooser(native: Core, chooser: object) -> None:
    with pytest.raises((TypeError, AttributeError)):
        native.replay_callback(**CALLBACK, chooser=chooser)


@pytest.mark.parametrize(
    "change",
    [{"task": "a"}, {"task": 0.5}, {"task": 2**40}, {"seconds": None}, {"seconds": "1"}, {"team": 2**33}],
    ids=str,
)
def test_decisions_of_wrong_types(native: Core, change: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.replay_callback(**CALLBACK, chooser=Answers(start(**change)))


def test_a_task_that_is_not_ready(native: Core) -> None:
    with pytest.raises(ValueError, match="started a task"):
        native.replay_callback(**CALLBACK, chooser=Answers(start(task=1), start()))
