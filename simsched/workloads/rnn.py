"""Vanilla recurrent networks, stacked."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.ops import tanh
from simsched.workloads.recurrent import Affine, Recurrent, State
from simsched.workloads.tensor import Tensor


class RNNCell:
    """A layer, h = tanh(x W + h U + b): h (h + x) + h parameters; state h."""

    def __init__(self, net: Builder, inputs: int, hidden: int) -> None:
        self.affine = Affine(net, "cell", inputs, hidden, hidden)

    def step(self, x: Tensor, state: State) -> State:
        """Return the next h."""
        return (tanh(self.affine(x, state[0])),)


@dataclass(frozen=True)
class RNN(Recurrent):
    """Vanilla recurrent network, stacked.

    Parameters
    ----------
    layers, steps, hidden, input, batch, mini_batches, classes, outputs, training, granularity
        See `simsched.workloads.recurrent.Recurrent`.

    References
    ----------
    Finding structure in time. Cognitive Science 14(2), 1990.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("rnn", layers=2, steps=3, training=False)
    <TaskGraph 'rnn[layers=2,steps=3,training=false]': 30 tasks, 31 edges>
    """

    name = "rnn"
    cell_kind = "RNNCell"

    def cell(self, net: Builder, inputs: int) -> RNNCell:
        """Return a new layer."""
        return RNNCell(net, inputs, self.hidden)
