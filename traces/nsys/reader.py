"""Exports of Nsight Systems: kernels, copies and fills on their streams, and the calls that launched them.

A kernel may start while the call that launched it still runs, so that the call is cut there. A call that waits for the
device is no work while it waits: it begins where the last that it waited for was finished.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.text import counted
from simsched.traces.nsys.activities import Activities, Reading
from simsched.traces.nsys.database import MAGIC, Whole, open_database
from simsched.traces.shared.options import word
from simsched.traces.shared.spans import distinct, graph_of
from simsched.traces.shared.timeline import in_order

CALLS = ("launches", "all", "none")
#: Calls that return when the device is done, such as cudaStreamSynchronize_v3020, cuCtxSynchronize, cudaMemcpy_v3020.
_WAITS = re.compile(r"cu\w*Synchronize|cu(?:da)?Mem(?:cpy|set)(?!\w*Async)")
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
        found.spans.scope[self._launched[:, 1]] = found.spans.scope[self._launched[:, 0]]
        self._wait_edges = self._cut()

    def built(self) -> TaskGraph:
        spans, found = self._spans, self._found
        kept = np.flatnonzero(self._kept())
        order = kept[np.lexsort((spans.finish_ns[kept], spans.start_ns[kept]))].astype(np.int32)
        task = np.full(len(spans), -1, np.int32)
        task[order] = np.arange(len(order))
        joined = np.concatenate([task[self._launched], task[self._wait_edges]])
        del task, kept
        joined = joined[(joined >= 0).all(axis=1) & (joined[:, 0] != joined[:, 1])]
        tasks, bytes_B = spans.taken(order), found.bytes_B[order] if found.bytes_B.strides[0] else None
        left_out = len(spans) - len(tasks)
        # What was read takes no memory beside the graph.
        found.spans, found.correlation, found.bytes_B = (
            tasks,
            found.correlation[:0].copy(),
            found.bytes_B[:0].copy(),
        )
        del self._spans, spans, order
        edges = distinct(in_order(tasks.lane), joined)
        # Clocks of host and device differ by some hundred nanoseconds: an order that was not is left out.
        backwards = edges[:, 0] > edges[:, 1]
        self._tell(left_out, int(backwards.sum()))
        del self._found, self._launched, self._waits, found, joined
        if backwards.any():
            edges = edges[~backwards]
        name = plain_name(self._path, ".sqlite", ".nsys-rep")
        return graph_of(self._path, tasks, edges, self._report, name, bytes_B=bytes_B)

    def _launches(self) -> Whole:
        """Return call and activity of each launch, shape (m, 2)."""
        found = self._found
        calls = np.flatnonzero(~found.on_device & (found.correlation >= 0))
        ran = np.flatnonzero(found.on_device & (found.correlation >= 0))
        by = calls[np.argsort(found.correlation[calls], kind="stable")]
        place = np.searchsorted(found.correlation[by], found.correlation[ran])
        there = place < len(by)
        ran, place = ran[there], place[there]
        same = found.correlation[by[place]] == found.correlation[ran]
        return np.column_stack([by[place[same]].astype(np.int32), ran[same].astype(np.int32)]).reshape(-1, 2)

    def _cut(self) -> Whole:
        """Cut calls at what they launched, and off what they waited; return the edges to those that waited."""
        spans, found = self._spans, self._found
        before = (spans.finish_ns - spans.start_ns)[~found.on_device].sum()
        waits = np.array([_WAITS.match(label) is not None for label in spans.labels], np.bool_)
        self._waits = waits[spans.name] & ~found.on_device
        edges = self._waited()
        call, ran = self._launched.T
        # What a waiting call launched itself is behind it only.
        cut = ~self._waits[call]
        np.minimum.at(
            spans.finish_ns, call[cut], np.maximum(spans.start_ns[ran[cut]], spans.start_ns[call[cut]])
        )
        self._launched = self._launched[cut]
        np.maximum.at(spans.start_ns, edges[:, 1], spans.finish_ns[edges[:, 0]])
        np.minimum(spans.start_ns, spans.finish_ns, out=spans.start_ns)
        left = (spans.finish_ns - spans.start_ns)[~found.on_device].sum()
        self._report.facts["cut_out_of_calls_s"] = float(before - left) / 1e9
        return edges

    def _waited(self) -> Whole:
        """Return activity and call of each wait, shape (m, 2): the last activity of each stream that was awaited."""
        spans, found = self._spans, self._found
        on = np.flatnonzero(found.on_device)
        on = on[np.lexsort((spans.finish_ns[on], spans.lane[on]))]
        lanes, begins = np.unique(spans.lane[on], return_index=True)
        of = {int(lane): on[a:b] for lane, a, b in zip(lanes, begins, [*begins[1:], len(on)], strict=True)}
        own = dict(self._launched[self._waits[self._launched[:, 0]]].tolist())
        edges = []
        for call in np.flatnonzero(self._waits).tolist():
            if call in own:
                edges.append((own[call], call))
                continue
            told = found.streams.get(int(found.correlation[call]))
            every = told is None and _ALL_STREAMS.match(spans.labels[spans.name[call]]) is not None
            for lane, rows in of.items() if told is None else ((told, of.get(told, on[:0])),):
                place = int(np.searchsorted(spans.finish_ns[rows], spans.finish_ns[call], "right")) - 1
                if place >= 0 and found.process[rows[place]] == found.process[call]:
                    within = spans.finish_ns[rows[place]] >= spans.start_ns[call]
                    if every or within or told == lane:
                        edges.append((int(rows[place]), call))
        return np.array(edges, np.int64).reshape(-1, 2)

    def _kept(self) -> npt.NDArray[np.bool_]:
        kept = self._found.on_device.copy()
        if self._calls == "all":
            kept[:] = True
        elif self._calls == "launches":
            kept[self._launched[:, 0]] = True
            kept |= self._waits
        return kept

    def _tell(self, left_out: int, backwards: int) -> None:
        found, report = self._found, self._report
        report.facts.update(
            device_tasks=int(found.on_device.sum()),
            host_calls=int((~found.on_device).sum()),
            launches=len(self._launched),
            waits=len(self._wait_edges),
            backwards=backwards,
        )
        report.facts.update(
            {f"dropped, {what}": count for what, count in sorted(found.counts.items()) if count}
        )
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
