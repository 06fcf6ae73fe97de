"""Phased long short-term memory, stacked: each unit is open in its own phase, else keeps its state."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.lstm import LSTM, LSTMCell
from simsched.workloads.ops import add, divide, floor_mod, less, multiply, subtract, where
from simsched.workloads.recurrent import Cell, State
from simsched.workloads.tensor import Tensor


class TimeGate:
    """The openness k of each unit at a time; period, phase and open share of each unit are trained.

    With phi = ((t - phase) mod period) / period, k rises from 0 to 1 over the first half of the open share, falls to 0
    over the second, and is a small leak times phi afterwards.
    """

    def __init__(self, net: Builder, hidden: int) -> None:
        self.net = net
        with net.within("time_gate"):
            self.period, self.phase, self.open_share = (net.parameter(hidden) for _ in range(3))

    def __call__(self, times: Tensor) -> Tensor:
        """Return k from the times, repeated for each unit; both (batch, hidden)."""
        two, half, leak = (self.net.input() for _ in range(3))
        with self.net.within("time_gate"):
            phi = divide(floor_mod(subtract(times, self.phase), self.period), self.period)
            rising = divide(multiply(phi, two), self.open_share)
            early = less(phi, multiply(self.open_share, half))
            opened = where(early, rising, subtract(two, rising))
            return where(less(phi, self.open_share), opened, multiply(phi, leak))


class PhasedLSTMCell:
    """A layer: the parameters of an LSTM and 3 h more; state h, c."""

    def __init__(self, net: Builder, inputs: int, hidden: int, fused: bool, joined: bool) -> None:
        self.net = net
        self.lstm = LSTMCell(net, inputs, hidden, fused, joined)
        self.gate = TimeGate(net, hidden)

    def step(self, x: Tensor, state: State) -> State:
        """Return the next h and c: those of an LSTM as far as a unit is open, else the previous ones."""
        opened = self.gate(self.net.input(*state[0].dims))
        closed = subtract(self.net.input(), opened)
        proposed = self.lstm.step(x, state)
        return tuple(
            add(multiply(opened, new), multiply(closed, old))
            for new, old in zip(proposed, state, strict=True)
        )


@dataclass(frozen=True)
class PhasedLSTM(LSTM):
    """Phased long short-term memory without peepholes, stacked.

    Parameters
    ----------
    layers, steps, hidden, input, batch, mini_batches, classes, outputs, training, granularity, fused, joined
        See `simsched.workloads.lstm.LSTM`.

    References
    ----------
    Phased LSTM: accelerating recurrent network training for long or event-based sequences. NIPS 2016, Sec. 2.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("phased_lstm", layers=2, steps=3, training=False)
    <TaskGraph 'phased_lstm[layers=2,steps=3,training=false]': 264 tasks, 340 edges>
    """

    name = "phased_lstm"
    cell_kind = "PhasedLSTMCell"

    def cell(self, net: Builder, inputs: int) -> Cell:
        """Return a new layer."""
        return PhasedLSTMCell(net, inputs, self.hidden, self.fused, self.joined)
