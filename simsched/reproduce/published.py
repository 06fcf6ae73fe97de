"""Data file of a paper: inputs, tables with all their cases and the values at hand, statements."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources.abc import Traversable
from itertools import product
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from simsched.errors import FormatError
from simsched.machine.schema import Strict
from simsched.mistakes import refusal
from simsched.reproduce.rows import Case, Use

Text = Annotated[str, Field(min_length=1)]
Plain = StrictBool | StrictInt | Decimal | StrictStr
Value = Plain | tuple[Plain, ...]
#: A product of axes: every combination of their values is a case; an axis of one value needs no list.
Axes = dict[str, Plain | tuple[Value, ...]]


class Asked(NamedTuple):
    """A case of a quantity, with the published value if known, its decimals, and its use."""

    case: Case
    paper: float | None
    decimals: int
    use: Use


class Quantity(Strict):
    """A quantity that a table of a paper shows in its cases.

    Parameters
    ----------
    table, name, unit : str
        As in `Row`.
    at : str
        Its place in the paper.
    cases : list of axes
        A case for each combination of the values of an entry's axes, entry by entry.
    values, inputs, seen : list of lists
        Published numbers: the values of a case and then the number; `inputs` are those that a model is built from,
        `seen` those that were in view when a choice was made.
    columns : str
        The axis that the paper shows as columns; the last when not given.
    neutral : float, optional
        As in `Row`.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> quantity = system_of("chaos").published().quantities[0]
    >>> quantity.table, quantity.name, quantity.unit, len(list(quantity.asked()))
    ('Table 8', 'predicted time', 'min', 12)
    """

    table: Text
    name: Text
    unit: Text
    at: Text
    cases: Annotated[tuple[Axes, ...], Field(min_length=1)]
    values: tuple[tuple[Value, ...], ...] = ()
    inputs: tuple[tuple[Value, ...], ...] = ()
    seen: tuple[tuple[Value, ...], ...] = ()
    columns: str | None = None
    neutral: float | None = None

    @model_validator(mode="after")
    def _of_its_cases(self) -> Self:
        keys = [tuple(case.values()) for case in self._all()]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{self.table}, {self.name}: two cases have the same values")
        rows = (*self.values, *self.inputs, *self.seen)
        given = [_plain(row)[:-1] for row in rows]
        for key in given:
            if key not in keys or given.count(key) > 1:
                raise ValueError(f"{self.table}, {self.name}: {key} is not a case, or is given twice")
        if wrong := [row for row in rows if isinstance(row[-1], bool | str | tuple)]:
            raise ValueError(
                f"{self.table}, {self.name}: {wrong[0][-1]!r} of {_plain(wrong[0])[:-1]} is not a number"
            )
        return self

    def _all(self) -> Iterator[Case]:
        for axes in self.cases:
            lists = [
                _plain(value) if isinstance(value, tuple) else (_plain(value),) for value in axes.values()
            ]
            for values in product(*lists):
                yield dict(zip(axes, values, strict=True))

    @property
    def decimals(self) -> int:
        """Most decimals that the paper prints of it."""
        return max(one.decimals for one in self.asked())

    def asked(self) -> Iterator[Asked]:
        """Yield every case, in the order of the file."""
        uses: tuple[tuple[Use, Any], ...] = (
            ("check", self.values),
            ("input", self.inputs),
            ("seen", self.seen),
        )
        known: dict[Any, tuple[Any, Use]] = {
            _plain(row)[:-1]: (row[-1], use) for use, rows in uses for row in rows
        }
        for case in self._all():
            value, use = known.get(tuple(case.values()), (None, "check"))
            if value is None:
                yield Asked(case, None, 0, use)
            else:
                yield Asked(case, float(value), _decimals(value), use)


class Statement(Strict):
    """A statement of a paper; the system of that name judges under `key` whether it holds.

    Parameters
    ----------
    key : str
    table, at, words : str
        As in `Claim`.
    use : {"input", "check", "seen"}
    """

    key: Text
    table: Text
    at: Text
    words: Text
    use: Use = "check"


class Input(BaseModel):
    """Numbers of a paper that models are built from, under names of their own, and their places."""

    model_config = ConfigDict(extra="allow", frozen=True)

    at: Text

    def __getitem__(self, key: str) -> Any:
        return (self.model_extra or {})[key]


class Published(Strict):
    """A paper's data file.

    Parameters
    ----------
    title, citation : str
    inputs : mapping of str to Input
    quantities : list of Quantity
    statements : list of Statement

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> paper = system_of("chaos").published()
    >>> paper.tables[:2], len(paper.quantities) > 3
    (('Table 8', 'Table 9'), True)
    """

    title: Text
    citation: Text
    inputs: Annotated[dict[str, Input], Field(default_factory=dict)]
    quantities: Annotated[tuple[Quantity, ...], Field(min_length=1)]
    statements: tuple[Statement, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables and figures, in the order of the file."""
        return tuple(dict.fromkeys(quantity.table for quantity in self.quantities))


def read_published(file: Traversable) -> Published:
    """Read a paper's data file, each text once.

    Raises
    ------
    FormatError
        If it is not one; all mistakes are listed.
    """
    try:
        return _parsed(file.name, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{file.name}: {error}") from None


@cache
def _parsed(name: str, text: str) -> Published:
    try:
        # As decimals, numbers keep the digits that the paper prints.
        return Published.model_validate(tomllib.loads(text, parse_float=Decimal))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{name}: {error}") from None
    except ValidationError as error:
        mistakes = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise refusal(FormatError, name, mistakes) from None


def _plain(value: Any) -> Any:
    """Return a value of a data file with floats for decimals and tuples for lists."""
    if isinstance(value, Decimal):
        return float(value)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _decimals(value: Any) -> int:
    exponent = Decimal(value).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def described(inputs: Mapping[str, Input]) -> str:
    """Return names and places of inputs on one line."""
    return ", ".join(f"{name.replace('_', ' ')} ({given.at})" for name, given in inputs.items())
