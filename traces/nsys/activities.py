"""Activities of GPUs and calls of the host in an export of Nsight Systems, as spans of lanes.

References
----------
"SQLite Export Schema Reference", Nsight Systems: CUPTI_ACTIVITY_KIND_*, NVTX_EVENTS, StringIds, ThreadNames;
globalTid and globalPid hold the process in bits 24 to 47, and globalTid the thread in bits 0 to 23.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.recording import DEVICE
from simsched.traces.nsys.database import Database, Whole
from simsched.traces.shared.spans import Small, Spans, rows_in
from simsched.traces.shared.timeline import picked

KERNEL, MEMCPY, MEMSET, RUNTIME, SYNCHRONIZATION = (
    f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "SYNCHRONIZATION")
)
_TIMES = ("start", "end")
_COPIES = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
MAX_NS = 2**62
#: NVTX_EVENTS of ranges that a thread pushes and pops.
_PUSHED = 59
_BITS = 24
_BLOCK = 1 << 20
_LOW = 2**_BITS - 1
#: Devices and streams; one number holds a process and both.
_MOST = 2**19


@dataclass
class Activities:
    """Spans of devices and of the host, in this order.

    Parameters
    ----------
    spans : Spans
        Lanes are streams and threads.
    correlation : int64 array, shape (n,)
        Process and number that a call and what it launched share; -1 for none.
    bytes_B : float array, shape (n,)
        Of copies and fills; NaN for others.
    on_device : bool array, shape (n,)
    streams : dict of int to int
        The lane that a call waited for, by its correlation, where the file tells it.
    counts : Counter of str
        What was dropped.
    """

    spans: Spans
    correlation: Whole
    bytes_B: npt.NDArray[np.float64]
    on_device: npt.NDArray[np.bool_]
    streams: dict[int, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


class Reading:
    """Spans of a database as they are found.

    Parameters
    ----------
    database : Database
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.texts = database.texts("StringIds", "id", "value")
        self._labels: dict[str, int] = {"": 0}
        self._lanes: dict[tuple[str, str], int] = {}
        self.counts: Counter[str] = Counter()
        self._parts: list[dict[str, Any]] = []

    def devices(self) -> None:
        """Take kernels, copies and fills."""
        place = ("deviceId", "streamId", "correlationId", "globalPid")
        for table, others in (
            (KERNEL, ("shortName", "demangledName")),
            (MEMCPY, ("copyKind", "bytes")),
            (MEMSET, ("bytes",)),
        ):
            if table not in self._database.tables:
                continue
            told = self._ran(table, self._database.columns(table, _TIMES, (*place, *others)))
            process = _process(told["globalPid"])
            lane = self._numbered(self._stream_keys(table, told, process), _stream, self._lanes)
            if table == KERNEL:
                ids = np.where(told["shortName"] >= 0, told["shortName"], told["demangledName"])
                name = self._coded(ids, lambda code: DEVICE + self._text(code))
            elif table == MEMCPY:
                name = self._coded(told["copyKind"], lambda kind: f"{DEVICE}Memcpy {_COPIES.get(kind, kind)}")
            else:
                name = self._coded(np.zeros(len(lane), np.int64), lambda _: f"{DEVICE}Memset")
            self._add(told, lane, name, process, told.get("bytes"), device=True)

    def host(self) -> None:
        """Take calls of the CUDA API."""
        if RUNTIME not in self._database.tables:
            return
        told = self._ran(
            RUNTIME, self._database.columns(RUNTIME, _TIMES, ("correlationId", "globalTid", "nameId"))
        )
        lane, name = self._threads(told["globalTid"]), self._coded(told.pop("nameId"), self._text)
        self._add(told, lane, name, _process(told.pop("globalTid")), None, device=False)

    def done(self) -> Activities:
        """Return all spans; raise `FormatError` where there are none."""
        if not any(len(part["start"]) for part in self._parts):
            dropped = "; ".join(f"{count} {what}" for what, count in sorted(self.counts.items()) if count)
            raise FormatError(
                f"{self._database.path}: no CUDA activity in it (tables {KERNEL} and others); was it recorded with "
                f"nsys profile --trace=cuda?{dropped and f' Dropped: {dropped}'}"
            )
        size = self._sizes()
        start, end, lane, name, correlation, device = (
            np.concatenate([part.pop(key) for part in self._parts]) for key in list(self._parts[0])
        )
        scope = np.broadcast_to(np.int32(0), len(lane))
        spans = Spans(start, end, lane, name, scope, list(self._labels), list(self._lanes))
        found = Activities(spans, correlation, size, device, counts=self.counts)
        self._scopes(found)
        found.streams = self._waited()
        return found

    def _sizes(self) -> npt.NDArray[np.float64]:
        """Return the bytes of all spans, NaN where they are unknown: one in memory where all are."""
        parts = [(len(part["start"]), part.pop("bytes")) for part in self._parts]
        if not any(bytes_B is not None and (bytes_B >= 0).any() for _, bytes_B in parts):
            return np.broadcast_to(np.nan, sum(count for count, _ in parts))
        return np.concatenate(
            [
                np.full(count, np.nan) if bytes_B is None else np.where(bytes_B >= 0, bytes_B, np.nan)
                for count, bytes_B in parts
            ]
        )

    def _ran(self, table: str, told: dict[str, Whole]) -> dict[str, Whole]:
        """Return the rows with times; CUPTI gives 0 for both where it could not take them."""
        kept = (
            (told["start"] >= 0)
            & (told["end"] >= told["start"])
            & (told["end"] > 0)
            & (told["end"] <= MAX_NS)
        )
        self.counts[f"rows of {table} without times"] += int((~kept).sum())
        return told if kept.all() else {name: column[kept] for name, column in told.items()}

    def _add(
        self,
        told: dict[str, Whole],
        lane: Small,
        name: Small,
        process: Whole,
        size: Whole | None,
        device: bool,
    ) -> None:
        self._parts.append(
            {
                "start": told["start"],
                "end": told["end"],
                "lane": lane,
                "name": name,
                "correlation": _correlation(process, told["correlationId"]),
                "device": np.full(len(lane), device),
                "bytes": size,
            }
        )

    def _stream_keys(self, table: str, told: dict[str, Whole], process: Whole) -> Whole:
        """Return process, device and stream of each row in one number."""
        for name in ("deviceId", "streamId"):
            if len(told[name]) and not -1 <= told[name].min() <= told[name].max() < _MOST:
                raise FormatError(
                    f"{self._database.path}: table {table}: {name} is {told[name].max()}; expected up to {_MOST - 1}"
                )
        keys = process * (_MOST + 1)
        keys += told["deviceId"]
        keys += 1
        keys *= _MOST + 1
        keys += told["streamId"]
        keys += 1
        return keys

    def _numbered(self, codes: Whole, called: Callable[[int], Hashable], table: dict[Any, int]) -> Small:
        """Return the number in a table of what each code is called."""
        each, which = _distinct(codes)
        numbers = [table.setdefault(called(code), len(table)) for code in each.tolist()]
        return picked(np.array(numbers, np.int32), which)

    def _coded(self, codes: Whole, called: Callable[[int], str]) -> Small:
        """Return the label of each code."""
        return self._numbered(codes, called, self._labels)

    def _text(self, code: int) -> str:
        return self.texts.get(code, f"name {code}")

    def _threads(self, ids: Whole) -> Small:
        """Return the lane of each thread, by process and thread in one number."""
        names = self._thread_names()
        return self._numbered(
            _process(ids) << _BITS | ids & _LOW,
            lambda key: (f"process {key >> _BITS}", names.get(key, f"thread {key & _LOW}")),
            self._lanes,
        )

    def _thread_names(self) -> dict[int, str]:
        """Return the names of threads, by process and thread in one number."""
        if not {"globalTid", "nameId"} <= self._database.tables.get("ThreadNames", set()):
            return {}
        told = self._database.columns("ThreadNames", ("globalTid", "nameId"))
        keys = _process(told["globalTid"]) << _BITS | told["globalTid"] & _LOW
        return {
            key: f"{self.texts[name]} {key & _LOW}"
            for key, name in zip(keys.tolist(), told["nameId"].tolist(), strict=True)
            if name in self.texts
        }

    def _waited(self) -> dict[int, int]:
        """Return the stream that each call of a known correlation waited for."""
        needed = ("correlationId", "streamId", "deviceId")
        if not set(needed) <= self._database.tables.get(SYNCHRONIZATION, set()):
            return {}
        told = self._database.columns(SYNCHRONIZATION, needed, ("globalPid",))
        process = _process(told["globalPid"])
        keys = _correlation(process, told["correlationId"]).tolist()
        streams = map(_stream, self._stream_keys(SYNCHRONIZATION, told, process).tolist())
        return {
            key: self._lanes[stream]
            for key, stream in zip(keys, streams, strict=True)
            if key >= 0 and stream in self._lanes
        }

    def _scopes(self, found: Activities) -> None:
        """Give each call the innermost NVTX range of its thread."""
        if "NVTX_EVENTS" not in self._database.tables:
            return
        others = ("globalTid", "eventType", "textId", "rowid")
        told = self._ran("NVTX_EVENTS", self._database.columns("NVTX_EVENTS", _TIMES, others))
        pushed = np.isin(told["eventType"], (_PUSHED, -1))
        told = {name: column[pushed] for name, column in told.items()}
        lanes = self._threads(told["globalTid"])
        own = self._database.texts("NVTX_EVENTS", "rowid", "text")
        texts = [
            self.texts.get(code) or own.get(row, "")
            for code, row in zip(told["textId"].tolist(), told["rowid"].tolist(), strict=True)
        ]
        labels = np.array([self._labels.setdefault(text, len(self._labels)) for text in texts], np.int64)
        calls = np.flatnonzero(~found.on_device)
        spans = found.spans
        spans.labels, spans.scope = list(self._labels), np.zeros(len(spans), np.int32)
        spans.scope[calls] = _innermost(
            lanes, told["start"], told["end"], labels, spans.lane[calls], spans.start_ns[calls]
        )


