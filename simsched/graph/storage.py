"""One file for a task graph: all of its data, bit by bit, without pickle.

The file is an uncompressed zip archive, by custom called `*.simsched`; `numpy.load` opens it as well. n is
the number of tasks, m of edges; all arrays are one-dimensional and little-endian, in NumPy's format 1.0.

======================= ======= ======== ==================================================================
member                  type    length   meaning
======================= ======= ======== ==================================================================
simsched-taskgraph.json UTF-8            the header, first in the file; see below
durations_s.npy         float64 n        recorded seconds; zero or more, NaN where unknown
widths.npy              int32   n        threads that ran the task when it was recorded; 1 or more
flops.npy               float64 n        floating-point operations; NaN where unknown
bytes_B.npy             float64 n        bytes read and written; NaN where unknown
indptr.npy              int64   n + 1    successors of task i: `indices[indptr[i]:indptr[i + 1]]`
indices.npy             int32   m        successors, ascending in each row, without i itself; no cycles
kinds.npy               int32   n        index into the header's `labels.kinds`
shapes.npy              int32   n        index into `labels.shapes`, texts like `64x512;512x512`
scopes.npy              int32   n        index into `labels.scopes`
names_data.npy          uint8   any      all names end to end, in UTF-8; only where tasks have names
names_offsets.npy       int64   n + 1    name i: bytes `offsets[i]` to `offsets[i + 1]`; with `names_data`
start_s.npy             float64 n        seconds from the first start; only where there is a recording
finish_s.npy            float64 n        not before `start_s`; with `start_s`
lanes.npy               int32   n        index into the header's `lane_names`; with `start_s`
priorities.npy          float64 n        recorded priorities, the highest first; only with `start_s`
seconds_by_kind.npy     float64 n k      of each task its seconds on the `kinds_of_cores`; only where they are given
object_size_B.npy       float64 o        bytes of each data object; NaN where unknown; only where there are `objects`
object_producer.npy     int32   o        task that writes each object; -1 for inputs of the graph
object_indptr.npy       int64   o + 1    readers of object i: `object_readers[indptr[i]:indptr[i + 1]]`
object_readers.npy      int32   any      tasks, ascending in each row, successors of the object's producer
======================= ======= ======== ==================================================================

The header is one JSON object (NaN and infinity are spelled as in JavaScript):

=================== ==========================================================================================
`format`, `version` "simsched-taskgraph" and 1, or 2 with one of the two below; readers reject unknown versions
`simsched`          version of simsched that wrote the file; "unknown" where it was not installed
`name`              name of the graph
`tasks`, `edges`    n and m
`labels`            lists of distinct strings: `kinds`, `shapes`, `scopes`
`names`             true where tasks have names
`lane_names`        list of strings, or null where there is no recording
`recorded_on`       null, or an object of `name`, `core_flops`, `core_bandwidth_Bps`, `clock_Hz` (above zero, or null)
`report`            an object of `source`, `format`, `facts` (an object) and `notes` (strings), and `doubts`, those of
                    the notes that may make answers wrong; it may be missing
`objects`           o, the number of data objects; missing where there is nothing on them
`kinds_of_cores`    k; missing where tasks take the same seconds on all of them
=================== ==========================================================================================
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError, GraphError
from simsched.graph import checks, stored
from simsched.graph.archive import DAMAGED, Archive, Array, write
from simsched.graph.header import Header, checked
from simsched.graph.loading import find_file
from simsched.graph.taskgraph import RecordedOn, TaskGraph
from simsched.version import version

FORMAT = "simsched-taskgraph"
HEADER = f"{FORMAT}.json"
#: Of files with data objects or seconds by kind of core; others are of version 1, which older releases read.
VERSION = 2

LABELS = ("kinds", "shapes", "scopes")


def save(graph: TaskGraph, path: str | Path) -> None:
    """Write a graph to one file; an existing one is replaced only once the new one is complete.

    Parameters
    ----------
    graph : TaskGraph
    path : str or Path
        By custom `*.simsched`.

    Raises
    ------
    FormatError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> from simsched.graph.storage import read, save
    >>> with TemporaryDirectory() as folder:
    ...     save(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], name="two"), f"{folder}/two.simsched")
    ...     read(f"{folder}/two.simsched").name
    'two'
    """
    write(Path(path), HEADER, _header(graph), _arrays(graph))


def digest(graph: TaskGraph) -> str:
    """Return a graph's identity, whatever its report contains: the SHA-256 of its name and columns."""
    header = {key: value for key, value in _header(graph).items() if key not in ("simsched", "report")}
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode("utf-8", "backslashreplace"))
    for name, array in _arrays(graph).items():
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _header(graph: TaskGraph) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if graph.data is not None:
        more["objects"] = graph.data.n
    if graph.seconds_by_kind is not None:
        more["kinds_of_cores"] = graph.seconds_by_kind.shape[1]
    return {
        "format": FORMAT,
        "version": VERSION if more else 1,
        "simsched": version(),
        "name": graph.name,
        "tasks": graph.n_tasks,
        "edges": graph.n_edges,
        "labels": {column: list(getattr(graph, column).labels) for column in LABELS},
        "names": graph.names is not None,
        "lane_names": None if graph.recording is None else list(graph.recording.lane_names),
        "recorded_on": None if graph.recorded_on is None else asdict(graph.recorded_on),
        "report": {**asdict(graph.report), "doubts": graph.report.doubts},
        **more,
    }


