"""Programs as graphs of tasks that multiply matrices and add up numbers: dense linear algebra, networks, a stencil."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

#: Side of the matrices that a task of each kind multiplies, and the numbers that it adds up.
WORK = {
    "potrf": (112, 0), "trsm": (144, 0), "syrk": (144, 0), "gemm": (160, 0), "getrf": (144, 0),
    "cell": (128, 4_096), "update": (0, 32_768), "conv3": (176, 0), "conv5": (192, 0), "conv1": (96, 0),
    "concat": (0, 262_144), "pool": (0, 131_072), "project": (160, 0), "attend": (112, 16_384), "norm": (0, 65_536),
    "feed": (192, 0), "row": (0, 524_288),
}  # fmt: skip


@dataclass
class Program:
    """A program under construction: kinds of its tasks, and what each depends on.

    Examples
    --------
    >>> program = Program()
    >>> first = program.add("gemm")
    >>> program.add("gemm", [first]), program.before
    (1, [[], [0]])
    """

    kinds: list[str] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)

    def add(self, kind: str, before: Iterable[int] = ()) -> int:
        """Add a task; return its number."""
        self.kinds.append(kind)
        self.before.append(sorted(set(before)))
        return len(self.kinds) - 1

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Dependencies, each as two numbers of tasks."""
        return [(other, task) for task, others in enumerate(self.before) for other in others]

    def priorities(self) -> list[int]:
        """Return the priority of each task: the tasks on the longest path from it to a sink."""
        levels = [1] * len(self.kinds)
        for task in reversed(range(len(levels))):
            for other in self.before[task]:
                levels[other] = max(levels[other], levels[task] + 1)
        return levels

    def text(self) -> str:
        """Return the program as `tasks.cc` reads it."""
        rows = [
            " ".join(map(str, (*WORK[kind], priority, len(before), *before)))
            for kind, priority, before in zip(self.kinds, self.priorities(), self.before, strict=True)
        ]
        return "\n".join([str(len(rows)), *rows, ""])


class _Tiles:
    """The last writer of each tile, for programs on tiles of a matrix."""

    def __init__(self) -> None:
        self.program = Program()
        self.writer: dict[tuple[int, int], int] = {}

    def run(self, kind: str, written: tuple[int, int], *read: tuple[int, int]) -> None:
        tiles = [written, *read]
        self.writer[written] = self.program.add(kind, [self.writer[t] for t in tiles if t in self.writer])


def cholesky(side: int = 8) -> Program:
    """Return the tile Cholesky factorisation of a matrix of `side` x `side` tiles."""
    tiles = _Tiles()
    for k in range(side):
        tiles.run("potrf", (k, k))
        for i in range(k + 1, side):
            tiles.run("trsm", (i, k), (k, k))
        for i in range(k + 1, side):
            tiles.run("syrk", (i, i), (i, k))
            for j in range(k + 1, i):
                tiles.run("gemm", (i, j), (i, k), (j, k))
    return tiles.program


def lu(side: int = 6) -> Program:
    """Return the tile LU factorisation without pivoting."""
    tiles = _Tiles()
    for k in range(side):
        tiles.run("getrf", (k, k))
        for i in range(k + 1, side):
            tiles.run("trsm", (i, k), (k, k))
            tiles.run("trsm", (k, i), (k, k))
        for i in range(k + 1, side):
            for j in range(k + 1, side):
                tiles.run("gemm", (i, j), (i, k), (k, j))
    return tiles.program


def lstm(layers: int = 4, steps: int = 16) -> Program:
    """Return a forward pass: each cell after the one below it, and after the one before it."""
    program = Program()
    cell: dict[tuple[int, int], int] = {}
    for step in range(steps):
        for layer in range(layers):
            near = [(layer - 1, step), (layer, step - 1)]
            product = program.add("cell", [cell[other] for other in near if other in cell])
            cell[layer, step] = program.add("update", [product])
    return program


def cnn(blocks: int = 12) -> Program:
    """Return a chain of blocks of four branches, as in Inception."""
    program = Program()
    joined: list[int] = []
    for _ in range(blocks):
        ends = [program.add("conv1", joined)]
        ends += [program.add(kind, [program.add("conv1", joined)]) for kind in ("conv3", "conv5")]
        ends.append(program.add("conv1", [program.add("pool", joined)]))
        joined = [program.add("concat", ends)]
    return program


def transformer(layers: int = 6, heads: int = 8) -> Program:
    """Return layers of attention heads that run beside each other, and feed-forward parts."""
    program, last = Program(), list[int]()
    for _ in range(layers):
        attended = []
        for _ in range(heads):
            projected = [program.add("project", last) for _ in range(2)]
            attended.append(program.add("attend", projected))
        norm = program.add("norm", [*attended, *last])
        halves = [program.add("feed", [norm]) for _ in range(4)]
        last = [program.add("norm", [*halves, norm])]
    return program


def stencil(parts: int = 8, steps: int = 16) -> Program:
    """Return time steps of rows, each after itself and its neighbours."""
    program = Program()
    before: list[int] = []
    for _ in range(steps):
        near = [before[max(part - 1, 0) : part + 2] for part in range(parts)]
        before = [program.add("row", near[part]) for part in range(parts)]
    return program


#: Programs by name.
PROGRAMS: dict[str, Callable[[], Program]] = {
    "cholesky": cholesky, "lu": lu, "lstm": lstm, "cnn": cnn, "transformer": transformer, "stencil": stencil,
}  # fmt: skip
