"""Choosing tasks by patterns on their kinds, names and scopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from re import compile

import numpy as np

from simsched.graph.adjacency import Mask
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import text


@dataclass(frozen=True)
class Matching(Cleanup):
    """Base of steps for selected tasks: those that match every given pattern.

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
                chosen &= np.array([*map(matcher(patterns), column.labels)], bool)[column.codes]
        if self.names:
            called = (graph.task_name(task) for task in range(graph.n_tasks))
            chosen &= np.fromiter(map(matcher(self.names), called), bool, graph.n_tasks)
        return chosen

    @property
    def chooses(self) -> bool:
        """Whether there is any pattern."""
        return bool(self.kinds or self.names or self.scopes)


def matcher(patterns: str) -> Callable[[str], bool]:
    """Return a predicate of texts that match one of some patterns, as described at `Matching`.

    Examples
    --------
    >>> [*map(matcher("conv*+matmul"), ["Conv2d", "MatMul", "Relu"])]
    [True, True, False]
    """
    one = compile("|".join(translate(pattern.strip().lower()) for pattern in patterns.split("+")))
    return lambda value: one.match(value.lower()) is not None
