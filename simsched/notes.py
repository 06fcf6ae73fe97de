"""Notes: sentences to read before trusting a result, each with its weight."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Weight(IntEnum):
    """Importance of a note to users of the numbers.

    Examples
    --------
    >>> Weight.DOUBT > Weight.ASSUMPTION > Weight.FACT
    True
    """

    #: Steps: what was merged, left out, counted.
    FACT = 0
    #: Assumptions where nothing was known, such as a curve or a roofline.
    ASSUMPTION = 1
    #: Possible errors of the result, such as missing dependencies.
    DOUBT = 2


class Note(str):
    """A sentence with its weight; a plain string is a fact.

    Parameters
    ----------
    sentence : str
    weight : Weight

    Examples
    --------
    >>> note = Note("the trace has no dependencies", Weight.DOUBT)
    >>> note, note.weight.name
    ('the trace has no dependencies', 'DOUBT')
    """

    weight: Weight

    def __new__(cls, sentence: str, weight: Weight = Weight.FACT) -> Note:
        """Return the sentence with its weight."""
        note = super().__new__(cls, sentence)
        note.weight = weight
        return note


def weight_of(note: str) -> Weight:
    """Return the weight of a sentence."""
    return note.weight if isinstance(note, Note) else Weight.FACT


def weighed(*notes: Iterable[str]) -> tuple[str, ...]:
    """Return all notes of several sources, each once, the weightiest first; equal weights in the given order.

    Examples
    --------
    >>> weighed(["2 edges were merged"], [Note("no dependencies", Weight.DOUBT)], ["2 edges were merged"])
    ('no dependencies', '2 edges were merged')
    """
    found: dict[str, str] = {}
    for source in notes:
        for note in source:
            # A note that was saved and loaded keeps its weight.
            found[note] = max(found.get(note, note), note, key=weight_of)
    return tuple(sorted(found.values(), key=lambda note: -weight_of(note)))
