"""Options of readers, given in Python or, as text, on the command line: numbers, flags, companions, tolerance."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport
from simsched.graph.loading import Mend, find_file
from simsched.traces.shared.json_stream import shown

#: Description of readers' option `tolerant`.
TOLERANT = "true to read what is complete of a file that is cut off or not quite valid; the report says what was mended"
_DIGITS = re.compile(r"[0-9]{1,18}")


def whole_number(path: Path, option: str, value: object, allowed: range, expected: str) -> int:
    """Return the whole number in an option.

    Parameters
    ----------
    path : Path
        The file, for the message.
    option : str
        Name of the option.
    value : int or str
        The number, or its digits.
    allowed : range
        Its allowed values.
    expected : str
        Expected value, for messages.

    Raises
    ------
    FormatError
        If it is anything else.

    Examples
    --------
    >>> whole_number(Path("run.json"), "run", "2", range(3), "one of the runs 0 to 2")
    2
    """
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    # A bool is an int to isinstance, but no number here.
    if type(number) is not int or number not in allowed:
        raise FormatError(f"{path}: {option} is {shown(value)}; expected {expected}")
    return number


def word(path: Path, option: str, value: object, allowed: Collection[str]) -> str:
    """Return the word in an option, or raise `FormatError` if it is none of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise FormatError(f"{path}: {option} is {shown(value)}; expected one of {', '.join(allowed)}")
    return value


def real_number(path: Path, option: str, value: object, least: float, most: float, expected: str) -> float:
    """Return the number in an option.

    Parameters
    ----------
    path : Path
        The file, for the message.
    option : str
        Name of the option.
    value : float or str
        The number, or its text.
    least, most : float
        Allowed range.
    expected : str
        Expected value, for messages.

    Raises
    ------
    FormatError
        If it is anything else.

    Examples
    --------
    >>> real_number(Path("run.stg"), "unit", "1e-6", 1e-12, 1.0, "seconds")
    1e-06
    """
    try:
        # A bool is an int to isinstance, but no number here.
        number = (
            float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        )
    except (ValueError, OverflowError):
        number = math.nan
    if not least <= number <= most:
        raise FormatError(f"{path}: {option} is {shown(value)}; expected {expected}")
    return number


def flag(path: Path, option: str, value: object) -> bool:
    """Return the truth value of an option: a bool, or `true` or `false` as text.

    Parameters
    ----------
    path : Path
        The file, for the message.
    option : str
        Name of the option.
    value : bool or str
        The truth.

    Raises
    ------
    FormatError
        If it is anything else.

    Examples
    --------
    >>> flag(Path("run.json"), "tolerant", "true")
    True
    """
    parsed = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(parsed, bool):
        raise FormatError(f"{path}: {option} is {shown(value)}; expected true or false")
    return parsed


def given(path: Path, option: str, value: object, what: str) -> Path:
    """Return the file that an option names, with or without its suffix `.gz`.

    Parameters
    ----------
    path : Path
        The file, for the message.
    option : str
        Name of the option.
    value : str or Path
        The option.
    what : str
        Description of the file: `the dag.dot`.

    Raises
    ------
    FormatError
        If it is not a path, or there is no such file.
    """
    if not isinstance(value, str | Path):
        raise FormatError(f"{path}: {option} is {shown(value)}; expected the path of {what}")
    return find_file(value)


def beside(path: Path, name: str) -> Path | None:
    """Return the file of a name in the folder of another one, plain or gzipped; None if there is none."""
    try:
        return find_file(path.with_name(name))
    except FormatError:
        return None


#: A broken disk can break every line of a file.
MOST_TOLD = 10


class Mends:
    """A `Mend` that notes the first few sentences, and counts all in the report's fact `mended`.

    Parameters
    ----------
    report : ImportReport
        Receives each.

    Examples
    --------
    >>> report = ImportReport("a file")
    >>> mend = Mends(report)
    >>> for line in range(100):
    ...     mend(f"line {line} was passed over")
    >>> report.facts["mended"], len(report.notes), report.notes[0]
    (100, 10, 'line 0 was passed over')
    """

    def __init__(self, report: ImportReport) -> None:
        self._report = report

    def __call__(self, sentence: str) -> None:
        """Note a sentence, or count it."""
        count = self._report.facts.get("mended", 0) + 1
        self._report.facts["mended"] = count
        self._report.note(sentence, when=count <= MOST_TOLD)


def mends_if(path: Path, tolerant: object, report: ImportReport) -> Mend | None:
    """Return the receiver of mends where the option `tolerant` is true; None where it is false.

    Raises
    ------
    FormatError
        If the option is neither.
    """
    return Mends(report) if flag(path, "tolerant", tolerant) else None
