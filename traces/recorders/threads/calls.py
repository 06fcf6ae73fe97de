"""Calls that record when and where they run: in a thread of the recording process, or in another process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import Any

from simsched.traces.recorders.threads.tasks import Lane, Recording, Task

_recording: Recording | None = None
_pid = 0


def active() -> Recording | None:
    """Return the recording of this process; a forked child has none."""
    return _recording if _recording is not None and _pid == os.getpid() else None


def activate(recording: Recording | None) -> None:
    """Begin a recording, or end it."""
    global _recording, _pid
    _recording, _pid = recording, os.getpid()


class Call:
    """A call that stands in for that of a task's function, and records it.

    Parameters
    ----------
    function : callable
    task : Task
    recording : Recording
    """

    __slots__ = ("function", "recording", "task")

    def __init__(self, function: Callable[..., Any], task: Task, recording: Recording) -> None:
        self.function, self.task, self.recording = function, task, recording

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns."""
        if self.recording.closed:
            return self.function(*args, **kwargs)
        with self.recording.running(self.task):
            return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[type[AwayCall], tuple[Callable[..., Any], int]]:
        # What is pickled goes to another process (or interpreter).
        self.recording.away[self.task.number] = self.task
        return AwayCall, (self.function, self.task.number)


class AwayCall:
    """A task's function in another process: what it returns, or raises, carries the times along.

    Parameters
    ----------
    function : callable
    number : int
        Of the task.
    """

    __slots__ = ("function", "number")

    def __init__(self, function: Callable[..., Any], number: int) -> None:
        self.function, self.number = function, number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns, with the times that it took."""
        start_ns = perf_counter_ns()
        try:
            result = self.function(*args, **kwargs)
        except BaseException as error:
            # Pickled with it, and so are its times.
            with suppress(AttributeError):
                error.__simsched_times__ = Measured(None, self.number, start_ns, failed=True)  # type: ignore[attr-defined]
            raise
        return Measured(result, self.number, start_ns)


class Measured:
    """What a task in another process returned; unpickled, it becomes just that, and its times are recorded."""

    def __init__(self, result: object, number: int, start_ns: int, failed: bool = False) -> None:
        self._result = result
        self._times = (number, (os.getpid(), 0, ""), start_ns, perf_counter_ns(), failed)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Any, ...]]:
        return _arrived, (self._result, *self._times)


def _arrived(result: object, number: int, lane: Lane, start_ns: int, finish_ns: int, failed: bool) -> object:
    if (recording := active()) is not None:
        recording.ran_away(number, lane, start_ns, finish_ns, failed)
    return result
