"""The object that each run waited for last, and what had let it leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simsched.graph.adjacency import Index, Mask, entries
from simsched.graph.taskgraph import Seconds
from simsched.schedule.memory_lives import Places
from simsched.schedule.runs import Runs
from simsched.schedule.schedule import Schedule
from simsched.schedule.transfers import Messages


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The object that each run waited for last, and what had let it leave. All arrays of shape (runs,).

    Parameters
    ----------
    object : int32 array
        Number in the graph's `data`, of several at one instant the one that left last; -1 for runs that waited for no
        object, or for room after the last one.
    left_s : float64 array
        When it left: with `route=host` its producer's place, else the place that it came from; NaN for none.
    leads : bool array
        Whether it was sent for another reason than the decision to start the run, which is known: one of the next two,
        else the beginning. The critical path then goes on with that.
    written : int32 array
        The run at whose end it left: that of its producer, or the one that made a reader ready; -1 for none.
    decided : int32 array
        Else the run at the same place with whose decision it left; -1 for none.
    """

    object: Index
    left_s: Seconds
    leads: Mask
    written: Index
    decided: Index

    @classmethod
    def of(cls, schedule: Schedule, runs: Runs, ready_s: Seconds, depends_on: Index) -> Arrivals:
        """Return the arrivals of a schedule, in which each run was ready at a time, after another run."""
        n, data, sent = len(runs), schedule.graph.data, schedule.messages
        one, written, decided = np.full((3, n), -1, np.int32)
        found = cls(one, np.full(n, np.nan), np.zeros(n, bool), written, decided)
        waited = runs.start_s > runs.placed_s
        if data is None or sent is None or not waited.any():
            return found
        network = schedule.machine.network if schedule.machine else None
        if network is None or network.ways.mode == "read":
            return found
        run, objects = entries(data.inputs(schedule.graph.n_tasks), runs.task)
        reads = pd.DataFrame({"run": run, "object": objects, "place": Places.of(schedule).of_run[run]})
        last = _last(reads[waited[run]], _table(sent), runs)
        at, producer = last["run"].to_numpy(), data.producer[last["object"]]
        left_s, placed_s = last["left_s"].to_numpy(), runs.placed_s[at]
        found.object[at], found.left_s[at] = last["object"], left_s
        wrote = (producer >= 0) & (schedule.finish_s[producer] == left_s)
        written[at] = np.where(wrote, producer, -1)
        rest = last[~wrote & (left_s < placed_s)]
        for with_s, whose, others in (
            (runs.placed_s, np.arange(n), decided),
            (ready_s, depends_on, written),
        ):
            others_reads = reads.assign(other=reads["run"], left_s=with_s[run]).drop(columns="run")
            same = rest.merge(others_reads, on=["object", "place", "left_s"]).drop_duplicates("run")
            others[same["run"]] = whose[same["other"]]
            rest = rest[~rest["run"].isin(same["run"])]
        found.leads[at] = (left_s < placed_s) & (left_s == 0)
        found.leads[:] |= (written >= 0) | (decided >= 0)
        return found


def _table(sent: Messages) -> pd.DataFrame:
    """Return the messages as a table, with when each object left the place before the one that it came from."""
    names = ("object", "source", "place", "depart_s", "arrive_s")
    table = pd.DataFrame({name: getattr(sent, name) for name in names})
    ways = {"object": "object", "place": "source", "arrive_s": "depart_s", "depart_s": "left_s"}
    before = table[[*ways]].rename(columns=ways).drop_duplicates(["object", "source", "depart_s"])
    table = table.merge(before, how="left", on=["object", "source", "depart_s"])
    return table.assign(left_s=table["left_s"].fillna(table["depart_s"]))


def _last(reads: pd.DataFrame, sent: pd.DataFrame, runs: Runs) -> pd.DataFrame:
    """Return the message that arrived just when each run started, the last one that left."""
    reads = reads.assign(arrive_s=runs.start_s[reads["run"]])
    found = reads.merge(sent.reset_index(names="number"), on=["object", "place", "arrive_s"])
    return found.sort_values("number").drop_duplicates("run", keep="last")
