"""Chakra: execution traces as streams of protobuf messages, and as JSON linked from PyTorch with times.

Of linked traces, `data_deps` are the order in which the linker visited the calls, so dependencies are rebuilt from
tensors, as for PyTorch's execution traces. A kernel runs after the operator that launched it and after what is before
it on its stream; where an operator launched kernels, what it wrote is there when the last of them is done.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.graph.loading import Reader, head_of, plain_name
from simsched.graph.recording import DEVICE, UNKNOWN
from simsched.multimap import multimap
from simsched.text import counted
from simsched.traces.chakra.nodes import Pairs, is_chain, kind_of, of_nodes, work_of, written
from simsched.traces.chakra.record import (
    Record,
    is_workload,
    looks_delimited,
    read_linked,
    read_stream,
    read_workload,
)
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.calls import Calls, topmost
from simsched.traces.pytorch.execution_trace import ExecutionTrace, node_of
from simsched.traces.pytorch.report import tell_dependencies
from simsched.traces.shared.libraries import of_pytorch
from simsched.traces.shared.options import TOLERANT, flag, mends_if
from simsched.traces.shared.timeline import recording, refuse_long

_PIECE = re.compile(r"(.*)\(\d+\)\Z", re.DOTALL)


@dataclass
class _Parts:
    """The nodes of a trace by their roles.

    Parameters
    ----------
    host, device : list of Record
        Calls, and activity of devices.
    alias : dict of int to int
        Id of the first piece by that of any further one, of operators that the linker cut at their launches.
    """

    host: list[Record] = field(default_factory=list)
    device: list[Record] = field(default_factory=list)
    alias: dict[int, int] = field(default_factory=dict)


def _of_operators(path: Path, records: list[Record], report: ImportReport, name: str) -> TaskGraph:
    """Return the graph of the topmost operators and of the kernels, with dependencies through tensors.

    Raises
    ------
    FormatError
        If the trace has no operators, or a node is malformed.
    """
    parts = _parted(records)
    trace = ExecutionTrace(path)
    for record in parts.host:
        if record.id not in parts.alias:
            raw = record.raw()
            raw["ctrl_deps"] = parts.alias.get(raw["ctrl_deps"], raw["ctrl_deps"])
            trace.nodes[record.id] = node_of(raw, record.place, None)
    calls = topmost(trace)
    if not calls.tasks:
        raise FormatError(f"{path}: no operator among its {len(records)} nodes; they are annotations only")
    launched = _launched(parts, calls)
    edges = [*_through(calls, launched), *_on_streams(parts.device, len(calls.tasks))]
    host_ns = _host_ns(parts, calls)
    _tell(report, records, parts, calls)
    of_pytorch(report, (record.name for record in parts.host))
    work = [work_of(record) for record in parts.device]
    graph = TaskGraph.from_edges(
        [*host_ns / 1e9, *((r.whole_ns or r.own_ns or 0) / 1e9 for r in parts.device)],
        edges,
        kinds=[*(short(task.name) for task in calls.tasks), *map(kind_of, parts.device)],
        names=[
            *(f"{short(task.name)}#{task.rf_id or task.id}" for task in calls.tasks),
            *(f"{kind_of(record).removeprefix(DEVICE)}@{record.id}" for record in parts.device),
        ],
        shapes=[*(task.io.shapes if task.io else "" for task in calls.tasks), *("" for _ in parts.device)],
        scopes=[*calls.scopes, *(f"stream {record.stream}" for record in parts.device)],
        flops=[*calls.flops, *(flops for flops, _ in work)],
        bytes_B=[*calls.bytes_B, *(size for _, size in work)],
        name=name,
        recorded_on=UNKNOWN,
        report=report,
        recording=None if parts.device else _recording(path, parts.host, calls, host_ns),
    )
    last, first = ({task: kernels[end] for task, kernels in launched.items()} for end in (-1, 0))
    return calls.found.objects.moved(last, first).on(graph)


def _parted(records: list[Record]) -> _Parts:
    parts = _Parts()
    first: dict[tuple[int, tuple[int, ...], str], int] = {}
    for record in records:
        if record.device:
            parts.device.append(record)
            continue
        parts.host.append(record)
        piece, rf_id = _PIECE.match(record.name), record.attributes.get("rf_id")
        if piece and type(rf_id) is int and rf_id:
            earlier = first.setdefault((rf_id, record.parents, piece[1]), record.id)
            if earlier != record.id:
                parts.alias[record.id] = earlier
    return parts


def _launched(parts: _Parts, calls: Calls) -> dict[int, list[int]]:
    """Return the indices of the kernels of each operator, in the order of the file."""
    found: dict[int, list[int]] = defaultdict(list)
    for number, record in enumerate(parts.device, len(calls.tasks)):
        for parent in record.parents:
            if (task := calls.task_of.get(parts.alias.get(parent, parent))) is not None:
                found[task].append(number)
    return found


def _through(calls: Calls, launched: dict[int, list[int]]) -> Iterable[tuple[int, int]]:
    """Yield launches, and the edges through tensors, from and to kernels where both operators launched some."""
    for task, kernels in launched.items():
        yield from ((task, kernel) for kernel in kernels)
    for before, after in calls.found.edges:
        if before in launched and after in launched:
            yield launched[before][-1], launched[after][0]
        else:
            yield before, after


def _on_streams(device: list[Record], first: int) -> Pairs:
    streams = multimap(
        (device[number].stream, first + number)
        for number in sorted(range(len(device)), key=lambda i: device[i].id)
    )
    return [edge for kernels in streams.values() for edge in pairwise(kernels)]


def _host_ns(parts: _Parts, calls: Calls) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the time of each operator with all calls within it; NaN where none of them has one."""
    total = np.full(len(calls.tasks), np.nan)
    top = {task.id: number for number, task in enumerate(calls.tasks)}
    for record in parts.host:
        if record.id in top and record.whole_ns is not None:
            total[top[record.id]] = record.whole_ns
    known = ~np.isnan(total)
    for record in parts.host:
        task = calls.task_of.get(parts.alias.get(record.id, record.id))
        if task is not None and not known[task] and record.own_ns is not None:
            total[task] = np.nansum([total[task], record.own_ns])
    return total


