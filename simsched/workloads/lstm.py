"""Long short-term memory, stacked."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.layers import Dense
from simsched.workloads.ops import add, chunks, concat, multiply, sigmoid, tanh
from simsched.workloads.recurrent import Affine, Cell, Recurrent, State
from simsched.workloads.tensor import Tensor

GATES = ("input_gate", "forget_gate", "candidate", "output_gate")


class LSTMCell:
    """A layer: 4 (h (h + x) + h) parameters; state h, c.

    Each gate has its own products, as in the equations, or all share those of four times the columns. There are two,
    of the input and of the state, or one of both side by side.
    """

    def __init__(self, net: Builder, inputs: int, hidden: int, fused: bool, joined: bool = False) -> None:
        self.net, self._joined = net, joined
        scopes = {"gates": 4 * hidden} if fused else dict.fromkeys(GATES, hidden)
        self._dense = [Dense(net, scope, inputs + hidden, n) for scope, n in scopes.items() if joined]
        self._affine = [Affine(net, scope, inputs, hidden, n) for scope, n in scopes.items() if not joined]

    def step(self, x: Tensor, state: State) -> State:
        """Return the next h and c."""
        h, c = state
        gates = self._gates(x, h)
        activated = [
            tanh(z) if gate == "candidate" else sigmoid(z)
            for gate, z in zip(GATES, chunks(gates[0], 4) if len(gates) == 1 else gates, strict=True)
        ]
        write, keep, candidate, show = activated
        c = add(multiply(keep, c), multiply(write, candidate))
        return multiply(show, tanh(c)), c

    def _gates(self, x: Tensor, h: Tensor) -> list[Tensor]:
        """Return the pre-activations, of all gates in one tensor or one tensor each."""
        if not self._joined:
            return [affine(x, h) for affine in self._affine]
        both = concat([x, h])
        return [dense(both) for dense in self._dense]


@dataclass(frozen=True)
class LSTM(Recurrent):
    """Long short-term memory without peepholes, stacked.

    Parameters
    ----------
    fused : bool
        Whether the gates of a cell share one matrix product of its input and one of its state.
    joined : bool
        Whether input and state are put side by side and multiplied together; with `fused` a cell has one product, as in
        TensorFlow's BasicLSTMCell.
    layers, steps, hidden, input, batch, mini_batches, classes, outputs, training, granularity
        See `simsched.workloads.recurrent.Recurrent`.

    References
    ----------
    Long short-term memory. Neural Computation 9(8), 1997; with forget gates, Neural Computation 12(10), 2000.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("lstm", layers=2, steps=3, training=False)
    <TaskGraph 'lstm[layers=2,steps=3,training=false]': 150 tasks, 176 edges>
    """

    name = "lstm"
    cell_kind = "LSTMCell"
    n_states = 2

    fused: bool = False
    joined: bool = False

    def cell(self, net: Builder, inputs: int) -> Cell:
        """Return a new layer."""
        return LSTMCell(net, inputs, self.hidden, self.fused, self.joined)
