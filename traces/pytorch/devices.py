"""The graph of a step with its devices: operators cut at launches and waits, kernels on their streams.

A kernel may start while its operator still runs, so it cannot depend on the whole operator: it depends on the part
before the launch. Where a call waits for the device, the wait is not work: it is cut out, and the next part depends on
the awaited kernels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import plain_name
from simsched.graph.recording import DEVICE, LAUNCH
from simsched.multimap import multimap
from simsched.text import counted
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.events import Step
from simsched.traces.pytorch.kineto import UNKNOWN, Kernel, RuntimeCall, Streams, Survey, Wait
from simsched.traces.pytorch.nesting import Nesting, Task
from simsched.traces.shared.timeline import recording


@dataclass(frozen=True, slots=True)
class _Segment:
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
class _Host:
    """Segments of all operators, and those of each thread by start.

    Parameters
    ----------
    segments : list of Segment
        By operator, then start.
    waited_ns : int
        Time within operators that was spent waiting for devices, and cut out.
    """

    segments: list[_Segment] = field(default_factory=list)
    waited_ns: int = 0
    _on: dict[int, list[int]] = field(default_factory=dict)

    def on_lanes(self) -> dict[int, list[int]]:
        """Return the indices of the segments of each thread, by their start."""
        if not self._on:
            self._on = multimap(
                (self.segments[index].lane, index)
                for index in sorted(range(len(self.segments)), key=lambda i: self.segments[i].start_ns)
            )
        return self._on

    def before(self, lane: int, moment_ns: int) -> int | None:
        """Return the last segment of a thread that was finished at a moment."""
        on = self.on_lanes().get(lane, [])
        place = bisect_right(on, moment_ns, key=lambda i: self.segments[i].finish_ns)
        return on[place - 1] if place else None

    def after(self, lane: int, moment_ns: int) -> int | None:
        """Return the first segment of a thread that starts at a moment or later."""
        on = self.on_lanes().get(lane, [])
        place = bisect_right(on, moment_ns - 1, key=lambda i: self.segments[i].start_ns)
        return on[place] if place < len(on) else None


def _cut(tasks: list[Task], lanes: dict[int, int], streams: Streams, waited: dict[int, list[int]]) -> _Host:
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
    calls = multimap(
        (lanes[call.lane], call)
        for call in streams.calls.values()
        if (call.correlation in launches or call.correlation in waited) and call.lane in lanes
    )
    for of_lane in calls.values():
        of_lane.sort(key=lambda call: call.start_ns)
    host = _Host()
    for index, task in enumerate(tasks):
        _cut_one(index, task, calls.get(task.event.lane, []), waited, host)
    return host


def _cut_one(
    index: int, task: Task, calls: list[RuntimeCall], waited: dict[int, list[int]], host: _Host
) -> None:
    event = task.event
    reached, part = event.start_ns, 0
    first = bisect_right(calls, event.start_ns - 1, key=lambda call: call.start_ns)
    last = bisect_right(calls, event.finish_ns - 1, key=lambda call: call.start_ns)
    for call in calls[first:last]:
        if call.start_ns > reached:
            host.segments.append(_Segment(index, part, event.lane, reached, call.start_ns))
            reached, part = call.start_ns, part + 1
        if call.correlation in waited:
            waits_until = min(call.finish_ns, event.finish_ns)
            host.waited_ns += max(0, waits_until - reached)
            reached = max(reached, waits_until)
    if reached < event.finish_ns or not part:
        host.segments.append(_Segment(index, part, event.lane, reached, event.finish_ns))


#: Some devices with some dozens of streams each.
MAX_STREAMS = 1000
#: Of traces whose times are whole microseconds.
_COARSE_NS = 1000
#: For a call without the device's records: it may wait for any stream of any device.
_ANY_WAIT = Wait(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


class _Edges:
    """Edges between intervals, without those that the recording contradicts."""

    def __init__(self, start_ns: list[int], finish_ns: list[int]) -> None:
        self._start, self._finish = start_ns, finish_ns
        coarse = all(moment % _COARSE_NS == 0 for moment in (*start_ns, *finish_ns))
        self._slack = _COARSE_NS if coarse else 0
        self.pairs: dict[tuple[int, int], None] = {}
        self.impossible = 0

    def add(self, before: int | None, after: int | None) -> None:
        """Add an edge, where both ends are known."""
        if before is None or after is None:
            return
        if self._finish[before] > self._start[after] + self._slack or before == after:
            self.impossible += 1
            return
        self.pairs[before, after] = None

    def in_order(self, tasks: list[int]) -> None:
        """Add the order of a stream's tasks, by start: each after finished ones without a successor."""
        running: list[tuple[int, int]] = []
        for task in tasks:
            over = 0
            while running and running[0][0] <= self._start[task] + self._slack:
                self.add(heappop(running)[1], task)
                over += 1
            self.impossible += bool(running) and not over
            heappush(running, (self._finish[task], task))


