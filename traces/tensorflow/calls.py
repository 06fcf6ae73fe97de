"""Calls of functions: the time of a call is that of the nodes inside, which are tasks of their own."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.tensorflow.run import MAX_STEPS, Joined

#: Ops that run the graph of a function: what runs inside is tasks of its own.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient", "If",
                   "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "For"})  # fmt: skip


def enter_calls(path: Path, run: Joined) -> None:
    """Make each recorded call take no time at its end, after the nodes inside, and these start after its inputs.

    A node is inside the shortest call that it ran within and whose graph is that of a function.

    Raises
    ------
    FormatError
        If that would make too many edges.
    """
    inside = _inside(path, run)
    before: dict[int, list[int]] = {}
    after: set[int] = set()
    for a, b in run.edges:
        before.setdefault(b, []).append(a)
        if inside.get(a) is not None and inside.get(a) == inside.get(b):
            after.add(a)
    for task, call in inside.items():
        first = all(inside.get(source) != call for source in before.get(task, ()))
        if first:
            run.edges.update((source, task) for source in before.get(call, ()) if source != task)
        if task not in after:
            run.edges.add((task, call))
        if len(run.edges) > MAX_STEPS:
            raise FormatError(f"{path}: more than {MAX_STEPS} dependencies, most through calls of functions")
    for call in set(inside.values()):
        run.starts_ns[call] = run.tasks[call].finish_ns
        run.calls += 1


def _inside(path: Path, run: Joined) -> dict[int, int]:
    """Return the call that each task of a function ran within."""
    starts = [task.start_ns for task in run.tasks]
    calls = [i for i, node in enumerate(run.nodes) if node.op in CALLS]
    calls.sort(key=lambda i: (run.tasks[i].finish_ns - starts[i], -i))
    found: dict[int, int] = {}
    steps = 0
    for call in calls:
        end = bisect_left(starts, run.tasks[call].finish_ns)
        for task in range(bisect_left(starts, starts[call]), end):
            steps += 1
            if steps > MAX_STEPS:
                raise FormatError(f"{path}: calls of functions nest too deep; refused")
            within = run.tasks[task].finish_ns <= run.tasks[call].finish_ns
            if task != call and within and run.nodes[task].in_function:
                found.setdefault(task, call)
    return {task: call for task, call in found.items() if found.get(call) != task}
