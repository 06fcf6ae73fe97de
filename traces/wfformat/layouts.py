"""The layouts of WfFormat, 1.0 to 1.6, as one: tasks with their references, files and executions.

From 1.5 on, the plan (`specification`) is separate from the run (`execution`), and tasks refer to each
other by id. Before, `workflow.tasks` (up to 1.2 `workflow.jobs`) holds both, and they refer by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.graph.recording import RECORDED_ON
from simsched.traces.shared.attributes import BY_KIND, LANE_NAMES, unlisted
from simsched.traces.shared.json_stream import stream
from simsched.traces.shared.places import ObjectFields


def _node_and_processor(machine: Any) -> tuple[str, str]:
    """Return the node's name and its processor in words; "" for each that is missing, or not as the format has it.

    A processor without a vendor is none: many instances state the number of cores alone.

    Examples
    --------
    >>> _node_and_processor({"nodeName": "m", "cpu": {"vendor": "GenuineIntel", "coreCount": 48, "speedInMHz": 1200}})
    ('m', 'GenuineIntel, 48 cores, 1200 MHz')
    >>> _node_and_processor({"nodeName": "m", "cpu": {"coreCount": 48}})
    ('m', '')
    """
    entries = machine if isinstance(machine, Mapping) else {}
    cpu = entries.get("cpu")
    cpu = cpu if isinstance(cpu, Mapping) else {}
    vendor, node = _text(cpu, "vendor"), _text(entries, "nodeName")
    sizes = (_number(cpu, "cores", "coreCount", "count"), _number(cpu, "MHz", "speedInMHz", "speed"))
    return node, ", ".join(filter(None, (vendor, *sizes))) if vendor else ""


def processors(machines: Iterable[tuple[str, str]], used: set[str]) -> tuple[str, ...]:
    """Return the different processors of the machines that ran tasks; of all, where tasks name none of them.

    Parameters
    ----------
    machines : iterable of pair of str
        Nodes and their processors, as written in the file.
    used : set of str
        Nodes that ran tasks.
    """
    every = list(machines)
    those = [processor for node, processor in every if node in used] or [processor for _, processor in every]
    return tuple(dict.fromkeys(those))


def _text(entries: Mapping[str, Any], key: str) -> str:
    value = entries.get(key)
    return plain_text(value).strip() if isinstance(value, str) else ""


def _number(entries: Mapping[str, Any], unit: str, *keys: str) -> str:
    value: Any = next((entries[key] for key in keys if entries.get(key) is not None), None)
    if type(value) not in (int, float, Decimal) or not 0 < value < math.inf:
        return ""
    return f"{value:.6g} {unit}"


TASKS = "workflow.specification.tasks.item"
OLD_TASKS = ("workflow.tasks.item", "workflow.jobs.item")
FILES = "workflow.specification.files.item"
EXECUTED = "workflow.execution.tasks.item"
MACHINES = ("workflow.execution.machines.item", "workflow.machines.item")
MAKESPAN = ("workflow.execution.makespanInSeconds", "workflow.makespanInSeconds", "workflow.makespan")
SYSTEM = ("runtimeSystem.name", "wms.name")
#: Beginning of the description that simsched's writer gives a workflow.
OWN = "Written by simsched "
#: Then, where a machine took the seconds.
RECORDED = ", seconds are recorded"
#: Then, before whose names the kinds are, unless they are those of ops.
KINDS = ", kinds are "
#: Columns of tasks that simsched's writer adds to the format.
OWN_TEXTS, OWN_NUMBERS = ("scope", "shapes"), ("flops", "bytes_B", "start_s", "finish_s", "lane")
#: These columns where they are unknown.
NOTHING_OWN: dict[str, Any] = (
    dict.fromkeys(OWN_TEXTS, "") | dict.fromkeys(OWN_NUMBERS, math.nan) | {BY_KIND: []}
)
SINGLE = ("name", "description", "schemaVersion", LANE_NAMES, RECORDED_ON, *MAKESPAN, *SYSTEM)
#: Beyond this many seconds, 30,000 years, something is wrong.
MAX_S = 1e12
#: Sums of larger ones overflow.
MAX_NUMBER = 1e300


@dataclass
class Task:
    """One task of a workflow.

    Parameters
    ----------
    place : int
        Its number among the tasks of the file.
    name, id, category : str
        As in the file; "" where unknown.
    parents, children : list of str
        References to others: ids, in old layouts names.
    runtime_s : float
        NaN where it was not executed.
    cores, cpu_share : float
        NaN where unknown.
    moved_B : float
        Bytes read and written by the execution; NaN where not both are stated.
    reads, writes : list of str
        Ids of files.
    machines : list of str
        That ran it.
    own : dict of str to str, float or list of float
        What simsched's writer adds to the format, by column; NaN and "" where unknown.
    """

    place: int
    name: str
    id: str
    category: str
    parents: list[str]
    children: list[str]
    reads: list[str]
    writes: list[str]
    runtime_s: float = math.nan
    cores: float = math.nan
    cpu_share: float = math.nan
    moved_B: float = math.nan
    machines: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)


@dataclass
class Instance:
    """A workflow: its tasks in the file's order, sizes of files, machines, and data on the whole."""

    tasks: list[Task] = field(default_factory=list)
    sizes_B: dict[str, float] = field(default_factory=dict)
    machines: list[tuple[str, str]] = field(default_factory=list)
    entries: dict[str, Any] = field(default_factory=dict)
    unknown: int = 0
    repeated: int = 0

    @property
    def own(self) -> bool:
        """Whether simsched wrote it, so that what a task moved is the bytes of the graph that was saved."""
        return str(self.entries.get("description", "")).startswith(OWN)

    @property
    def kinds_are(self) -> str:
        """Whose names the kinds are: programs', unless simsched wrote something else; "" for those of ops."""
        return self._described[2] if self.own else "programs"

    @property
    def recorded(self) -> bool:
        """Whether its seconds are those of a machine; of others' workflows they are."""
        return not self.own or self._described[0].endswith(RECORDED)

    @property
    def _described(self) -> tuple[str, str, str]:
        return plain_text(self.entries.get("description")).partition(KINDS)

    def first(self, *keys: str) -> Any:
        """Return the value of the first of `keys` that has one; None where none has."""
        return next((self.entries[key] for key in keys if key in self.entries), None)


