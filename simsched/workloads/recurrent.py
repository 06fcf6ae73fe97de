"""Stacked recurrent networks, unrolled over their steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

from simsched.errors import SpecError
from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.cell_grid import cell_grid
from simsched.workloads.layers import Dense
from simsched.workloads.ops import add, bias_add, cross_entropy, matmul
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, one_of, whole

State = tuple["Tensor", ...]


class Cell(Protocol):
    """A layer of a recurrent network: its parameters, and its work in a step."""

    def step(self, x: Tensor, state: State) -> State:
        """Return the next state from the input (batch, inputs) and the state."""
        ...


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
        Whether a task is an op, or all ops of a cell in one direction; see `simsched.workloads.cell_grid`.
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
