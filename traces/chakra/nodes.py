"""A Chakra trace as a graph: nodes as they stand, or operators linked from PyTorch with the kernels they launched.

Of linked traces, `data_deps` are the order in which the linker visited the calls, so dependencies are rebuilt from
tensors, as for PyTorch's execution traces. A kernel runs after the operator that launched it and after what is before
it on its stream; where an operator launched kernels, what it wrote is there when the last of them is done.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.traces.chakra.record import (
    COMM_COLL,
    COMM_RECV,
    COMM_SEND,
    MEM_LOAD,
    MEM_STORE,
    METADATA_NODE,
    Record,
)
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.calls import Calls, topmost
from simsched.traces.pytorch.execution_trace import ExecutionTrace, node_of
from simsched.traces.pytorch.kineto import kernel_kind
from simsched.traces.pytorch.report import tell_dependencies
from simsched.traces.shared.libraries import of_pytorch
from simsched.traces.shared.timeline import recording, refuse_long

_COLLECTIVES = (
    "all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
    "reduce_scatter_block", "barrier",
)  # fmt: skip
_OTHERS = {
    METADATA_NODE: "metadata",
    MEM_LOAD: "mem_load",
    MEM_STORE: "mem_store",
    COMM_SEND: "send",
    COMM_RECV: "recv",
    8: "storage",
    9: "batch",
    10: "checkpoint",
}
_NUMBER = re.compile(r"(?:[_#@.:-]?\d+|\(\d+\))\Z")


def kind_of(record: Record) -> str:
    """Return a node's kind: that of its communication or memory access, else its name without its number.

    Parameters
    ----------
    record : Record
        The node.
    """
    if record.type in _OTHERS:
        return _OTHERS[record.type]
    number = record.attributes.get("comm_type")
    if record.type == COMM_COLL and type(number) is int and 0 <= number < len(_COLLECTIVES):
        return _COLLECTIVES[number]
    if record.device:
        return kernel_kind(record.name)
    if record.attributes.get("op_schema"):
        return short(re.sub(r"\(\d+\)\Z", "", record.name))
    return _NUMBER.sub("", record.name) or record.name


def work_of(record: Record) -> tuple[float, float]:
    """Return the FLOPs and the bytes in a node's attributes; NaN where there are none."""
    known = record.attributes
    flops = _number(known.get("num_ops"))
    sizes = [_number(known.get(key)) for key in ("comm_size", "tensor_size")]
    return flops, next((size for size in sizes if size == size), float("nan"))  # noqa: PLR0124 - NaN is not itself


def _number(value: object) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e300 else float("nan")  # type: ignore[operator, arg-type]  # a number


Pairs = list[tuple[int, int]]


def of_nodes(path: Path, records: list[Record], report: ImportReport, name: str) -> TaskGraph:
    """Return the graph of all nodes, with the dependencies in the file as its edges.

    These are `data_deps` and `ctrl_deps`; but in traces with tensors, which come from PyTorch, `ctrl_deps` are the
    calls around a call.

    Raises
    ------
    FormatError
        If a trace with tensors has no `data_deps`.
    GraphError
        If the dependencies run in a circle.
    """
    nested = any(record.has_tensors() for record in records)
    if nested and not any(record.after for record in records):
        raise FormatError(
            f"{path}: no node has data_deps; leave data_deps= out, the edges are rebuilt from tensors"
        )
    edges, missing = written(records, control=not nested)
    report.facts["missing_dependencies"] = missing
    report.note(f"{missing} dependencies on nodes that are not in the file were left out", when=missing)
    report.note(
        "the dependencies are one chain, the order of execution, so that no policy can do better than another",
        when=is_chain(edges, len(records)),
    )
    work = [work_of(record) for record in records]
    durations_s = [_seconds(record, both) for record, both in zip(records, work, strict=True)]
    unknown = sum(map(math.isnan, durations_s))
    report.note(
        f"{unknown} nodes tell their work (num_ops, comm_size, tensor_size) and no time: their seconds are unknown "
        "and must come from costs",
        when=unknown,
    )
    return TaskGraph.from_edges(
        durations_s,
        edges,
        kinds=[kind_of(record) for record in records],
        names=[f"{record.name}#{record.id}" for record in records],
        flops=[flops for flops, _ in work],
        bytes_B=[size for _, size in work],
        name=name,
        report=report,
    )


def written(records: list[Record], control: bool) -> tuple[Pairs, int]:
    """Return the dependencies in the file between indices of records, and how many name no node.

    Parameters
    ----------
    records : list of Record
        All nodes.
    control : bool
        Whether `ctrl_deps` count, too.
    """
    index = {record.id: i for i, record in enumerate(records)}
    named = [
        (before, record.id)
        for record in records
        for before in dict.fromkeys((*record.after, *(record.parents if control else ())))
    ]
    edges = [(index[a], index[b]) for a, b in named if a in index and a != b]
    return edges, sum(a not in index for a, _ in named)


def is_chain(edges: Pairs, nodes: int) -> bool:
    """Return whether edges put all nodes, or all but pseudo nodes, in a chain.

    Examples
    --------
    >>> is_chain([(0, 1), (1, 2)], 3), is_chain([(0, 1), (0, 2)], 3)
    (True, False)
    """
    distinct = set(edges)
    once = len({a for a, _ in distinct}) == len({b for _, b in distinct}) == len(distinct)
    return nodes > 2 and once and len(distinct) >= 0.9 * (nodes - 1)


def _seconds(record: Record, work: tuple[float, float]) -> float:
    told_ns = record.own_ns or 0
    return math.nan if (not told_ns and any(part > 0 for part in work)) else told_ns / 1e9


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


def of_operators(path: Path, records: list[Record], report: ImportReport, name: str) -> TaskGraph:
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
    return TaskGraph.from_edges(
        [*host_ns / 1e9, *((r.whole_ns or r.own_ns or 0) / 1e9 for r in parts.device)],
        edges,
        kinds=[*(short(task.name) for task in calls.tasks), *map(kind_of, parts.device)],
        names=[
            *(f"{short(task.name)}#{task.rf_id or task.id}" for task in calls.tasks),
            *(f"{kind_of(record)}@{record.id}" for record in parts.device),
        ],
        shapes=[*(task.io.shapes if task.io else "" for task in calls.tasks), *("" for _ in parts.device)],
        scopes=[*calls.scopes, *(f"stream {record.stream}" for record in parts.device)],
        flops=[*calls.flops, *(flops for flops, _ in work)],
        bytes_B=[*calls.bytes_B, *(size for _, size in work)],
        name=name,
        report=report,
        recording=None if parts.device else _recording(path, parts.host, calls, host_ns),
    )


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
            task = calls.task_of.get(parts.alias.get(parent, parent))
            if task is not None:
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
    streams: dict[int, list[int]] = defaultdict(list)
    for number in sorted(range(len(device)), key=lambda i: device[i].id):
        streams[device[number].stream].append(first + number)
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
        f"{len(parts.device)} kernels ran on a device: each runs after its operator and in the order of its "
        "stream; when they ran is not in the file",
        when=parts.device,
    )
