"""The programs: tasks with their dependencies, and the operators of frameworks with the arrays that they begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

#: Side of a tile.
TILE = 160
#: Of the LSTM, the CNN, and the transformer, whose feed-forward part has several parts.
BATCH, HIDDEN = 32, 128
IMAGES, CHANNELS, SIDE = 4, 64, 28
WORDS, SIZE, HEADS, PARTS = 256, 256, 8, 4
#: Numbers in a row of the stencil.
ROW = 262_144
#: What diagonal tiles have on their diagonal, which makes factorisations possible without pivoting.
DOMINANT = 128.0

#: What an operator reads: a task and which of its results; or -1 and the number of a given array.
Read = tuple[int, int]


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


@dataclass(frozen=True)
class Given:
    """An array that no operator makes.

    Parameters
    ----------
    shape : tuple of int
    weights : bool
        Whether it is known before the program runs, as weights are.
    diagonal : float
        Added on the diagonal.
    """

    shape: tuple[int, ...]
    weights: bool = False
    diagonal: float = 0.0

    def values(self, generator: np.random.Generator) -> npt.NDArray[np.float32]:
        """Return random numbers of a size that products keep."""
        found = generator.standard_normal(self.shape) / np.sqrt(prod(self.shape[1:]))
        if self.diagonal:
            found += self.diagonal * np.eye(self.shape[0])
        return np.asarray(found, np.float32)


@dataclass
class Network:
    """A program of operators under construction.

    Parameters
    ----------
    program : Program
        The operators' kinds, and what each depends on.
    reads : list of lists of Read
        What each reads, in order.
    given : list of Given

    Examples
    --------
    >>> network = Network()
    >>> one = network.add("row", network.array(4), network.array(4))
    >>> network.add("row", one, one), network.reads
    ((1, 0), [[(-1, 0), (-1, 1)], [(0, 0), (0, 0)]])
    """

    program: Program = field(default_factory=Program)
    reads: list[list[Read]] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)

    def array(self, *shape: int, weights: bool = False, diagonal: float = 0.0) -> Read:
        """Add an array that is given."""
        self.given.append(Given(shape, weights, diagonal))
        return -1, len(self.given) - 1

    def add(self, kind: str, *reads: Read) -> Read:
        """Add an operator; return its first result."""
        self.reads.append(list(reads))
        return self.program.add(kind, [task for task, _ in reads if task >= 0]), 0

    def values(self) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the given arrays: the same in each call."""
        generator = np.random.default_rng(0)
        yield from (one.values(generator) for one in self.given)


def _tiles(network: Network, side: int, rows: Callable[[int], range]) -> dict[tuple[int, int], Read]:
    """Return the tiles of a matrix, row by row: those in the columns that `rows` gives for a row."""
    return {
        (i, j): network.array(TILE, TILE, diagonal=DOMINANT if i == j else 0.0)
        for i in range(side)
        for j in rows(i)
    }


def cholesky(side: int = 8) -> Network:
    """Return the tile Cholesky factorisation of a matrix of `side` x `side` tiles."""
    network = Network()
    tile = _tiles(network, side, lambda i: range(i + 1))
    for k in range(side):
        tile[k, k] = network.add("potrf", tile[k, k])
        for i in range(k + 1, side):
            tile[i, k] = network.add("trsm", tile[k, k], tile[i, k])
        for i in range(k + 1, side):
            tile[i, i] = network.add("syrk", tile[i, i], tile[i, k])
            for j in range(k + 1, i):
                tile[i, j] = network.add("gemm", tile[i, j], tile[i, k], tile[j, k])
    return network


