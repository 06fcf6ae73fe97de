"""Long short-term memory, stacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.workloads.ops import add, chunks, multiply, sigmoid, tanh
from simsched.workloads.recurrent import Affine, Cell, Recurrent, State

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
    from simsched.workloads.tensor import Tensor

GATES = ("input_gate", "forget_gate", "candidate", "output_gate")


class LSTMCell:
    """A layer: 4 (h (h + x) + h) parameters; state h, c.

    Each gate has products of its own, as in the equations, or all share two of four times the columns.
    """

    def __init__(self, net: Builder, inputs: int, hidden: int, fused: bool) -> None:
        self.net = net
        scopes = {"gates": 4 * hidden} if fused else dict.fromkeys(GATES, hidden)
        self.affine = [Affine(net, scope, inputs, hidden, outputs) for scope, outputs in scopes.items()]

    def step(self, x: Tensor, state: State) -> State:
        """Return the next h and c."""
        h, c = state
        gates = [affine(x, h) for affine in self.affine]
        activated = [
            tanh(z) if gate == "candidate" else sigmoid(z)
            for gate, z in zip(GATES, chunks(gates[0], 4) if len(gates) == 1 else gates, strict=True)
        ]
        write, keep, candidate, show = activated
        c = add(multiply(keep, c), multiply(write, candidate))
        return multiply(show, tanh(c)), c


@dataclass(frozen=True)
class LSTM(Recurrent):
    """Long short-term memory without peepholes, stacked.

    Parameters
    ----------
    fused : bool
        Whether the gates of a cell share one matrix product of its input and one of its state.
    layers, steps, hidden, input, batch, mini_batches, classes, outputs, training, granularity
        See `simsched.workloads.recurrent.Recurrent`.

    References
    ----------
    Long short-term memory. Neural Computation 9(8), 1997; with forget gates, Neural Computation 12(10), 2000.
    """

    name = "lstm"
    cell_kind = "LSTMCell"
    n_states = 2

    fused: bool = False

    def cell(self, net: Builder, inputs: int) -> Cell:
        """Return a new layer."""
        return LSTMCell(net, inputs, self.hidden, self.fused)
