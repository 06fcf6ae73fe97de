"""Kinds of the nodes of a Chakra trace."""

from __future__ import annotations

import re

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
from simsched.traces.pytorch.kernels import kernel_kind

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
    """Return the FLOPs and the bytes that a node's attributes tell; NaN where they tell none."""
    told = record.attributes
    flops = _number(told.get("num_ops"))
    sizes = [_number(told.get(key)) for key in ("comm_size", "tensor_size")]
    return flops, next((size for size in sizes if size == size), float("nan"))  # noqa: PLR0124 - NaN is not itself


def _number(value: object) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e300 else float("nan")  # type: ignore[operator, arg-type]  # a number
