"""Events of a Paje trace, by the definitions in its own header.

References
----------
"Paje trace file format", version 1.2.5: a header of `%EventDef NAME ID`, `% FIELD TYPE` and `%EndEventDef`, then an
event a line: its id, and its fields in their order, those with spaces in double quotes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.timeline import LATEST_NS, whole_ns

#: Single quotes, which the specification does not have, are ViTE's.
_WORD = re.compile(r"""["]((?:[^"\\]|\\.)*)["]|'([^']*)'(?!\S)|(\S+)""")
#: Names that older traces give to fields.
_SYNONYMS = {
    "EntityType": "Type", "ContainerType": "Type", "NewContainerType": "Type", "NewName": "Name",
    "NewType": "Alias", "NewContainer": "Alias", "NewValue": "Alias",
    "SourceContainer": "StartContainer", "DestContainer": "EndContainer",
}  # fmt: skip
#: A real header defines some twenty events of up to twenty fields.
MAX_DEFINITIONS, MAX_FIELDS = 10_000, 1000


@dataclass(frozen=True)
class Definition:
    """What an event is called (`PajeSetState`), and its fields."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a trace, with checked access to its fields."""

    file: Path
    line: int
    name: str
    values: dict[str, str]

    def text(self, key: str) -> str:
        """Return a field that must be there."""
        if key not in self.values:
            raise FormatError(f"{self.file}: line {self.line}: a {self.name} without {key}")
        return self.values[key]

    def time_ns(self, unit_ns: int) -> int:
        """Return when it happened, in nanoseconds."""
        time_ns = whole_ns(self.text("Time"), unit_ns, most_ns=LATEST_NS)
        if time_ns is None:
            raise FormatError(
                f"{self.file}: line {self.line}: Time is {shown(self.values['Time'])}; expected a decimal number, "
                "at most the year 2262; which unit= does the trace count in?"
            )
        return time_ns


def events(
    path: Path, numbered: Iterable[tuple[int, str]], wanted: set[str], mend: Mend | None
) -> Iterator[Event]:
    """Yield the events of some names.

    Parameters
    ----------
    path : Path
        The file, for messages.
    numbered : iterable of (int, str)
        Its lines with their numbers.
    wanted : set of str
        Names of definitions, as `PajeSetState`.
    mend : callable, optional
        If given, lines that are no event are passed over, and `mend` is told so in a sentence.

    Raises
    ------
    FormatError
        If the header or a line is malformed.
    """
    known: dict[str, Definition] = {}
    header = _Header(path, known)
    for number, line in numbered:
        text = line.strip()
        if text.startswith("%"):
            header.add(number, text[1:].split())
        elif text and not text.startswith("#"):
            definition = known.get(text.split(maxsplit=1)[0])
            if definition is None:
                sentence = f"line {number} is {shown(text)}; the header defines no such event"
                if mend is None:
                    raise FormatError(f"{path}: {sentence}; tolerant=true passes it over")
                mend(f"{sentence}; it was passed over")
            elif definition.name in wanted:
                yield Event(
                    path,
                    number,
                    definition.name,
                    dict(zip(definition.fields, _words(line, definition), strict=False)),
                )
    if not known:
        raise FormatError(f"{path}: no event is defined; expected %EventDef at the beginning")


def _words(line: str, definition: Definition) -> list[str]:
    # StarPU separates by tabs and does not quote names with spaces.
    by_tabs = line.strip().split("\t")[1:]
    if len(by_tabs) == len(definition.fields) and all(by_tabs):
        words = [word.strip().strip('"') for word in by_tabs]
    else:
        words = [found[found.lastindex or 0] for found in _WORD.finditer(line)][1:]
    # Containers, types and states stand in line after line.
    return [sys.intern(word) for word in words]


class _Header:
    """The definitions, as they come."""

    def __init__(self, path: Path, known: dict[str, Definition]) -> None:
        self._path, self._known = path, known
        self._open: tuple[str, str, list[str]] | None = None

    def add(self, number: int, words: list[str]) -> None:
        """Take a line that begins with a percent sign."""
        match words:
            case ["EventDef", name, key] if self._open is None and len(self._known) < MAX_DEFINITIONS:
                self._open = name, key, []
            case ["EndEventDef"] if self._open is not None:
                name, key, fields = self._open
                self._known[key] = Definition(name, tuple(fields))
                self._open = None
            case [field, _] if self._open is not None and len(self._open[2]) < MAX_FIELDS:
                self._open[2].append(_SYNONYMS.get(field, field))
            case []:
                pass
            case _:
                shape = "%EventDef NAME ID, % FIELD TYPE or %EndEventDef"
                raise FormatError(
                    f"{self._path}: line {number} is {shown('%' + ' '.join(words))}; expected {shape}, in their order"
                )
