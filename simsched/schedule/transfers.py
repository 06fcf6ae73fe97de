"""Transfers of a schedule: objects that were sent from place to place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph.adjacency import Index
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Messages:
    """Objects that were sent, or read from afar, one entry per message, in the order in which they left.

    Parameters
    ----------
    object : int32 array, shape (k,)
        Number of the object in the graph's `data`.
    source, place : int32 arrays, shape (k,)
        Places that it left and reached.
    depart_s, arrive_s : float64 arrays, shape (k,)
    placed_s : float64 array, shape (n,)
        When each task's start was decided: from then on its team waits for room and for what the task reads.
    begun_s : float64 array, shape (n,)
        When each task began to compute: when it started, or had read what was far.
    """

    object: Index
    source: Index
    place: Index
    depart_s: Seconds
    arrive_s: Seconds
    placed_s: Seconds
    begun_s: Seconds

    def __post_init__(self) -> None:
        for column in vars(self).values():
            column.setflags(write=False)


def transfers(schedule: Schedule) -> pd.DataFrame:
    """Return the objects that were sent, by departure; see `Schedule.transfers`."""
    import pandas as pd

    data, sent = schedule.graph.data, schedule.messages
    if data is None or sent is None:
        none = np.empty(0)
        empty = none.astype(np.int32)
        sent, size_B, producer = Messages(empty, empty, empty, none, none, none, none), none, empty
    else:
        size_B, producer = data.size_B[sent.object], data.producer[sent.object]
    table = pd.DataFrame(
        {
            "object": sent.object, "task": producer, "bytes_B": size_B, "from_place": sent.source,
            "to_place": sent.place, "depart_s": sent.depart_s, "arrive_s": sent.arrive_s,
        }
    )  # fmt: skip
    return table.sort_values(["depart_s", "object", "to_place"], ignore_index=True)
