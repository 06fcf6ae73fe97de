"""Decisions about ready tasks: `Pushing` to queues of executors, and how much slower kinds of cores are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pushing:
    """The executor to which a task is pushed when it becomes ready (docs/semantics.md, rule 13).

    It is the one of the least `alpha` x (expected end - earliest expected end) + `beta` x seconds of missing data.

    Parameters
    ----------
    alpha, beta : float
        Weights.
    aware : bool
        Whether a task is expected to wait for missing data.
    longest : bool
        Whether missing data take as long as the longest of their messages, rather than one after another.
    sorts : bool
        Whether queues are sorted by rank. Otherwise they are first come, first served, and tasks that become ready
        together are pushed by rank.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.policy("dmda[beta=2.0]").pushing
    Pushing(alpha=1.0, beta=2.0, aware=True, longest=False, sorts=False)
    """

    alpha: float = 1.0
    beta: float = 0.0
    aware: bool = False
    longest: bool = False
    sorts: bool = False


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
