"""`Interconnect`: directed links between the stops of a machine, and the ways over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simsched.graph.adjacency import Csr, Index, Ints, pointers


@dataclass(frozen=True)
class Link:
    """A directed link of an interconnect.

    Parameters
    ----------
    name : str
    line : pair of points
        Where it begins and ends in the structure's picture.
    of_memory : bool
        Whether it carries what a memory delivers, rather than what the interconnect does.
    """

    name: str
    line: tuple[tuple[float, float], tuple[float, float]]
    of_memory: bool = False


class Interconnect(ABC):
    """Links that join the cores and the memories of a machine, and the way from any of these to any other.

    Attributes
    ----------
    stop_of : int32 array, shape (n_cores,)
        Stop of each core, where its data get on and off.
    memories, domains : int32 arrays, shape (k,)
        Stop of each memory, and the memory domain that it is a part of.
    """

    stop_of: Index
    memories: Index
    domains: Index

    @property
    @abstractmethod
    def links(self) -> Sequence[Link]:
        """All links, by number."""

    @abstractmethod
    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return the links from each source stop to the target stop of the same place, in order, one row per pair."""


@dataclass(frozen=True, eq=False)
class Crossbar(Interconnect):
    """No links: every core and every memory reaches every other directly.

    Parameters
    ----------
    stop_of : int32 array, shape (n_cores,)
    memories, domains : int32 arrays, shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> crossbar = Crossbar(np.arange(3, dtype=np.int32), np.array([3], np.int32), np.array([0], np.int32))
    >>> crossbar.ways(np.array([0, 1]), np.array([2, 3])).degrees().tolist()
    [0, 0]
    """

    stop_of: Index
    memories: Index
    domains: Index
    links: Sequence[Link] = ()

    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return empty rows."""
        return Csr(np.zeros(len(sources) + 1, np.int64), np.empty(0, np.int32))


def joined(parts: Sequence[tuple[Ints, Ints]], n: int) -> Csr:
    """Return ways made of parts that follow each other.

    Parameters
    ----------
    parts : sequence of (row, link)
        Each with the links of one part, int64 arrays: of which way they are, ascending, and their numbers in order.
    n : int
        Number of ways.

    Examples
    --------
    >>> import numpy as np
    >>> down, right = (np.array([0, 0]), np.array([7, 8])), (np.array([0, 1]), np.array([3, 4]))
    >>> joined([down, right], 2).neighbours(0).tolist()
    [7, 8, 3]
    """
    row = np.concatenate([part for part, _ in parts])
    link = np.concatenate([links for _, links in parts])
    order = np.argsort(row, kind="stable")
    return Csr(pointers(row, n), link[order].astype(np.int32))
