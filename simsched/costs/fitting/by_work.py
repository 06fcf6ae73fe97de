"""Seconds of shapes never measured, from the FLOPs and bytes of measured shapes of the same kind.

    c(w) = k0(w) + kF(w) FLOPs + kB(w) bytes + kC(w) columns,    all k >= 0

Columns are the bytes that a convolution lays out for a matrix product: few filters make little of them.

by least squares of the relative residuals, for each width separately. Of the sets of terms that shapes determine the
one with the least leave-out error is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from simsched.errors import CostError
from simsched.graph.columns import Floats

#: Terms in the order of `_columns`, and the sets that are tried: the simpler one wins a tie.
TERMS = ("constant", "FLOPs", "bytes", "columns")
_SETS = sorted(
    (c for n in (1, 2, 3, 4) for c in combinations(range(4), n)), key=lambda c: (len(c), c != (1,), c != (2,))
)


@dataclass(frozen=True, eq=False)
class WorkModel:
    """Seconds of a kind from an op's work, by width.

    Parameters
    ----------
    coefficients : float64 array, shape (widths, 4)
        Seconds, seconds per FLOP, per byte and per byte of columns; zero where a term is left out.
    terms : tuple of str
        Those in use.
    shapes : int
        Shapes it was learned from.
    error : float
        Mean `|predicted - measured| / measured` over shapes and widths, each shape predicted from the others; NaN where
        there are no others.
    """

    coefficients: Floats
    terms: tuple[str, ...]
    shapes: int
    error: float

    def usable(self, work: Floats) -> npt.NDArray[np.bool_]:
        """Return which ops have known values of all that the terms need, shape (n,)."""
        known = ~np.isnan(_terms(work))
        return np.asarray(known[:, [TERMS.index(term) for term in self.terms]].all(axis=1))

    def seconds(self, work: Floats) -> Floats:
        """Return the seconds of ops by width, shape (n, widths); NaN where a needed value is unknown."""
        used = [TERMS.index(term) for term in self.terms]
        return np.asarray(_terms(work)[:, used] @ self.coefficients[:, used].T)


def work_model(work: Floats, seconds: Floats) -> WorkModel | None:
    """Fit the seconds of a kind to measured shapes.

    Parameters
    ----------
    work : float64 array, shape (shapes, 3)
        FLOPs, bytes and bytes of columns; NaN where unknown.
    seconds : float64 array, shape (shapes, widths)
        Seconds of each shape by width, above zero.

    Returns
    -------
    WorkModel or None
        None where nothing is known of any shape's work.
    """
    if seconds.ndim != 2 or work.shape != (len(seconds), 3):
        raise CostError(f"work of shape {work.shape} and seconds of shape {seconds.shape} do not match")
    best: WorkModel | None = None
    terms = _terms(work)
    for used in _tellable(work):
        found = _learned(terms, seconds, used)
        error = _error_left_out(terms, seconds, used)
        model = WorkModel(found, tuple(TERMS[i] for i in used), len(seconds), error)
        if best is None or error < best.error * (1 - 1e-9):
            best = model
    return best


def _terms(work: Floats) -> Floats:
    return np.insert(work, 0, 1.0, axis=1)


def _tellable(work: Floats) -> Sequence[tuple[int, ...]]:
    """Return the sets of terms known for every shape, of at most half as many terms as shapes, or of one."""
    n, known, some = len(work), np.asarray(np.isfinite(work).all(axis=0)), work > 0
    # An op may lay out nothing, but does not work on nothing.
    usable = (n > 1, *(known[:2] & some[:, :2].all(axis=0)), n > 1 and known[2] and some[:, 2].any())
    most = max(n // 2, 1)
    return [
        used
        for used in _SETS
        if all(usable[i] for i in used) and len(used) <= most and used not in ((0,), (3,), (0, 3))
    ]


def _learned(work: Floats, seconds: Floats, used: Sequence[int]) -> Floats:
    from scipy.optimize import nnls

    coefficients = np.zeros((seconds.shape[1], len(TERMS)))
    scale = work[:, used].mean(axis=0)
    relative, ones = work[:, used] / scale, np.ones(len(work))
    for w, column in enumerate(seconds.T):
        # Beyond the widest measured team, no width changes anything.
        if w and (column == seconds[:, w - 1]).all():
            coefficients[w] = coefficients[w - 1]
            continue
        found, _ = nnls(relative / column[:, None], ones)
        coefficients[w, list(used)] = found / scale
    return coefficients


def _error_left_out(work: Floats, seconds: Floats, used: Sequence[int]) -> float:
    n = len(seconds)
    if n < 2:
        return float("nan")
    errors = []
    for shape in range(n):
        rest = np.arange(n) != shape
        predicted = _learned(work[rest], seconds[rest], used)[:, list(used)] @ work[shape, list(used)]
        errors.append(np.abs(predicted / seconds[shape] - 1).mean())
    return float(np.mean(errors))
