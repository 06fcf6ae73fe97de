"""Long short-term memory, stacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.workloads.ops import add, chunks, multiply, sigmoid, tanh
from simsched.workloads.recurrent import Affine, Recurrent, State

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
    from simsched.workloads.tensor import Tensor

GATES = ("input_gate", "forget_gate", "candidate", "output_gate")


class LSTMCell:
    """A layer: 4 (h (h + x) + h) parameters; state h, c.

    Each gate has products of its own, as in the equations, or all share two of four times the columns.
    """

    n_states = 2

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

    References
    ----------
    Long short-term memory. Neural Computation 9(8), 1997; with forget gates, Neural Computation 12(10), 2000.
    """

    name = "lstm"

    def cell(self, net: Builder, inputs: int) -> LSTMCell:
        """Return a new layer."""
        return LSTMCell(net, inputs, self.hidden, self.fused)
