"""Shortcuts of a static policy past the queue of its executors (docs/semantics.md, rule 9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from simsched.errors import PolicyError, SpecError
from simsched.graph.adjacency import Index, Mask
from simsched.policy.problem import Problem
from simsched.renamed import old_fields


@old_fields(apart="single_threaded", singles="threads")
@dataclass(frozen=True, eq=False)
class Shortcuts:
    """Executors of one thread, small tasks run where they become ready, and buffers.

    Parameters
    ----------
    single_threaded : bool array, shape (n,)
        Tasks that only the single-threaded executors run, from a separate queue.
    inline : bool array, shape (n,)
        Tasks that run at once, without a decision, on the executor whose task released them, `single_threaded` or not;
        those that no task releases are queued.
    threads : int32 array, shape (k,)
        Hardware thread of each single-threaded executor; they are numbered after those of the layout.
    buffered : bool
        Whether a busy executor can be handed one task in advance.

    Raises
    ------
    PolicyError
        If a column is not an array, or tasks are kept for single-threaded executors and there is none.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> small = np.array([False, True, True])
    >>> past = ss.Shortcuts(single_threaded=small, inline=~small, threads=np.array([7], np.int32))
    >>> past.single_threaded.tolist(), past.buffered
    ([False, True, True], False)
    """

    single_threaded: Mask
    inline: Mask
    threads: Index = field(default_factory=lambda: np.empty(0, np.int32))
    buffered: bool = False

    def __post_init__(self) -> None:
        for name in ("single_threaded", "inline", "threads"):
            if not isinstance(column := getattr(self, name), np.ndarray):
                raise PolicyError(f"{name} of shortcuts is {column!r}; expected an array")
        if self.single_threaded.any() and not len(self.threads):
            raise PolicyError(
                f"{int(self.single_threaded.sum())} tasks are kept for single-threaded executors, and there are none; "
                "give `threads` a hardware thread"
            )

    def checked(self, n_tasks: int, n_threads: int, policy: object) -> Shortcuts:
        """Return the same in the form of the engines, if it fits a graph and a machine.

        Parameters
        ----------
        n_tasks, n_threads : int
            Of the graph, and hardware threads in use of the machine.
        policy : object
            What messages call the policy.

        Returns
        -------
        Shortcuts

        Raises
        ------
        PolicyError
            If a column has not one bool per task, or a hardware thread does not exist.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> none = np.zeros(3, bool)
        >>> past = ss.Shortcuts(single_threaded=none, inline=none)
        >>> past.checked(n_tasks=3, n_threads=8, policy="mine").inline.tolist()
        [False, False, False]
        """
        for name in ("single_threaded", "inline"):
            column = getattr(self, name)
            if column.shape != (n_tasks,) or column.dtype != np.bool_:
                raise PolicyError(
                    f"policy {policy}: shortcuts() gave {name} of {column.dtype} and shape {column.shape}; "
                    f"expected {n_tasks} bools"
                )
        if self.threads.ndim != 1 or self.threads.dtype.kind not in "iu":
            raise PolicyError(
                f"policy {policy}: shortcuts() gave threads of {self.threads.dtype} and shape {self.threads.shape}; "
                "expected a row of hardware threads"
            )
        if len(self.threads) and not 0 <= self.threads.min() <= self.threads.max() < n_threads:
            raise PolicyError(
                f"policy {policy}: threads are {self.threads}; threads are 0 to {n_threads - 1}"
            )
        return Shortcuts(
            np.ascontiguousarray(self.single_threaded),
            np.ascontiguousarray(self.inline),
            np.ascontiguousarray(self.threads, np.int32),
            bool(self.buffered),
        )


def small_tasks(problem: Problem, small_s: float) -> Mask:
    """Return which tasks take at most `small_s` estimated seconds on one thread; none where it is 0."""
    return (problem.costs.seconds(1) <= small_s) & (small_s > 0)


def released(problem: Problem) -> Mask:
    """Return which tasks have a predecessor, whose executor can run them inline."""
    return problem.graph.predecessors.degrees() > 0


def require_small_s(policy: str, small_s: float) -> None:
    """Raise `SpecError` unless `small_s` is a finite number of seconds, 0 or more."""
    if not (small_s >= 0 and isfinite(small_s)):
        raise SpecError(f"{policy}[small_s={small_s}]: expected seconds, 0 or more")
