"""`Row` and `Claim`: a number or a statement of a paper against the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Use = Literal["input", "check", "seen"]
#: Values of a case: plain ones, or tuples of them (`images = (60000, 10000)`).
Case = Mapping[str, Any]

#: Units of absolute times.
TIMES = ("ns", "us", "ms", "s", "min", "h")
#: Unit of ratios and shares, which have none.
RATIO = "1"


@dataclass(frozen=True)
class Row:
    """A published number and the simulated one.

    Parameters
    ----------
    system, table : str
        Which number it is.
    case : mapping of str to object
        The setting, as `{"network": "small", "threads": 480}`.
    quantity : str
        The counted or timed quantity.
    unit : str
        Of both numbers; "1" for ratios and shares.
    simulated : float
    paper : float or None
        None where no published value is at hand.
    use : {"input", "check", "seen"}
        "input" where the model is built from the paper's number, "check" for its predictions, "seen" where
        a choice was made with the number in view, so that it is no prediction.
    decimals : int
        Decimals that the paper prints.
    neutral : float or None
        The value of no effect (1 of a speed-up, 0 of a gain), where the side of it that a number is on means something.

    Examples
    --------
    >>> from simsched.reproduce import Row
    >>> row = Row("chaos", "Table 8", {"threads": 480}, "predicted time", "min", simulated=6.62, paper=6.6, decimals=1)
    >>> round(row.relative_error, 4), row.as_printed
    (0.003, True)
    """

    system: str
    table: str
    case: Case
    quantity: str
    unit: str
    simulated: float
    paper: float | None = None
    use: Use = "check"
    decimals: int = 0
    neutral: float | None = None

    @property
    def relative_error(self) -> float | None:
        """Simulated over published, less 1; None where nothing, or 0, is published."""
        return self.simulated / self.paper - 1 if self.paper else None

    @property
    def scored(self) -> bool:
        """Whether a published number tests a prediction here."""
        return self.paper is not None and self.use == "check"

    @property
    def as_printed(self) -> bool:
        """Whether the simulated number, rounded as the paper prints, is the published one."""
        return self.paper is not None and round(self.simulated, self.decimals) == round(
            self.paper, self.decimals
        )

    @property
    def same_side(self) -> bool | None:
        """Whether both numbers as printed are on one side of `neutral`; None where that means nothing."""
        if self.paper is None or self.neutral is None or self.paper == self.neutral:
            return None
        return (round(self.simulated, self.decimals) - self.neutral) * (self.paper - self.neutral) > 0

    def record(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "system": self.system,
            "table": self.table,
            "case": dict(self.case),
            "quantity": self.quantity,
            "unit": self.unit,
            "simulated": self.simulated,
            "paper": self.paper,
            "relative_error": self.relative_error,
            "use": self.use,
        }


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, of orderings, signs or places, and whether the simulation agrees.

    Parameters
    ----------
    system, table : str
        Where it belongs.
    words : str
        The statement.
    at : str
        Its place in the paper.
    holds : bool
    found : str
        The simulation's result, in short.
    use : {"input", "check", "seen"}

    Examples
    --------
    >>> import simsched as ss
    >>> claim = ss.reproduce("chaos", tables=["Table 8"]).claims[0]
    >>> print(claim.words)
    Each doubling of the threads beyond 480 gains less than the one before
    >>> claim.holds
    True
    """

    system: str
    table: str
    words: str
    at: str
    holds: bool
    found: str
    use: Use = "check"


def case_text(case: Case) -> str:
    """Return a case on one line.

    Examples
    --------
    >>> case_text({"network": "small", "images": (60000, 10000)})
    'network=small, images=60000/10000'
    """
    return ", ".join(f"{key}={value_text(value)}" for key, value in case.items())


def value_text(value: object) -> str:
    """Return a value of a case as text; parts of a tuple are separated by slashes."""
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
