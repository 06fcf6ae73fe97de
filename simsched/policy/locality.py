"""Places of the data that tasks read, estimated from the running teams (docs/semantics.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine

#: Executors whose domains are compared: more change the mean little.
MOST_COMPARED = 64


@dataclass(frozen=True, eq=False)
class Locality:
    """Average places of the data of tasks.

    Parameters
    ----------
    local : float64 array, shape (n,)
        Share of its data that each task finds in its own team's domains.
    dense : float64 array, shape (n,)
        Share of its data in the memory domain that has most of them.
    linked : float64 array, shape (n,)
        Share of its data that come over one link, where data are remote.
    """

    local: Seconds
    dense: Seconds
    linked: Seconds


def of_executors(machine: Machine, width: int, readers: Seconds, makers: Seconds) -> Locality:
    """Return the places of the data of tasks on executors of one width.

    Parameters
    ----------
    machine : Machine
    width : int
        Cores of each executor; the first executors run tasks.
    readers : float64 array, shape (n,)
        Executors that run while each task does.
    makers : float64 array, shape (n,)
        Executors that ran while its predecessors did; 0 for tasks that read where they run.
    """
    most = max(1, min(MOST_COMPARED, machine.n_cores // width))
    reading, making = np.clip(readers, 1, most), np.clip(makers, 0, most)
    cores = np.arange(math.ceil(max(reading.max(), making.max())) * width).reshape(-1, width)
    domains = machine.structure.domain_of[cores % machine.n_cores]
    shares = np.array([np.bincount(row, minlength=machine.n_domains) for row in domains]) / width
    local = np.minimum(shares[:, None], shares[None]).sum(axis=2)
    beyond = np.maximum(shares[None] - shares[:, None], 0).max(axis=2)
    dense = np.broadcast_to(shares.max(axis=1), local.shape)

    def mean(pairs: npt.NDArray[np.float64]) -> Seconds:
        """Return the mean over pairs of the executors of each task and of its predecessors, the last ones in part."""
        total = np.zeros(np.add(pairs.shape, 2))
        total[1:-1, 1:-1] = pairs.cumsum(axis=0).cumsum(axis=1)
        row, column = reading.astype(np.int64), making.astype(np.int64)
        down, right = reading - row, making - column
        above = (1 - right) * total[row, column] + right * total[row, column + 1]
        below = (1 - right) * total[row + 1, column] + right * total[row + 1, column + 1]
        return np.asarray(((1 - down) * above + down * below) / np.maximum(reading * making, 1e-9))

    near, remote, alone = mean(local), mean(1 - local), making == 0
    linked = np.divide(mean(beyond * (1 - local)), remote, out=np.zeros(len(remote)), where=remote > 1e-12)
    return Locality(np.where(alone, 1.0, near), np.where(alone, 1 / machine.n_domains, mean(dense)), linked)


def of_widths(
    machine: Machine, widths: npt.NDArray[np.int64], in_use: float, first: npt.NDArray[np.bool_]
) -> Locality:
    """Return the places of the data of teams of different widths, whose domains are nested or not.

    Parameters
    ----------
    machine : Machine
    widths : int64 array, shape (n,)
        Threads of each task's team.
    in_use : float
        Domains in which tasks run, in the mean.
    first : bool array, shape (n,)
        Tasks that read where they run.
    """
    most = machine.n_domains
    spans = np.clip(np.ceil(widths * most / machine.n_cores), 1, most).astype(np.int64)
    of_span = np.bincount(spans, minlength=most + 1)[1:] / len(spans)
    span = np.arange(1, most + 1)
    reader, maker = span[:, None], span[None]
    narrow, wide = np.minimum(reader, maker), np.maximum(reader, maker)
    within = np.minimum(wide / in_use, 1)
    local = within * narrow / wide
    over = within * np.maximum(1 / maker - 1 / reader, 0) * (1 - narrow / wide) + (1 - within) / maker
    remote = (1 - local) @ of_span
    linked = np.divide(over @ of_span, remote, out=np.zeros(most), where=remote > 1e-12)
    dense = np.full(len(spans), float(of_span @ (1 / span)))
    near = (local @ of_span)[spans - 1]
    return Locality(
        np.where(first, 1.0, near), np.where(first, 1 / spans, dense), np.asarray(linked[spans - 1])
    )
