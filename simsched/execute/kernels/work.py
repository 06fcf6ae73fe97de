"""Work of tasks in a real run: kernels, copies of their bytes, or spinning; and places of operands in memory."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.errors import EngineError
from simsched.execute.kernels.module import module
from simsched.execute.kernels.operators import Options, check_options, plain, sizes, stands_in
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Index
from simsched.system import Files, MemoryLeft, memory_left

Unknown = Literal["spin", "memory"]
Backend = Literal["blas", "onednn"]

SPINS = -1
#: Kinds requested by name, in lower case: passing time, and moved bytes.
SPIN_KINDS, MEMORY_KINDS = frozenset({"", "spin", "empty"}), frozenset({"memory"})


@dataclass(frozen=True, eq=False)
class Work:
    """Kernel of each task.

    Parameters
    ----------
    kernels : list
        Compiled kernels, each distinct one once.
    kernel_of : int32 array, shape (n,)
        Kernel of each task; -1 for one that spins.
    notes : tuple of str
        How many tasks run which kernel, which of them have none of their kind and shapes, and which run one that does
        something else.
    """

    kernels: list[Any]
    kernel_of: Index
    notes: tuple[str, ...]

    @property
    def scratch_B(self) -> int:
        """Bytes that each thread needs in addition to the operands."""
        return 4 * max((kernel.scratch for kernel in self.kernels), default=0)

    @classmethod
    def of(
        cls,
        graph: TaskGraph,
        unknown: Unknown = "spin",
        instruction_set: str = "auto",
        options: Options | None = None,
        backend: Backend = "blas",
    ) -> Work:
        """Find the kernels of a graph's tasks.

        Parameters
        ----------
        graph : TaskGraph
        unknown : {"spin", "memory"}
            Action of a task of a kind without kernel, or of unfit shapes: it spins for its estimated seconds, or copies
            as many bytes as it reads and writes, where these are known.
        instruction_set : {"auto", "base", "avx2", "avx512"}
            Of the loops; "auto" is the best that the machine has.
        options : mapping of str to mapping of str to int, optional
            By kind, facts unknown from shapes; see `operators.toml`.
        backend : {"blas", "onednn"}
            Of convolutions.

        Raises
        ------
        EngineError
            If the compiled module, the backend or the instruction set is missing, an option is unknown, or a task
            copies more than any memory holds.
        """
        if unknown not in get_args(Unknown):
            raise EngineError(f"unknown={unknown!r}; expected one of {', '.join(get_args(Unknown))}")
        check_options(options or {})
        _check_backend(backend)
        _check_instruction_set(instruction_set)
        return _Finder(graph, unknown, instruction_set, options or {}, backend).found()


def _check_backend(backend: str) -> None:
    if backend not in get_args(Backend):
        raise EngineError(f"backend={backend!r}; expected one of {', '.join(get_args(Backend))}")
    if backend == "onednn" and not module().onednn_version():
        raise EngineError(
            "backend='onednn' is not built in; pip install onednn-cpu-gomp onednn-devel-cpu-gomp nanobind "
            "scikit-build-core, and then simsched again, in its folder: pip install --force-reinstall --no-deps "
            "--no-build-isolation ."
        )


def _check_instruction_set(name: str) -> None:
    if name not in ("auto", *(known := module().instruction_sets())):
        raise EngineError(f"this machine has no instruction set {name}; it has {', '.join(known)}")


class _Finder:
    def __init__(
        self, graph: TaskGraph, unknown: Unknown, instruction_set: str, options: Options, backend: Backend
    ) -> None:
        self._graph, self._unknown, self._options, self._backend = graph, unknown, options, backend
        self._instruction_set = instruction_set
        self._index: dict[tuple[str, tuple[int, ...]], int] = {}
        self._kernels: list[Any] = []
        self._ran: Counter[str] = Counter()
        self._strangers: Counter[str] = Counter()
        self._alike: Counter[tuple[str, str]] = Counter()
        self._immobile = 0
        self._idle = (graph.flops == 0) & (graph.bytes_B == 0)

    def found(self) -> Work:
        kernel_of = np.full(self._graph.n_tasks, SPINS, np.int32)
        which = self._groups()
        order = np.argsort(which, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1) if len(order) else []
        for tasks in groups:
            self._assign(tasks, kernel_of)
        kernel_of.setflags(write=False)
        return Work(self._kernels, kernel_of, self._notes())

    def _groups(self) -> npt.NDArray[np.intp]:
        """Return a number for each task, the same for those that the rules do not distinguish."""
        graph, which = self._graph, np.zeros(self._graph.n_tasks, np.intp)
        shaped = np.array([bool(label) for label in graph.shapes.labels], np.bool_)[graph.shapes.codes]
        amounts = [np.where(shaped, column, np.nan) for column in (graph.flops, graph.bytes_B)]
        for column in (graph.kinds.codes, graph.shapes.codes, self._idle, *amounts):
            distinct, codes = np.unique(column, return_inverse=True)
            which = np.unique(which * len(distinct) + codes, return_inverse=True)[1]
        return which

    def _assign(self, tasks: npt.NDArray[np.intp], kernel_of: Index) -> None:
        graph, first = self._graph, int(tasks[0])
        kind = graph.kinds[first]
        # Tasks that neither compute nor move anything need no kernel.
        if plain(kind) in SPIN_KINDS or self._idle[first]:
            self._ran["spin"] += len(tasks)
            return
        found = sizes(
            kind, graph.shapes[first], float(graph.flops[first]), self._options, float(graph.bytes_B[first])
        )
        name = self._named(found[0]) if found else ""
        if found is not None and (index := self._kernel(name, found[1])) is not None:
            kernel_of[tasks] = index
            self._ran[name] += len(tasks)
            if stands_in(kind):
                self._alike[kind, name] += len(tasks)
            return
        if plain(kind) not in MEMORY_KINDS:
            self._strangers[kind] += len(tasks)
        if self._unknown == "memory" or plain(kind) in MEMORY_KINDS:
            self._copies(tasks, kernel_of)
        else:
            self._ran["spin"] += len(tasks)

    def _named(self, kernel: str) -> str:
        onednn = self._backend == "onednn" and kernel.startswith("convolution")
        return f"onednn_{kernel}" if onednn else kernel

    def _copies(self, tasks: npt.NDArray[np.intp], kernel_of: Index) -> None:
        """Make tasks copy their bytes: half are read, half are written."""
        for task in tasks.tolist():
            moved = float(self._graph.bytes_B[task])
            index = self._kernel("copy", (int(moved // 8),)) if moved >= 8 else None
            if index is None and moved >= 8:
                raise EngineError(
                    f"task {task} ({self._graph.task_name(task)!r}) copies {moved / 1e9:.3g} GB, more than any memory "
                    "holds; check the graph's bytes_B"
                )
            if index is not None:
                kernel_of[task] = index
            self._immobile += index is None
            self._ran["spin" if index is None else "memory"] += 1

    def _kernel(self, name: str, found: tuple[int, ...]) -> int | None:
        key = (name, found)
        if key not in self._index:
            try:
                kernel = module().kernel(name, list(found), self._instruction_set)
            except ValueError:
                return None  # shapes that no kernel has, as those of an empty tensor
            self._index[key] = len(self._kernels)
            self._kernels.append(kernel)
        return self._index[key]

    def _notes(self) -> tuple[str, ...]:
        ran = ", ".join(f"{count} {name}" for name, count in self._ran.most_common())
        notes = [f"kernels: {ran}"] if ran else []
        if self._strangers:
            notes.append(
                f"{self._strangers.total()} tasks have no kernel of their kind and shapes, and "
                + ("spin for their estimated seconds" if self._unknown == "spin" else "copy their bytes")
                + f": {_listed(self._strangers)}"
            )
        if self._immobile:
            notes.append(
                f"{self._immobile} of the tasks that copy bytes spin for their estimated seconds, for these are "
                "unknown or too few"
            )
        if self._alike:
            kinds = Counter({f"{kind} as {kernel}": count for (kind, kernel), count in self._alike.items()})
            notes.append(
                f"{kinds.total()} tasks run a kernel that does something else and costs about the same: "
                + _listed(kinds)
            )
        return tuple(notes)


def _listed(kinds: Counter[str]) -> str:
    said = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(8))
    return said + (f" and {len(kinds) - 8} more kinds" if len(kinds) > 8 else "")


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
                if (maker := next((t for t in before if size_of[t] == size), None)) is not None:
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
