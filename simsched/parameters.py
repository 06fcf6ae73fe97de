"""`Parameters`: frozen dataclasses with checked fields, whose text is the spec that makes them."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, TypeGuard

from simsched.errors import SpecError
from simsched.spec import Spec

#: Largest whole number: far beyond real ones, and element counts still have a shape that can be written.
MOST = 2**24


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number, of Python or NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, least: float = -inf, most: float = inf) -> TypeGuard[int]:
    """Return whether a value is a whole number within limits, of Python or NumPy; True and False are none.

    Examples
    --------
    >>> is_whole(3, least=1), is_whole(3.0), is_whole(True), is_whole(0, least=1)
    (True, False, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most


def whole(default: int, least: int = 1) -> Any:
    """Return the field of a parameter that is a whole number of at least `least`.

    Parameters
    ----------
    default : int
    least : int
        The smallest value allowed.

    Returns
    -------
    dataclasses.Field

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from simsched.workloads import Workload, whole
    >>> @dataclass(frozen=True)
    ... class Net(Workload):
    ...     name = "net"
    ...     layers: int = whole(3, least=2)
    >>> str(Net(layers=5))
    'net[layers=5]'
    >>> Net(layers=1)
    Traceback (most recent call last):
        ...
    simsched.errors.SpecError: net[layers=1]: expected a whole number from 2 to 16777216
    """
    return field(default=default, metadata={"least": least})


def one_of(default: str, *others: str) -> Any:
    """Return the field of a parameter that is one of a few words.

    Parameters
    ----------
    default : str
    *others : str
        What else it may be.

    Returns
    -------
    dataclasses.Field

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from simsched.workloads import Workload, one_of
    >>> @dataclass(frozen=True)
    ... class Net(Workload):
    ...     name = "net"
    ...     pooling: str = one_of("max", "mean")
    >>> str(Net(pooling="mean"))
    'net[pooling=mean]'
    >>> Net(pooling="median")
    Traceback (most recent call last):
        ...
    simsched.errors.SpecError: net[pooling='median']: expected one of max, mean
    """
    return field(default=default, metadata={"words": (default, *others)})


def positive(default: float) -> Any:
    """Return the field of a parameter that is a number above 0."""
    return field(default=default, metadata={"above": 0.0})


def not_negative(default: float) -> Any:
    """Return the field of a parameter that is a number of at least 0."""
    return field(default=default, metadata={"from": 0.0})


def text(default: str) -> Any:
    """Return the field of a parameter that is any text, to be checked by its user."""
    return field(default=default, metadata={"text": True})


@dataclass(frozen=True)
class Parameters:
    """Base of objects made from a spec: subclass it and give it checked fields.

    Fields are made by `whole`, `one_of`, `positive`, `not_negative` and `text`, or are switches.

    Attributes
    ----------
    name : str
        Name in specs.

    Raises
    ------
    SpecError
        If a field's value is not allowed.
    """

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for each in fields(self):
            fits, expected = _judged(each, getattr(self, each.name))
            if not fits:
                raise self.refused(each.name, expected)

    def refused(self, parameter: str, expected: str) -> SpecError:
        """Return the error of a parameter whose value is impossible."""
        return SpecError(f"{self.name}[{parameter}={getattr(self, parameter)!r:.60}]: expected {expected}")

    def __str__(self) -> str:
        changed = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return str(Spec(self.name or type(self).__name__, changed))


def _judged(each: Field[Any], value: object) -> tuple[bool, str]:
    """Return whether a value fits its field, and a description of the values that do."""
    allowed = each.metadata
    if "least" in allowed:
        return is_whole(value, allowed["least"], MOST), f"a whole number from {allowed['least']} to {MOST}"
    if "words" in allowed:
        return value in allowed["words"], f"one of {', '.join(allowed['words'])}"
    if "above" in allowed:
        fits = is_number(value) and isfinite(value) and value > allowed["above"]
        return fits, f"a number above {allowed['above']:g}"
    if "from" in allowed:
        fits = is_number(value) and isfinite(value) and value >= allowed["from"]
        return fits, f"a number of at least {allowed['from']:g}"
    if "text" in allowed:
        return isinstance(value, str), "text"
    return isinstance(value, bool), "true or false"
