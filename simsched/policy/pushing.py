"""`Pushing`: how a task that becomes ready finds the queue of an executor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pushing:
    """The executor to which a task is pushed when it becomes ready (docs/semantics.md, rule 13).

    It is the one of the least `alpha` x (expected end - earliest expected end) + `beta` x seconds of missing data; with
    `by_start`, starts stand for ends.

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
    ready : bool
        Whether of equals in a queue the task goes first that misses fewest bytes.
    by_start : bool
        Whether expected starts are compared, rather than ends. An executor that neither runs a task nor can start one
        is then expected to be free, whatever is in its queue.
    pairs : bool
        Whether tasks that become ready together are pushed in the order in which they could start then.
    levels : bool
        Whether ranks, in seconds, are added to these starts.

    Examples
    --------
    >>> import simsched as ss
    >>> pushing = ss.policy("dmda[beta=2.0]").pushing
    >>> pushing.alpha, pushing.beta, pushing.aware, pushing.by_start
    (1.0, 2.0, True, False)
    """

    alpha: float = 1.0
    beta: float = 0.0
    aware: bool = False
    longest: bool = False
    sorts: bool = False
    ready: bool = False
    by_start: bool = False
    pairs: bool = False
    levels: bool = False
