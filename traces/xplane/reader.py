"""Profiles of XLA (`*.xplane.pb`), as JAX, TensorFlow and PyTorch/XLA write them.

Where the events say which operations of XLA they run, these are the tasks, and the HLO in the file has their
dependencies. Else tasks are spans of lines, chosen as in a Chrome trace.

References
----------
hlo.proto of XLA: a module has computations, these have instructions, whose operands are ids; a call (while,
conditional, call) names the computations that it runs.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Set
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError, GraphError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.contracting import contracted
from simsched.graph.loading import Reader, plain_name
from simsched.multimap import multimap
from simsched.traces.shared.choice import OPTIONS, Choice, dropped
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import mends_if
from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.spans import Small, Spans, Whole, choose, distinct, edges_of, graph_of, of_process
from simsched.traces.shared.timeline import by_lane, in_order, picked
from simsched.traces.shared.wire import BYTES, VARINT, header
from simsched.traces.xplane.space import PLANE, PLANE_NAME, Space, read_space

MESSAGES = {
    "Hlo": "hlo_module 1 Module",
    "Module": "name 1 bytes, computations 3 Computation*",
    "Computation": "name 1 bytes, instructions 2 Instruction*, id 5 int64, root_id 6 int64",
    "Instruction": (
        "name 1 bytes, opcode 2 bytes, id 35 int64, operand_ids 36 int64*, control_predecessor_ids 37 int64*, "
        "called_computation_ids 38 int64*"
    ),
}
PARAMETER = b"parameter"


_messages = cache(partial(message_classes, "simsched_hlo", MESSAGES, "reading profiles of XLA"))


class Program:
    """Instructions of a program.

    Parameters
    ----------
    path : Path
        The file, for messages.
    data : bytes
        Its HLO.

    Raises
    ------
    FormatError
        If this is no HLO.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        from google.protobuf.message import DecodeError

        hlo = _messages()["Hlo"]()
        try:
            hlo.ParseFromString(data)
        except DecodeError:
            raise FormatError(f"{path}: the HLO of a program is damaged") from None
        self._path = path
        self._node: dict[int, int] = {}
        self._names: list[str] = []
        self._edges: list[tuple[int, int]] = []
        within = {one.id: one for one in hlo.hlo_module.computations}
        every = [one for computation in within.values() for one in computation.instructions]
        budget().check(path, len(every), "tasks")
        for one in every:
            self._node[one.id] = len(self._names)
            self._names.append(one.name.decode("utf-8", "backslashreplace"))
        for one in every:
            self._add(one, within)

    def _add(self, one: Any, within: dict[int, Any]) -> None:
        this = self._node[one.id]
        before = [self._node[i] for i in (*one.operand_ids, *one.control_predecessor_ids) if i in self._node]
        self._edges += [(other, this) for other in before]
        for computation in (within[i] for i in one.called_computation_ids if i in within):
            if computation.root_id in self._node:
                self._edges.append((self._node[computation.root_id], this))
            inner = [self._node[i.id] for i in computation.instructions if i.opcode == PARAMETER]
            self._edges += [(other, parameter) for other in before for parameter in inner]

    def between(self, ran: Set[str]) -> dict[str, list[str]]:
        """Return the operations that each operation comes after, of those that ran; others are passed through.

        Raises
        ------
        FormatError
            If the program is a cycle.
        """
        kept = [name in ran for name in self._names]
        try:
            pairs = contracted(self._edges, kept)
        except GraphError as error:
            raise FormatError(f"{self._path}: the HLO of a program: {error}") from None
        return multimap((self._names[b], self._names[a]) for a, b in pairs)


TASKS = ("ops", "spans")
_PLANES = re.compile(rb"/host:|/device:|Task Environment")


def _recognises(head: bytes) -> bool:
    """Recognise a first plane by its name."""
    outer = header(head)
    if outer is None or outer[:2] != (PLANE, BYTES):
        return False
    at = outer[2]
    found = header(head[at : at + 20])
    if found is not None and found[:2] == (1, VARINT):
        at += found[2] + found[3]
        found = header(head[at : at + 20])
    return (
        found is not None
        and found[:2] == (PLANE_NAME, BYTES)
        and _PLANES.match(head[at + found[2] : at + found[2] + found[3]]) is not None
    )


