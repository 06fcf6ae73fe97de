"""Stacked recurrent networks, unrolled over their steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from simsched.errors import SpecError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.shapes import format_shape
from simsched.workloads.builder import Builder
from simsched.workloads.cell_work import CellWork, Key
from simsched.workloads.layers import Dense
from simsched.workloads.ops import add, bias_add, cross_entropy, matmul
from simsched.workloads.tensor import ELEMENT_B, Phase, Tensor
from simsched.workloads.workload import Workload, one_of, whole

State = tuple["Tensor", ...]


class Cell(Protocol):
    """A layer of a recurrent network: its parameters, and its work in a step."""

    def step(self, x: Tensor, state: State) -> State:
        """Return the next state from the input (batch, inputs) and the state."""


class Affine:
    """Pre-activations of gates, x W + h U + b: two products, their sum and a bias.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the gate.
    inputs, hidden, outputs : int
        Sizes of x, h and the result.
    """

    def __init__(self, net: Builder, scope: str, inputs: int, hidden: int, outputs: int) -> None:
        self._net, self._scope = net, scope
        with net.within(scope):
            self.weights, self.recurrent = net.parameter(inputs, outputs), net.parameter(hidden, outputs)
            self.bias = net.parameter(outputs)

    def __call__(self, x: Tensor, h: Tensor) -> Tensor:
        """Return the pre-activations, (batch, outputs)."""
        with self._net.within(self._scope):
            # Separate scopes: parameters of one shape in one scope count as one parameter when run.
            with self._net.within("input"):
                from_input = matmul(x, self.weights)
            with self._net.within("recurrent"):
                from_state = matmul(h, self.recurrent)
            return bias_add(add(from_input, from_state), self.bias)


@dataclass(frozen=True)
class Recurrent(Workload):
    """Base of stacked recurrent networks; subclass it and write `cell`.

    Attributes
    ----------
    cell_kind : str
        Kind of a task that is a whole cell; its backward pass is the same and `Grad`.
    n_states : int
        Tensors of a state, each of (batch, hidden); the first is the output.

    Parameters
    ----------
    layers, steps : int
        Layers, each of `hidden` units, and steps of a sequence.
    hidden : int
        Units of a layer.
    input : int
        Inputs of the first layer; 0 for as many as `hidden`.
    batch : int
        Sequences of a step of training.
    mini_batches : int
        Parts of the batch that run independently of each other and share the parameters.
    classes : int
        Outputs of a dense layer on the last layer; 0 for none, the units are the logits.
    outputs : {"last", "every"}
        Which steps have logits and a loss.
    training : bool
        Whether a backward pass and a weight update follow the forward pass.
    granularity : {"op", "cell"}
        Whether a task is an op, or all ops of a cell in one direction; see `cell_grid`.
    """

    cell_kind: ClassVar[str] = ""
    n_states: ClassVar[int] = 1

    layers: int = whole(4)
    steps: int = whole(20)
    hidden: int = whole(512)
    input: int = whole(0, least=0)
    batch: int = whole(64)
    mini_batches: int = whole(1)
    classes: int = whole(0, least=0)
    outputs: str = one_of("last", "every")
    training: bool = True
    granularity: str = one_of("op", "cell")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mini_batches > self.batch:
            raise self.refused("mini_batches", f"at most the batch, {self.batch}")

    def cell(self, net: Builder, inputs: int) -> Cell:
        """Return a new layer; its parameters belong to the scope of the network."""
        raise SpecError(f"workload {self} has no cell(); write one that returns a layer")

    @property
    def parts(self) -> tuple[int, ...]:
        """Sequences of each mini-batch; they differ by one at most."""
        return tuple(map(self._part, range(self.mini_batches)))

    def _part(self, part: int) -> int:
        each, more = divmod(self.batch, self.mini_batches)
        return each + (part < more)

    @cached_property
    def n_parameters(self) -> int:
        """Number of trained scalars; all layers but the first are alike."""
        one, two = (replace(self, layers=layers)._layers()[0].n_parameters for layers in (1, 2))
        return one + (self.layers - 1) * (two - one)

    def inputs(self, layer: int) -> int:
        """Return the inputs of a layer."""
        return self.hidden if layer else self.input or self.hidden

    def graph(self) -> TaskGraph:
        """Return the task graph."""
        return cell_grid(self) if self.granularity == "cell" else self.built().graph(str(self))

    def built(self) -> Builder:
        """Return the network of all mini-batches, op by op, trained where asked."""
        net, cells, head = self._layers()
        losses = [loss for part in range(self.mini_batches) for loss in self._run(net, cells, head, part)]
        if self.training:
            net.train(losses)
        return net

    def _layers(self) -> tuple[Builder, list[Cell], Dense | None]:
        net, cells = Builder(self.training), []
        for layer in range(self.layers):
            with net.within(f"layer{layer}"):
                cells.append(self.cell(net, self.inputs(layer)))
        return net, cells, Dense(net, "head", self.hidden, self.classes) if self.classes else None

    def _run(self, net: Builder, cells: list[Cell], head: Dense | None, part: int) -> Iterator[Tensor]:
        """Add the forward pass of a mini-batch; yield its losses."""
        batch = self._part(part)
        states = [tuple(net.input(batch, self.hidden) for _ in range(self.n_states)) for _ in cells]
        for step in range(self.steps):
            label = f"batch{part}/step{step}" if self.mini_batches > 1 else f"step{step}"
            x = net.input(batch, self.inputs(0))
            for layer, cell in enumerate(cells):
                with net.within(f"layer{layer}", label, (layer, step)):
                    states[layer] = cell.step(x, states[layer])
                x = states[layer][0]
            if self.outputs == "every" or step == self.steps - 1:
                with net.within("", label, (self.layers - 1, step)):
                    logits = x if head is None else head(x)
                    if self.training:
                        yield cross_entropy(logits)


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
    """Return the task graph of a recurrent network whose tasks are cells: layers x steps x mini-batches.

    Cell (layer l, step t) reads the outputs of (l - 1, t) and (l, t - 1); backward runs the same edges reversed, and
    reads the forward pass's results. There is a final task per mini-batch: they add up the gradients (`AddN`), and the
    last of them updates the parameters (`ApplyGradientDescent`).

    Its work is that of the ops of a cell (`simsched.workloads.cell_work`): both granularities have the same FLOPs.

    Raises
    ------
    SpecError
        If there are more than `MAX_CELLS` cells.

    References
    ----------
    Wavefront parallelization of recurrent neural networks on multi-core architectures, ICS 2020, Sec. 3, Alg. 1.
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
