"""A recorder of what `concurrent.futures`, joblib and plain threads run, as a Chrome trace with dependencies.

In a program::

    from simsched.traces.recorders.threads import record

    with record("run.json"):
        main()

and, without a change of the program::

    python -m simsched.traces.recorders.threads --out run.json script.py ARGUMENTS

`simsched.load` makes of either file a graph with its recorded schedule. See docs/formats/threads.md for what becomes a
task and a dependency.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from simsched.errors import SimschedError
from simsched.files import check_place
from simsched.traces.recorders.threads.file import write
from simsched.traces.recorders.threads.patching import activate, active, patched
from simsched.traces.recorders.threads.tasks import Recording

__all__ = ["record", "task"]

EDGES = ("waits", "arguments")
MOST_TASKS = 500_000


@contextmanager
def record(out: str | Path, *, edges: str = "waits", most_tasks: int = MOST_TASKS) -> Iterator[None]:
    """Record what the block submits to executors, joblib and threads, and write it when the block ends.

    Parameters
    ----------
    out : str or Path
        The file, by custom `*.json` or `*.json.gz`.
    edges : str
        "waits": a task depends on all whose results its submitter had waited for. "arguments": only on those whose
        results are among its arguments; the recording keeps all results until it ends.
    most_tasks : int
        Once there are so many tasks and parts of tasks (some 300 bytes each), further calls run unrecorded.

    Raises
    ------
    SimschedError
        If a recording is already running, an argument is impossible, or the file cannot be written.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> with TemporaryDirectory() as folder:
    ...     with record(f"{folder}/run.json"), ThreadPoolExecutor(2) as pool:
    ...         parts = [pool.submit(sum, [i, 1]).result() for i in range(2)]
    ...         total = pool.submit(max, parts).result()
    ...     graph = ss.load(f"{folder}/run.json")
    >>> graph.kinds.to_list(), graph.n_edges, graph.recorded is not None
    (['sum', 'sum', 'max'], 2, True)
    """
    path = Path(out)
    check_place(path)
    if edges not in EDGES:
        raise SimschedError(f"record: edges is {edges!r:.60}; expected one of {', '.join(EDGES)}")
    if type(most_tasks) is not int or most_tasks < 1:
        raise SimschedError(f"record: most_tasks is {most_tasks!r:.60}; expected a whole number above zero")
    if active() is not None:
        raise SimschedError("record: a recording is already running; there can be one at a time")
    recording = Recording(edges == "arguments", most_tasks)
    activate(recording)
    try:
        with patched():
            yield
    finally:
        activate(None)
        recording.closed = True
        write(recording, path)


@contextmanager
def task(name: str) -> Iterator[None]:
    """Make a stretch of code a task, in any thread, while something is recorded; also as a decorator.

    Tasks of one thread depend on each other in their order, and on what the thread had waited for.

    Parameters
    ----------
    name : str
        Its kind.

    Examples
    --------
    >>> @task("normalise")
    ... def normalise(values):
    ...     return [value / max(values) for value in values]
    >>> normalise([1.0, 2.0])
    [0.5, 1.0]
    """
    if (recording := active()) is None:
        yield
        return
    context = recording.context
    named = recording.add(name, context.release())
    try:
        with nullcontext() if named is None else recording.running(named):
            yield
    finally:
        context.learn([named] if named is not None else [])
        context.reopen()
