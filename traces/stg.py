"""Standard Task Graph files (STG): graphs with known optimal schedules.

A file begins with n. One line per task: the identifier, the processing time, the number of predecessors
and the predecessors themselves. There are n + 2 of them: task 0 is a dummy source, task n + 1 a dummy
sink, both of zero time; they are kept. Text after a `#` is information about the generator.

In graphs with communication costs each predecessor is on a separate line, with the cost of its edge, which is
left out. In the prototype set a number of processors follows n, and there is no source: tasks begin with 1.
Where generators write processors and tasks begin with 0, there may be no dummies: n tasks, 0 to n - 1.

References
----------
"A standard task graph set for fair evaluation of multiprocessor scheduling algorithms", Journal of
Scheduling 5(5), 2002.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, open_plain, plain_name
from simsched.text import counted
from simsched.traces.shared.options import real_number

#: The count, then task 0; or count and processors, then task 0 or 1; without predecessors.
_BEGINNING = re.compile(
    rb"(?:\s|#.*\n)*[0-9]{1,15}([ \t]+[0-9]{1,15})?[ \t]*(?:#.*)?\r?\n"
    rb"(?:\s|#.*\n)*0*(?(1)[01]|0)[ \t]+[0-9]{1,15}[ \t]+0+[ \t]*[#\r\n]"
)
_CP_LENGTH = re.compile(rb"#\s*CP Length\s*:\s*([0-9]{1,15})\s*$")
#: float64 holds whole numbers of so many digits exactly.
MAX_DIGITS = 15
#: Longer lines cannot be the predecessors of one task.
MAX_LINE_B = 64 * 1024 * 1024
#: Seconds of one unit of time are within these.
MIN_UNIT_S, MAX_UNIT_S = 1e-12, 1e6


@dataclass
class _Tasks:
    """Columns of the tasks read so far.

    Parameters
    ----------
    n : int
        As announced.
    processors : int
        As announced by prototypes; 0 where the file has none.
    first : int
        Number of the first task: 0, or 1 in prototypes.
    times : array
        Processing time of each task.
    before, after : arrays
        Edges, by the tasks' numbers.
    messages : int
        Sum of the communication costs.
    """

    n: int
    processors: int
    first: int = 0
    times: array[int] = field(default_factory=lambda: array("q"))
    before: array[int] = field(default_factory=lambda: array("q"))
    after: array[int] = field(default_factory=lambda: array("q"))
    messages: int = 0

    @property
    def last(self) -> int:
        """Number of the dummy sink."""
        return self.n + 1

    @property
    def bare(self) -> bool:
        """Whether there are no dummies, which only files with a number of processors may lack."""
        return self.processors > 0 and self.first == 0 and len(self.times) == self.n


def _read(path: Path, *, unit: float | str = 1.0) -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Parameters
    ----------
    path : Path
        The file.
    unit : float or str
        Seconds of one unit of time.

    Raises
    ------
    FormatError
        If the file is no such file; the message gives the line.
    GraphError
        If its tasks form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''1
    ... 0 0 0
    ... 1 7 1 0
    ... 2 0 1 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "three.stg").write_text(text)
    ...     graph = ss.load(Path(folder, "three.stg"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('stg', ['dummy', 'task', 'dummy'], [0.0, 7.0, 0.0], 2)
    """
    expected = f"a number of seconds from {MIN_UNIT_S:g} to {MAX_UNIT_S:g}, as 1e-6"
    unit_s = real_number(path, "unit", unit, MIN_UNIT_S, MAX_UNIT_S, expected)
    stated: list[int] = []
    with open_plain(path) as stream:
        tasks = _tasks(path, _rows(path, stream, stated))
    report = ImportReport(path.name, "stg")
    last = len(tasks.times) - 1
    ends = {0, last} if tasks.first == 0 else {last}
    dummies = set() if tasks.bare else {i for i in ends if tasks.times[i] == 0}
    graph = TaskGraph.from_edges(
        np.frombuffer(tasks.times, np.int64) * unit_s,
        np.array([tasks.before, tasks.after], np.int64).T - tasks.first,
        kinds=("dummy" if i in dummies else "task" for i in range(last + 1)),
        name=plain_name(path, ".stg"),
        report=report,
    )
    _describe(graph, tasks, stated, unit_s, report)
    return graph


