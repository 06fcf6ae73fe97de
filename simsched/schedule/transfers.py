"""Transfers of a schedule: objects that were sent from place to place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from simsched.graph.adjacency import Index, steps
from simsched.graph.columns import ReadOnly
from simsched.graph.import_facts import covered_s

if TYPE_CHECKING:
    import pandas as pd

    from simsched.graph.taskgraph import Seconds
    from simsched.machine.network import Network
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Messages(ReadOnly):
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

    def span(self, begin_s: float, end_s: float) -> tuple[float, float]:
        """Return the beginning and the end of a run, with what comes from home before, and goes there after."""
        if len(self.depart_s):
            return min(begin_s, self.depart_s.min()), max(end_s, self.arrive_s.max())
        return begin_s, end_s


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


def links(schedule: Schedule) -> pd.DataFrame:
    """Return the links that data passed over, the busiest first; see `Schedule.links`.

    Columns: `link`, its number in the machine's network; `name`; `bytes_B`; `busy_s`, the seconds in which bytes
    passed; `busy`, that over the makespan; `load`, bytes over what the link could have carried until then.
    """
    import pandas as pd

    machine, makespan_s = schedule.machine, schedule.makespan_s or 1.0
    network = None if machine is None else machine.network
    if network is None or schedule.messages is None or schedule.graph.data is None:
        return pd.DataFrame(columns=["link", "name", "bytes_B", "busy_s", "busy", "load"])
    link, bytes_B, busy_s = _passed(schedule.messages, np.nan_to_num(schedule.graph.data.size_B), network)
    table = pd.DataFrame(
        {
            "link": link, "name": network.link_names(link), "bytes_B": bytes_B, "busy_s": busy_s,
            "busy": busy_s / makespan_s, "load": bytes_B / network.capacity_Bps[link] / makespan_s,
        }
    )  # fmt: skip
    return table.sort_values("busy_s", ascending=False, kind="stable", ignore_index=True)


def _passed(sent: Messages, size_B: Seconds, network: Network) -> tuple[Index, Seconds, Seconds]:
    """Return the links that bytes passed over, ascending; the bytes; and the seconds in which there were some."""
    moving = np.flatnonzero((size_B[sent.object] > 0) & (sent.source != sent.place))
    way = sent.source[moving].astype(np.int64) * network.n_places + sent.place[moving]
    begin_s, end_s = sent.depart_s[moving] + network.tables[0].ravel()[way], sent.arrive_s[moving]
    row, step = steps(network.listed.degrees()[way].astype(np.int64))
    link = network.listed.indices[network.listed.indptr[way][row] + step]
    order = np.lexsort((begin_s[row], link))
    row, link = row[order], link[order]
    found, first = np.unique(link, return_index=True)
    ends = pairwise([*first, len(link)])
    busy_s = np.array([covered_s(begin_s[row[a:b]], end_s[row[a:b]]) for a, b in ends])
    return found, np.add.reduceat(size_B[sent.object[moving[row]]], first) if len(found) else busy_s, busy_s
