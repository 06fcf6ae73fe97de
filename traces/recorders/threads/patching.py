"""Calls that are replaced while a recording runs: submitting to and waiting for executors, threads, joblib."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Future, process, thread
from contextlib import contextmanager, suppress
from functools import wraps
from time import perf_counter_ns
from typing import Any

from simsched.traces.recorders.threads.tasks import Lane, Recording, Task, kind_of

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
    """A call in place of that of a task's function, which it records.

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
        """Return the function's result."""
        if self.recording.closed:
            return self.function(*args, **kwargs)
        with self.recording.running(self.task):
            return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[type[_AwayCall], tuple[Callable[..., Any], int]]:
        # Pickled calls go to another process (or interpreter).
        self.recording.away[self.task.number] = self.task
        return _AwayCall, (self.function, self.task.number)


class _AwayCall:
    """A task's function in another process: its result, or exception, carries the times along.

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
        """Return the function's result, with its times."""
        start_ns = perf_counter_ns()
        try:
            result = self.function(*args, **kwargs)
        except BaseException as error:
            # Pickled together, with its times.
            with suppress(AttributeError):
                error.__simsched_times__ = _Measured(None, self.number, start_ns, failed=True)  # type: ignore[attr-defined] # carried along
            raise
        return _Measured(result, self.number, start_ns)


class _Measured:
    """Result of a task in another process; unpickling yields the result alone, and records its times."""

    def __init__(self, result: object, number: int, start_ns: int, failed: bool = False) -> None:
        self._result = result
        self._times = (number, (os.getpid(), 0, ""), start_ns, perf_counter_ns(), failed)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Any, ...]]:
        return _arrived, (self._result, *self._times)


def _arrived(result: object, number: int, lane: Lane, start_ns: int, finish_ns: int, failed: bool) -> object:
    if (recording := active()) is not None:
        recording.ran_away(number, lane, start_ns, finish_ns, failed)
    return result


#: Threads that run code of these packages are the executors' own, not tasks.
OWN_THREADS = frozenset(
    ("asyncio", "concurrent", "distributed", "joblib", "multiprocessing", "threading", "tqdm")
)
_MARK = "_simsched_task"
_Method = Callable[..., Any]


@contextmanager
def patched() -> Iterator[None]:
    """Replace everything while the block is executed."""
    originals: list[tuple[object, str, Any]] = []
    try:
        for owner, name, replacement in _replacements():
            original = getattr(owner, name)
            originals.append((owner, name, original))
            setattr(owner, name, wraps(original)(replacement(original)))
        yield
    finally:
        for owner, name, original in reversed(originals):
            setattr(owner, name, original)


def _replacements() -> Iterator[tuple[object, str, Callable[[_Method], _Method]]]:
    for executor in (thread.ThreadPoolExecutor, process.ProcessPoolExecutor):
        yield executor, "submit", _submit
        yield executor, "shutdown", _shutdown
    yield Future, "result", _result
    yield Future, "exception", _waiting_for_it
    yield Future, "add_done_callback", _add_done_callback
    yield futures, "wait", _wait
    yield futures, "as_completed", _as_completed
    yield threading.Thread, "start", _start
    yield threading.Thread, "join", _waiting_for_it
    if (joblib := sys.modules.get("joblib")) is not None:
        yield joblib.Parallel, "__call__", _parallel


def _task_of(recording: Recording, owner: object) -> Task | None:
    """Return the task of a future or a thread."""
    task: Task | None = getattr(owner, _MARK, None)
    return task if task is not None and recording.owns(task) else None


def _known(owner: object) -> tuple[Recording, Task] | None:
    """Return the current recording, and the task of a future or a thread in it."""
    recording = active()
    task = None if recording is None else _task_of(recording, owner)
    return None if recording is None or task is None else (recording, task)


def _submit(original: _Method) -> _Method:
    def submit(self: Any, fn: _Method, /, *args: Any, **kwargs: Any) -> Any:
        if (recording := active()) is None:
            return original(self, fn, *args, **kwargs)
        if (task := recording.context.submit(kind_of(fn), (*args, *kwargs.values()))) is None:
            return original(self, fn, *args, **kwargs)
        future = original(self, Call(fn, task, recording), *args, **kwargs)
        setattr(future, _MARK, task)
        recording.pools.setdefault(self, []).append(task)
        return future

    return submit


