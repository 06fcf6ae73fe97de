"""Distinct ops of a graph, by kind, shape, FLOPs and bytes, and their work."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from math import isnan

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels.library import parameters
from simsched.costs.shapes.kinds import OF_BYTES, Read, kernel_of, work_of
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.taskgraph import Seconds

#: Operations or bytes of a task, at most: larger ones are no real ops, and no sum of them overflows.
LARGEST = 1e30

Op = tuple[str, str, float | None, float | None]


def ops_of(graph: TaskGraph, wanted: Mask) -> tuple[npt.NDArray[np.intp], list[Op], npt.NDArray[np.intp]]:
    """Return the tasks with known kernels and shapes, their distinct ops, and the op of each task."""
    kinds, shapes = graph.kinds, graph.shapes
    timed = np.array([kernel_of(kind) is not None for kind in kinds.labels], np.bool_)
    shaped = np.array([bool(text) for text in shapes.labels], np.bool_)
    tasks = np.flatnonzero(wanted & timed[kinds.codes] & shaped[shapes.codes])
    # Two streams that differ in operations only are one op, unless these tell inference from training.
    kernels = [kernel_of(kind) for kind in kinds.labels]
    walks = [one is not None and one.rule in OF_BYTES and not one.inference_flops for one in kernels]
    flops = np.where(np.array(walks, np.bool_)[kinds.codes[tasks]], np.nan, graph.flops[tasks])
    columns = (kinds.codes[tasks], shapes.codes[tasks], flops, graph.bytes_B[tasks])
    keys = _numbered(columns[0].astype(np.int64) * max(len(shapes.labels), 1) + columns[1])
    for amounts in columns[2:]:
        keys = _divided(keys, amounts)
    firsts = _firsts(keys)
    ops = [
        (kinds.labels[kind], shapes.labels[shape], _known(flops), _known(size_B))
        for kind, shape, flops, size_B in zip(*(column[firsts].tolist() for column in columns), strict=True)
    ]
    return tasks, ops, keys


def _numbered(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Return keys as the numbers 0, 1, ... of their order."""
    if not len(keys) or (most := int(keys.max())) > 8 * len(keys):
        return np.unique(keys, return_inverse=True)[1]
    there = np.zeros(most + 1, np.intp)
    there[keys] = 1
    return (np.cumsum(there) - 1)[keys]


def _firsts(keys: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the first place of each of the keys 0, 1, ..."""
    firsts = np.zeros(int(keys.max(initial=-1)) + 1, np.intp)
    # Of several values for one place, the last stays.
    firsts[keys[::-1]] = np.arange(len(keys))[::-1]
    return firsts


def _divided(keys: npt.NDArray[np.intp], amounts: Seconds) -> npt.NDArray[np.intp]:
    """Return the keys of groups, split where amounts differ."""
    first = amounts[_firsts(keys)][keys]
    if ((first == amounts) | (np.isnan(first) & np.isnan(amounts))).all():
        return keys
    values, codes = np.unique(amounts, return_inverse=True)
    return _numbered(keys.astype(np.int64) * len(values) + codes)


def _known(value: float) -> float | None:
    return None if isnan(value) else value


@lru_cache(maxsize=1 << 16)
def read_op(kind: str, shape: str, flops: float | None, bytes_B: float | None, library: str) -> Read | None:
    """Return the work of an op; None where the shapes do not fit its kind or belong to no real op."""
    nan = float("nan")
    known = (nan if flops is None else flops, nan if bytes_B is None else bytes_B)
    try:
        read = work_of(kind, shape, *known, parameters(library))
    except OverflowError:
        return None
    if read is None:
        return None
    works = chain.from_iterable(read.ways)
    return read if all(max(work[:4]) < LARGEST and work.pieces >= 1 for work in works) else None
