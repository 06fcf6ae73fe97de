"""Choosing tasks by patterns on their kinds, names and scopes."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import translate
from re import compile

import numpy as np
import numpy.typing as npt

from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import text

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matching(Cleanup):
    """Base of steps for chosen tasks: those that match every pattern that is given.

    Parameters
    ----------
    kinds, names, scopes : str
        Patterns as of file names (`*`, `?`, `[ab]`), alternatives joined by `+`; capitals are as small letters.
        Any where empty.
    """

    kinds: str = text("")
    names: str = text("")
    scopes: str = text("")

    def mask(self, graph: TaskGraph) -> Mask:
        """Return which tasks match, shape (n,)."""
        chosen = np.ones(graph.n_tasks, bool)
        for patterns, column in ((self.kinds, graph.kinds), (self.scopes, graph.scopes)):
            if patterns:
                chosen &= np.array([matches(patterns, label) for label in column.labels], bool)[column.codes]
        if self.names:
            called = (graph.task_name(task) for task in range(graph.n_tasks))
            chosen &= np.fromiter((matches(self.names, name) for name in called), bool, graph.n_tasks)
        return chosen

    @property
    def chooses(self) -> bool:
        """Whether there is any pattern."""
        return bool(self.kinds or self.names or self.scopes)


def matches(patterns: str, value: str) -> bool:
    """Tell whether a text matches one of some patterns.

    Examples
    --------
    >>> matches("conv*+matmul", "Conv2d"), matches("conv*+matmul", "Relu")
    (True, False)
    """
    lowered = value.lower()
    return any(compile(translate(p.strip().lower())).match(lowered) for p in patterns.split("+"))
