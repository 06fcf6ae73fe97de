"""From nested events to tasks: the topmost operator under annotations and autograd wrappers, with its scope.

`torch.compile` fuses operators into kernels of its own, for which a trace has neither times nor tensors; only the
operators that were not fused are there, within wrappers. Their dependencies lead through the kernels. So the tasks of a
region keep their recorded order, after the last task before the region on its lane and before the next one after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from simsched.graph.recording import LAUNCH
from simsched.traces.pytorch.aten import short
from simsched.traces.pytorch.events import Event

BACKWARD = "backward"
#: Operators live in a namespace. These namespaces hold wrappers around operators, and the profiler's own calls.
_OPERATOR = re.compile(r"(?!autograd::|torch::|profiler::)[A-Za-z_]\w*::[A-Za-z_][\w.]*")
#: The profiler's record of a collective, without an operator around it.
_COLLECTIVE = "record_param_comms"
_COMPILED_KERNEL = re.compile(r"(graph_\d+_)?(triton|cpp)_\w+")
_COMPILED_REGION = re.compile(
    r"(## )?(Torch-Compiled Region|(Call )?CompiledFxGraph)\b.*|CompiledFunction(Backward)?\d*", re.DOTALL
)
#: Names of an `autograd.Function`'s class, and of functions in C++ or TorchScript.
_CLASS, _FUNCTION = re.compile(r"(?=\w*[A-Z])[A-Za-z_]\w*"), re.compile(r"[A-Za-z_]\w*")
_AUTOGRAD = re.compile(r"autograd::.*|torch::autograd::.*|.*Backward\d*", re.DOTALL)


def is_operator(name: str) -> bool:
    """Return whether an event is an operator that computes, not a wrapper around some.

    Examples
    --------
    >>> [is_operator(n) for n in ("aten::mm", "mylib::op", "MulBackward0", "autograd::engine::evaluate_function: X")]
    [True, True, False, False]
    """
    return bool(_OPERATOR.fullmatch(name) or _COMPILED_KERNEL.fullmatch(name)) or name == _COLLECTIVE


def is_autograd(name: str) -> bool:
    """Return whether an event is one of autograd's wrappers."""
    return bool(_AUTOGRAD.fullmatch(name))


@dataclass(slots=True)
class Task:
    """A topmost operator.

    Parameters
    ----------
    event : Event
        The operator.
    scope : str
        Names of the annotations around it, outermost first, joined by `/`.
    region : int or None
        Index of the compiled region that contains it.
    inner : int
        Operators within it.
    launches : bool
        Whether it calls the runtime of a device.
    """

    event: Event
    scope: str
    region: int | None = None
    inner: int = 0
    launches: bool = False

    @property
    def kind(self) -> str:
        """Its kind in the graph: of an operator that launches work on a device, with the namespace of those."""
        return f"{LAUNCH if self.launches else ''}{short(self.event.name)}"


@dataclass
class Nesting:
    """Topmost operators of a step's events, and what lies around and within them.

    Parameters
    ----------
    tasks : list of Task
        By start, then lane.
    autograd_ns : list of (int, int)
        When the outermost autograd wrappers ran.
    inner : int
        Operators within tasks, whose time is the task's.
    wrappers : int
        Events around operators, or without any: autograd's nodes, forked functions, compiled regions.
    overlaps : int
        Events that start within another one on their lane and end after it.
    regions : list of Event
        The outermost wrappers of compiled code (`torch.compile`).
    """

    tasks: list[Task] = field(default_factory=list)
    autograd_ns: list[tuple[int, int]] = field(default_factory=list)
    inner: int = 0
    wrappers: int = 0
    overlaps: int = 0
    regions: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Open:
    """An event that is still running, and the data inherited by events within it."""

    finish_ns: int
    scope: tuple[str, ...] = ()
    task: Task | None = None
    backward: bool = False
    sequence: int | None = None
    region: int | None = None


_OUTSIDE = _Open(0)


class _Forward:
    """Forward scopes by the sequence numbers of their backward nodes."""

    def __init__(self) -> None:
        self._scopes: dict[int, tuple[int, str | None]] = {}

    def ran(self, event: Event, scope: tuple[str, ...]) -> None:
        """Record the scope of a forward operator under its sequence number."""
        # Operators that make no backward node carry the number of the next one: the last one to start is the maker.
        if event.sequence is None:
            return
        lane, _ = self._scopes.get(event.sequence, (event.lane, None))
        # Numbers are counted per thread: one used by two threads is ambiguous.
        self._scopes[event.sequence] = (lane, "/".join(scope) if lane == event.lane else None)

    def scope_of(self, sequence: int | None) -> str:
        """Return the scope of a backward node: `backward`, with its forward operator's where that is known."""
        scope = None if sequence is None else self._scopes.get(sequence, (0, None))[1]
        return f"{BACKWARD}/{scope}" if scope else BACKWARD