def read_instance(path: Path, mend: Mend | None) -> Instance:
    """Return the workflow of a file, whatever its version.

    Raises
    ------
    FormatError
        If it is malformed; the message gives the task.
    """
    found = Instance()
    executions: list[tuple[int, Any]] = []
    for prefix, value in stream(path, TASKS, *OLD_TASKS, FILES, EXECUTED, *MACHINES, *SINGLE, mend=mend):
        if prefix in SINGLE:
            found.entries[prefix] = value
        elif prefix in MACHINES:
            found.machines.append(_node_and_processor(value))
        elif prefix == EXECUTED:
            executions.append((len(executions), value))
            budget().check(path, len(executions), "tasks")
        elif prefix == FILES:
            _Fields(path, f"file {len(found.sizes_B)}", value).file(found.sizes_B, "id")
        else:
            place = len(found.tasks)
            budget().check(path, place + 1, "tasks")
            fields = _Fields(path, f"task {place}", value)
            found.tasks.append(fields.task(place, found.sizes_B))
            if prefix in OLD_TASKS:
                fields.execute(found.tasks[-1])
    for task in found.tasks:
        # Whose file it is may stand behind its tasks.
        own = found.own and task.own
        task.own = _Fields(path, f"task {task.place}", task.own).own() if own else NOTHING_OWN
    by_id = {task.id: task for task in found.tasks}
    executed_before = set[str]()
    for place, value in executions:
        fields = _Fields(path, f"execution {place}", value)
        if (executed := by_id.get(fields.text("id"))) is None:
            found.unknown += 1
        else:
            found.repeated += executed.id in executed_before
            executed_before.add(executed.id)
            fields.execute(executed)
    return found


