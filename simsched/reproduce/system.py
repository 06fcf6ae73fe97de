"""`System`: a published system composed of this project's parts, and `reproduce`, which runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import isfinite

import pandas as pd

from simsched.drawing import Axes
from simsched.errors import SimschedError, SpecError
from simsched.parameters import Parameters
from simsched.plugins import named
from simsched.progress import check_progress
from simsched.reproduce.published import Published, read_published
from simsched.reproduce.reproduction import Reproduction
from simsched.reproduce.rows import Claim, Row, case_text
from simsched.spec import Scalar, made, parse_with

#: Takes the values of a case by name and returns the simulated number.
Prediction = Callable[..., float]
#: Whether a statement holds, and the simulation's result in short.
Verdict = tuple[bool, str]
#: Draws the frame of a table (`Reproduction.frame`) on axes.
Drawing = Callable[["pd.DataFrame", "Axes | None"], "Axes"]


class Predicted:
    """Simulated numbers of a system, each computed once.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> from simsched.reproduce import Predicted, system_of
    >>> predicted = Predicted(system_of("chaos"))
    >>> round(predicted("Table 8", "predicted time", network="small", threads=480), 1)
    6.6
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._predictions = system.predictions()
        self._known: dict[object, float] = {}

    def __call__(self, table: str, quantity: str, /, **case: object) -> float:
        """Return the simulated number of a case.

        Raises
        ------
        SimschedError
            If nothing predicts the quantity, or the prediction is not a finite number.
        """
        key = (table, quantity, *sorted(case.items()))
        if key not in self._known:
            if (table, quantity) not in self._predictions:
                raise SimschedError(f"{self.system}: nothing predicts {quantity!r} of {table!r}")
            value = float(self._predictions[table, quantity](**case))
            if not isfinite(value):
                raise SimschedError(
                    f"{self.system}: {table}, {quantity}, {case_text(case)} came out as {value}"
                )
            self._known[key] = value
        return self._known[key]

    def printed(self, table: str, quantity: str, /, **case: object) -> float:
        """Return the simulated number of a case, rounded as the paper prints the quantity.

        Examples
        --------
        >>> from simsched.reproduce import Predicted, system_of
        >>> Predicted(system_of("chaos")).printed("Table 8", "predicted time", network="small", threads=480)
        6.6
        """
        asked = self.system.published().quantities
        decimals = next(one.decimals for one in asked if (one.table, one.name) == (table, quantity))
        return round(self(table, quantity, **case), decimals)


@dataclass(frozen=True)
class System(Parameters):
    """Base of all published systems: a frozen dataclass whose fields are the paper's open choices.

    Fields are made by `simsched.parameters` and have the documented choice as default. The paper's content is in
    a data file, by default `simsched/reproduce/papers/NAME.toml`; subclass it and write `predictions`.

    Attributes
    ----------
    name : str
        Name in specs.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> chaos = system_of("chaos[variant=hogwild]")
    >>> chaos.variant, chaos.published().tables[0]
    ('hogwild', 'Table 8')
    """

    @classmethod
    def paper(cls) -> Traversable:
        """Return the data file of the paper; a system of another package overrides this."""
        return files("simsched.reproduce") / "papers" / f"{cls.name}.toml"

    @classmethod
    def published(cls) -> Published:
        """Return the content of the paper's data file."""
        return read_published(cls.paper())

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return the predictor of each quantity, by table and name."""
        raise SimschedError(f"{self} has no predictions(); write one")

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the check of each statement of the data file, by its key."""
        return {}

    def pictures(self) -> Mapping[str, Drawing]:
        """Return the drawing of each table in the paper's form, by table."""
        return {}


def system_of(source: str | System, /, **choices: Scalar) -> System:
    """Return a published system from its spec (`chaos[variant=hogwild]`), or itself.

    Parameters
    ----------
    source : str or System
    **choices
        The paper's open choices, by name; those that are not in the spec.

    Returns
    -------
    System

    Raises
    ------
    SpecError
        If there is none of that name, it leaves no such choice, or a value is impossible.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> str(system_of("chaos", variant="hogwild"))
    'chaos[variant=hogwild]'
    """
    if isinstance(source, System):
        if choices:
            raise SpecError(f"{source} has its choices already; give a name to choose {', '.join(choices)}")
        return source
    if not isinstance(source, str):
        raise SpecError(f"{source!r:.60} is not a published system; give a name, as in chaos, or a System")
    spec = parse_with(source, choices)
    cls: type[System] = named("reproductions", spec.name)
    return made(cls, "published system", spec)


def reproduce(
    source: str | System,
    /,
    tables: str | Sequence[str] | None = None,
    *,
    progress: Callable[[int], object] | None = None,
    **choices: Scalar,
) -> Reproduction:
    """Simulate a paper's experiments, and compare the results with the published ones.

    Parameters
    ----------
    source : str or System
        A name (`simsched list papers`), a spec (`chaos[variant=hogwild]`) or an object.
    tables : str or sequence of str, optional
        Tables and figures to reproduce, or one of them; all when not given.
    progress : callable, optional
        Called with 1 after every row.
    **choices
        The paper's open choices, by name; those that are not in the spec.

    Returns
    -------
    Reproduction

    Raises
    ------
    SpecError
        If there is no such system, table or choice.

    Examples
    --------
    >>> made = reproduce("chaos", tables="Table 8")
    >>> print(made.rows[0].simulated.__round__(1), made.rows[0].paper)
    6.6 6.6
    """
    report = check_progress(progress)
    system = system_of(source, **choices)
    chosen = _chosen(system, system.published().tables, tables)
    predicted = Predicted(system)
    rows = []
    for row in _rows(system, chosen, predicted):
        rows.append(row)
        report(1)
    return Reproduction(system, tuple(rows), tuple(_claims(system, chosen, predicted)))


def count_rows(system: System, tables: str | Sequence[str] | None = None) -> int:
    """Return how many rows a reproduction will have."""
    published = system.published()
    chosen = _chosen(system, published.tables, tables)
    return sum(1 for quantity in published.quantities if quantity.table in chosen for _ in quantity.asked())


def _chosen(system: System, known: Sequence[str], asked: str | Sequence[str] | None) -> Sequence[str]:
    chosen = known if asked is None else [asked] if isinstance(asked, str) else asked
    for table in chosen:
        if table not in known:
            raise SpecError(f"{system.name} has no table {table!r:.60}; it has {'; '.join(known)}")
    return chosen


def _rows(system: System, tables: Sequence[str], predicted: Predicted) -> Iterator[Row]:
    for quantity in system.published().quantities:
        if quantity.table not in tables:
            continue
        for case, paper, decimals, use in quantity.asked():
            simulated = predicted(quantity.table, quantity.name, **case)
            yield Row(
                system.name, quantity.table, case, quantity.name, quantity.unit, simulated, paper, use, decimals,
                quantity.neutral,
            )  # fmt: skip


def _claims(system: System, tables: Sequence[str], predicted: Predicted) -> Iterator[Claim]:
    verdicts = system.verdicts()
    for statement in system.published().statements:
        if statement.table not in tables:
            continue
        if statement.key not in verdicts:
            raise SimschedError(f"{system}: nothing judges the statement {statement.key!r}")
        holds, found = verdicts[statement.key](predicted)
        yield Claim(
            system.name, statement.table, statement.words, statement.at, bool(holds), found, statement.use
        )
