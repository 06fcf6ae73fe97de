"""`Table`: measured and modelled values, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import simsched as ss
from simsched.costs.kernels import Team
from simsched.machine import Machine

#: Most median absolute relative error of bandwidths and overheads, and of matrix products and convolutions.
BANDWIDTH_BAR, KERNEL_BAR = 0.15, 0.30
#: The same of what `simulate` gives by default, its median and its 90th percentile.
DEFAULT_BARS = (0.12, 0.40)

Row = tuple[str, float, float]


@dataclass(frozen=True)
class Table:
    """One measured table, in SI units.

    Parameters
    ----------
    name : str
        What was measured, where.
    unit : str
        Unit of both values.
    bar : float
        Most median absolute relative error.
    rows : DataFrame
        `row`, `measured`, `modelled`, `error` (relative).
    note : str
        What the model is given beyond the machine.
    default : float64 array or None
        What `simulate` gives for the rows by default; None for tables of other things than ops.
    """

    name: str
    unit: str
    bar: float
    rows: pd.DataFrame
    note: str = ""
    default: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        unit: str,
        bar: float,
        rows: Iterable[Row],
        note: str = "",
        default: npt.NDArray[np.float64] | None = None,
    ) -> Table:
        """Return a table of (row, measured, modelled)."""
        frame = pd.DataFrame(rows, columns=["row", "measured", "modelled"])
        frame["error"] = frame["modelled"] / frame["measured"] - 1
        return cls(name, unit, bar, frame, note, default)

    @property
    def median(self) -> float:
        """Median absolute relative error."""
        return float(self.rows["error"].abs().median())

    @property
    def default_errors(self) -> npt.NDArray[np.float64]:
        """Relative errors of what `simulate` gives by default; empty for tables of other things than ops."""
        return np.array([]) if self.default is None else self.default / self.rows["measured"].to_numpy() - 1

    @property
    def by_default(self) -> tuple[float, ...]:
        """Median and 90th percentile of the absolute values of these; empty, too."""
        errors = np.abs(self.default_errors)
        return tuple(float(np.quantile(errors, share)) for share in (0.5, 0.9) if len(errors))

    @property
    def worst(self) -> pd.DataFrame:
        """Rows, the worst first."""
        return self.rows.iloc[self.rows["error"].abs().argsort()[::-1]]

    def quantile(self, share: float) -> float:
        """Return a quantile of the absolute relative error."""
        return float(self.rows["error"].abs().quantile(share))


Tables = Iterator[Table]
Maker = Callable[[Path], Tables]


@cache
def machine(spec: str) -> Machine:
    """Return a machine, made once."""
    return ss.machine(spec)


def team(spec: str, threads: int, **choices: int | bool) -> Team:
    """Return a team of so many threads: one a core while there are cores, then as many ways as needed."""
    chip = machine(spec)
    return Team(chip, threads, ways=-(-threads // chip.n_cores), **choices)


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return a measured table; rows with a surplus comma at their end are read as well."""
    return pd.read_csv(folder / name, index_col=False)
