"""Lines of a `.ninja_log`: commands with their times and outputs, by build.

References
----------
build_log.cc of ninja: versions 5 to 7 have the same lines (start, end, mtime, output, hash of the command). Those of a
build are in the order of their ends; a build appends its own; a log of many old ones is written anew, in no order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import lines, pass_over

HEADER = re.compile(r"# ninja log v([0-9]{1,3})")
VERSIONS = range(5, 8)
_LINE = re.compile(r"([0-9]{1,12})\t([0-9]{1,12})\t(-?[0-9]{1,20})\t([^\t]+)\t([0-9a-fA-F]{1,16})", re.ASCII)
#: Builds append a handful of lines or more each; a log written anew has an end before its predecessor at every second.
_ANEW_LINES, _ANEW_SHARE = 20, 0.25
ALL = "all"


@dataclass
class Command:
    """A command that ran: its times from the start of its build, and its outputs."""

    start_ms: int
    end_ms: int
    outputs: list[str] = field(default_factory=list)


Key = tuple[str, int, int]
Row = tuple[str, Key]


class Log:
    """Builds of a log.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        If given, lines that are damaged are passed over, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If the file is of another version, or a line is not as ninja writes it.
    """

    def __init__(self, path: Path, mend: Mend | None = None) -> None:
        self._path = path
        rows: list[Row] = []
        begins = [0]
        for number, line in lines(path, mend):
            if number == 1:
                _check_version(path, line)
            elif (row := _row(path, number, line, mend)) is not None:
                if rows and row[1][2] < rows[-1][1][2]:
                    begins.append(len(rows))
                rows.append(row)
                budget().check(path, len(rows), "tasks")
        if not rows:
            raise FormatError(f"{path}: no command in the log; nothing was built, or all of it failed")
        self.rows = rows
        self._begins = begins
        #: Whether ninja wrote the log anew, so that its builds are not known.
        self.anew = len(begins) > _ANEW_LINES and len(begins) > _ANEW_SHARE * len(rows)

    def __len__(self) -> int:
        return len(self._begins)

    def commands(self, build: int | None) -> list[Command]:
        """Return the commands of a build, from 1, by start; those that ran last for each output where it is None."""
        ends = [*self._begins[1:], len(self.rows)]
        rows = self.rows if build is None else self.rows[self._begins[build - 1] : ends[build - 1]]
        found: dict[Key, Command] = {}
        for output, key in dict(rows).items():
            found.setdefault(key, Command(*key[1:])).outputs.append(output)
        return sorted(found.values(), key=lambda command: (command.start_ms, command.end_ms))


def _check_version(path: Path, line: str) -> None:
    found = HEADER.fullmatch(line)
    if found is None or int(found[1]) not in VERSIONS:
        raise FormatError(
            f"{path}: line 1 is {shown(line)}; expected '# ninja log v5' to v7, of ninja 1.5 or later"
        )


def _row(path: Path, number: int, line: str, mend: Mend | None) -> Row | None:
    found = _LINE.fullmatch(line)
    if found is not None and int(found[1]) <= int(found[2]):
        return found[4], (found[5].lower(), int(found[1]), int(found[2]))
    if not line.strip():
        return None
    expected = "; expected start, end, mtime, output and hash, tabs between them;"
    pass_over(path, f"line {number} is {shown(line)}", mend, expected)
    return None
