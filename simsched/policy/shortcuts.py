"""What a static policy lets run past the queue of its executors (docs/semantics.md, rule 9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import PolicyError, SpecError

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.policy.problem import Problem

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Shortcuts:
    """Executors of one thread, small tasks run where they become ready, and buffers.

    Parameters
    ----------
    apart : bool array, shape (n,)
        Tasks that only the single-threaded executors run, from a queue of their own.
    inline : bool array, shape (n,)
        Tasks that run at once, without a decision, on the executor whose task released them, `apart` or not; those
        that no task releases are queued.
    singles : int32 array, shape (k,)
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
    >>> past = ss.Shortcuts(apart=small, inline=~small, singles=np.array([7], np.int32))
    >>> past.apart.tolist(), past.buffered
    ([False, True, True], False)
    """

    apart: Mask
    inline: Mask
    singles: Index = field(default_factory=lambda: np.empty(0, np.int32))
    buffered: bool = False

    def __post_init__(self) -> None:
        for name in ("apart", "inline", "singles"):
            if not isinstance(column := getattr(self, name), np.ndarray):
                raise PolicyError(f"{name} of shortcuts is {column!r}; expected an array")
        if self.apart.any() and not len(self.singles):
            raise PolicyError(
                f"{int(self.apart.sum())} tasks are kept for single-threaded executors, and there are none; "
                "give `singles` a hardware thread"
            )

    def checked(self, n_tasks: int, n_threads: int, policy: object) -> Shortcuts:
        """Return the same as the engines take it, if it fits a graph and a machine.

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
            If a column has not one bool a task, or a hardware thread does not exist.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> none = np.zeros(3, bool)
        >>> past = ss.Shortcuts(apart=none, inline=none)
        >>> past.checked(n_tasks=3, n_threads=8, policy="mine").inline.tolist()
        [False, False, False]
        """
        for name in ("apart", "inline"):
            column = getattr(self, name)
            if column.shape != (n_tasks,) or column.dtype != np.bool_:
                raise PolicyError(
                    f"policy {policy}: shortcuts() gave {name} of {column.dtype} and shape {column.shape}; "
                    f"expected {n_tasks} bools"
                )
        if self.singles.ndim != 1 or self.singles.dtype.kind not in "iu":
            raise PolicyError(
                f"policy {policy}: shortcuts() gave singles of {self.singles.dtype} and shape {self.singles.shape}; "
                "expected a row of hardware threads"
            )
        if len(self.singles) and not 0 <= self.singles.min() <= self.singles.max() < n_threads:
            raise PolicyError(
                f"policy {policy}: singles are {self.singles}; threads are 0 to {n_threads - 1}"
            )
        return Shortcuts(
            np.ascontiguousarray(self.apart),
            np.ascontiguousarray(self.inline),
            np.ascontiguousarray(self.singles, np.int32),
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
