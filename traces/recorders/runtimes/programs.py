"""Programs as graphs of tasks that multiply matrices and add up numbers: dense linear algebra, networks, a stencil."""

from __future__ import annotations

from collections.abc import Callable

from simsched.traces.recorders.runtimes import networks
from simsched.traces.recorders.runtimes.networks import Network, Program


def _tasks(network: Network, **called: str) -> Program:
    """Return a task for each operator; kinds of operators that do the same work as tasks are `called` alike."""
    made = network.program
    return Program([called.get(kind, kind) for kind in made.kinds], made.before)


def cholesky(side: int = 8) -> Program:
    """Return the tile Cholesky factorisation of a matrix of `side` x `side` tiles."""
    return _tasks(networks.cholesky(side))


def lu(side: int = 6) -> Program:
    """Return the tile LU factorisation without pivoting."""
    return _tasks(networks.lu(side), column="trsm", line="trsm", update="gemm")


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
    return _tasks(networks.cnn(blocks))


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
    return _tasks(networks.stencil(parts, steps), edge="row")


#: Programs by name.
PROGRAMS: dict[str, Callable[[], Program]] = {
    "cholesky": cholesky, "lu": lu, "lstm": lstm, "cnn": cnn, "transformer": transformer, "stencil": stencil,
}  # fmt: skip
