"""Data objects as readers meet them in a file: each with its size, its producer and its readers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np

from simsched.graph import NOBODY, TaskGraph
from simsched.graph.data_checks import with_reads


class Objects:
    """Objects of a graph in the making.

    Examples
    --------
    >>> import simsched as ss
    >>> found = Objects()
    >>> matrix = found.add(8e6, producer=0)
    >>> found.read(matrix, 1)
    >>> found.on(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])).data.size_B.tolist()
    [8000000.0]
    """

    def __init__(self) -> None:
        self._sizes_B, self._producers = array("d"), array("q")
        self._of, self._by = array("q"), array("q")

    def add(self, size_B: float = math.nan, producer: int = NOBODY) -> int:
        """Add an object and return its number.

        Parameters
        ----------
        size_B : float
            Bytes; NaN where unknown, as are infinite ones.
        producer : int
            Task that writes it; none for inputs of the graph.
        """
        self._sizes_B.append(size_B if size_B < math.inf else math.nan)
        self._producers.append(producer)
        return len(self._producers) - 1

    def grow(self, number: int, size_B: float) -> None:
        """Note that an object has at least so many bytes, if they are known."""
        if not math.isnan(size_B) and not self._sizes_B[number] >= size_B:
            self._sizes_B[number] = size_B

    def read(self, number: int, task: int) -> None:
        """Add a reader."""
        self._of.append(number)
        self._by.append(task)

    def moved(self, writers: Mapping[int, int], readers: Mapping[int, int]) -> Objects:
        """Return these objects of other tasks: those in whose stead others write, and others read what they read.

        Parameters
        ----------
        writers, readers : mapping of int to int
            The tasks in place of a task. A reader is replaced where the producer is, too, or the object is an input.
        """
        moving = writers.keys() | {NOBODY}
        found = Objects()
        found._sizes_B = self._sizes_B
        found._producers = array("q", (writers.get(task, task) for task in self._producers))
        found._of = self._of
        found._by = array(
            "q",
            (
                readers.get(task, task) if self._producers[number] in moving else task
                for number, task in zip(self._of, self._by, strict=True)
            ),
        )
        return found

    def on(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph with these objects; reads along none of its edges are left out."""
        if not self._producers:
            return graph
        return with_reads(
            graph,
            np.frombuffer(self._sizes_B, np.float64),
            np.frombuffer(self._producers, np.int64),
            np.frombuffer(self._of, np.int64),
            np.frombuffer(self._by, np.int64),
        )
