"""The first line of a Paraver trace: its unit, its length, and which threads there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.traces.shared.json_stream import shown

#: Nanoseconds in a unit; without a name, times are microseconds.
UNITS_NS = {"ns": 1, "us": 1000, "ms": 10**6, "": 1000}
MAX_THREADS = 1_000_000
_HEADER = re.compile(
    r"#Paraver \([^()]{0,80}\):(\d{1,18})(?:_([a-z]{1,10}))?:\d{1,9}(?:\([^()]*\))?:\d{1,9}(.*)",
    re.ASCII,
)
_TASKS = re.compile(r"[:,](\d{1,9})\(([\d:,]*)\)", re.ASCII)

#: Application, task (process) and thread, from 1.
Thread = tuple[int, int, int]


@dataclass(frozen=True)
class Header:
    """What a trace says of itself.

    Parameters
    ----------
    unit_ns : int
        Nanoseconds in a unit of its times.
    duration_ns : int
        Length of the trace.
    threads : tuple of triple of int
        All threads in the order in which the .row file names them; empty where the header does not tell.
    """

    unit_ns: int
    duration_ns: int
    threads: tuple[Thread, ...]


def read_header(path: Path, line: bytes) -> Header:
    """Return what the first line of a trace tells, or raise `FormatError`."""
    found = _HEADER.match(plain_text(line))
    if found is None:
        raise FormatError(
            f"{path}: line 1: {shown(plain_text(line))} is not a header of Paraver; expected "
            "#Paraver (date):duration_ns:nodes(cpus):applications:..."
        )
    unit = found[2] or ""
    if unit not in UNITS_NS:
        raise FormatError(f"{path}: line 1: times are in {shown(unit)}; expected ns, us, ms or no unit")
    return Header(UNITS_NS[unit], int(found[1]) * UNITS_NS[unit], _threads(found[3]))


def _threads(applications: str) -> tuple[Thread, ...]:
    threads: list[Thread] = []
    for application, tasks in enumerate(_TASKS.finditer(applications), 1):
        for task, counts in enumerate(tasks[2].split(","), 1):
            number = counts.partition(":")[0]
            many = int(number) if number and len(number) < 8 else 0
            if len(threads) + many > MAX_THREADS:
                return ()
            threads += [(application, task, thread) for thread in range(1, many + 1)]
    return tuple(threads)