def lu(side: int = 6) -> Network:
    """Return the tile LU factorisation without pivoting; `getrf` makes L and U."""
    network = Network()
    tile = _tiles(network, side, lambda _: range(side))
    for k in range(side):
        lower = network.add("getrf", tile[k, k])
        upper = (lower[0], 1)
        for i in range(k + 1, side):
            tile[i, k] = network.add("column", upper, tile[i, k])
            tile[k, i] = network.add("line", lower, tile[k, i])
        for i in range(k + 1, side):
            for j in range(k + 1, side):
                tile[i, j] = network.add("update", tile[i, j], tile[i, k], tile[k, j])
    return network


def product(side: int = 5) -> Network:
    """Return what is left of a matrix, less a product of two, of `side` x `side` tiles each."""
    network = Network()
    a, b, c = (_tiles(network, side, lambda _: range(side)) for _ in range(3))
    for k in range(side):
        for i in range(side):
            for j in range(side):
                c[i, j] = network.add("gemm", c[i, j], a[i, k], b[j, k])
    return network


def lstm(layers: int = 4, steps: int = 16) -> Network:
    """Return a forward pass: each cell after the one below it, and after the one before it; cells make h and c."""
    network = Network()
    weights = [[network.array(4 * HIDDEN, HIDDEN, weights=True) for _ in range(2)] for _ in range(layers)]
    state = [[network.array(BATCH, HIDDEN) for _ in range(2)] for _ in range(layers)]
    for _ in range(steps):
        below = network.array(BATCH, HIDDEN)
        for layer in range(layers):
            below = network.add("cell", below, *state[layer], *weights[layer])
            state[layer] = [below, (below[0], 1)]
    return network


def cnn(blocks: int = 12) -> Network:
    """Return a chain of blocks of four branches, as in Inception, without activations."""
    network, narrow = Network(), CHANNELS // 4

    def convolved(data: Read, channels: int, side: int) -> Read:
        weights = network.array(narrow, channels, side, side, weights=True)
        return network.add(f"conv{side}", data, weights)

    joined = network.array(IMAGES, CHANNELS, SIDE, SIDE)
    for _ in range(blocks):
        ends = [convolved(joined, CHANNELS, 1)]
        ends += [convolved(convolved(joined, CHANNELS, 1), narrow, side) for side in (3, 5)]
        ends.append(convolved(network.add("pool", joined), CHANNELS, 1))
        joined = network.add("concat", *ends)
    return network


def transformer(layers: int = 6) -> Network:
    """Return layers of attention heads that run beside each other, and feed-forward parts."""
    network = Network()
    last = network.array(1, WORDS, SIZE)
    for _ in range(layers):
        heads = []
        for _ in range(HEADS):
            projected = [network.add("project", last, _weights(network, SIZE // HEADS)) for _ in range(3)]
            heads.append(network.add("attend", *projected))
        attended = network.add("output", network.add("join", *heads), _weights(network, SIZE))
        last = _normal(network, network.add("add", last, attended))
        parts = []
        for _ in range(PARTS):
            wide = network.add("relu", network.add("feed", last, _weights(network, SIZE)))
            parts.append(network.add("feed", wide, _weights(network, SIZE)))
        last = _normal(network, network.add("sum", last, *parts))
    return network


def _weights(network: Network, columns: int) -> Read:
    return network.array(SIZE, columns, weights=True)


def _normal(network: Network, data: Read) -> Read:
    return network.add("norm", data, *(network.array(SIZE, weights=True) for _ in range(2)))


def stencil(parts: int = 8, steps: int = 16) -> Network:
    """Return time steps of rows of a grid, each the mean of itself and its neighbours."""
    network = Network()
    rows = [network.array(ROW) for _ in range(parts)]
    for _ in range(steps):
        near = [rows[max(part - 1, 0) : part + 2] for part in range(parts)]
        rows = [network.add("row" if len(read) > 2 else "edge", *read) for read in near]
    return network


#: Programs by name.
NETWORKS: dict[str, Callable[[], Network]] = {
    "cholesky": cholesky, "lu": lu, "product": product, "lstm": lstm, "cnn": cnn, "transformer": transformer,
    "stencil": stencil,
}  # fmt: skip