def _innermost(
    lane: Whole | Small, start: Whole, end: Whole, label: Whole, at_lane: Small, at: Whole
) -> Small:
    """Return the label of the innermost range around each moment of a lane; 0 where there is none.

    Examples
    --------
    >>> zeros, start, end = np.zeros(2, np.int64), np.array([0, 2]), np.array([9, 5])
    >>> _innermost(zeros, start, end, np.array([1, 2]), np.zeros(3, np.int32), np.array([1, 3, 7])).tolist()
    [1, 2, 1]
    """
    found = np.zeros(len(at), np.int32)
    lanes = np.append(lane, at_lane)
    times, moment = np.append(start, at), np.append(np.zeros(len(start), np.int8), np.ones(len(at), np.int8))
    order = np.lexsort((-np.append(end, at), moment, times, lanes))
    ends, labels = np.append(end, at), np.append(label, np.zeros(len(at), np.int64))
    current, around = -2, list[tuple[int, int]]()
    for row, on, time, last, code in rows_in(order, lanes, times, ends, labels):
        if on != current:
            current, around = on, []
        while around and around[-1][0] < time:
            around.pop()
        if row < len(start):
            around.append((last, code))
        elif around:
            found[row - len(start)] = around[-1][1]
    return found


def _distinct(values: Whole) -> tuple[Whole, Small]:
    """Return the distinct values, ascending, and the place of each value among them."""
    parts = [np.unique(values[begin : begin + _BLOCK]) for begin in range(0, len(values), _BLOCK)]
    each = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
    which = np.empty(len(values), np.int32)
    for begin in range(0, len(values), _BLOCK):
        which[begin : begin + _BLOCK] = np.searchsorted(each, values[begin : begin + _BLOCK])
    return each, which


def _process(ids: Whole) -> Whole:
    return np.where(ids < 0, 0, ids >> _BITS & _LOW)


def _stream(key: int) -> tuple[str, str]:
    rest, stream = divmod(key, _MOST + 1)
    process, device = divmod(rest, _MOST + 1)
    return f"process {process}", f"device {device - 1} stream {stream - 1}"


def _correlation(process: Whole, number: Whole) -> Whole:
    return np.where((number > 0) & (number < 2**32), process << 32 | number, -1)
