"""Standard Task Graph files (STG): the graphs whose optimal schedules are known.

A file begins with n. A line a task follows: the identifier, the processing time, the number of predecessors
and the predecessors themselves. There are n + 2 of them: task 0 is a dummy source, task n + 1 a dummy
sink, both of zero time; they are kept. What stands behind a `#` is information about the generator.

References
----------
"A standard task graph set for fair evaluation of multiprocessor scheduling algorithms", Journal of
Scheduling 5(5), 2002.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import FormatError, GraphError
from simsched.graph.columns import plain_text
from simsched.graph.loading import open_plain
from simsched.graph.report import ImportReport

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

#: The count, then task 0 without predecessors.
_BEGINNING = re.compile(
    rb"(?:\s|#.*\n)*[0-9]{1,15}[ \t]*(?:#.*)?\r?\n"
    rb"(?:\s|#.*\n)*0+[ \t]+[0-9]{1,15}[ \t]+0+[ \t]*[#\r\n]"
)
_CP_LENGTH = re.compile(r"#\s*CP Length\s*:\s*([0-9]{1,15})\s*$")
#: float64 holds whole numbers of so many digits exactly.
MAX_DIGITS = 15


@dataclass(frozen=True)
class _Task:
    time_s: int
    before: list[int]


class StgFile:
    """Reader of Standard Task Graph files; their times, whole numbers without a unit, become seconds."""

    title = "Standard Task Graph set (.stg)"
    dependences = "in the file"
    times = "in the file, whole numbers taken as seconds"
    options: dict[str, str] = {}  # noqa: RUF012 - the protocol's type; nothing changes it

    def recognises(self, head: bytes) -> bool:
        """Tell by the first two lines of numbers: the count, and task 0 without predecessors."""
        return _BEGINNING.match(head) is not None

    def read(self, path: Path) -> TaskGraph:
        """Return the graph of a file, plain or gzipped.

        Raises
        ------
        FormatError
            If the file is no such file; the message gives the line.
        GraphError
            If its tasks form a cycle.
        """
        with open_plain(path) as stream:
            lines = plain_text(stream.read()).split("\n")
        tasks = _tasks(path, lines)
        report = ImportReport(path.name, "stg")
        graph = _graph(path, tasks, report)
        _compare(graph, lines, report)
        return graph


STG = StgFile()


def _graph(path: Path, tasks: list[_Task], report: ImportReport) -> TaskGraph:
    from simsched.graph.taskgraph import TaskGraph

    last = len(tasks) - 1
    dummies = {i for i in (0, last) if tasks[i].time_s == 0}
    try:
        return TaskGraph.from_edges(
            [task.time_s for task in tasks],
            [(before, i) for i, task in enumerate(tasks) for before in task.before],
            kinds=["dummy" if i in dummies else "task" for i in range(len(tasks))],
            name=path.name.removesuffix(".gz").removesuffix(".stg"),
            report=report,
        )
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None


def _compare(graph: TaskGraph, lines: list[str], report: ImportReport) -> None:
    """Compare the critical path with the one that the generator wrote down."""
    for line in lines:
        if match := _CP_LENGTH.match(line):
            report.facts["stated_critical_path_s"] = float(match[1])
            if float(match[1]) != graph.critical_path_s:
                found = f"{graph.critical_path_s:g}"
                report.note(f"the file states a critical path of {match[1]}, its tasks have one of {found}")


def _tasks(path: Path, lines: list[str]) -> list[_Task]:
    rows = _rows(path, lines)
    where, first = next(rows, (1, []))
    if len(first) != 1:
        raise FormatError(
            f"{path}: line {where}: expected the number of tasks alone, found {len(first)} numbers"
        )
    n = first[0]
    tasks: list[_Task] = []
    for line, row in rows:
        if len(tasks) == n + 2:
            raise FormatError(f"{path}: line {line}: more than the {n} tasks and two dummies announced")
        tasks.append(_task(path, line, row, len(tasks), n))
    if len(tasks) != n + 2:
        raise FormatError(
            f"{path}: {len(tasks)} task lines; expected {n + 2}, the {n} announced and two dummies; "
            "is the file cut off?"
        )
    return tasks


def _rows(path: Path, lines: list[str]) -> Iterator[tuple[int, list[int]]]:
    """Yield the numbers of every line that has some, with the line's number, from 1."""
    for line, text in enumerate(lines, 1):
        words = text.partition("#")[0].split()
        for word in words:
            if not (word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS):
                raise FormatError(
                    f"{path}: line {line}: {word[:40]!r} is not a whole number of up to {MAX_DIGITS} digits"
                )
        if words:
            yield line, [int(word) for word in words]


def _task(path: Path, line: int, row: list[int], expected: int, n: int) -> _Task:
    if len(row) < 3 or len(row) != 3 + row[2]:
        raise FormatError(
            f"{path}: line {line}: expected task, time, number of predecessors and as many predecessors; "
            f"found {len(row)} numbers"
        )
    if row[0] != expected:
        raise FormatError(
            f"{path}: line {line}: task {row[0]} where task {expected} is due; tasks are in order"
        )
    for before in row[3:]:
        if before > n + 1 or before == expected:
            raise FormatError(
                f"{path}: line {line}: task {expected} has predecessor {before}; "
                f"expected another one of 0 to {n + 1}"
            )
    return _Task(row[1], row[3:])
