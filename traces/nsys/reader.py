"""Exports of Nsight Systems: kernels, copies and fills on their streams, and the calls that launched them.

A kernel may start while the call that launched it still runs, so that the call is cut there. A call that waits for the
device is no work while it waits: it begins where the last that it waited for was finished.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.text import counted
from simsched.traces.nsys.activities import Activities, Reading
from simsched.traces.nsys.database import MAGIC, open_database
from simsched.traces.shared.choice import dropped
from simsched.traces.shared.options import word
from simsched.traces.shared.spans import Small, by_start, distinct, graph_of
from simsched.traces.shared.timeline import ascending, by_lane, in_order, picked, sizes

CALLS = ("launches", "all", "none")
#: Calls that return when the device is done, such as cudaStreamSynchronize_v3020, cuCtxSynchronize, cudaMemcpy_v3020.
_WAITS = re.compile(r"cu\w*Synchronize|cu(?:da)?Mem(?:cpy|set)(?!\w*Async)")
_BLOCK = 1 << 17
_ALL_STREAMS = re.compile(r"cu(?:daDevice|daThread|Ctx)Synchronize")


def _read(path: Path, *, calls: str = CALLS[0]) -> TaskGraph:
    """Return the graph of a file; options as in `options`.

    Raises
    ------
    FormatError
        If the file is no such export, is damaged, or holds anything that runs when it is read.

    Examples
    --------
    >>> import sqlite3
    >>> from contextlib import closing
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> with TemporaryDirectory() as folder:
    ...     with closing(sqlite3.connect(f"{folder}/run.sqlite")) as made:
    ...         _ = made.executescript('''CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    ...         INSERT INTO StringIds VALUES (1, 'gemm'); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER,
    ...         end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, shortName INTEGER);
    ...         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 7, 1, 1)''')
    ...     graph = ss.load(f"{folder}/run.sqlite")
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.recording.lane_names
    ('nsys', ['device::gemm'], [2e-06], ('device 0 stream 7',))
    """
    word(path, "calls", calls, CALLS)
    with open_database(path) as database:
        reading = Reading(database)
        reading.devices()
        if calls != "none":
            reading.host()
        found = reading.done()
    graph = _Graph(path, found, calls)
    del found, reading, database
    return graph.built()


NSYS = Reader(
    title="SQLite export of Nsight Systems (nsys export --type sqlite)",
    dependencies="launches, order of streams and threads, and calls that wait",
    times="ns",
    options={
        "calls": "launches (when not given): calls that launch or wait; all of them; or none: devices alone",
    },
    recognises=lambda head: head.startswith(MAGIC),
    read=_read,
)


class _Graph:
    def __init__(self, path: Path, found: Activities, calls: str) -> None:
        self._path, self._calls = path, calls
        self._report = ImportReport(path.name, "nsys")
        self._found = found
        self._spans = found.spans
        self._waits = np.zeros(len(found.spans), np.bool_)
        self._launched = self._launches()
        if found.spans.scope.any():
            found.spans.scope[self._launched[:, 1]] = found.spans.scope[self._launched[:, 0]]
        self._wait_edges = self._cut()
        found.correlation = found.correlation[:0].copy()

    def built(self) -> TaskGraph:
        self._task, bytes_B = self._ordered()
        name = plain_name(self._path, ".sqlite", ".nsys-rep")
        return graph_of(self._path, self._spans, self._edges(), self._report, name, bytes_B=bytes_B)

    def _ordered(self) -> tuple[Small, npt.NDArray[np.float64] | None]:
        """Let the spans be the tasks, by start; return the number of each span's task, or -1, and bytes of tasks."""
        order = by_start(self._spans, np.flatnonzero(self._kept()).astype(np.int32))
        task = np.full(len(self._spans), -1, np.int32)
        task[order] = np.arange(len(order), dtype=np.int32)
        self._spans.keep(order)
        return task, picked(self._found.bytes_B, order) if self._found.bytes_B.strides[0] else None

    def _edges(self) -> Small:
        """Return the edges between tasks; what they are made of is given up."""
        launches, waits, chained = len(self._launched), len(self._wait_edges), in_order(self._spans.lane)
        left_out = len(self._task) - len(self._spans)
        joined = [picked(self._task, self._launched, self._launched), picked(self._task, self._wait_edges)]
        del self._launched, self._task
        for place, pairs in enumerate(joined):
            fine = (pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])
            joined[place] = pairs if fine.all() else pairs[fine]
            del pairs
        edges = distinct(chained, *joined)
        # Clocks of host and device differ by some hundred nanoseconds: an order that was not is left out.
        backwards = edges[:, 0] > edges[:, 1]
        self._tell(left_out, launches, waits, int(backwards.sum()))
        return edges[~backwards] if backwards.any() else edges

    def _launches(self) -> Small:
        """Return call and activity of each launch, shape (m, 2)."""
        found, known = self._found, self._found.correlation >= 0
        calls, ran = (
            np.flatnonzero(side & known).astype(np.int32) for side in (~found.on_device, found.on_device)
        )
        keys = picked(found.correlation, calls)
        if not ascending(found.correlation, calls):
            order = np.argsort(keys, kind="stable")
            keys, calls = keys[order], calls[order]
            del order
        launches, count = np.empty((len(ran), 2), np.int32), 0
        for begin in range(0, len(ran) if len(calls) else 0, _BLOCK):
            rows = ran[begin : begin + _BLOCK]
            wanted = found.correlation[rows]
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            same = keys[place] == wanted
            own = launches[count : count + np.count_nonzero(same)]
            own[:, 0], own[:, 1] = calls[place[same]], rows[same]
            count += len(own)
        return launches[:count]

    def _cut(self) -> Small:
        """Cut calls at what they launched, and off what they waited; return the edges to those that waited."""
        spans, on_device = self._spans, self._found.on_device
        # Calls of the host come after what ran on devices.
        first = int(np.count_nonzero(on_device))
        before = (spans.finish_ns[first:] - spans.start_ns[first:]).sum()
        waits = np.array([_WAITS.match(label) is not None for label in spans.labels], np.bool_)
        self._waits = picked(waits, spans.name) & ~on_device
        edges = self._waited(first) if self._waits.any() else np.zeros((0, 2), np.int32)
        # What a waiting call launched itself is behind it only.
        self._launched = self._launched[~picked(self._waits, self._launched[:, 0])]
        for begin in range(0, len(self._launched), _BLOCK):
            call, ran = self._launched[begin : begin + _BLOCK].T
            np.minimum.at(spans.finish_ns, call, np.maximum(spans.start_ns[ran], spans.start_ns[call]))
        np.maximum.at(spans.start_ns, edges[:, 1], spans.finish_ns[edges[:, 0]])
        np.minimum(spans.start_ns, spans.finish_ns, out=spans.start_ns)
        left = (spans.finish_ns[first:] - spans.start_ns[first:]).sum()
        self._report.facts["cut_out_of_calls_s"] = float(before - left) / 1e9
        return edges

    def _waited(self, first: int) -> Small:
        """Return activity and call of each wait, shape (m, 2): the last activity of each stream that was awaited."""
        spans, found = self._spans, self._found
        on = by_lane(spans.lane[:first], spans.finish_ns[:first])
        finish, ends = picked(spans.finish_ns, on), np.cumsum(sizes(spans.lane[:first])).tolist()
        of = {lane: slice(a, b) for lane, (a, b) in enumerate(pairwise([0, *ends])) if a < b}
        own = dict(self._launched[picked(self._waits, self._launched[:, 0])].tolist())
        edges = []
        for call in np.flatnonzero(self._waits).tolist():
            if call in own:
                edges.append((own[call], call))
                continue
            told, process = found.streams.get(int(found.correlation[call])), spans.lanes[spans.lane[call]][0]
            every = told is None and _ALL_STREAMS.match(spans.labels[spans.name[call]]) is not None
            for lane in of if told is None else of.keys() & {told}:
                done = finish[of[lane]]
                place = int(np.searchsorted(done, spans.finish_ns[call], "right")) - 1
                if place < 0 or spans.lanes[lane][0] != process:
                    continue
                if every or told == lane or done[place] >= spans.start_ns[call]:
                    edges.append((int(on[of[lane]][place]), call))
        return np.array(edges, np.int32).reshape(-1, 2)

    def _kept(self) -> npt.NDArray[np.bool_]:
        kept = self._found.on_device.copy()
        if self._calls == "all":
            kept[:] = True
        elif self._calls == "launches":
            kept[self._launched[:, 0]] = True
            kept |= self._waits
        return kept

    def _tell(self, left_out: int, launches: int, waits: int, backwards: int) -> None:
        found, report = self._found, self._report
        report.facts.update(
            device_tasks=int(found.on_device.sum()),
            host_calls=int((~found.on_device).sum()),
            launches=launches,
            waits=waits,
            backwards=backwards,
        )
        report.facts.update(dropped(found.counts))
        lost = sum(count for what, count in found.counts.items() if "CUPTI" in what)
        report.doubt(f"left out: {counted(lost, 'activity', 'activities')} without times", when=lost)
        report.note(
            f"{counted(left_out, 'call')} without a launch or a wait; calls=all takes such, too",
            when=left_out,
        )
        report.doubt(
            "what the host computes between its calls is not in the file: a replay has it take no time",
            when=not found.on_device.all(),
        )
        report.doubt(
            "no calls of the host: edges are the order of each stream, a chain; streams wait for nothing else",
            when=found.on_device.all(),
        )
        report.note(
            f"{counted(backwards, 'edge')} against the order of starts left out",
            when=backwards,
        )