def _shutdown(original: _Method) -> _Method:
    def shutdown(self: Any, wait: bool = True, **more: Any) -> Any:
        recording = active()
        if recording is None or not wait:
            return original(self, wait, **more)
        tasks = recording.pools.get(self, [])
        with recording.context.waiting(lambda: tasks):
            return original(self, wait, **more)

    return shutdown


def _result(original: _Method) -> _Method:
    def result(self: Any, timeout: float | None = None) -> Any:
        if (known := _known(self)) is None:
            return original(self, timeout)
        found = _waited(*known, original, self, timeout)
        recording, task = known
        recording.has_result(task, found)
        return found

    return result


def _waiting_for_it(original: _Method) -> _Method:
    def method(self: Any, timeout: float | None = None) -> Any:
        known = _known(self)
        return original(self, timeout) if known is None else _waited(*known, original, self, timeout)

    return method


def _waited(recording: Recording, task: Task, original: _Method, owner: Any, timeout: float | None) -> Any:
    context = recording.context
    if task in context.known:
        return original(owner, timeout)
    with context.waiting(lambda: [task]):
        return original(owner, timeout)


def _add_done_callback(original: _Method) -> _Method:
    def add_done_callback(self: Any, fn: _Method) -> Any:
        if (known := _known(self)) is None:
            return original(self, fn)
        recording, task = known

        def called(future: Any) -> Any:
            if recording.closed:
                return fn(future)
            with recording.called_back(task):
                return fn(future)

        return original(self, called)

    return add_done_callback


def _marked(recording: Recording, owners: Iterable[Any]) -> list[Task]:
    return [task for owner in owners if (task := _task_of(recording, owner)) is not None]


def _wait(original: _Method) -> _Method:
    def wait(fs: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        given = list(fs)
        if (recording := active()) is None:
            return original(given, *args, **kwargs)
        with recording.context.waiting(
            lambda: _marked(recording, (future for future in given if future.done()))
        ):
            return original(given, *args, **kwargs)

    return wait


def _as_completed(original: _Method) -> _Method:
    def as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        done = original(fs, timeout)
        while (future := _next(done)) is not None:
            yield future

    return as_completed


def _next(done: Iterator[Any]) -> Any:
    """Return the next future that is done; the time until then is no work."""
    if (recording := active()) is None:
        return next(done, None)
    found: list[Any] = []
    with recording.context.waiting(lambda: _marked(recording, found)):
        found.append(next(done, None))
    return found[0]


def _start(original: _Method) -> _Method:
    def start(self: Any) -> Any:
        recording, function = active(), _function_of(self)
        if recording is not None and function is not None:
            task = recording.context.submit(kind_of(function))
            if task is not None:
                setattr(self, _MARK, task)
                self.run = Call(self.run, task, recording)
        return original(self)

    return start


def _function_of(started: threading.Thread) -> Any:
    """Return the function of a thread where it is a task: its target, or its own class."""
    own = type(started).run is threading.Thread.run
    function = getattr(started, "_target", None) if own else type(started)
    root = (getattr(function, "__module__", None) or "").partition(".")[0]
    return None if root in OWN_THREADS else function


def _parallel(original: _Method) -> _Method:
    def call(self: Any, iterable: Iterable[Any]) -> Any:
        if (recording := active()) is None:
            return original(self, iterable)
        context, tasks = recording.context, list[Task | None]()
        after = context.release()

        def recorded() -> Iterator[Any]:
            # joblib asks for more of them in threads of its own: all depend on the caller's awaited tasks.
            for function, args, kwargs in iterable:
                task = recording.add(kind_of(function), after, (*args, *kwargs.values()))
                tasks.append(task)
                yield (function if task is None else Call(function, task, recording)), args, kwargs

        try:
            output = original(self, list(recorded()) if isinstance(iterable, Collection) else recorded())
            if isinstance(output, list):
                for task, result in zip(tasks, output, strict=False):
                    if task is not None:
                        recording.has_result(task, result)
                context.waited(task for task in tasks if task is not None)
                return output
            return _yielded(recording, output, tasks, getattr(self, "return_ordered", True))
        finally:
            context.reopen()

    return call


def _yielded(
    recording: Recording, output: Iterator[Any], tasks: list[Task | None], ordered: bool
) -> Iterator[Any]:
    """Yield joblib's results; out of order, any finished tasks may be the awaited ones."""
    for taken, result in enumerate(output):
        if active() is recording:
            waited = tasks[taken : taken + 1] if ordered else tasks
            context = recording.context
            context.close()
            context.waited(task for task in waited if task is not None)
            context.reopen()
        yield result
