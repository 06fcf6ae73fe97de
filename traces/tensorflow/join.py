"""Executions joined to the nodes of their graphs, with their dependencies.

A node that runs several times (in a loop, in a function called twice) is as many tasks. Where two nodes ran equally
often, the k-th execution of one depends on the k-th of the other; else, and along the back edges of loops, on the
latest that had finished when it started. That is a guess where iterations overlap, but never an impossible edge.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.shapes import numel
from simsched.multimap import multimap
from simsched.traces.shared.objects import Objects
from simsched.traces.tensorflow.records import MAX_STEPS, Definition, Execution, Joined, Tensor

#: Ops that run the graph of a function: the nodes inside are separate tasks.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient", "If",
                   "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile", "For"})  # fmt: skip


def _enter_calls(path: Path, run: Joined) -> None:
    """Make each recorded call take no time at its end, after the nodes inside; start these after its inputs.

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
        if all(inside.get(source) != call for source in before.get(task, ())):
            run.edges.update((source, task) for source in before.get(call, ()) if source != task)
        if task not in after:
            run.edges.add((task, call))
        budget().check(path, len(run.edges), "edges")
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


BACK = frozenset({"NextIteration", "RefNextIteration"})
SENDS = frozenset({"_Send", "_HostSend", "Send"})
RECEIVES = frozenset({"_Recv", "_HostRecv", "Recv"})


def joined(path: Path, executions: Iterable[Execution], definitions: Sequence[Definition]) -> Joined:
    """Return the tasks and edges of a run.

    Parameters
    ----------
    path : Path
        The file, for messages.
    executions : iterable of Execution
        Those that become tasks.
    definitions : sequence of Definition
        Nodes of all graphs, those of the partition graphs first.

    Raises
    ------
    FormatError
        If nodes that did not run would join too many others.
    """
    tasks = sorted(executions, key=lambda e: (e.start_ns, e.finish_ns, e.place))
    graphs = _Graphs(definitions)
    found = [graphs.node_of(task) for task in tasks]
    own = [graphs.add(task.label) if node is None else node for task, node in zip(tasks, found, strict=True)]
    result = Joined(
        tasks, [graphs.nodes[node] for node in own], sum(node is not None for node in found),
        starts_ns=[task.start_ns for task in tasks],
    )  # fmt: skip
    result.ambiguous = sum(len(graphs.by_name[task.name]) > 1 for task in tasks)
    _Joining(path, graphs, own, result).join()
    return result


class _Graphs:
    """Nodes by name, in their graph and in any."""

    def __init__(self, definitions: Sequence[Definition]) -> None:
        self.nodes = list(definitions)
        self.by_name: dict[str, list[int]] = {}
        self._in_graph: dict[tuple[int, str], int] = {}
        for i, node in enumerate(self.nodes):
            self.by_name.setdefault(node.name, []).append(i)
            self._in_graph.setdefault((node.graph, node.name), i)

    def add(self, label: Definition) -> int:
        """Return the node that a label describes."""
        key = (label.graph, label.name)
        if key not in self._in_graph:
            self._in_graph[key] = len(self.nodes)
            self.by_name.setdefault(label.name, []).append(len(self.nodes))
            self.nodes.append(label)
        return self._in_graph[key]

    def node_of(self, task: Execution) -> int | None:
        """Return the node that ran: the one on its device where several graphs have the name."""
        candidates = self.by_name.get(task.name, [])
        same = (i for i in candidates if self.nodes[i].device == task.device)
        return next(same, candidates[0] if candidates else None)

    def input_of(self, node: Definition, name: str) -> int | None:
        """Return the node that makes an input; for a name made by partitioning (`x/_7`), the node `x`."""
        if (source := self._in_graph.get((node.graph, name))) is None:
            candidates = self.by_name.get(name) or self.by_name.get(name.rpartition("/_")[0], [])
            source = candidates[0] if candidates else None
        return source


