"""Writer of Perfetto's own format, for ui.perfetto.dev and its trace processor.

Format: protobuf packets (`perfetto.protos.Trace`), written one by one through Perfetto's Python library. Times are
whole nanoseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import LostObjectsWarning, MissingExtraError
from simsched.files import replacing
from simsched.graph.columns import plain_text
from simsched.graph.saving import Writer
from simsched.schedule import Schedule
from simsched.schedule.export import description
from simsched.schedule.runs import Runs
from simsched.traces.chrome.writer import nanoseconds, refuse_unwritable
from simsched.traces.perfetto.packets import OWN

#: One sequence of packets; the first declares that nothing came before it.
SEQUENCE, CLEARED = 1, 1
ROOT, RUNNING, FIRST_LANE = 1, 2, 16


def _write(schedule: Schedule, path: Path) -> None:
    """Write a schedule: one track per executor, one slice per run, one arrow per edge, a counter of running tasks.

    Raises
    ------
    SimschedError
        If a time is unknown, infinite or beyond 2**62 ns, or the file cannot be written.
    MissingExtraError
        If Perfetto's library is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     ss.simulate(graph, "generic[cores=2]", "fifo").save(f"{folder}/run.pftrace")
    ...     Path(folder, "run.pftrace").stat().st_size > 100
    True
    """
    try:
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        raise MissingExtraError("perfetto", "formats", "writing Perfetto traces") from None
    if schedule.is_recorded:
        warnings.warn(
            "not written: where durations were recorded, work and data of tasks; .simsched keeps everything",
            LostObjectsWarning,
            stacklevel=2,
        )
    for times in (schedule.ready_s, schedule.start_s, schedule.finish_s):
        refuse_unwritable(times, "Perfetto trace")
    with replacing(path) as file:
        builder = StreamingTraceProtoBuilder(file)
        for fill in _packets(schedule):
            packet = builder.create_packet()
            packet.trusted_packet_sequence_id = SEQUENCE
            fill(packet)
            builder.write_packet(packet)


PERFETTO = Writer(
    title="Perfetto trace of a schedule (protobuf)",
    suffixes=(".pftrace", ".perfetto-trace"),
    writes="schedule",
    write=_write,
)


def _packets(schedule: Schedule) -> Iterator[Any]:
    """Yield functions that fill one packet each."""
    from simsched.plots.corunning import corunning_frame

    yield lambda packet: _root(packet, schedule)
    for lane in np.unique(Runs.of(schedule).executor).tolist():
        yield lambda packet, lane=lane: _track(packet, FIRST_LANE + lane, f"executor {lane}")
    yield _counter_track
    yield from _slices(schedule)
    frame = corunning_frame(schedule)
    for time_ns, running in zip(
        nanoseconds(frame["time_s"].to_numpy()), frame["tasks_running"].tolist(), strict=True
    ):
        yield lambda packet, time_ns=time_ns, running=running: _count(packet, time_ns, running)


def _root(packet: Any, schedule: Schedule) -> None:
    packet.sequence_flags = CLEARED
    described = packet.track_descriptor
    described.uuid = ROOT
    described.process.pid = 1
    described.process.process_labels.append(OWN + plain_text(schedule.graph.name))
    made = description(schedule)
    described.process.process_name = plain_text(
        f"{made['graph']}: {made['policy']} on {made['machine']}, {made['layout']}"
    )


def _track(packet: Any, uuid: int, name: str) -> None:
    described = packet.track_descriptor
    described.uuid, described.parent_uuid, described.name = uuid, ROOT, name


def _counter_track(packet: Any) -> None:
    _track(packet, RUNNING, "tasks running")
    packet.track_descriptor.counter.unit_name = "tasks"


def _count(packet: Any, time_ns: int, running: int) -> None:
    packet.timestamp = time_ns
    event = packet.track_event
    event.type, event.track_uuid, event.counter_value = event.TYPE_COUNTER, RUNNING, running


def _slices(schedule: Schedule) -> Iterator[Any]:
    """Yield begin and end of every run, lane by lane in the order in which they ran."""
    runs = Runs.of(schedule)
    ready, start, end = map(nanoseconds, (schedule.ready_s, runs.start_s, runs.end_s))
    tasks, lanes = runs.task.tolist(), runs.executor.tolist()
    widths = schedule.teams.degrees()[runs.team].tolist()
    for run in np.lexsort((runs.end_s, runs.start_s, runs.executor)).tolist():
        uuid, task, notes = FIRST_LANE + lanes[run], tasks[run], {"width": widths[run]}
        if run < schedule.graph.n_tasks:
            fill, notes = _task, {"task": task, **notes, "wait_ns": start[run] - ready[task]}
        else:
            fill, notes = _aborted, {"aborted_task": task, **notes}
        yield partial(_begin, time_ns=start[run], uuid=uuid, notes=notes, fill=partial(fill, schedule, task))
        yield partial(_end, time_ns=end[run], uuid=uuid)


def _begin(
    packet: Any, *, time_ns: int, uuid: int, notes: dict[str, int], fill: Callable[[Any], None]
) -> None:
    event = packet.track_event
    packet.timestamp = time_ns
    event.type, event.track_uuid = event.TYPE_SLICE_BEGIN, uuid
    fill(event)
    for key, value in notes.items():
        note = event.debug_annotations.add()
        note.name, note.int_value = key, value


def _task(schedule: Schedule, task: int, event: Any) -> None:
    graph = schedule.graph
    event.name = plain_text(graph.task_name(task))
    event.categories.append(plain_text(graph.kinds[task]))
    first, last = graph.successors.indptr[task : task + 2].tolist()
    event.flow_ids.extend(range(first + 1, last + 1))
    event.terminating_flow_ids.extend(_entering(schedule, task))


def _aborted(schedule: Schedule, task: int, event: Any) -> None:
    """Name a run that was aborted; without the note `task`, it is none when the trace is read."""
    event.name = plain_text(f"{schedule.graph.task_name(task)} (aborted)")
    event.categories.append("aborted")


def _entering(schedule: Schedule, task: int) -> list[int]:
    """Return the numbers of the edges that end at a task, from 1 in the order of the graph's edges by source."""
    successors = schedule.graph.successors
    found = []
    for before in schedule.graph.predecessors.neighbours(task).tolist():
        row = successors.neighbours(before)
        found.append(int(successors.indptr[before]) + int(np.searchsorted(row, task)) + 1)
    return found


def _end(packet: Any, *, time_ns: int, uuid: int) -> None:
    packet.timestamp = time_ns
    packet.track_event.type, packet.track_event.track_uuid = packet.track_event.TYPE_SLICE_END, uuid
