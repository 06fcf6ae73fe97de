"""The tasks of a TensorFlow run while they are joined, without what GPU streams repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from simsched.traces.tensorflow.records import Definition, Execution

#: Nodes that did not run can join each of their inputs with each of their readers.
MAX_STEPS = 8_000_000


@dataclass
class Joined:
    """Tasks by start, their nodes and edges, and what was found on the way.

    Parameters
    ----------
    tasks : list of Execution
        By start, finish and place in the file.
    nodes : list of Definition
        The node of each task.
    matched : int
        Tasks whose node is in a graph; those of the others are what the recording's labels tell.
    edges : set of (int, int)
        Before, after: indices of tasks.
    control : int
        How many edges only carry order, no data.
    repeated : int
        Nodes that ran more than once.
    ambiguous : int
        Tasks whose name stands in several graphs.
    unpaired : int
        Inputs of an execution of which no execution was early enough.
    starts_ns : list of int
        When each task really began: a receive waits for its send, a call for what it calls.
    waits : int
        How many receives were shortened so.
    calls : int
        How many calls of functions were, to nothing.
    """

    tasks: list[Execution]
    nodes: list[Definition]
    matched: int
    edges: set[tuple[int, int]] = field(default_factory=set)
    control: int = 0
    repeated: int = 0
    ambiguous: int = 0
    unpaired: int = 0
    starts_ns: list[int] = field(default_factory=list)
    waits: int = 0
    calls: int = 0


_STREAM = re.compile(r"/stream:(\w+)")
#: Of a kernel's label `details @@node:Op#...`.
_ANNOTATION = re.compile(r"@@([^#]*)#?")


def split(executions: Iterable[Execution]) -> tuple[list[Execution], list[Execution], int]:
    """Return ops, kernels, and how many records were dropped: the copies in `stream:all` and `memcpy`.

    Where there is no numbered stream, `stream:all` is not a copy.
    """
    ops, streams, others = [], [], []
    for execution in executions:
        match = _STREAM.search(execution.device)
        if match is None and "/memcpy" not in execution.device:
            ops.append(execution)
        elif match is not None and match[1] != "all":
            streams.append(execution)
        else:
            others.append(execution)
    kernels = streams or [e for e in others if _STREAM.search(e.device)]
    return ops, [_as_kernel(e) for e in kernels], len(others) + len(streams) - len(kernels)


def launcher(kernel: Execution) -> tuple[str, str]:
    """Return name and op of the node that started a kernel, "" where it is not told."""
    match = _ANNOTATION.search(kernel.label.name)
    text = match[1] if match else kernel.name
    name, _, op = text.partition(":")
    return name, op


def _as_kernel(execution: Execution) -> Execution:
    _, op = launcher(execution)
    label = replace(execution.label, name=execution.name, op=op or execution.label.op or "kernel", inputs=())
    return replace(execution, label=label)


def add_kernels(run: Joined, kernels: Sequence[Execution]) -> int:
    """Add kernels as tasks, each after the op that started it and the one before it on its stream.

    Returns
    -------
    int
        How many kernels have no such op.
    """
    first = len(run.tasks)
    ops: dict[str, list[int]] = {}
    for task, execution in enumerate(run.tasks):
        ops.setdefault(execution.name, []).append(task)
    on_stream: dict[str, list[int]] = {}
    unowned = 0
    for i, kernel in enumerate(sorted(kernels, key=lambda e: (e.start_ns, e.finish_ns, e.place)), first):
        run.tasks.append(kernel)
        run.nodes.append(kernel.label)
        run.starts_ns.append(kernel.start_ns)
        on_stream.setdefault(kernel.device, []).append(i)
        started = [op for op in ops.get(launcher(kernel)[0], ()) if run.tasks[op].start_ns <= kernel.start_ns]
        if started:
            run.edges.add((started[-1], i))
        unowned += not started
    for tasks in on_stream.values():
        run.edges.update(pairwise(tasks))
    return unowned
