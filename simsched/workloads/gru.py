"""Gated recurrent units, stacked."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.layers import Dense
from simsched.workloads.ops import add, chunks, multiply, sigmoid, subtract, tanh
from simsched.workloads.recurrent import Recurrent, State
from simsched.workloads.tensor import Tensor

GATES = ("reset_gate", "update_gate", "candidate")


class GRUCell:
    """A layer: 3 (h (h + x) + 2 h) parameters; state h.

    The reset gate acts on the product of the state, after its own bias, as in cuDNN and in Keras (`reset_after`).
    """

    def __init__(self, net: Builder, inputs: int, hidden: int, fused: bool) -> None:
        self.net = net
        scopes = {"gates": 3 * hidden} if fused else dict.fromkeys(GATES, hidden)
        self.of_input = [Dense(net, f"{scope}/input", inputs, n) for scope, n in scopes.items()]
        self.of_state = [Dense(net, f"{scope}/recurrent", hidden, n) for scope, n in scopes.items()]

    def step(self, x: Tensor, state: State) -> State:
        """Return the next h."""
        (h,) = state
        x_reset, x_update, x_candidate = _three([layer(x) for layer in self.of_input])
        h_reset, h_update, h_candidate = _three([layer(h) for layer in self.of_state])
        reset, update = sigmoid(add(x_reset, h_reset)), sigmoid(add(x_update, h_update))
        candidate = tanh(add(x_candidate, multiply(reset, h_candidate)))
        return (add(multiply(update, h), multiply(subtract(self.net.input(), update), candidate)),)


def _three(found: list[Tensor]) -> tuple[Tensor, ...]:
    return chunks(found[0], 3) if len(found) == 1 else tuple(found)


@dataclass(frozen=True)
class GRU(Recurrent):
    """Gated recurrent units as cuDNN and Keras have them, stacked.

    Parameters
    ----------
    fused : bool
        Whether the gates of a cell share one matrix product of its input and one of its state.
    layers, steps, hidden, input, batch, mini_batches, classes, outputs, training, granularity
        See `simsched.workloads.recurrent.Recurrent`.

    References
    ----------
    Learning phrase representations using RNN encoder-decoder for statistical machine translation. EMNLP 2014.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("gru", layers=2, steps=3, training=False)
    <TaskGraph 'gru[layers=2,steps=3,training=false]': 138 tasks, 163 edges>
    """

    name = "gru"
    cell_kind = "GRUCell"

    fused: bool = False

    def cell(self, net: Builder, inputs: int) -> GRUCell:
        """Return a new layer."""
        return GRUCell(net, inputs, self.hidden, self.fused)