@dataclass(frozen=True)
class _Fields(ObjectFields):
    """Checked access to the fields of one object of the file."""

    def text(self, *keys: str) -> str:
        """Return the string in the first existing field; "" where there is none."""
        for key in keys:
            if (value := self.values.get(key)) is not None:
                if not isinstance(value, str | int):
                    raise self.wrong(key, value, "a string")
                return plain_text(value)
        return ""

    def texts(self, key: str) -> list[str]:
        """Return a list of strings; empty where it is missing."""
        if (value := self.values.get(key)) is None:
            return []
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(v, str | int) for v in value):
            raise self.wrong(key, value, "a list of strings")
        return [plain_text(v) for v in value]

    def number(self, *keys: str) -> float:
        """Return the number in the first existing field; NaN where there is none."""
        for key in keys:
            if (value := self.values.get(key)) is not None:
                if type(value) not in (int, Decimal, float) or not 0 <= value <= 2**63:
                    raise self.wrong(key, value, "a number from 0 to 2**63")
                return float(value)
        return math.nan

    def task(self, place: int, sizes_B: dict[str, float]) -> Task:
        """Return the object as a task; files listed in it by an old layout go to `sizes_B`."""
        name, id_ = self.text("name"), self.text("id")
        if not name and not id_:
            raise self.wrong("name", self.values.get("name"), "a name or an id")
        task = Task(
            place, name or id_, id_ or name, self.text("category"), self.texts("parents"), self.texts("children"),
            self.texts("inputFiles"), self.texts("outputFiles"),
            own={column: self.values[column] for column in NOTHING_OWN if column in self.values},
        )  # fmt: skip
        files = self.values.get("files")
        for i, file in enumerate(files if isinstance(files, list) else []):
            fields = _Fields(self.path, f"file {i} of {self.where}", file)
            linked = fields.file(sizes_B, "name", "id")
            (task.reads if fields.text("link").lower() == "input" else task.writes).append(linked)
        return task

    def own(self) -> dict[str, Any]:
        """Return what simsched's writer adds to a task."""
        found = NOTHING_OWN | {column: self.text(column) for column in OWN_TEXTS}
        for column in (*OWN_NUMBERS, BY_KIND):
            if (value := self.values.get(column)) is None:
                continue
            numbers = unlisted(value) if isinstance(value, list) and column == BY_KIND else [value]
            if not all(
                type(n) in (int, Decimal, float) and (n == math.inf or 0 <= n < MAX_NUMBER) for n in numbers
            ):
                raise self.wrong(column, value, f"numbers from 0 to {MAX_NUMBER:g}")
            found[column] = [*map(float, numbers)] if column == BY_KIND else float(value)
        return found

    def file(self, sizes_B: dict[str, float], *names: str) -> str:
        """Record the size of a file and return its id."""
        name = self.text("path") + self.text(*names)
        sizes_B.setdefault(name, self.number("sizeInBytes", "size"))
        return name

    def execute(self, task: Task) -> None:
        """Add the execution to a task."""
        task.runtime_s = self.number("runtimeInSeconds", "runtime")
        if task.runtime_s > MAX_S:
            raise self.wrong("runtimeInSeconds", task.runtime_s, f"at most {MAX_S:g} seconds")
        task.cores = self.number("coreCount", "cores")
        task.cpu_share = self.number("avgCPU") / 100
        # Older layouts give kilobytes or bytes, by the system that wrote them: neither is read.
        task.moved_B = self.number("readBytes") + self.number("writtenBytes")
        task.machines = self.texts("machines") or self.texts("machine")
        task.category = task.category or self.text("category") or self._program()

    def _program(self) -> str:
        """Return the name of the program that ran; "" where there is none, or a script in its place."""
        command = self.values.get("command")
        program = command.get("program") if isinstance(command, Mapping) else None
        return plain_text(program) if isinstance(program, str) and len(program.split()) == 1 else ""
