"""Data of a replay: where objects are, and when what a task reads has arrived (docs/semantics.md, Data)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from simsched.schedule.transfers import Messages

if TYPE_CHECKING:
    from simsched.graph.adjacency import Csr, Index
    from simsched.graph.columns import Floats
    from simsched.graph.taskgraph import Seconds
    from simsched.policy import Problem
    from simsched.replay.decision import Decision
    from simsched.schedule import Schedule


@dataclass(frozen=True, eq=False)
class DataPlan:
    """What tasks read, and how it gets there.

    Parameters
    ----------
    inputs : Csr
        Objects that each task reads.
    producer : int32 array, shape (k,)
        Task that writes each object; -1 for inputs of the graph, which are near everywhere.
    size_B : float64 array, shape (k,)
        Bytes of each object; 0 where unknown.
    place_of : int32 array, shape (n_threads,)
        Place of each hardware thread's data.
    latency_s, s_per_B : float64 arrays, shape (places, places)
        Seconds of a message from a place to another: without bytes, and of each byte.
    mode : {"sent", "read"}
    planned : bool
        Whether tasks are placed before the replay: then objects leave when they are written.
    """

    inputs: Csr
    producer: Index
    size_B: Floats
    place_of: Index
    latency_s: Floats
    s_per_B: Floats
    mode: Literal["sent", "read"]
    planned: bool

    @classmethod
    def of(cls, problem: Problem, *, planned: bool) -> DataPlan | None:
        """Return the plan of a problem; None where its graph has no objects, or all places are near each other."""
        graph, machine = problem.graph, problem.machine
        if graph.data is None or machine.data is None:
            return None
        of_core = machine.data.place_of(machine.structure)
        latency_s, s_per_B = machine.data.tables(int(of_core.max()) + 1)
        return cls(
            inputs=graph.data.inputs(graph.n_tasks),
            producer=graph.data.producer,
            size_B=np.nan_to_num(graph.data.size_B),
            place_of=np.tile(of_core, machine.smt),
            latency_s=latency_s,
            s_per_B=s_per_B,
            mode=machine.data.mode,
            planned=planned,
        )


@dataclass(frozen=True)
class Message:
    """An object on its way.

    Parameters
    ----------
    object : int
    source, place : int
        Where it comes from, and where it goes.
    depart_s, arrive_s : float
    """

    object: int
    source: int
    place: int
    depart_s: float
    arrive_s: float


class DataState:
    """Where objects are, and their messages."""

    def __init__(self, plan: DataPlan, finish_s: list[float]) -> None:
        self._plan = plan
        self._finish_s = finish_s
        self._first = plan.inputs.indptr.tolist()
        self._objects = plan.inputs.indices.tolist()
        self._producer = plan.producer.tolist()
        self._size_B = plan.size_B.tolist()
        self._place_of = plan.place_of.tolist()
        self._latency_s, self._s_per_B = plan.latency_s.tolist(), plan.s_per_B.tolist()
        self._place: dict[int, int] = {}  # of what each task wrote
        self._arrival: dict[tuple[int, int], float] = {}
        self.messages: list[Message] = []
        self.placed_s = [0.0] * plan.inputs.n

    def placed(self, decision: Decision, now_s: float) -> float:
        """Note where a task runs; return when what it reads has arrived, or lengthen it by what it reads from afar."""
        here = self._place_of[decision.cores[0]]
        self._place[decision.task], self.placed_s[decision.task] = here, now_s
        at, first = now_s, self._first
        for one in self._objects[first[decision.task] : first[decision.task + 1]]:
            there = self._place.get(self._producer[one], here)
            if there == here:
                continue
            seconds = self._latency_s[there][here] + self._size_B[one] * self._s_per_B[there][here]
            if self._plan.mode == "read":
                decision.seconds += seconds
            else:
                at = max(at, self._sent(one, there, here, seconds, now_s))
        return at

    def _sent(self, one: int, source: int, place: int, seconds: float, now_s: float) -> float:
        """Return when an object arrives; it is sent to each place once."""
        arrival = self._arrival.get((one, place))
        if arrival is None:
            depart = self._finish_s[self._producer[one]] if self._plan.planned else now_s
            arrival = self._arrival[one, place] = depart + seconds
            self.messages.append(Message(one, source, place, depart, arrival))
        return arrival


def messages_of(state: DataState) -> Messages:
    """Return messages as columns, with when each task was placed."""

    def column(name: str) -> Any:
        return np.array([getattr(one, name) for one in state.messages])

    return Messages(
        object=column("object").astype(np.int32),
        source=column("source").astype(np.int32),
        place=column("place").astype(np.int32),
        depart_s=column("depart_s").astype(np.float64),
        arrive_s=column("arrive_s").astype(np.float64),
        placed_s=np.array(state.placed_s),
    )


def read_seconds(schedule: Schedule) -> Seconds | None:
    """Return the seconds for which each task of a schedule reads from afar; None where none does."""
    graph, machine = schedule.graph, schedule.machine
    if graph.data is None or machine is None or machine.data is None or machine.data.mode != "read":
        return None
    place_of = machine.data.place_of(machine.structure)
    first = schedule.teams.indices[schedule.teams.indptr[schedule.team]] % machine.n_cores
    latency_s, s_per_B = machine.data.tables(int(place_of.max()) + 1)
    inputs, place = graph.data.inputs(graph.n_tasks), place_of[first]
    here, one = place[inputs.sources()], inputs.indices
    producer = graph.data.producer[one]
    there = np.where(producer < 0, here, place[producer])
    seconds = latency_s[there, here] + np.nan_to_num(graph.data.size_B)[one] * s_per_B[there, here]
    return np.bincount(inputs.sources(), seconds, minlength=graph.n_tasks).astype(np.float64)