def _recording(
    path: Path, host: list[Record], calls: Calls, host_ns: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> Recording | None:
    starts = {record.id: record.start_ns for record in host}
    known = [start for task in calls.tasks if (start := starts[task.id]) is not None]
    if len(known) < len(calls.tasks) or np.isnan(host_ns).any():
        return None
    refuse_long(path, int(host_ns.max()))
    start_ns = np.array(known, np.int64)
    threads, lanes = np.unique([task.tid for task in calls.tasks], return_inverse=True)
    names = [f"thread {tid}" for tid in threads]
    return recording(path, start_ns, start_ns + host_ns.astype(np.int64), lanes, names)


def _tell(report: ImportReport, records: list[Record], parts: _Parts, calls: Calls) -> None:
    order, _ = written(records, control=False)
    report.facts.update(
        nodes=len(records),
        nodes_in_tasks=len(calls.task_of) + len(parts.device),
        kernels=len(parts.device),
        cut_operators=len(parts.alias),
        data_deps=len(order),
        recorded_threads=len({task.tid for task in calls.tasks}),
    )
    tell_dependencies(report, calls.found)
    if is_chain(order, len(records)):
        report.note(
            f"the file's {len(order)} data_deps are a chain, the order of execution, and were not taken; the edges are "
            "rebuilt from tensors (data_deps=true takes the chain)"
        )
    elif order:
        report.note(
            f"the file's {len(order)} data_deps hold the order of execution and were not taken; the edges are rebuilt "
            "from tensors (data_deps=true takes them)"
        )
    report.note(
        "times are whole microseconds without the calls within; those of a task's calls were added up",
        when=all(record.whole_ns is None for record in records),
    )
    report.note(
        f"{counted(len(parts.device), 'kernel')} ran on a device: each runs after its operator and in the order of its "
        "stream, as the file does not say when it ran",
        when=parts.device,
    )


def _recognises(head: bytes) -> bool:
    """Return whether a file is a Chakra trace of either form."""
    if head.lstrip()[:1] == b"{":
        if is_workload(head):
            return True
        return b'"nodes"' in head and b'"inclusive_dur"' in head and b'"ctrl_deps"' in head
    return looks_delimited(head)


def _read(path: Path, *, data_deps: bool | str = False, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of a trace.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    data_deps : bool or str, optional
        Whether every node is a task, with the dependencies in the file, although it holds tensors.
    tolerant : bool or str, optional
        Whether to read the complete part of a file that is cut off.

    Raises
    ------
    FormatError
        If the file is damaged.
    GraphError
        If its dependencies run in a circle.
    MissingExtraError
        If protobuf is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"schema": "1.1.1-chakra.0.0.4", "nodes": [
    ... {"id": 2, "name": "aten::mm", "ctrl_deps": 1, "ts": 10, "inclusive_dur": 4, "exclusive_dur": 4,
    ... "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [[3, 7, 0, 8, 4, "cpu"]],
    ... "shapes": [[2, 4]], "types": ["Tensor(float)"]}, "attrs": []},
    ... {"id": 3, "name": "aten::relu", "ctrl_deps": 1, "ts": 15, "inclusive_dur": 2, "exclusive_dur": 2,
    ... "inputs": {"values": [[3, 7, 0, 8, 4, "cpu"]], "shapes": [[2, 4]], "types": ["Tensor(float)"]},
    ... "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}]}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.json").write_text(text)
    ...     graph = ss.load(Path(folder, "run.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('chakra', ['mm', 'relu'], [4e-06, 2e-06], 1)
    """
    as_written = flag(path, "data_deps", data_deps)
    report = ImportReport(path.name, "chakra")
    mend = mends_if(path, tolerant, report)
    head = head_of(path)
    read = read_linked if head.lstrip()[:1] == b"{" else read_stream
    metadata, records = (read_workload if is_workload(head) else read)(path, mend)
    if not records:
        raise FormatError(f"{path}: the trace has no nodes; was the recording interrupted?")
    for key in ("version", "schema"):
        if metadata.get(key):
            report.facts[key] = str(metadata[key])[:60]
    build = of_nodes if as_written or not any(r.has_tensors() for r in records) else _of_operators
    return build(path, records, report, plain_name(path, ".json", ".et"))


CHAKRA = Reader(
    title="Chakra: execution traces (.et), or PyTorch's linked with times as JSON",
    dependencies="rebuilt from tensors; where it has none, data_deps and ctrl_deps",
    times="the file, us",
    options={
        "data_deps": "true to take the file's dependencies, mostly the order of execution, though it holds tensors",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)
