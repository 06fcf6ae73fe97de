"""Hill climbing: widths of an op measured in steps until its time rises (concurrency control, Sec. III-C).

Every op runs with 1 thread, then with x more per step, until its time rises or the cores run out; each count once with
two threads of a tile sharing its L2 and once with one thread per tile. Untried counts are on the line through the two
nearest tried ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting.interpolation import Method, WidthCurve
from simsched.costs.fitting.points import MeasuredOp, Op, Point, Sharing
from simsched.errors import CostError
from simsched.machine import Machine
from simsched.multimap import multimap

Thing = TypeVar("Thing")
#: Returns measured seconds of an op on so many threads.
Measure = Callable[[Thing, int, Sharing], float]
#: Returns those of several ops, each on so many threads.
MeasureAll = Callable[[Sequence[Thing], int, Sharing], Sequence[float]]


def widest(machine: Machine) -> dict[Sharing, int]:
    """Return the most threads of each sharing: all cores, and one per tile where tiles have several cores."""
    cores: dict[Sharing, int] = {"shared": machine.n_cores, "apart": machine.n_tiles}
    return cores if machine.cores_per_tile > 1 else {"apart": machine.n_cores}


@dataclass(frozen=True)
class Climb:
    """Tried widths of one op, and their seconds.

    Parameters
    ----------
    tried : mapping of Sharing to (mapping of int to float)
        Seconds by width, in the order tried. One thread shares nothing: its seconds are under every sharing, measured
        once.
    steps : int
        Measurements made.

    Examples
    --------
    >>> from simsched.costs.fitting import Op, hill_climb
    >>> climb = hill_climb("op", lambda op, width, sharing: 8 / width + width, {"apart": 8}, step=2)
    >>> climb.best, climb.steps
    ((3, 'apart', 5.666666666666666), 3)
    >>> climb.measured(Op("MatMul", "8x8;8x8")).points[0].seconds
    9.0
    """

    tried: Mapping[Sharing, Mapping[int, float]]
    steps: int

    @property
    def best(self) -> tuple[int, Sharing, float]:
        """The fastest width tried, its sharing and seconds; of equals the narrowest, of the first sharing."""
        seconds, width, _, sharing = min(
            (seconds, width, place, sharing)
            for place, (sharing, row) in enumerate(self.tried.items())
            for width, seconds in row.items()
        )
        return width, sharing, seconds

    def curve(self, sharing: Sharing, method: Method = "linear") -> WidthCurve:
        """Return the paper's curve through the tried widths."""
        row = self.tried[sharing]
        return WidthCurve(sorted(row), [row[width] for width in sorted(row)], method)

    def measured(self, op: Op) -> MeasuredOp:
        """Return the points, for a calibration."""
        rows = {(w, "apart" if w == 1 else s): Point(w, c, "apart" if w == 1 else s)
                for s, row in self.tried.items() for w, c in row.items()}  # fmt: skip
        return MeasuredOp(op, tuple(rows.values()))


def hill_climb(
    op: Thing, measure: Measure[Thing], most: Mapping[Sharing, int], step: int, tolerance: float = 0.0
) -> Climb:
    """Measure an op in steps of threads until its time rises, for each sharing separately.

    Parameters
    ----------
    op : object
        Handed to `measure`.
    measure : callable
        Takes op, width and sharing, and returns seconds.
    most : mapping of Sharing to int
        Most threads of each sharing, as `widest` returns them.
    step : int
        The paper's x.
    tolerance : float
        Relative rise that does not count as one; the paper's is 0.

    Returns
    -------
    Climb

    Raises
    ------
    CostError
        If a step or a width is below 1, no sharing is asked for, or `measure` returns no seconds.

    Examples
    --------
    >>> found = hill_climb("op", lambda op, width, sharing: 8 / width + width, {"apart": 8}, 2)
    >>> found.tried["apart"], found.steps
    ({1: 9.0, 3: 5.666666666666666, 5: 6.6}, 3)
    """
    return climb_together(
        [op], lambda ops, width, sharing: [measure(ops[0], width, sharing)], most, step, tolerance
    )[0]


def climb_together(
    ops: Sequence[Thing],
    measure: MeasureAll[Thing],
    most: Mapping[Sharing, int],
    step: int,
    tolerance: float = 0.0,
) -> list[Climb]:
    """Climb with several ops together, as the paper does: each profiling run measures all that still climb.

    Parameters
    ----------
    ops : sequence of object
        Handed to `measure`, those that still climb.
    measure : callable
        Takes ops, a width and a sharing, and returns the seconds of each; called once a width and sharing.
    most, step, tolerance
        As in `hill_climb`.

    Returns
    -------
    list of Climb
        In the order of the ops.

    Raises
    ------
    CostError
        As `hill_climb`.

    Examples
    --------
    >>> from simsched.costs.fitting import climb_together
    >>> def measure(ops, width, sharing):
    ...     return [work / width + width for work in ops]
    >>> [climb.best for climb in climb_together([8.0, 50.0], measure, {"apart": 8}, step=1)]
    [(3, 'apart', 5.666666666666666), (7, 'apart', 14.142857142857142)]
    """
    possible = isinstance(step, int) and step >= 1 and 0 <= tolerance < float("inf")
    if not possible or not most or min(most.values()) < 1:
        raise CostError(f"hill climbing in steps of {step} up to {dict(most)} with tolerance {tolerance}")

    def seconds(going: Sequence[int], width: int, sharing: Sharing) -> dict[int, float]:
        found = measure([ops[i] for i in going], width, sharing)
        return {i: _checked(ops[i], width, s) for i, s in zip(going, found, strict=True)}

    alone = seconds(range(len(ops)), 1, "apart") if ops else {}
    tried: list[dict[Sharing, dict[int, float]]] = [{s: {1: alone[i]} for s in most} for i in alone]
    for sharing, cores in most.items():
        last = alone
        for width in range(1 + step, cores + 1, step):
            if not last:
                break
            now = seconds(list(last), width, sharing)
            for i, found in now.items():
                tried[i][sharing][width] = found
            last = {i: found for i, found in now.items() if not found > last[i] * (1 + tolerance)}
    return [Climb(rows, 1 + sum(len(row) - 1 for row in rows.values())) for rows in tried]


