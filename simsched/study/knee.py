"""The knee of a makespan by core count: where more cores begin to cost more than they bring."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def knee(cores: npt.ArrayLike, speedup: npt.ArrayLike) -> int | None:
    """Return the place of the knee: the largest efficiency over makespan, that is of speedup squared over cores.

    Before it, one per cent more cores shortens the makespan by more than half a per cent; after it, by less. Where a
    share s of the work is serial it stands at (1 - s) / s cores. Unlike a bend found in a normalised curve it does not
    move with the core counts asked for.

    Parameters
    ----------
    cores : array_like of int, shape (n,)
    speedup : array_like of float, shape (n,)
        Over one core; all on the same work.

    Returns
    -------
    int or None
        Of equal places that of the fewest cores; None where nothing is sped up, as in a graph of no length.

    References
    ----------
    Speedup versus efficiency in parallel systems. IEEE Transactions on Computers 38(3), 1989.

    Examples
    --------
    >>> cores = [1, 2, 4, 9, 20, 50]
    >>> cores[knee(cores, [1 / (0.1 + 0.9 / p) for p in cores])]
    9
    """
    counts, gained = np.asarray(cores, np.float64), np.asarray(speedup, np.float64)
    worth = gained**2 / counts
    if not len(worth) or not worth.max() > 0:
        return None
    # A rounding is no gain.
    best = np.flatnonzero(worth >= worth.max() * (1 - 1e-9))
    return int(best[counts[best].argmin()])
