"""What the tasks of a graph do when it really runs: kernels, copies of their bytes, or spinning."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.errors import EngineError
from simsched.execute.module import module
from simsched.execute.operators import Options, check_options, plain, sizes
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Index

Unknown = Literal["spin", "memory"]

SPINS = -1
#: Kinds that a graph asks for by name, in small letters: time that passes, and bytes that move.
SPIN_KINDS, MEMORY_KINDS = frozenset({"", "spin", "empty"}), frozenset({"memory"})


@dataclass(frozen=True, eq=False)
class Work:
    """What each task does.

    Parameters
    ----------
    kernels : list
        Compiled kernels, each distinct one once.
    kernel_of : int32 array, shape (n,)
        Kernel of each task; -1 for one that spins.
    notes : tuple of str
        How many tasks run which kernel, and how many of them are of unknown kind.
    """

    kernels: list[Any]
    kernel_of: Index
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        graph: TaskGraph,
        unknown: Unknown = "spin",
        instruction_set: str = "auto",
        options: Options | None = None,
    ) -> Work:
        """Find the kernels of a graph's tasks.

        Parameters
        ----------
        graph : TaskGraph
        unknown : {"spin", "memory"}
            What a task of a kind without kernel, or of unfit shapes, does: spins for its estimated seconds, or copies
            as many bytes as it reads and writes, where these are known.
        instruction_set : {"auto", "base", "avx2", "avx512"}
            Of the loops; "auto" is the best that the machine has.
        options : mapping of str to mapping of str to int, optional
            By kind, what shapes do not tell; see `operators.toml`.

        Raises
        ------
        EngineError
            If the compiled module is missing, or an option is unknown.
        """
        if unknown not in get_args(Unknown):
            raise EngineError(f"unknown={unknown!r}; expected one of {', '.join(get_args(Unknown))}")
        check_options(options or {})
        return _Finder(graph, unknown, instruction_set, options or {}).found()


class _Finder:
    def __init__(self, graph: TaskGraph, unknown: Unknown, instruction_set: str, options: Options) -> None:
        self._graph, self._unknown, self._options = graph, unknown, options
        self._instruction_set = instruction_set
        self._index: dict[tuple[str, tuple[int, ...]], int] = {}
        self._kernels: list[Any] = []
        self._ran: Counter[str] = Counter()
        self._strangers: Counter[str] = Counter()

    def found(self) -> Work:
        graph = self._graph
        kernel_of = np.full(graph.n_tasks, SPINS, np.int32)
        pairs = graph.kinds.codes.astype(np.int64) * len(graph.shapes.labels) + graph.shapes.codes
        _, which = np.unique(pairs, return_inverse=True)
        for column in (graph.flops, graph.bytes_B):
            values, codes = np.unique(column, return_inverse=True)
            _, which = np.unique(which * len(values) + codes, return_inverse=True)
        order = np.argsort(which, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1) if graph.n_tasks else []
        for tasks in groups:
            self._assign(tasks, kernel_of)
        kernel_of.setflags(write=False)
        return Work(self._kernels, kernel_of, self._notes())

    def _assign(self, tasks: npt.NDArray[np.intp], kernel_of: Index) -> None:
        graph, first = self._graph, int(tasks[0])
        kind = graph.kinds[first]
        # What neither computes nor moves anything takes no time.
        if plain(kind) in SPIN_KINDS or graph.flops[first] == graph.bytes_B[first] == 0:
            self._ran["spin"] += len(tasks)
            return
        work = float(graph.flops[first]), self._options, float(graph.bytes_B[first])
        found = sizes(kind, graph.shapes[first], *work)
        if found is not None and (index := self._kernel(*found)) is not None:
            kernel_of[tasks] = index
            self._ran[found[0]] += len(tasks)
            return
        if plain(kind) not in MEMORY_KINDS:
            self._strangers[kind] += len(tasks)
        if self._unknown == "memory" or plain(kind) in MEMORY_KINDS:
            self._copies(tasks, kernel_of)
        else:
            self._ran["spin"] += len(tasks)

    def _copies(self, tasks: npt.NDArray[np.intp], kernel_of: Index) -> None:
        """Half of a task's bytes are read, half are written."""
        for task in tasks.tolist():
            moved = self._graph.bytes_B[task]
            index = self._kernel("copy", (int(moved // 8),)) if 8 <= moved < 2**33 else None
            if index is not None:
                kernel_of[task] = index
            self._ran["spin" if index is None else "memory"] += 1

    def _kernel(self, name: str, found: tuple[int, ...]) -> int | None:
        key = (name, found)
        if key not in self._index:
            try:
                kernel = module().kernel(name, list(found), self._instruction_set)
            except ValueError as error:
                if "instruction set" in str(error):
                    raise EngineError(f"{error}; it has {', '.join(module().instruction_sets())}") from error
                return None  # shapes that no kernel has, as those of an empty tensor
            self._index[key] = len(self._kernels)
            self._kernels.append(kernel)
        return self._index[key]

    def _notes(self) -> tuple[str, ...]:
        ran = ", ".join(f"{count} {name}" for name, count in self._ran.most_common())
        notes = [f"kernels: {ran}"] if ran else []
        if self._strangers:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in self._strangers.most_common(8))
            more = len(self._strangers) - 8
            notes.append(
                f"{sum(self._strangers.values())} tasks have no kernel of their kind and shapes, and "
                + ("spin for their estimated seconds" if self._unknown == "spin" else "copy their bytes")
                + f": {kinds}"
                + (f" and {more} more kinds" if more > 0 else "")
            )
        return tuple(notes)
