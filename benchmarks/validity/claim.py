"""`Claim`: what was predicted, against what, and how far off; `Agreement`: what either agrees or does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from validity.labels import label_of


@dataclass(frozen=True)
class Claim:
    """Errors of one kind of prediction.

    Parameters
    ----------
    source : str
        The command that makes it.
    what : str
        What was predicted, and against what.
    errors : mapping of str to float
        Predicted over true, less 1, by case.
    default : sequence of float
        The same of what `simulate` gives by default; empty where that is no question, or the same.
    """

    source: str
    what: str
    errors: Mapping[str, float]
    default: Sequence[float] = ()

    @property
    def worst(self) -> str:
        """The case that is furthest off."""
        return max(self.errors, key=lambda case: abs(self.errors[case]))

    def row(self, reasons: Mapping[str, Mapping[str, str]]) -> str:
        """Return a row of the table; `reasons` tells, by claim, its worst case and why."""
        absolute = np.abs(list(self.errors.values()))
        median, p90 = np.percentile(absolute, [50, 90])
        known = reasons.get(self.what, {})
        why = known["why"] if known.get("worst") in (self.worst, "*") else "**not looked into**"
        cells = (self.what, label_of(self.what), len(absolute), f"{median:.1%}", f"{p90:.1%}",
                 f"{self.errors[self.worst]:+.1%}", self._default, f"{self.worst}: {why}", self.source)  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"

    @property
    def _default(self) -> str:
        if not len(self.default):
            return ""
        median, p90 = np.percentile(np.abs(self.default), [50, 90])
        return f"{median:.1%}, {p90:.1%}"


@dataclass(frozen=True)
class Agreement:
    """How many of some statements agree.

    Parameters
    ----------
    source : str
        The command that makes it.
    what : str
        What is stated, and by whom.
    agree, of : int
    """

    source: str
    what: str
    agree: int
    of: int

    def row(self) -> str:
        """Return a row of the table."""
        return f"| {self.what} | {self.agree} of {self.of} | {self.source} |"


Found = tuple[list[Claim], list[Agreement]]
