"""Graphs of the kinds that `calibrate` is to measure: their shapes in generated graphs, spread over their work."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from textwrap import wrap

import numpy as np

from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import tasks_by_op
from simsched.execute.kernels.operators import plain, sizes
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.multimap import multimap
from simsched.plugins import registered
from simsched.workloads import workload

#: Small training steps, from which the shapes are taken.
SOURCES = (
    "lstm[layers=1,steps=2,hidden=128,batch=16]", "lstm[layers=1,steps=2,hidden=512,batch=32]",
    "gru[layers=1,steps=2,hidden=256,batch=32]", "phased_lstm[layers=1,steps=2,hidden=256,batch=32]",
    "transformer[layers=1,hidden=128,tokens=32,batch=2]", "transformer[layers=1,hidden=256,tokens=64,batch=4]",
    "transformer[layers=1,hidden=512,tokens=128,batch=4]", "alexnet[batch=2]", "dcgan[batch=8]",
    "resnet50[variant=cifar10,batch=8]", "inception_v3[batch=1]",
)  # fmt: skip
#: Shapes of a kind, and the most FLOPs and bytes of one: a tenth of a second on a slow core.
SHAPES, MOST_FLOPS, MOST_B = 5, 1e9, 1e8

#: Characters of a line of kinds.
LONGEST = 100
#: Kind, shape, FLOPs and bytes of a generated task.
Generated = tuple[str, str, float, float]


def graph_of_kinds(kinds: Iterable[str]) -> TaskGraph:
    """Return a graph of independent tasks of these kinds, in up to five shapes each.

    Parameters
    ----------
    kinds : iterable of str
        As graphs spell them: `MatMul`, `aten::mm`. Tasks have the kind as it is given, and shapes, FLOPs and bytes of
        generated tasks that run the same kernel.

    Raises
    ------
    EngineError
        If no generated graph has tasks of a kind.
    SimschedError
        If it is the name of a workload or a file, which has to be made a graph first.

    Examples
    --------
    >>> graph = graph_of_kinds(["aten::mm"])
    >>> graph.n_tasks, graph.kinds[0], graph.shapes[0]
    (5, 'aten::mm', '8x1034;1034x1')
    """
    asked = list(dict.fromkeys(kinds))
    rows = [(kind, *op[1:]) for kind in asked for op in _spread(kind)]
    named, shapes, flops, bytes_B = (list(column) for column in zip(*rows, strict=True))
    return TaskGraph.from_edges(
        [np.nan] * len(rows), kinds=named, shapes=shapes, flops=flops, bytes_B=bytes_B, name=", ".join(asked)
    )


def _spread(kind: str) -> list[Generated]:
    """Return ops of a kind: that of the least work, that of the most, and others between."""
    found = [op for op in _fitting(kind) if op[2] <= MOST_FLOPS and op[3] <= MOST_B]
    if not found:
        raise _unknown(kind)
    places = np.linspace(0, len(found) - 1, min(SHAPES, len(found)))
    return [found[round(place)] for place in places]


def _fitting(kind: str) -> list[Generated]:
    """Return generated ops of the kernel and sizes that a kind has with their shapes, by their work.

    They are of that kind itself, however it is spelled, else of the one that has most of them.
    """
    fits = multimap(
        (plain(op[0]), op) for op, made in _generated().items() if sizes(kind, *op[1:3], {}, op[3]) == made
    )
    found = fits.get(plain(kind)) or max(fits.values(), key=len, default=[])
    return sorted(found, key=lambda op: op[2:])


@cache
def _generated() -> dict[Generated, tuple[str, tuple[int, ...]]]:
    """Return the distinct ops of generated graphs that have a kernel, and that kernel with its sizes."""
    found = {}
    for graph in map(workload, SOURCES):
        for (kind, shape), tasks in tasks_by_op(graph).items():
            flops, bytes_B = (float(np.median(column[tasks])) for column in (graph.flops, graph.bytes_B))
            made = sizes(kind, shape, flops, {}, bytes_B)
            if made is not None:
                found[kind, shape, flops, bytes_B] = made
    return found


def _unknown(kind: str) -> EngineError:
    name = str(kind)
    if name.split("[", maxsplit=1)[0].strip() in registered("workloads") or Path(name).is_file():
        check_graph(kind)
    there = {plain(op[0]): op[0] for op in sorted(_generated())}
    near = [there[one] for one in get_close_matches(plain(name), there, 1)]
    meant = "".join(f"; did you mean {one}?" for one in near)
    listed = "\n".join(wrap(", ".join(there.values()), LONGEST))
    return EngineError(
        f"{name!r:.80} is no kind of which generated graphs have shapes to measure"
        f"{meant or '; give a graph that has it'}"
        f"\nKinds, in other spellings, too: {listed}"
    )
