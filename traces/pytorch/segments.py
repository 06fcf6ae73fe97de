"""Operators cut where they launch kernels or wait for them, so that host and device depend on each other exactly.

A kernel may start while its operator still runs, so it cannot depend on the whole operator: it depends on the part
before the launch. Where a call waits for the device, the wait is not work: it is cut out, and what follows depends on
the kernels that were waited for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from simsched.traces.pytorch.nesting import Task
from simsched.traces.pytorch.streams import UNKNOWN, RuntimeCall, Streams


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an operator on the host.

    Parameters
    ----------
    task : int
        The operator, as an index of a nesting's tasks.
    part : int
        Which part of it.
    lane : int
        Its thread.
    start_ns, finish_ns : int
        When it ran.
    """

    task: int
    part: int
    lane: int
    start_ns: int
    finish_ns: int


@dataclass
class Host:
    """Segments of all operators, and those of each thread by start.

    Parameters
    ----------
    segments : list of Segment
        By operator, then start.
    waited_ns : int
        Time within operators that was spent waiting for devices, and cut out.
    """

    segments: list[Segment] = field(default_factory=list)
    waited_ns: int = 0
    _on: dict[int, list[int]] = field(default_factory=dict)

    def on_lanes(self) -> dict[int, list[int]]:
        """Return the indices of the segments of each thread, by their start."""
        if not self._on:
            found: dict[int, list[int]] = defaultdict(list)
            for index in sorted(range(len(self.segments)), key=lambda i: self.segments[i].start_ns):
                found[self.segments[index].lane].append(index)
            self._on = dict(found)
        return self._on

    def before(self, lane: int, moment_ns: int) -> int | None:
        """Return the last segment of a thread that was over at a moment."""
        on = self.on_lanes().get(lane, [])
        place = bisect_right(on, moment_ns, key=lambda i: self.segments[i].finish_ns)
        return on[place - 1] if place else None

    def after(self, lane: int, moment_ns: int) -> int | None:
        """Return the first segment of a thread that starts at a moment or later."""
        on = self.on_lanes().get(lane, [])
        place = bisect_right(on, moment_ns - 1, key=lambda i: self.segments[i].start_ns)
        return on[place] if place < len(on) else None


def cut(tasks: list[Task], lanes: dict[int, int], streams: Streams, waited: dict[int, list[int]]) -> Host:
    """Return the operators of the host, cut at launches and without waits.

    Parameters
    ----------
    tasks : list of Task
        Operators.
    lanes : dict of int to int
        Their lane by the number that the file's lanes have.
    streams : Streams
        Kernels, and calls of the runtime.
    waited : dict of int to list of int
        Kernels that each waiting call waited for, by its correlation.
    """
    launches = {kernel.correlation for kernel in streams.kernels} - {UNKNOWN}
    calls: dict[int, list[RuntimeCall]] = defaultdict(list)
    for call in streams.calls.values():
        if (call.correlation in launches or call.correlation in waited) and call.lane in lanes:
            calls[lanes[call.lane]].append(call)
    for of_lane in calls.values():
        of_lane.sort(key=lambda call: call.start_ns)
    host = Host()
    for index, task in enumerate(tasks):
        _cut_one(index, task, calls.get(task.event.lane, []), waited, host)
    return host


def _cut_one(
    index: int, task: Task, calls: list[RuntimeCall], waited: dict[int, list[int]], host: Host
) -> None:
    event = task.event
    reached, part = event.start_ns, 0
    first = bisect_right(calls, event.start_ns - 1, key=lambda call: call.start_ns)
    last = bisect_right(calls, event.finish_ns - 1, key=lambda call: call.start_ns)
    for call in calls[first:last]:
        if call.start_ns > reached:
            host.segments.append(Segment(index, part, event.lane, reached, call.start_ns))
            reached, part = call.start_ns, part + 1
        if call.correlation in waited:
            waits_until = min(call.finish_ns, event.finish_ns)
            host.waited_ns += max(0, waits_until - reached)
            reached = max(reached, waits_until)
    if reached < event.finish_ns or not part:
        host.segments.append(Segment(index, part, event.lane, reached, event.finish_ns))
