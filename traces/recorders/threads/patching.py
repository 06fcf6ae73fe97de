"""What is replaced while a recording runs: submitting, waiting and calling back of executors, threads and joblib."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Future, process, thread
from contextlib import contextmanager
from functools import wraps
from typing import Any

from simsched.traces.recorders.threads.calls import Call, active
from simsched.traces.recorders.threads.tasks import Recording, Task, kind_of

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
    """Return the recording that runs, and the task of a future or a thread in it."""
    recording = active()
    task = None if recording is None else _task_of(recording, owner)
    return None if recording is None or task is None else (recording, task)


def _submit(original: _Method) -> _Method:
    def submit(self: Any, fn: _Method, /, *args: Any, **kwargs: Any) -> Any:
        recording = active()
        if recording is None:
            return original(self, fn, *args, **kwargs)
        task = recording.context.submit(kind_of(fn), (*args, *kwargs.values()))
        if task is None:
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
    """Return what a thread runs where it is a task: its target, or its own class."""
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
            # joblib asks for more of them in threads of its own: all depend on what the caller had waited for.
            for function, args, kwargs in iterable:
                task = recording.add(kind_of(function), after, (*args, *kwargs.values()))
                tasks.append(task)
                yield (function if task is None else Call(function, task, recording)), args, kwargs

        try:
            output = original(self, list(recorded()) if isinstance(iterable, Collection) else recorded())
            if isinstance(output, list):
                _keep_results(recording, tasks, output)
                context.waited(task for task in tasks if task is not None)
                return output
            return _yielded(recording, output, tasks, getattr(self, "return_ordered", True))
        finally:
            context.reopen()

    return call


def _keep_results(recording: Recording, tasks: list[Task | None], output: list[Any]) -> None:
    for task, result in zip(tasks, output, strict=False):
        if task is not None:
            recording.has_result(task, result)


def _yielded(
    recording: Recording, output: Iterator[Any], tasks: list[Task | None], ordered: bool
) -> Iterator[Any]:
    """Yield joblib's results; out of order, whichever tasks have finished may be those that were waited for."""
    for taken, result in enumerate(output):
        if active() is recording:
            waited = tasks[taken : taken + 1] if ordered else tasks
            context = recording.context
            context.close()
            context.waited(task for task in waited if task is not None)
            context.reopen()
        yield result
