"""The nodes of a Chakra trace as a graph."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.recording import DEVICE, UNKNOWN
from simsched.text import counted
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
from simsched.traces.pytorch.kineto import kernel_kind
from simsched.traces.shared.objects import Objects

_COLLECTIVES = (
    "all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
    "reduce_scatter_block", "barrier",
)  # fmt: skip
_BRINGING = frozenset({COMM_COLL, COMM_RECV, MEM_LOAD})
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
        return DEVICE + kernel_kind(record.name)
    if record.attributes.get("op_schema"):
        return short(re.sub(r"\(\d+\)\Z", "", record.name))
    return _NUMBER.sub("", record.name) or record.name


def work_of(record: Record) -> tuple[float, float]:
    """Return the FLOPs and the bytes in a node's attributes; NaN where there are none."""
    known = record.attributes
    flops = _number(known.get("num_ops"))
    sizes = [_number(known.get(key)) for key in ("comm_size", "tensor_size")]
    return flops, next((size for size in sizes if not math.isnan(size)), math.nan)


def _number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e300 else float("nan")


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
    report.note(
        f"{counted(missing, 'dependency', 'dependencies')} on nodes that are not in the file left out",
        when=missing,
    )
    report.note(
        "the dependencies are one chain, the order of execution, so that no policy can run two at once",
        when=is_chain(edges, len(records)),
    )
    work = [work_of(record) for record in records]
    durations_s = [_seconds(record, both) for record, both in zip(records, work, strict=True)]
    unknown = sum(map(math.isnan, durations_s))
    report.note(
        f"{counted(unknown, 'node has', 'nodes have')} no time, at most work (num_ops, comm_size, tensor_size): "
        "seconds are unknown and must come from costs",
        when=unknown,
    )
    graph = TaskGraph.from_edges(
        durations_s,
        edges,
        kinds=[kind_of(record) for record in records],
        names=[f"{record.name}#{record.id}" for record in records],
        flops=[flops for flops, _ in work],
        bytes_B=[size for _, size in work],
        name=name,
        recorded_on=UNKNOWN,
        report=report,
    )
    return _received(records).on(graph)


def _received(records: list[Record]) -> Objects:
    """Return what communication and loads bring, as objects that the nodes after them read.

    The bytes of other nodes are those that they move, not those of a result.
    """
    found, number = Objects(), dict[int, int]()
    for task, record in enumerate(records):
        if record.type in _BRINGING and not math.isnan(size_B := work_of(record)[1]):
            number[record.id] = found.add(size_B, task)
    for task, record in enumerate(records):
        for before in record.after:
            if before in number:
                found.read(number[before], task)
    return found


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
