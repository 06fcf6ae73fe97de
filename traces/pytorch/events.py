"""Events of the host in a Kineto trace, and the steps they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One operator or annotation that ran on a thread of the host.

    Parameters
    ----------
    start_ns, finish_ns : int
        Exact nanoseconds of the trace's clock.
    lane : int
        Index into `Step.lanes`.
    order : int
        Position among the events, parents before children where the profiler says so.
    name : str
        As recorded: `aten::mm`.
    annotation : bool
        Whether a `record_function` of the user rather than an operator.
    rf_id : int or None
        Record function id, by which the execution trace names the same call.
    sequence : int or None
        Sequence number that a forward operator shares with its backward node.
    dims : list or None
        Shapes of the inputs as recorded, unchecked.
    values : list or None
        Arguments that are not tensors, as text by position, unchecked; of operators with windows only.
    """

    start_ns: int
    finish_ns: int
    lane: int
    order: int
    name: str
    annotation: bool
    rf_id: int | None = None
    sequence: int | None = None
    dims: Any = None
    values: Any = None


@dataclass(frozen=True, slots=True)
class Window:
    """A ProfilerStep: its number, and when it ran in nanoseconds."""

    number: int
    start_ns: int
    finish_ns: int


@dataclass
class Step:
    """The events of one step.

    Parameters
    ----------
    window : Window or None
        The step; None where the file has none and all of it is taken.
    events : list of Event
        In file order.
    lanes : list of str
        Names of the threads.
    lane_numbers : list of int
        What the file's lanes number them.
    """

    window: Window | None
    events: list[Event] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)
    lane_numbers: list[int] = field(default_factory=list)