STG = Reader(
    title="Standard Task Graph set (.stg)",
    dependencies="in the file",
    times="in the file, whole numbers taken as seconds",
    options={"unit": "seconds that one unit of time stands for, as 1e-6; 1 if not given"},
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


def _describe(
    graph: TaskGraph, tasks: _Tasks, stated: list[int], unit_s: float, report: ImportReport
) -> None:
    """Compare the critical path with the generator's stated one, and report omissions."""
    if unit_s != 1:
        report.facts["unit_s"] = unit_s
    if tasks.processors:
        report.facts["stated_processors"] = tasks.processors
    if tasks.messages:
        report.facts["communication_s"] = tasks.messages * unit_s
        report.note(
            "the communication costs of the edges are left out: messages between cores cost no time here"
        )
    for path_units in stated:
        report.facts["stated_critical_path_s"] = path_units * unit_s
        if not math.isclose(path_units * unit_s, graph.critical_path_s, rel_tol=1e-9):
            found = f"{graph.critical_path_s / unit_s:g}"
            report.note(f"the file states a critical path of {path_units}, its tasks have one of {found}")


def _rows(path: Path, stream: BinaryIO, stated: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the numbers of every non-empty line, with its line number, from 1; keep stated critical paths."""
    line = 0
    while text := stream.readline(MAX_LINE_B):
        line += 1
        if len(text) == MAX_LINE_B:
            raise FormatError(f"{path}: line {line}: longer than {MAX_LINE_B} bytes; refused")
        numbers, _, _ = text.partition(b"#")
        if words := numbers.split():
            if not b"".join(words).isdigit() or max(map(len, words)) > MAX_DIGITS:
                raise _no_number(path, line, words)
            yield line, [int(word) for word in words]
        elif match := _CP_LENGTH.match(text):
            stated.append(int(match[1]))


def _no_number(path: Path, line: int, words: list[bytes]) -> FormatError:
    wrong = next(word for word in words if not word.isdigit() or len(word) > MAX_DIGITS)
    word = wrong[:40].decode("utf-8", "replace")
    return FormatError(f"{path}: line {line}: {word!r} is not a whole number of up to {MAX_DIGITS} digits")


def _tasks(path: Path, rows: Iterator[tuple[int, list[int]]]) -> _Tasks:
    line, first = next(rows, (1, []))
    if not 1 <= len(first) <= 2:
        raise FormatError(
            f"{path}: line {line}: expected the number of tasks, alone or with processors, "
            f"found {counted(len(first), 'number')}"
        )
    tasks = _Tasks(first[0], processors=first[1] if len(first) > 1 else 0)
    for line, row in rows:
        if not tasks.times and tasks.processors and row[0] == 1:
            tasks.first = 1
        task = tasks.first + len(tasks.times)
        if task > tasks.last:
            raise FormatError(f"{path}: line {line}: more than the {_announced(tasks)} announced")
        _add(path, line, row, tasks, task, rows)
    if tasks.bare:
        if (beyond := max(tasks.before, default=0)) >= tasks.n:
            raise FormatError(
                f"{path}: a task has predecessor {beyond}; expected one of the {counted(tasks.n, 'task')} from 0 "
                "that are in the file"
            )
    elif tasks.first + len(tasks.times) != tasks.last + 1:
        expected = tasks.last + 1 - tasks.first
        raise FormatError(
            f"{path}: {len(tasks.times)} task lines; expected {expected}, the {_announced(tasks)} announced; "
            "is the file cut off?"
        )
    return tasks


def _announced(tasks: _Tasks) -> str:
    return f"{counted(tasks.n, 'task')} and {'a dummy' if tasks.first else 'two dummies'}"


def _add(
    path: Path, line: int, row: list[int], tasks: _Tasks, task: int, rows: Iterator[tuple[int, list[int]]]
) -> None:
    """Add a task, and its predecessors from its own line or, with costs, from the lines after it."""
    apart = len(row) == 3 and row[2] > 0
    if len(row) < 3 or (len(row) != 3 + row[2] and not apart):
        raise FormatError(
            f"{path}: line {line}: expected task, time, number of predecessors and as many predecessors; "
            f"found {counted(len(row), 'number')}"
        )
    if row[0] != task:
        raise FormatError(f"{path}: line {line}: task {row[0]} where task {task} is due; tasks are in order")
    tasks.times.append(row[1])
    for before in _apart(path, line, row[2], tasks, rows) if apart else row[3:]:
        if not tasks.first <= before <= tasks.last or before == task:
            raise FormatError(
                f"{path}: line {line}: task {task} has predecessor {before}; "
                f"expected another one of {tasks.first} to {tasks.last}"
            )
        tasks.before.append(before)
        tasks.after.append(task)


def _apart(
    path: Path, line: int, count: int, tasks: _Tasks, rows: Iterator[tuple[int, list[int]]]
) -> Iterator[int]:
    """Yield the predecessors on the lines after a task's, each with the cost of its edge."""
    for _ in range(count):
        where, row = next(rows, (line, []))
        if len(row) != 2:
            raise FormatError(
                f"{path}: line {line}: expected {counted(count, 'predecessor')}, behind the task or each with its "
                f"communication cost on a line; found {counted(len(row), 'number')} on line {where}"
            )
        tasks.messages += row[1]
        yield row[0]
