"""How much slower a task is on a kind of cores than on others."""

from __future__ import annotations

from collections.abc import Callable


def slower(seconds: list[list[float]], kinds: set[int]) -> Callable[[int, int], float]:
    """Return the function of a task and a kind of core: its seconds over those of the best other kind.

    Parameters
    ----------
    seconds : list of list of float
        Of each task on each kind.
    kinds : set of int
        Kinds of which there are executors.
    """

    def ratio(task: int, kind: int) -> float:
        own = seconds[task][kind]
        best = min((seconds[task][other] for other in kinds if other != kind), default=own)
        if own == best:
            return 1.0
        return own / best if best else float("inf")

    return ratio
