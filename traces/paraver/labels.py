"""The files beside a Paraver trace: what its numbers mean (.pcf), and what its threads are called (.row)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.shared.companions import beside, given
from simsched.traces.shared.text_lines import lines

MAX_LABELS = 1_000_000
_TYPE = re.compile(r"\s*-?\d{1,10}\s+(\d{1,10})\s+(\S.*?)\s*", re.ASCII)
_VALUE = re.compile(r"\s*(\d{1,20})\s+(\S.*?)\s*", re.ASCII)
_NUMBERED = re.compile(r"-?\d", re.ASCII)
_LEVEL = re.compile(r"LEVEL\s+(\w+)\s+SIZE\s+(\d{1,9})\s*", re.ASCII)


@dataclass
class Labels:
    """What a trace's numbers mean.

    Parameters
    ----------
    types : dict of str to int
        Numbers of event types by label, in small letters and without a colon at the end.
    values : dict of int to dict
        Of every type with named values, the labels by value.
    """

    types: dict[str, int] = field(default_factory=dict)
    values: dict[int, dict[int, str]] = field(default_factory=dict)


def companion(path: Path, value: object, option: str) -> Path | None:
    """Return the file beside a trace: the one given, or that of the same stem, or None where there is none.

    Raises
    ------
    FormatError
        If the one given is not there.
    """
    if value is not None:
        return given(path, option, value, f"the .{option} file")
    stem = path.name.removesuffix(".gz").removesuffix(".prv")
    return beside(path, f"{stem}.{option}")


def read_labels(path: Path) -> Labels:
    """Return the labels of a .pcf file, plain or gzipped.

    Blocks begin with EVENT_TYPE, a line a type with colour, number and label; after VALUES follow the values of all
    types of the block. What belongs to no such block, such as colours, is passed over.
    """
    labels, block, place, count = Labels(), list[int](), "", 0
    for _, line in lines(path):
        word = line.strip()
        if word == "EVENT_TYPE":
            block, place = [], "types"
        elif word == "VALUES":
            place = "values" if block else ""
        elif word and not _NUMBERED.match(word):
            place, block = "", []
        elif place == "types" and (found := _TYPE.fullmatch(line)):
            block.append(int(found[1]))
            labels.types.setdefault(found[2].rstrip(": ").lower(), block[-1])
            count += 1
        elif place == "values" and (found := _VALUE.fullmatch(line)):
            for number in block:
                labels.values.setdefault(number, {})[int(found[1])] = found[2]
            count += len(block)
        if count > MAX_LABELS:
            raise FormatError(f"{path}: more than {MAX_LABELS} labels; refused")
    return labels


def read_rows(path: Path) -> list[str]:
    """Return the names of the threads in a .row file, plain or gzipped, in their order."""
    names: list[str] = []
    left = 0
    for _, line in lines(path):
        if level := _LEVEL.fullmatch(line):
            left = int(level[2]) if level[1] == "THREAD" else 0
        elif left:
            left -= 1
            names.append(line.strip())
    return names