def with_devices(
    path: Path, held: Survey, step: Step, nesting: Nesting, width: int, report: ImportReport
) -> TaskGraph:
    """Return the graph of a step with its work on devices.

    Parameters
    ----------
    path : Path
        The Kineto trace.
    held : Survey
        Its content.
    step : Step
        The events of the host.
    nesting : Nesting
        Their operators.
    width : int
        Threads of each operator.
    report : ImportReport
        Continued.

    Raises
    ------
    FormatError
        If there are more streams than any machine has, or the step is longer than seconds can hold exactly.
    """
    streams = held.streams.within(step.window)
    waited = _waited(path, streams)
    lanes = {lane: number for number, lane in enumerate(step.lane_numbers)}
    host = _cut(nesting.tasks, lanes, streams, waited)
    kernels = streams.kernels
    start_ns = [*(s.start_ns for s in host.segments), *(k.start_ns for k in kernels)]
    finish_ns = [*(s.finish_ns for s in host.segments), *(k.finish_ns for k in kernels)]
    edges = _Edges(start_ns, finish_ns)
    _draw(edges, host, streams, waited, lanes)
    names = step.lanes + _names_of_streams([kernels[on[0]] for on in streams.by_stream().values()])
    of_stream = {lane: len(step.lanes) + number for number, lane in enumerate(streams.by_stream())}
    lane = [*(s.lane for s in host.segments), *(of_stream[k.lane] for k in kernels)]
    _tell(report, host, streams, edges, waited)
    return TaskGraph.from_edges(
        (np.array(finish_ns, np.int64) - np.array(start_ns, np.int64)) / 1e9,
        list(edges.pairs),
        kinds=[*(nesting.tasks[s.task].kind for s in host.segments), *(DEVICE + k.kind for k in kernels)],
        names=[
            *(f"{short(nesting.tasks[s.task].event.name)}@{nesting.tasks[s.task].event.order}.{s.part}"
              for s in host.segments),
            *(f"{k.kind}@{k.order}" for k in kernels),
        ],
        scopes=[*(nesting.tasks[s.task].scope for s in host.segments), *("" for _ in kernels)],
        bytes_B=[*(float("nan") for _ in host.segments), *(k.size_B for k in kernels)],
        widths=np.array(
            [*(1 if nesting.tasks[s.task].launches else width for s in host.segments), *(1 for _ in kernels)]
        ),
        name=plain_name(path, ".json", ".kineto"),
        report=report,
        recording=recording(path, start_ns, finish_ns, lane, names),
    )  # fmt: skip


def _names_of_streams(firsts: list[Kernel]) -> list[str]:
    """Return the names of streams, by the first kernel of each: with devices where there are several."""
    several = len({kernel.device for kernel in firsts}) > 1
    return [f"device {k.device} stream {k.stream}" if several else f"stream {k.stream}" for k in firsts]


def _waited(path: Path, streams: Streams) -> dict[int, list[int]]:
    """Return, for every waiting call, the last kernel of each awaited stream, by its correlation."""
    found: dict[int, list[int]] = {}
    launched = {k: streams.calls[kernel.correlation].start_ns for k, kernel in enumerate(streams.kernels)
                if kernel.correlation in streams.calls}  # fmt: skip
    by_stream = streams.by_stream().values()
    if len(by_stream) > MAX_STREAMS:
        raise FormatError(
            f"{path}: {len(by_stream)} streams; {MAX_STREAMS} at most are read; leave devices= out"
        )
    # A copy that waits for itself shows at least the device.
    copies = {k.correlation: Wait(k.device, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN) for k in streams.kernels}
    for call in streams.calls.values():
        if not call.blocks:
            continue
        wait = streams.waits.get(call.correlation, copies.get(call.correlation, _ANY_WAIT))
        for kernels in by_stream:
            last = _last_before(kernels, streams.kernels, launched, call.start_ns, call.finish_ns)
            if last is not None and _concerns(wait, streams.kernels[last]):
                found.setdefault(call.correlation, []).append(last)
    return found


