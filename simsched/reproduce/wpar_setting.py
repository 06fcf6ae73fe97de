"""`Setting`: what a row of W-Par trains or infers, and the networks of its systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from simsched.workloads import family
from simsched.workloads.recurrent import Recurrent


@dataclass(frozen=True)
class Setting:
    """A stacked recurrent network and its batch.

    Parameters
    ----------
    cell : {"lstm", "gru", "rnn"}
    layers, input, hidden, batch, steps : int
        As in `simsched.workloads.recurrent.Recurrent`.
    training : bool
        Whether there is a way back, too.
    """

    cell: str
    layers: int
    input: int
    hidden: int
    batch: int
    steps: int
    training: bool = True

    def cells(self, mini_batches: int) -> Recurrent:
        """Return the network whose tasks are cells: what W-Par and Seq run."""
        return self._network(mini_batches=mini_batches, granularity="cell")

    def ops(self, steps: int, *, fused: bool) -> Recurrent:
        """Return the network of some steps op by op; with `fused`, gates share their products."""
        shared = {"fused": fused} if self.cell != "rnn" else {}
        return self._network(**{"steps": steps, **shared})

    def _network(self, **more: str | int | bool) -> Recurrent:
        own = {
            "layers": self.layers, "input": self.input, "hidden": self.hidden, "batch": self.batch,
            "steps": self.steps, "training": self.training,
        }  # fmt: skip
        return cast(Recurrent, family(self.cell, **{**own, **more}))
