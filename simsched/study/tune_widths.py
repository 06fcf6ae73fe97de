"""Widths by kind: the choices of a search, and coordinate descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simsched.costs import TaskCosts
from simsched.graph import TaskGraph
from simsched.plugins import named
from simsched.policy import Policy
from simsched.study.compare import Trials

#: The policy whose widths are searched, by its name.
TUNED = "kind-widths"
#: Kinds whose width is searched, those of the most core-seconds; the others have one width together.
MOST_KINDS = 16
#: In place of a kind: all those whose width is not searched.
OTHERS = ""


@dataclass(frozen=True, eq=False)
class Widths:
    """The possible choices.

    Parameters
    ----------
    kinds : tuple of str
        Kinds that get their own widths, the most core-seconds first.
    rest : bool
        Whether there are others; tasks whose kind is unknown are.
    most : int
        The widest team.
    """

    kinds: tuple[str, ...]
    rest: bool
    most: int

    @classmethod
    def of(cls, graph: TaskGraph, costs: TaskCosts) -> Widths:
        """Return the widths that the tasks of a graph can be given by kind."""
        labels = graph.kinds.labels
        work = np.bincount(graph.kinds.codes, costs.one_core_s, len(labels))
        used = graph.kinds.counts > 0
        order = [labels[row] for row in np.argsort(-work, kind="stable").tolist() if used[row]]
        kinds = tuple(filter(None, order))[:MOST_KINDS]
        return cls(kinds, len(kinds) < len(order), costs.widest)

    def candidates(self) -> list[int]:
        """Return the powers of two and the widest team."""
        return sorted({*(1 << bit for bit in range(self.most.bit_length())), self.most})

    def policy(self, choice: Mapping[str, int]) -> Policy:
        """Return the policy in which each kind has its width, and all others that of `OTHERS`."""
        widths = {kind: choice[kind] for kind in self.kinds}
        made: Policy = named("policies", TUNED).of(widths, choice[OTHERS])
        return made


def descend(trials: Trials, widths: Widths) -> None:
    """Search widths by kind: the best common width, then one kind's at a time until none improves.

    Every kind tries all powers of two and the widest team, the kind of the most core-seconds first. It ends in a point
    that no change of a single width improves, or when the replays are spent.
    """
    kinds = [*widths.kinds, *([OTHERS] if widths.rest else [])]
    alike = [dict.fromkeys([*kinds, OTHERS], width) for width in widths.candidates()]
    best, best_s = _shortest(trials, widths, alike)
    since, turn = 0, 0
    while since < len(kinds) and trials.left > 0:
        kind = kinds[turn % len(kinds)]
        found, found_s = _shortest(trials, widths, [{**best, kind: width} for width in widths.candidates()])
        since, turn = since + 1, turn + 1
        if found_s < best_s:
            best, best_s, since = found, found_s, 1


def _shortest(trials: Trials, widths: Widths, tried: list[dict[str, int]]) -> tuple[dict[str, int], float]:
    """Return the best of some choices, of equals the first, and its makespan; within the replays left."""
    known = tried[: max(trials.left, 1)]
    trials.all_seconds((widths.policy(choice), None) for choice in known)
    seconds = [trials.seconds(widths.policy(choice), None) for choice in known]
    place = int(np.argmin(seconds))
    return known[place], seconds[place]