def _read(
    path: Path,
    *,
    tasks: str | None = None,
    depth: int | str | None = None,
    names: str | None = None,
    lanes: str | None = None,
    level: str = "outermost",
    process: str | int | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    r"""Return the graph of a file; options as in `options`.

    Raises
    ------
    FormatError
        If the file is no such profile, holds no events, an option is none of its words, or chooses nothing.

    Examples
    --------
    >>> import simsched as ss
    >>> events = b'"\x07\x08\x01\x10\x00\x18\xd0\x0f"\x08\x08\x01\x10\xb8\x17\x18\xe8\x07'
    >>> names = b'"\x0b\x08\x01\x12\x07\x08\x01\x12\x03run'
    >>> graph = ss.load(b"\n5\x12\t/host:CPU\x1a\x1b\x12\x04main\x18\x01" + events + names)
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist()
    ('xplane', ['run', 'run'], [2e-09, 1e-09])
    """
    if tasks not in (None, *TASKS):
        raise FormatError(f"{path}: tasks is {shown(tasks)}; expected one of {', '.join(TASKS)}")
    choice = Choice.of(path, level, depth, names, lanes, "lanes")
    report = ImportReport(path.name, "xplane")
    space = read_space(path, mends_if(path, tolerant, report))
    there = space.op >= 0
    if tasks == "ops" and not there.any():
        raise FormatError(f"{path}: no event says which operation of XLA it runs; tasks=spans takes others")
    operations = bool(there.any()) and tasks != "spans"
    if operations and not there.all():
        space.keep(np.flatnonzero(there))
    if process is not None:
        space.keep(of_process(path, space.spans, process))
    space.keep(choose(path, space.spans, choice, report))
    spans = space.spans
    report.facts.update(dropped(space.counts))
    if operations:
        spans.name = vars(space).pop("op")
    else:
        report.doubt(
            "spans record no dependencies: edges are the recorded order of each line, a chain; no policy can run the "
            "tasks of a line in parallel"
        )
    name = plain_name(path, ".pb", ".xplane")
    return graph_of(path, spans, _edges(path, space, choice, report, operations), report, name)


XPLANE = Reader(
    title="profile of XLA (.xplane.pb): JAX, TensorFlow, PyTorch/XLA",
    dependencies="HLO in the file; without it order of each line, a chain",
    times="ps, as whole ns",
    options={
        "tasks": "ops (when not given, where there are any): operations of XLA; or spans, which the others choose",
        **{name: told for name, told in OPTIONS.items() if name != "edges"},
    },
    recognises=_recognises,
    read=_read,
)


def _edges(path: Path, space: Space, choice: Choice, report: ImportReport, operations: bool) -> Small | Whole:
    """Return the edges of the tasks; columns of operations are given up."""
    if operations:
        return _operations(path, space, report)
    return edges_of(space.spans, np.zeros((0, 2), np.int32), choice)


def _operations(path: Path, space: Space, report: ImportReport) -> Small:
    """Return the edges between operations: by the HLO within a run of a program; runs of a device in their order."""
    spans = space.spans
    runs = _runs(vars(space).pop("run"))
    programs: dict[int, Program | None] = {}
    alone, found = np.zeros(len(spans), np.bool_), array("i")
    for run, tasks in runs.items():
        number = space.runs[run][0] if run >= 0 else -1
        if number not in programs:
            data = space.programs.get(number)
            programs[number] = None if data is None else Program(path, data)
        if (program := programs[number]) is None:
            alone[tasks] = True
        else:
            for edge in _within(spans, tasks.tolist(), program):
                found.extend(edge)
    unknown = np.flatnonzero(alone).astype(np.int32)
    chain = in_order(picked(spans.lane, unknown))
    told = np.array(found, np.int32).reshape(-1, 2), picked(unknown, chain, chain)
    del found, alone
    waiting = np.zeros(len(spans), np.bool_)
    for edges in told:
        waiting[edges[:, 1]] = True
    in_turn = np.array(_in_turn(spans, space, runs, waiting), np.int32).reshape(-1, 2)
    report.facts.update(programs=sum(p is not None for p in programs.values()), runs=len(runs.keys() - {-1}))
    report.doubt(
        f"{len(unknown)} of {len(spans)} operations are of programs whose HLO is not in the file: their edges are the "
        "order of each line, a chain",
        when=len(unknown),
    )
    report.note(
        "programs run in their recorded order on each device: what they hand to each other is not in the file"
    )
    return distinct(*told, in_turn)


def _runs(run: Small) -> dict[int, Small]:
    """Return the operations of each run, in order; runs as they come."""
    order = by_lane(run + 1)
    ends = np.flatnonzero(np.diff(run[order])) + 1
    parts = sorted(np.split(order, ends), key=lambda part: int(part[0]))
    return {int(run[part[0]]): part for part in parts}


def _within(spans: Spans, tasks: list[int], program: Program) -> list[tuple[int, int]]:
    """Return the edges of a run; of an operation that ran several times, as in a loop, the last finished one counts."""
    of = multimap((spans.labels[spans.name[task]], task) for task in tasks)
    # What an iteration of a loop hands to the next is no operand: its operations keep the order of their line.
    again = np.array(sorted(task for each in of.values() if len(each) > 1 for task in each), np.int64)
    found = [(a, b) for a, b in again[in_order(spans.lane[again])].tolist()]
    before = program.between(of.keys())
    finish = spans.finish_ns
    for name, waiting in of.items():
        for other in before.get(name, ()):
            done = sorted(of[other], key=lambda task: (int(finish[task]), task))
            times = [int(finish[task]) for task in done]
            for task in waiting:
                place = bisect_right(times, int(spans.start_ns[task])) - 1
                if place >= 0 and done[place] < task:
                    found.append((done[place], task))
    return found


def _in_turn(
    spans: Spans, space: Space, runs: dict[int, Small], waiting: npt.NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return edges from the last task of each run to those of the next run of its device that wait for no other."""
    of = multimap((space.runs[run][2], tasks) for run, tasks in runs.items() if run >= 0)
    found = []
    for each in of.values():
        for one, other in pairwise(each):
            last = int(one[np.lexsort((one, spans.finish_ns[one]))[-1]])
            begins = other[~waiting[other] & (other > last)].tolist()
            found += [(last, task) for task in begins if spans.finish_ns[last] <= spans.start_ns[task]]
    return found
