"""What attacks have in common: goals that are printed, attempts in processes of their own, and time limits."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

sys.path.append(str(Path(__file__).parents[1]))

from bars import Bar

Case = TypeVar("Case")


class Attempt(NamedTuple):
    """What became of one attempt.

    Parameters
    ----------
    what : str
        What was attacked, and how.
    outcome : str
        One of those that the attack counts; "died" where the process did, "hung" past its time.
    said : str
        The error's message, where there is one.
    """

    what: str
    outcome: str
    said: str = ""


class Hung(BaseException):
    """Raised in an attempt that takes longer than it may, past everything that catches errors."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """End what takes longer."""

    def end(number: int, frame: object) -> None:
        raise Hung

    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def attempts(
    cases: Sequence[Case], attempt: Callable[[Case], Attempt], seconds: int = 30
) -> Iterator[Attempt]:
    """Yield what becomes of each case, in a process that is replaced where a case ends or blocks it."""
    at = 0
    while at < len(cases):
        here, there = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(
            target=_serve, args=(cases[at:], attempt, seconds, there)
        )
        child.start()
        there.close()
        try:
            while at < len(cases):
                # Calls that never come back to Python are not ended by a signal.
                found = here.recv() if here.poll(seconds + 10) else Attempt(str(cases[at]), "hung")
                at += 1
                yield found
                if found.outcome == "hung":
                    break
        except EOFError:
            yield Attempt(str(cases[at]), "died")
            at += 1
        child.kill()
        child.join()


def _serve(cases: Sequence[Any], attempt: Callable[[Any], Attempt], seconds: int, pipe: Connection) -> None:
    for case in cases:
        try:
            with limited(seconds):
                found = attempt(case)
        except Hung:
            found = Attempt(str(case), "hung")
        pipe.send(found)


def verdict(goals: Sequence[Bar], shown: bool) -> None:
    """Print the goals, if they are asked for, and exit with 1 where one is missed."""
    for bar in goals if shown else ():
        side = "at least" if bar.at_least else "at most"
        print(f"{'pass' if bar.met else 'FAIL'}  {bar.what:<80} {bar.figure:>10.6g}, {side} {bar.limit:g}")
    sys.exit(not all(bar.met for bar in goals))
