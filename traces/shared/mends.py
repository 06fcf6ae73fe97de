"""What tolerant reading mended: the first of it in sentences, all of it as a number."""

from __future__ import annotations

from pathlib import Path

from simsched.graph import ImportReport
from simsched.graph.loading import Mend
from simsched.traces.shared.options import flag

#: A broken disk can break every line of a file.
MOST_TOLD = 10


class Mends:
    """A `Mend` that notes the first few sentences, and counts all in the report's fact `mended`.

    Parameters
    ----------
    report : ImportReport
        Told of each.

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
        if count <= MOST_TOLD:
            self._report.note(sentence)


def mends_if(path: Path, tolerant: object, report: ImportReport) -> Mend | None:
    """Return what is told of mends where the option `tolerant` is true; None where it is false.

    Raises
    ------
    FormatError
        If the option is neither.
    """
    return Mends(report) if flag(path, "tolerant", tolerant) else None