class _Joining:
    """Search for the edges of one run."""

    def __init__(self, path: Path, graphs: _Graphs, own: Sequence[int], result: Joined) -> None:
        self._path, self._graphs, self._result = path, graphs, result
        self._steps = 0
        self._runs = multimap((node, task) for task, node in enumerate(own))
        self._finishes: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
        result.repeated = sum(len(tasks) > 1 for tasks in self._runs.values())

    def join(self) -> None:
        """Fill in the edges and, from them, the true starts of receives and calls."""
        sends = self._sends()
        data: set[tuple[int, int]] = set()
        for node, tasks in self._runs.items():
            definition = self._graphs.nodes[node]
            for source, control in self._sources(node):
                pairs = self._paired(source, tasks)
                self._result.edges.update(pairs)
                if not control:
                    data.update(pairs)
            if definition.op in RECEIVES:
                for source in sends.get(_channel(definition), ()):
                    self._receive(source, tasks, data)
        self._result.control = len(self._result.edges - data)
        _enter_calls(self._path, self._result)

    def _sends(self) -> dict[object, list[int]]:
        found: dict[object, list[int]] = {}
        for node in self._runs:
            definition = self._graphs.nodes[node]
            channel = _channel(definition)
            if definition.op in SENDS and channel is not None:
                found.setdefault(channel, []).append(node)
        return found

    def _sources(self, node: int) -> dict[tuple[int, bool], None]:
        """Return the executed nodes that this one reads, or only waits for, through those not executed."""
        found: dict[tuple[int, bool], None] = {}
        seen: set[tuple[int, bool]] = set()
        todo = [(node, False)]
        while todo:
            at, after_control = todo.pop()
            definition = self._graphs.nodes[at]
            for name in definition.inputs:
                self._step()
                control = after_control or name.startswith("^")
                source = self._graphs.input_of(definition, base_name(name))
                if source is None or (source, control) in seen:
                    continue
                seen.add((source, control))
                if source in self._runs:
                    found[source, control] = None
                else:
                    todo.append((source, control))
        return found

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise FormatError(f"{self._path}: more than {MAX_STEPS} inputs, most of nodes that did not run")

    def _paired(self, source: int, tasks: Sequence[int]) -> list[tuple[int, int]]:
        """Return which execution of `source` each of `tasks` waits for."""
        earlier = self._runs[source]
        back = self._graphs.nodes[source].op in BACK
        if len(earlier) == len(tasks) == 1 and not back:
            return [(earlier[0], tasks[0])]
        finished, moments = self._by_finish(source)
        pairs = []
        for k, task in enumerate(tasks):
            self._step()
            if not back and len(earlier) == len(tasks) and self._precedes(earlier[k], task):
                pairs.append((earlier[k], task))
                continue
            count = bisect_right(moments, (self._result.tasks[task].start_ns, task))
            while count and not self._precedes(finished[count - 1], task):
                count -= 1
                self._step()
            if count:
                pairs.append((finished[count - 1], task))
            elif not back:
                self._result.unpaired += 1
        return pairs

    def _by_finish(self, node: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the executions of a node by their finish, and these times."""
        if node not in self._finishes:
            order = sorted(self._runs[node], key=self._finished)
            self._finishes[node] = order, [self._finished(task) for task in order]
        return self._finishes[node]

    def _finished(self, task: int) -> tuple[int, int]:
        return self._result.tasks[task].finish_ns, task

    def _precedes(self, first: int, second: int) -> bool:
        """Return whether a task had finished when another started; if both take no time, the earlier had."""
        return first < second and self._result.tasks[first].finish_ns <= self._result.tasks[second].start_ns

    def _receive(self, source: int, tasks: Sequence[int], data: set[tuple[int, int]]) -> None:
        """Make receives wait for their sends: the recorded time of their own was waiting."""
        run = self._result
        sends, moments = self._by_finish(source)
        for k, task in enumerate(tasks):
            self._step()
            end_ns = run.tasks[task].finish_ns
            count = bisect_right(moments, (end_ns, len(run.tasks)))
            send = sends[k] if len(sends) == len(tasks) else sends[count - 1] if count else None
            if send is None or send == task:
                run.unpaired += 1
                continue
            run.edges.add((send, task))
            data.add((send, task))
            begins = min(max(run.starts_ns[task], run.tasks[send].finish_ns), end_ns)
            run.waits += begins > run.starts_ns[task]
            run.starts_ns[task] = begins


def base_name(name: str) -> str:
    """Return the node named by an input.

    Examples
    --------
    >>> base_name("x:1"), base_name("^x"), base_name("x")
    ('x', 'x', 'x')
    """
    name = name.removeprefix("^")
    base, colon, slot = name.rpartition(":")
    return base if colon and slot.isdigit() else name


def slot_of(name: str) -> int:
    """Return the number of the node's output that an input reads."""
    slot = name.rpartition(":")[2]
    return int(slot) if ":" in name and slot.isascii() and slot.isdigit() and len(slot) < 10 else 0


def _channel(node: Definition) -> object:
    """Return the common key of a send and its receive; a label has only the tensor, before an `@`."""
    if "tensor_name" in node.attributes:
        return tuple(str(node.attributes.get(key)) for key in ("tensor_name", "send_device", "recv_device"))
    tensor, at, _ = node.inputs[0].partition(" @") if node.inputs else ("", "", "")
    return tensor if at else None


#: Bytes of one element; a resource is a handle to data of other ops.
ITEMSIZE_B = {
    **dict.fromkeys(["UINT8", "INT8", "BOOL", "QINT8", "QUINT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"], 1.0),
    **dict.fromkeys(["FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ", "FLOAT8_E5M2FNUZ"], 1.0),
    **dict.fromkeys(["INT16", "UINT16", "HALF", "BFLOAT16", "QINT16", "QUINT16"], 2.0),
    **dict.fromkeys(["FLOAT", "INT32", "UINT32", "QINT32"], 4.0),
    **dict.fromkeys(["DOUBLE", "INT64", "UINT64", "COMPLEX64"], 8.0),
    "COMPLEX128": 16.0,
    "RESOURCE": 0.0,
}

#: Types of elements that products may compute in.
ELEMENT_NAMES = {
    "DOUBLE": "fp64",
    "FLOAT": "fp32",
    "BFLOAT16": "bf16",
    "HALF": "fp16",
    **dict.fromkeys(["INT8", "UINT8", "QINT8", "QUINT8"], "int8"),
}


def outputs(run: Joined) -> Objects:
    """Return the outputs of the tasks of a run, by slot, with the tasks that read them; a receive reads its send.

    Parameters
    ----------
    run : Joined
        With its edges.
    """
    found, number = Objects(), dict[tuple[int, int], int]()
    for task, execution in enumerate(run.tasks):
        for slot, tensor in sorted(execution.outputs.items()):
            number[task, slot] = found.add(_size_B(tensor), task)
    slots = [_slots(node.inputs) for node in run.nodes]
    for before, after in sorted(run.edges):
        received = run.nodes[after].op in RECEIVES
        for slot in (0,) if received else slots[after].get(run.nodes[before].name, ()):
            if (before, slot) not in number:
                seen = run.tasks[after].outputs.get(0) if received else None
                number[before, slot] = found.add(_size_B(seen), before)
            found.read(number[before, slot], after)
    return found


def _slots(inputs: tuple[str, ...]) -> dict[str, list[int]]:
    """Return the outputs that a node reads of each other one."""
    return multimap((base_name(name), slot_of(name)) for name in inputs if not name.startswith("^"))


def _size_B(tensor: Tensor | None) -> float:
    if tensor is None or tensor.dims is None:
        return math.nan
    return float(ITEMSIZE_B.get(tensor.dtype, math.nan) * numel(tensor.dims))