def _arrays(graph: TaskGraph) -> dict[str, Array]:
    arrays: dict[str, Array] = {
        "durations_s": graph.durations_s,
        "widths": graph.widths,
        "flops": graph.flops,
        "bytes_B": graph.bytes_B,
        "indptr": graph.successors.indptr,
        "indices": graph.successors.indices,
    }
    arrays |= {column: getattr(graph, column).codes for column in LABELS}
    if graph.names is not None:
        arrays |= {"names_data": graph.names.data, "names_offsets": graph.names.offsets}
    if graph.recording is not None:
        recording = graph.recording
        arrays |= {"start_s": recording.start_s, "finish_s": recording.finish_s, "lanes": recording.lanes}
        arrays |= {} if recording.priorities is None else {"priorities": recording.priorities}
    if graph.seconds_by_kind is not None:
        arrays["seconds_by_kind"] = graph.seconds_by_kind.reshape(-1)
    if graph.data is not None:
        arrays |= {"object_size_B": graph.data.size_B, "object_producer": graph.data.producer}
        arrays |= {"object_indptr": graph.data.readers.indptr, "object_readers": graph.data.readers.indices}
    return arrays


def read(path: str | Path) -> TaskGraph:
    """Return the graph of a file written by `save`, checked like untrusted input.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file cannot be read, is damaged, describes no possible graph, or is of a newer version.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.simsched")
    ...     back = ss.load(f"{folder}/two.simsched")
    >>> back.name, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('two', ['load', 'sum'], [1.0, 2.0], 1)
    """
    file = find_file(path)
    archive = Archive(file)
    header = archive.header(HEADER)
    if header.get("format") != FORMAT:
        raise archive.error(HEADER, f"format is {header.get('format')!r}, expected {FORMAT!r}")
    found = header.get("version")
    if type(found) is not int or found < 1:
        raise archive.error(HEADER, f"version is {found!r}, expected 1 to {VERSION}; {DAMAGED}")
    if found > VERSION:
        raise archive.error(
            HEADER,
            f"version {found} was written by a newer simsched ({header.get('simsched')}); this one reads "
            f"versions 1 to {VERSION}: pip install --upgrade simsched",
        )
    try:
        return _graph(archive, header)
    except GraphError as error:
        raise FormatError(f"{file}: {error}; {DAMAGED}") from None


def _graph(archive: Archive, header: dict[str, Any]) -> TaskGraph:
    known = checked(header, HEADER)
    n = known.tasks
    _refuse_unknown_members(archive, known)
    names = stored.names(archive, n) if known.names else None
    successors = stored.successors(archive, n, known.edges, names)
    durations = checks.numbers(archive.array("durations_s", "<f8", n), n, "duration", "seconds")
    return TaskGraph(
        successors=successors,
        durations_s=durations,
        widths=checks.widths(archive.array("widths", "<i4", n), n),
        flops=checks.numbers(archive.array("flops", "<f8", n), n, "FLOPs", "operations"),
        bytes_B=checks.numbers(archive.array("bytes_B", "<f8", n), n, "bytes_B", "bytes"),
        kinds=stored.labels(archive, "kinds", known.labels.kinds, n),
        shapes=stored.labels(archive, "shapes", known.labels.shapes, n),
        scopes=stored.labels(archive, "scopes", known.labels.scopes, n),
        names=names,
        name=known.name,
        recorded_on=None if known.recorded_on is None else RecordedOn(**dict(known.recorded_on)),
        report=stored.report(known.report),
        recording=None if known.lane_names is None else stored.recording(archive, known.lane_names, n),
        data=None if known.objects is None else stored.data(archive, known.objects, successors),
        seconds_by_kind=(
            None
            if known.kinds_of_cores is None
            else stored.seconds_by_kind(archive, durations, known.kinds_of_cores)
        ),
    )


def _refuse_unknown_members(archive: Archive, header: Header) -> None:
    known = {"durations_s", "widths", "flops", "bytes_B", "indptr", "indices", *LABELS}
    if header.names:
        known |= {"names_data", "names_offsets"}
    if header.lane_names is not None:
        known |= {"start_s", "finish_s", "lanes", "priorities"}
    if header.objects is not None:
        known |= {f"object_{part}" for part in ("size_B", "producer", "indptr", "readers")}
    if header.kinds_of_cores is not None:
        known.add("seconds_by_kind")
    unknown = set(archive.names) - {f"{name}.npy" for name in known} - {HEADER}
    if unknown:
        raise archive.error(
            min(unknown), f"is not a member of version {VERSION}, or the header denies it; {DAMAGED}"
        )
