"""Compiled regions: what stands for the dependencies through kernels that the profiler does not record.

`torch.compile` fuses operators into kernels of its own, of which a trace holds neither times nor tensors; only the
operators that were not fused are there, within wrappers. Their dependencies lead through the kernels. So the tasks of a
region keep their recorded order, after the last task before the region on its lane and before the next one after it.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from simsched.traces.pytorch.nesting import Nesting


def order_of_regions(nesting: Nesting) -> list[tuple[int, int]]:
    """Return the edges, between task indices, that keep compiled regions in their recorded order.

    A region without tasks, all of which was fused, still keeps what is before it on its lane before what is after it.
    """
    on: dict[int, list[int]] = {}
    within: dict[int, list[int]] = {}
    for index, task in enumerate(nesting.tasks):
        on.setdefault(task.event.lane, []).append(index)
        if task.region is not None:
            within.setdefault(task.region, []).append(index)
    starts = {lane: [nesting.tasks[i].event.start_ns for i in tasks] for lane, tasks in on.items()}
    edges: list[tuple[int, int]] = []
    for number, region in enumerate(nesting.regions):
        tasks, begun = on.get(region.lane, []), starts.get(region.lane, [])
        before, after = bisect_left(begun, region.start_ns), bisect_left(begun, region.finish_ns)
        edges += pairwise([*tasks[:before][-1:], *within.get(number, ()), *tasks[after : after + 1]])
    return edges