def _last_before(
    on: list[int], kernels: list[Kernel], launched: dict[int, int], start_ns: int, finish_ns: int
) -> int | None:
    """Return the last kernel of a stream launched before a wait began, if the wait was for it."""
    place = bisect_right(on, start_ns, key=lambda kernel: launched.get(kernel, kernels[kernel].start_ns))
    if not place:
        return None
    last = on[place - 1]
    return last if start_ns < kernels[last].finish_ns <= finish_ns + _COARSE_NS else None


def _concerns(wait: Wait, kernel: Kernel) -> bool:
    if UNKNOWN not in (wait.device, kernel.device) and wait.device != kernel.device:
        return False
    streams = {stream for stream in (wait.waits_for, wait.stream) if 0 <= stream < 2**32 - 1}
    return not streams or kernel.stream in streams


def _draw(
    edges: _Edges, host: _Host, streams: Streams, waited: dict[int, list[int]], lanes: dict[int, int]
) -> None:
    first = len(host.segments)
    for segments in host.on_lanes().values():
        for before, after in pairwise(segments):
            edges.add(before, after)
    for on in streams.by_stream().values():
        edges.in_order([first + number for number in on])
    for number, kernel in enumerate(streams.kernels):
        call = streams.calls.get(kernel.correlation)
        if call is not None and call.lane in lanes:
            edges.add(host.before(lanes[call.lane], call.start_ns), first + number)
    for correlation, kernels in waited.items():
        call = streams.calls[correlation]
        if call.lane in lanes:
            follower = host.after(lanes[call.lane], call.finish_ns)
            for kernel_index in kernels:
                edges.add(first + kernel_index, follower)
    _between_streams(edges, streams, first)


def _between_streams(edges: _Edges, streams: Streams, first: int) -> None:
    """Add the waits of streams for events of other ones; calls are numbered in order."""
    on = multimap(
        ((device, kernel.stream), (kernel.correlation, number))
        for number, kernel in enumerate(streams.kernels)
        for device in {kernel.device, UNKNOWN}
    )
    for kernels in on.values():
        kernels.sort()
    for wait in streams.waits.values():
        recorded = wait.correlation if wait.recorded_by == UNKNOWN else wait.recorded_by
        earlier, later = (on.get((wait.device, stream), []) for stream in (wait.waits_for, wait.stream))
        before = bisect_left(earlier, (recorded, 0)) - 1
        after = bisect_left(later, (wait.correlation + 1, 0))
        if wait.waits_for != wait.stream and before >= 0 and after < len(later):
            edges.add(first + earlier[before][1], first + later[after][1])


def _tell(
    report: ImportReport, host: _Host, streams: Streams, edges: _Edges, waited: dict[int, list[int]]
) -> None:
    unknown = sum(kernel.correlation not in streams.calls for kernel in streams.kernels)
    report.facts.update(
        host_parts=len(host.segments),
        kernels=len(streams.kernels),
        streams=len(streams.by_stream()),
        waits=len(waited),
        waited_s=host.waited_ns / 1e9,
        kernels_without_launch=unknown,
        impossible_edges=edges.impossible,
    )
    report.note(
        f"{counted(len(streams.kernels), 'kernel or copy', 'kernels and copies')} of devices as tasks on "
        f"{counted(len(streams.by_stream()), 'stream')}: each runs after the call that launched it and in the order of "
        f"its stream; operators were cut at launches, and those that launch (kinds {LAUNCH}...) run on one thread each"
    )
    report.note(
        f"{counted(len(waited), 'call')} waited for devices: {host.waited_ns / 1e9:.6g} s of waiting within operators "
        "were cut out, and what follows depends on the kernels that were waited for",
        when=waited,
    )
    report.note(
        f"{counted(unknown, 'kernel')} without a call that launched it, so that its stream alone orders it",
        when=unknown,
    )
    report.note(
        f"{counted(edges.impossible, 'edge')} left out: the second task started before the first had finished",
        when=edges.impossible,
    )
