"""Places of operands in memory: outputs each on its own, inputs where predecessors put them, weights by shape."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import EngineError
from simsched.execute.kernels.work import Work
from simsched.graph import TaskGraph
from simsched.system import Files, MemoryLeft, memory_left

#: Folder of `proc` and `sys`.
ROOT = Path("/")
#: Operands begin at cache lines.
LINE = 16


@dataclass(frozen=True, eq=False)
class Operands:
    """Places of operands in an arena.

    Parameters
    ----------
    starts : int64 array
        Of each task with a kernel, in order, where its output and each of its inputs begin, in floats.
    size : int
        Floats of the arena.
    """

    starts: npt.NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, graph: TaskGraph, work: Work) -> Operands:
        """Place the operands of a graph.

        An input is the output of a predecessor of exactly its size if there is one, each predecessor once. Other
        inputs, such as weights, are shared by tasks of one scope and one shape.
        """
        busy = np.flatnonzero(work.kernel_of >= 0)
        outputs = np.array([kernel.output for kernel in work.kernels], np.int64)[work.kernel_of[busy]]
        ends = np.cumsum(_lines(outputs))
        place = dict(zip(busy.tolist(), (ends - _lines(outputs)).tolist(), strict=True))
        size_of = dict(zip(busy.tolist(), outputs.tolist(), strict=True))
        top = int(ends[-1]) if len(ends) else 0
        shared: dict[tuple[int, int, int, int], int] = {}
        starts: list[int] = []
        scopes, shapes = graph.scopes.codes, graph.shapes.codes
        for task in busy.tolist():
            starts.append(place[task])
            before = [t for t in graph.predecessors.neighbours(task).tolist() if t in place]
            for i, size in enumerate(work.kernels[work.kernel_of[task]].inputs):
                maker = next((t for t in before if size_of[t] == size), None)
                if maker is not None:
                    before.remove(maker)
                    starts.append(place[maker])
                    continue
                key = (int(scopes[task]), int(shapes[task]), i, size)
                if key not in shared:
                    shared[key] = top
                    top += int(_lines(np.int64(size)))
                starts.append(shared[key])
        return cls(np.array(starts, np.int64), top)

    @property
    def size_B(self) -> int:
        """Bytes of the arena."""
        return 4 * self.size


def _lines(sizes: npt.NDArray[np.int64] | np.int64) -> npt.NDArray[np.int64]:
    return np.asarray((sizes + LINE - 1) // LINE * LINE)


def arena(operands: Operands, besides_B: int, limit_B: float | None) -> npt.NDArray[np.float32]:
    """Return memory for all operands, beginning at a cache line.

    Parameters
    ----------
    operands : Operands
    besides_B : int
        Additional bytes for threads.
    limit_B : float, optional
        Most bytes of both; half of the machine's memory when not given.

    Raises
    ------
    EngineError
        If they are more, or more than the machine and the process's control groups have left.
    """
    most_B = limit_B if limit_B is not None else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    needed_B = operands.size_B + besides_B
    if needed_B > most_B:
        raise EngineError(
            f"the operands of all tasks need {needed_B / 1e9:.3g} GB, more than the {most_B / 1e9:.3g} GB "
            "allowed; run a part of the graph, or allow more with memory_B=..."
        )
    _check_left(needed_B, memory_left(Files(ROOT)))
    try:
        whole = np.empty(operands.size + LINE, np.float32)
    except MemoryError as error:
        raise EngineError(
            f"the system has no {needed_B / 1e9:.3g} GB for the operands of all tasks; run a part of the graph"
        ) from error
    skipped = -whole.ctypes.data % (4 * LINE) // 4
    return whole[skipped : skipped + operands.size]


def _check_left(needed_B: int, left: MemoryLeft) -> None:
    # The system gives memory away that it does not have, and ends the process that writes it.
    if needed_B > left.size_B:
        raise EngineError(
            f"the operands of all tasks need {needed_B / 1e9:.3g} GB, and {left.owner} has {left.size_B / 1e9:.3g} GB "
            "left; run a part of the graph, or give the process more memory"
        )
