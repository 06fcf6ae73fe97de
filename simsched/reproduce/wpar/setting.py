"""`Setting`: the training or inference of a row of W-Par, and the networks of its systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from simsched.graph import TaskGraph
from simsched.workloads import family
from simsched.workloads.recurrent import Recurrent

#: Networks and graphs that are kept: their runs on all numbers of cores follow one another.
KEPT = 64


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
        """Return the network whose tasks are cells, as run by W-Par and Seq."""
        return _cells(self, mini_batches)

    def graph(self, mini_batches: int) -> TaskGraph:
        """Return the graph of that network."""
        return _graph(self, mini_batches)

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


@lru_cache(KEPT)
def _cells(setting: Setting, mini_batches: int) -> Recurrent:
    return setting._network(mini_batches=mini_batches, granularity="cell")


@lru_cache(KEPT)
def _graph(setting: Setting, mini_batches: int) -> TaskGraph:
    return setting.cells(mini_batches).graph()