def nest(events: Iterable[Event]) -> Nesting:
    """Return the topmost operators of a step.

    Parameters
    ----------
    events : iterable of Event
        Operators and annotations, in any order.
    """
    found, forward = Nesting(), _Forward()
    pending: list[tuple[Task, _Open]] = []
    lane, stack = -1, [_OUTSIDE]
    ordered = sorted(events, key=lambda e: (e.lane, e.start_ns, -e.finish_ns, e.order))
    operator = [not event.annotation and is_operator(event.name) for event in ordered]
    for place in _functions(ordered, operator):
        operator[place] = True
    for event, one in zip(ordered, operator, strict=True):
        if event.lane != lane:
            lane, stack = event.lane, [_OUTSIDE]
        found.overlaps += _close(stack, event)
        stack.append(_enter(event, one, stack[-1], found, forward, pending))
    for task, around in pending:
        if around.backward:
            task.scope = "/".join([forward.scope_of(around.sequence), *around.scope])
    found.tasks = sorted(
        (task for task, _ in pending), key=lambda t: (t.event.start_ns, t.event.lane, t.event.order)
    )
    return found


def _functions(events: list[Event], operator: list[bool]) -> set[int]:
    """Return which events are functions without a namespace that call no operator: these are operators, too.

    PyTorch names the forward of an `autograd.Function` by its class. A function of TorchScript may call none on its own
    thread because it waits for those that it has forked, which run on others.

    Parameters
    ----------
    events : list of Event
        By lane, start, then longest first.
    operator : list of bool
        Which of them are operators by their names.
    """
    host = [place for place, event in enumerate(events) if not event.annotation]
    begun = sorted((event.start_ns, event.lane) for event, one in zip(events, operator, strict=True) if one)
    found = set()
    for place, after in zip_longest(host, host[1:]):
        event, name = events[place], events[place].name
        if not _FUNCTION.fullmatch(name) or is_autograd(name) or _COMPILED_REGION.fullmatch(name):
            continue
        inner = None if after is None or events[after].lane != event.lane else events[after]
        calls = inner is not None and inner.start_ns < event.finish_ns >= inner.finish_ns
        first, last = (bisect_left(begun, (moment, -1)) for moment in (event.start_ns, event.finish_ns))
        forked = not _CLASS.fullmatch(name) and any(lane != event.lane for _, lane in begun[first:last])
        if event.start_ns < event.finish_ns and not calls and not forked:
            found.add(place)
    return found


def _close(stack: list[_Open], event: Event) -> bool:
    """Close the events that end before an event; return whether one overlaps it without containing it."""
    while len(stack) > 1 and stack[-1].finish_ns <= event.start_ns:
        stack.pop()
    overlaps = False
    while len(stack) > 1 and stack[-1].finish_ns < event.finish_ns:
        stack.pop()
        overlaps = True
    return overlaps


def _enter(
    event: Event,
    operator: bool,
    around: _Open,
    found: Nesting,
    forward: _Forward,
    pending: list[tuple[Task, _Open]],
) -> _Open:
    scope, task = around.scope, around.task
    if event.annotation:
        scope = (*scope, event.name)
    autograd = not event.annotation and not operator and is_autograd(event.name)
    region = around.region
    if region is None and around.task is None and not operator and _COMPILED_REGION.fullmatch(event.name):
        region = len(found.regions)
        found.regions.append(event)
    if autograd and not around.backward and around.task is None:
        found.autograd_ns.append((event.start_ns, event.finish_ns))
    if task is not None:
        found.inner += not event.annotation
        task.inner += not event.annotation
    elif operator:
        task = Task(event, "/".join(scope), region)
        pending.append((task, around))
    else:
        found.wrappers += not event.annotation
    backward = around.backward or autograd
    if not backward and not event.annotation:
        forward.ran(event, scope)
    return _Open(
        event.finish_ns,
        scope,
        task,
        backward,
        event.sequence if autograd and event.sequence is not None else around.sequence,
        region,
    )


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
