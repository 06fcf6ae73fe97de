"""`Builder`: records the ops of a network, derives backward pass and weight updates, makes the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np

from simsched.errors import GraphError
from simsched.graph import DataObjects, ImportReport, TaskGraph, with_data
from simsched.graph.shapes import format_shape
from simsched.workloads.cell_work import CellWork
from simsched.workloads.ops.elementwise import add_n
from simsched.workloads.optimizers import Optimizer, optimizer_of
from simsched.workloads.tensor import NO_TASK, Dims, Gradient, Node, Phase, Place, Tensor

#: A network of more ops or parameters is a mistake, or needs a coarser granularity.
MAX_OPS = 1_000_000


class Builder:
    """A network while it is built.

    The functions of `simsched.workloads.ops` add ops to the network of their operands. Dependencies are those of data:
    an op waits for the tasks that make its inputs.

    Parameters
    ----------
    training : bool
        Whether `train` will be called; if not, nothing is kept for a backward pass.

    Examples
    --------
    >>> from simsched.workloads.ops import cross_entropy, matmul
    >>> net = Builder()
    >>> loss = cross_entropy(matmul(net.input(64, 20), net.parameter(20, 10)))
    >>> net.train([loss])
    >>> net.graph("tiny").kinds.to_list()
    ['MatMul', 'SparseSoftmaxCrossEntropyWithLogits', 'Mul', 'MatMul', 'ApplyGradientDescent']
    """

    def __init__(self, training: bool = True) -> None:
        self.training = training
        self.parameters: list[tuple[Tensor, Place]] = []
        self._place = Place()
        self._phase: Phase = "forward"
        self._tape: list[Node] = []
        self._kinds: list[str] = []
        self._inputs: list[tuple[Tensor, ...]] = []
        self._flops: list[float] = []
        self._bytes: list[int] = []
        self._where: list[tuple[Phase, Place]] = []
        self._made: list[Tensor] = []

    def input(self, *dims: int) -> Tensor:
        """Return a tensor that exists from the start and is not trained: data, a state, a constant."""
        return Tensor(self, dims, NO_TASK, trained=False)

    def parameter(self, *dims: int) -> Tensor:
        """Return a new parameter; `train` updates it.

        Raises
        ------
        GraphError
            If there are more than `MAX_OPS`.
        """
        if len(self.parameters) >= MAX_OPS:
            raise GraphError(f"a network of more than {MAX_OPS} parameters; take fewer layers")
        made = Tensor(self, dims, NO_TASK, trained=True)
        self.parameters.append((made, self._place))
        return made

    @property
    def n_parameters(self) -> int:
        """Number of trained scalars."""
        return sum(made.elements for made, _ in self.parameters)

    @contextmanager
    def within(self, scope: str = "", label: str = "", cell: tuple[int, ...] | None = None) -> Iterator[None]:
        """Put the ops of a block into a scope inside the present one; a label or a cell replaces the present one."""
        outer = self._place
        parts = [part for part in (outer.scope, scope) if part]
        self._place = Place("/".join(parts), label or outer.label, outer.cell if cell is None else cell)
        try:
            yield
        finally:
            self._place = outer

    def op(
        self,
        kind: str,
        inputs: Sequence[Tensor],
        dims: Dims,
        flops: float,
        gradient: Gradient | None = None,
        bytes_B: int | None = None,
    ) -> Tensor:
        """Add an op and return its output.

        Parameters
        ----------
        kind : str
            One that `costs/curves.toml` and `execute/operators.toml` know.
        inputs : sequence of Tensor
            Its inputs, in the order of the kind.
        dims : tuple of int
            Shape of the output.
        flops : float
            Operations; a multiply-add is two, anything else one per element and pass.
        gradient : callable, optional
            From the output's gradient to those of the inputs; without one the output is not trained. It adds the ops
            that compute them, and gives None for inputs that are not trained.
        bytes_B : int, optional
            Bytes moved, unless these are all of its inputs and its output.

        Raises
        ------
        GraphError
            If the network grows beyond `MAX_OPS`.
        """
        task = len(self._kinds)
        if task >= MAX_OPS:
            raise GraphError(f"a network of more than {MAX_OPS} ops; take fewer steps, or granularity=cell")
        read = tuple(inputs)
        out = Tensor(self, dims, task, gradient is not None and any(x.trained for x in read))
        self._kinds.append(kind)
        self._inputs.append(read)
        self._flops.append(flops)
        self._bytes.append(sum(x.size_B for x in read) + out.size_B if bytes_B is None else bytes_B)
        self._where.append((self._phase, self._place))
        self._made.append(out)
        self._record(read, (out,), gradient)
        return out

    def also(self, first: Tensor, *dims: int) -> Tensor:
        """Return a further output of the op that made `first`; it is not trained."""
        more = Tensor(self, dims, first.task, trained=False)
        self._bytes[first.task] += more.size_B
        self._made.append(more)
        return more

    def views(self, of: Tensor, shapes: Sequence[Dims], gradient: Gradient) -> tuple[Tensor, ...]:
        """Return tensors in the memory of another one; no task makes them.

        Parameters
        ----------
        of : Tensor
            The tensor viewed.
        shapes : sequence of tuple of int
            Shape of each view.
        gradient : callable
            From the gradients of all views to that of the tensor.
        """
        found = tuple(Tensor(self, dims, of.task, of.trained, of.storage) for dims in shapes)
        self._record((of,), found, gradient)
        return found

    def _record(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], gradient: Gradient | None
    ) -> None:
        if gradient is not None and self.training and self._phase == "forward" and outputs[0].trained:
            self._tape.append(Node(inputs, outputs, gradient, self._place))

    def train(
        self, losses: Sequence[Tensor], optimizer: str = "sgd", only: Iterable[Tensor] | None = None
    ) -> None:
        """Add the backward pass from the losses, and an update of each parameter.

        Gradients of a value used several times are added up (`AddN`), in the order in which they appear.

        Parameters
        ----------
        losses : sequence of Tensor
            Tensors whose sum is minimised.
        optimizer : str
            Name in `simsched.workloads.optimizers`.
        only : iterable of Tensor, optional
            The parameters to update, all when not given; gradients go no further than to them.

        Raises
        ------
        GraphError
            If one of the parameters has no gradient, or there is no such optimizer.
        """
        rule = optimizer_of(optimizer)
        chosen = {made for made, _ in self.parameters} if only is None else set(only)
        found: dict[Tensor, list[Tensor]] = {loss: [self.input(*loss.dims)] for loss in losses}
        outer = self._place
        with self._trained(chosen):
            self._phase = "gradients"
            for node in reversed(self._tape):
                self._place = node.place
                self._propagate(node, found)
        self._phase = "update"
        for parameter, place in self.parameters:
            if parameter not in chosen:
                continue
            self._place = place
            if parameter not in found:
                raise GraphError(f"a parameter of {parameter.dims} in {place.scope!r} has no gradient")
            self._update(parameter, add_n(found[parameter]), rule)
        self._place = outer

    @contextmanager
    def _trained(self, chosen: set[Tensor]) -> Iterator[None]:
        """Treat only tensors that depend on the chosen parameters as trained."""
        for parameter, _ in self.parameters:
            parameter.trained = parameter in chosen
        for node in self._tape:
            depends = any(x.trained for x in node.inputs)
            for out in node.outputs:
                out.trained = depends
        yield
        for tensor in (
            *(made for made, _ in self.parameters),
            *(out for n in self._tape for out in n.outputs),
        ):
            tensor.trained = True

    def _propagate(self, node: Node, found: dict[Tensor, list[Tensor]]) -> None:
        arrived = [found.pop(out, []) for out in node.outputs]
        if not any(arrived):
            return
        gradients = node.gradient(*(add_n(parts) if parts else None for parts in arrived))
        for x, gradient in zip(node.inputs, self._handed_on(node, list(gradients)), strict=True):
            if gradient is not None and x.trained:
                found.setdefault(x, []).append(gradient)

    def _handed_on(self, node: Node, gradients: list[Tensor | None]) -> list[Tensor | None]:
        """Return the gradients of an op's inputs for the ops that made the inputs."""
        return gradients

    def _update(self, parameter: Tensor, gradient: Tensor, rule: Optimizer) -> Tensor:
        updated = [parameter, *(self.input(*parameter.dims) for _ in range(rule.slots))]
        moved_B = 2 * sum(x.size_B for x in updated) + gradient.size_B
        return self.op(
            rule.kind,
            [*updated, gradient],
            parameter.dims,
            rule.flops * parameter.elements,
            bytes_B=moved_B,
        )

    def cells(self) -> CellWork:
        """Return the work of each cell of ops (`within`), forward and backward; see `CellWork`."""
        return CellWork.of(self._where, self._inputs, self._made, self._flops)

    def _made_by(self) -> list[Dims]:
        """Return the shape of the first output of each op."""
        first: dict[int, Dims] = {}
        for out in self._made:
            first.setdefault(out.task, out.dims)
        return [first[task] for task in range(len(self._kinds))]

    def graph(self, name: str) -> TaskGraph:
        """Return the task graph of the ops so far; durations are unknown, FLOPs, bytes and data objects are known."""
        n = len(self._kinds)
        edges = [
            (before, task)
            for task, inputs in enumerate(self._inputs)
            for before in {x.task for x in inputs}
            if before != NO_TASK
        ]
        graph = TaskGraph.from_edges(
            np.full(n, np.nan),
            np.array(edges, np.int64).reshape(-1, 2),
            kinds=self._kinds,
            names=[_name(kind, *where) for kind, where in zip(self._kinds, self._where, strict=True)],
            # Ops that move nothing have no operands.
            shapes=[
                _text(tuple(x.dims for x in inputs)) if moved else ""
                for inputs, moved in zip(self._inputs, self._bytes, strict=True)
            ],
            scopes=[place.scope for _, place in self._where],
            flops=self._flops,
            bytes_B=self._bytes,
            name=name,
            report=ImportReport("workload", facts={"parameters": self.n_parameters}),
        )
        return with_data(graph, self._objects())

    def _objects(self) -> DataObjects:
        """Return the memory that ops read and write: a view's is that of the tensor that it views."""
        readers: dict[Tensor, dict[int, None]] = {made.storage: {} for made in self._made}
        for task, inputs in enumerate(self._inputs):
            for tensor in inputs:
                readers.setdefault(tensor.storage, {})[task] = None
        return DataObjects.from_lists(
            [tensor.size_B for tensor in readers],
            [tensor.task for tensor in readers],
            [list(tasks) for tasks in readers.values()],
        )


def _name(kind: str, phase: Phase, place: Place) -> str:
    parts = ("" if phase == "forward" else phase, place.label, place.scope, kind)
    return "/".join(part for part in parts if part)


_text = cache(format_shape)