def _checked(op: object, width: int, seconds: float) -> float:
    if not 0 < seconds < float("inf"):
        raise CostError(
            f"measuring {op} on {width} threads gave {seconds} seconds; expected above zero, finite"
        )
    return float(seconds)


def most_steps(cores: int, step: int) -> float:
    """Return the paper's limit of profiling steps: C / x * 2."""
    return cores / step * 2


def untried_errors(
    climb: Climb,
    measured: Mapping[Sharing, npt.NDArray[np.float64]],
    method: Method = "linear",
    *,
    within: bool = False,
) -> npt.NDArray[np.float64]:
    """Return `|predicted - measured| / measured` of every untried thread count, of all sharings.

    Parameters
    ----------
    climb : Climb
    measured : mapping of Sharing to float64 array
        Seconds on 1, 2, 3, ... threads.
    method : {"linear", "pchip"}
        How untried counts are filled; the paper's is "linear".
    within : bool
        Leave out the counts beyond the widest that was tried.

    Returns
    -------
    float64 array, shape (untried counts,)
        Sharing by sharing, ascending counts.

    Examples
    --------
    >>> import numpy as np
    >>> from simsched.costs.fitting import hill_climb, untried_errors
    >>> seconds = np.array([9.0, 6.0, 5.5, 6.0, 6.5])
    >>> climb = hill_climb("op", lambda op, width, sharing: seconds[width - 1], {"apart": 5}, step=2)
    >>> untried_errors(climb, {"apart": seconds}).round(3).tolist()
    [0.208, 0.0]
    """
    return errors_together([climb], [measured], method)[int(within)]


def errors_together(
    climbs: Sequence[Climb],
    measured: Sequence[Mapping[Sharing, npt.NDArray[np.float64]]],
    method: Method = "linear",
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the errors of several climbs, one after another, as `untried_errors` does: of all counts, and within.

    Parameters
    ----------
    climbs : sequence of Climb
        Of the same sharings.
    measured : sequence of mapping of Sharing to float64 array
        Of each climb, as `untried_errors` takes it; all of the same lengths.
    method : {"linear", "pchip"}

    Returns
    -------
    tuple of two float64 arrays
        Without, and with `within`.

    Examples
    --------
    >>> import numpy as np
    >>> from simsched.costs.fitting import hill_climb
    >>> seconds = np.array([9.0, 6.0, 5.5, 6.0, 8.0, 9.0])
    >>> climb = hill_climb("op", lambda op, width, sharing: seconds[width - 1], {"apart": 6}, step=2)
    >>> [errors.round(3).tolist() for errors in errors_together([climb], [{"apart": seconds}])]
    [[0.208, 0.125, 0.028], [0.208, 0.125]]
    """
    columns = [_of_sharing(sharing, climbs, measured, method) for sharing in climbs[0].tried]
    errors, untried, within = (np.concatenate(each, axis=1) for each in zip(*columns, strict=True))
    return errors[untried], errors[untried & within]


def _of_sharing(
    sharing: Sharing,
    climbs: Sequence[Climb],
    measured: Sequence[Mapping[Sharing, npt.NDArray[np.float64]]],
    method: Method,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the error of each climb on each count, whether it is untried, and whether a wider one was tried."""
    truth = np.array([row[sharing] for row in measured], np.float64)
    widths = np.arange(1, truth.shape[1] + 1)
    alike = multimap((tuple(sorted(climb.tried[sharing])), place) for place, climb in enumerate(climbs))
    predicted, untried, within = truth.copy(), np.ones(truth.shape, bool), np.ones(truth.shape, bool)
    for tried, places in alike.items():
        rows = [[climbs[place].tried[sharing][width] for width in tried] for place in places]
        predicted[places] = WidthCurve(tried, rows, method)(widths)
        untried[places], within[places] = ~np.isin(widths, tried), widths < tried[-1]
    return np.abs(predicted - truth) / truth, untried, within


def accuracy(errors: Iterable[npt.NDArray[np.float64]]) -> float:
    """Return 1 - the mean relative error over ops and untried thread counts; 1 where all were tried.

    Parameters
    ----------
    errors : iterable of float64 arrays
        Relative errors of the untried counts of each op, as `untried_errors` returns them.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from simsched.costs.fitting import accuracy
    >>> round(accuracy([np.array([0.1, 0.3]), np.array([0.2])]), 3)
    0.8
    """
    every = np.concatenate([np.empty(0), *errors])
    return 1.0 - float(every.mean()) if len(every) else 1.0
