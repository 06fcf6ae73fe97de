"""Recurrent networks whose tasks are cells: layers x steps x mini-batches, forward and backward.

Cell (layer l, step t) reads the outputs of (l - 1, t) and (l, t - 1); backward runs the same edges reversed, and reads
the forward pass's results. There is a final task per mini-batch: they add up the gradients (`AddN`), and the last of
them updates the parameters (`ApplyGradientDescent`).

References
----------
Wavefront parallelization of recurrent neural networks on multi-core architectures, ICS 2020, Sec. 3, Alg. 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import SpecError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.shapes import format_shape
from simsched.workloads.cell_work import CellWork, Key
from simsched.workloads.tensor import ELEMENT_B

if TYPE_CHECKING:
    from simsched.workloads.recurrent import Recurrent
    from simsched.workloads.tensor import Phase

Index = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]

#: Cells in a row of which all others are copies. The last but one differs: of a state that is kept in
#: several ways, fewer gradients arrive from a successor that has none.
PATTERN = 4

#: Number of cached patterns: networks that differ only in layers, steps or mini-batches share one.
PATTERNS = 64

#: Cells of a graph, forward and backward.
MAX_CELLS = 10_000_000


def cell_grid(network: Recurrent) -> TaskGraph:
    """Return the task graph of a recurrent network, one task per cell.

    Its work is that of the ops of a cell (`simsched.workloads.cell_work`): both granularities have the same FLOPs.

    Raises
    ------
    SpecError
        If there are more than `MAX_CELLS` cells.
    """
    phases: tuple[Phase, ...] = ("forward", "gradients") if network.training else ("forward",)
    n = len(phases) * network.mini_batches * network.steps * network.layers
    if n > MAX_CELLS:
        raise SpecError(
            f"{network}: {n} cells, more than {MAX_CELLS}; take fewer layers, steps or mini_batches"
        )
    blocks = [(phase, batch) for phase in phases for batch in network.parts]
    work = {batch: _work(_pattern(network, batch)) for batch in set(network.parts)}
    columns = [_block(network, phase, work[batch], batch) for phase, batch in blocks]
    columns += [_finals(network)] if network.training else []
    flops, bytes_B, kinds, shapes, scopes = (np.concatenate(column) for column in zip(*columns, strict=True))
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in _edges(network)])
    objects, object_B = _objects(network, edges, n)
    return TaskGraph.from_edges(
        np.full(len(flops), np.nan),
        edges,
        kinds=kinds.tolist(),
        shapes=shapes.tolist(),
        scopes=scopes.tolist(),
        flops=flops,
        bytes_B=bytes_B,
        edge_objects=objects,
        edge_bytes=object_B,
        name=str(network),
        report=ImportReport("workload", facts={"parameters": network.n_parameters}),
    )


@lru_cache(PATTERNS)
def _work(pattern: Recurrent) -> CellWork:
    return pattern.built().cells()


def _pattern(network: Recurrent, batch: int) -> Recurrent:
    """Return a network of one mini-batch in which every sort of cell appears: at the borders and between them."""
    layers, steps = min(network.layers, PATTERN), min(network.steps, PATTERN)
    return replace(network, layers=layers, steps=steps, batch=batch, mini_batches=1, granularity="op")


def _block(
    network: Recurrent, phase: Phase, work: CellWork, batch: int
) -> tuple[npt.NDArray[np.generic], ...]:
    """Return FLOPs, bytes, kinds, shapes and scopes of one mini-batch's cells in one direction, in their order."""
    backward = phase == "gradients"
    cells = network.steps * network.layers
    kind = network.cell_kind + ("Grad" if backward else "")
    h = (batch, network.hidden)
    shapes = [
        format_shape([(batch, network.inputs(layer)), *[h] * (network.n_states + backward)])
        for layer in range(network.layers)
    ]
    scopes = [f"layer{layer}" for layer in range(network.layers)]
    turn = -1 if backward else 1
    return (
        *(_spread(network, phase, amounts)[::turn] for amounts in (work.flops, work.bytes_B)),
        np.full(cells, kind, object),
        *(np.tile(np.array(labels, object), network.steps)[::turn] for labels in (shapes, scopes)),
    )


def _spread(network: Recurrent, phase: Phase, amounts: Mapping[Key, float]) -> Amounts:
    """Return the amounts of each cell, layers fastest, from the cells of the pattern."""
    layers, steps = _alike(network.layers), _alike(network.steps)
    table = [
        [amounts[phase, (layer, step)] for layer in range(layers[-1] + 1)] for step in range(steps[-1] + 1)
    ]
    return np.array(table)[np.ix_(steps, layers)].ravel()


def _alike(n: int) -> Index:
    """Return, for each of n in a row, its equal in the pattern's row: first, the last two, or another."""
    return np.maximum(np.minimum(np.arange(n), 1), min(n, PATTERN) - 1 - np.arange(n)[::-1])


def _finals(network: Recurrent) -> tuple[npt.NDArray[np.generic], ...]:
    """Return FLOPs, bytes, kinds, shapes and scopes of the final tasks."""
    n, sums = network.mini_batches, network.mini_batches - 1
    parameters = network.n_parameters
    return (
        np.array([parameters] * sums + [2.0 * parameters]),
        np.full(n, 3.0 * ELEMENT_B * parameters),
        np.array(["AddN"] * sums + ["ApplyGradientDescent"], object),
        np.full(n, format_shape([(parameters,), (parameters,)]), object),
        np.full(n, "", object),
    )


def _edges(network: Recurrent) -> Iterator[tuple[Index, Index]]:
    """Yield blocks of edges: tasks before and, element by element, tasks after."""
    grid = (network.mini_batches, network.steps, network.layers)
    cells = int(np.prod(grid))
    f = np.arange(cells).reshape(grid)
    yield f[:, :, :-1], f[:, :, 1:]
    yield f[:, :-1], f[:, 1:]
    if not network.training:
        return
    b = cells + f[:, ::-1, ::-1]
    yield b[:, :, 1:], b[:, :, :-1]
    yield b[:, 1:], b[:, :-1]
    # Results of the forward pass: of the cell itself, and its inputs for the gradients of the weights.
    yield f, b
    yield f[:, :, :-1], b[:, :, 1:]
    yield f[:, :-1], b[:, 1:]
    finals = 2 * cells + np.arange(network.mini_batches)
    yield finals[:-1], finals[1:]
    first = b[:, 0, :]
    yield first, np.broadcast_to(np.maximum(finals - 1, 2 * cells)[:, None], first.shape)


def _objects(network: Recurrent, edges: Index, cells: int) -> tuple[Index, Amounts]:
    """Return the number of the object that each edge carries, and its bytes.

    A cell hands its state to other cells, and backward the gradients of its layer's parameters to a final task; a
    final task hands on those of all.
    """
    before, after = edges.T
    gradients = (after >= cells) & (before < cells)
    own, states = before + gradients * (edges.max(initial=0) + 1), network.n_states * network.hidden
    state_B = np.tile(np.repeat(network.parts, network.steps * network.layers), 2) * states * ELEMENT_B
    parameters_B = ELEMENT_B * network.n_parameters / np.where(gradients, network.layers, 1)
    return own, np.where(after >= cells, parameters_B, state_B[np.minimum(before, cells - 1)])
