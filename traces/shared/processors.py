"""The processor that a recording names."""

from __future__ import annotations

from simsched.graph.recording import RecordedOn
from simsched.text import one_line

#: Characters of a processor's name.
MOST_CHARACTERS = 200


def recorded_on(name: object) -> RecordedOn | None:
    """Return what a file tells of the processor that recorded it; None where that is no name.

    Examples
    --------
    >>> recorded_on("Some CPU @ 2.30GHz").name, recorded_on(" "), recorded_on(None)
    ('Some CPU @ 2.30GHz', None, None)
    """
    shown = one_line(name, MOST_CHARACTERS) if isinstance(name, str) else ""
    return RecordedOn(shown) if shown else None
