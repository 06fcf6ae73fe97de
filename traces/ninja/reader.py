"""Logs of ninja (`.ninja_log`): each command of a build is a task.

Dependencies come from the graph of its rules (`ninja -t graph`), and from what compilers found (`.ninja_deps`).

References
----------
graphviz.cc and deps_log.cc of ninja.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.contracting import contracted
from simsched.graph.loading import Reader, open_plain, plain_name, read_bounded
from simsched.graph.recording import UNKNOWN
from simsched.graph.report import KINDS_ARE
from simsched.text import counted
from simsched.traces.dot.statements import read_dot
from simsched.traces.ninja.log import ALL, Command, Log
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import TOLERANT, given, mends_if, whole_number
from simsched.traces.shared.places import lines
from simsched.traces.shared.spans import Small, Whole
from simsched.traces.shared.timeline import in_order, packed, recording

Edges = Sequence[Sequence[int]]


MAGIC = b"# ninjadeps\n"
#: Bytes of the time of each record, by version of the file.
_TIME_B = {3: 4, 4: 8}
#: ninja itself refuses larger ones.
MAX_RECORD_B = (1 << 19) - 1
_OUTPUT = re.compile(r"(?P<output>.+): #deps [0-9]+, deps mtime -?[0-9]+ \((?:VALID|STALE)\)")


@dataclass
class Rule:
    """A step of a build: the name of its rule, and its files."""

    name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def _rules_of(path: Path) -> list[Rule]:
    """Return the steps in what `ninja -t graph` prints, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not DOT, or has no steps.
    """
    dot = read_dot(path, nodes={"label", "shape"}, edges={"label"})
    called = {node: told.get("label", node) for node, told in dot.nodes.items()}
    steps = {
        node: Rule(called[node].strip()) for node, told in dot.nodes.items() if told.get("shape") == "ellipse"
    }
    rules = list(steps.values())
    for before, after, attributes in dot.edges():
        if after in steps:
            steps[after].inputs.append(called[before])
        elif before in steps:
            steps[before].outputs.append(called[after])
        else:
            # A step with one input and one output is the arrow between them.
            rules.append(Rule(attributes.get("label", "").strip(), [called[before]], [called[after]]))
    if not rules:
        raise FormatError(f"{path}: no step of a build in it; expected what ninja -t graph prints")
    return rules


def _found_by_compilers(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield outputs and the files that compilers read for them, from `.ninja_deps` or what `ninja -t deps` prints.

    Raises
    ------
    FormatError
        If the file is neither.
    """
    with open_plain(path) as stream:
        binary = read_bounded(stream, len(MAGIC)) == MAGIC
    yield from _records(path) if binary else _printed(path)


def _printed(path: Path) -> Iterator[tuple[str, list[str]]]:
    output, inputs = "", list[str]()
    for number, line in lines(path):
        if (found := _OUTPUT.fullmatch(line)) is not None:
            if output:
                yield output, inputs
            output, inputs = found["output"], []
        elif line.startswith("    ") and output:
            inputs.append(line[4:])
        elif line.strip() and not line.endswith(": deps not found"):
            raise FormatError(
                f"{path}: line {number}: expected what ninja -t deps prints, or the file .ninja_deps"
            )
    if output:
        yield output, inputs


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the records of a `.ninja_deps`; one that is cut off ends it, as for ninja."""
    with open_plain(path) as stream:
        stream.read(len(MAGIC))
        version = int.from_bytes(stream.read(4), "little")
        if version not in _TIME_B:
            raise FormatError(f"{path}: version {version}; expected one of {', '.join(map(str, _TIME_B))}")
        files: list[str] = []
        while len(head := stream.read(4)) == 4:
            (size,) = struct.unpack("<I", head)
            of_deps, size_B = size >> 31, size & 0x7FFFFFFF
            if size_B > MAX_RECORD_B or size_B % 4:
                raise FormatError(f"{path}: a record of {size_B} bytes; is the file damaged?")
            record = stream.read(size_B)
            if len(record) < size_B:
                return
            if of_deps:
                yield _dependencies(path, record, files, _TIME_B[version])
            else:
                files.append(plain_text(record[:-4].rstrip(b"\0")))


def _dependencies(path: Path, record: bytes, files: Sequence[str], time_B: int) -> tuple[str, list[str]]:
    numbers = [value for (value,) in struct.iter_unpack("<I", record[:4] + record[4 + time_B :])]
    if not numbers or max(numbers) >= len(files):
        raise FormatError(f"{path}: a record names a file that is not there; is the file damaged?")
    output, *inputs = (files[number] for number in numbers)
    return output, inputs


class _Joined:
    """Commands of a log and the steps of its build.

    Parameters
    ----------
    commands : sequence of Command
    rules : sequence of Rule
    """

    def __init__(self, commands: Sequence[Command], rules: Sequence[Rule]) -> None:
        self._task = {output: i for i, command in enumerate(commands) for output in command.outputs}
        self._kept = [True] * len(commands)
        self._file: dict[str, int] = {}
        self._producer: dict[str, int] = {}
        self._edges: list[tuple[int, int]] = []
        #: Of each command, the name of its rule; "" where the graph has none.
        self.kinds = [""] * len(commands)
        for output, task in self._task.items():
            self._edges.append((task, self._of(output)))
            self._producer[output] = task
        for rule in rules:
            self._add(rule)

    def _node(self) -> int:
        self._kept.append(False)
        return len(self._kept) - 1

    def _of(self, file: str) -> int:
        return self._file[file] if file in self._file else self._file.setdefault(file, self._node())

    def _add(self, rule: Rule) -> None:
        ran = [self._task[output] for output in rule.outputs if output in self._task]
        step = ran[0] if ran else self._node()
        if ran:
            self.kinds[step] = rule.name
        self._edges += [(self._of(file), step) for file in rule.inputs]
        self._edges += [(step, self._of(file)) for file in rule.outputs]
        self._producer.update(dict.fromkeys(rule.outputs, step))

    def read_by(self, output: str, inputs: Sequence[str], deps: Path) -> None:
        """Add the files that the producer of an output read, as a file of dependencies says.

        Raises
        ------
        FormatError
            If there are more edges than the budget of the load allows.
        """
        if (step := self._producer.get(output)) is not None:
            # A step may read what it writes.
            read = [file for file in inputs if self._producer.get(file, step) != step]
            self._edges += [(self._file[file], step) for file in read]
            budget().check(deps, len(self._edges), "edges")

    def edges(self) -> list[tuple[int, int]]:
        """Return the edges between commands, also through steps that did not run; raise `GraphError` for cycles."""
        called = {number: file for file, number in self._file.items()}
        return contracted(self._edges, self._kept, called=lambda node: repr(called.get(node, "a step")))


def _read(
    path: Path,
    *,
    graph: str | Path | None = None,
    deps: str | Path | None = None,
    build: int | str | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    r"""Return the graph of the commands of a build; options as in `options`.

    Raises
    ------
    FormatError
        If a file is malformed, the graph is of another build, or an option is invalid.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = "# ninja log v7\n0\t40\t1\ta.o\t1f\n0\t55\t1\tb.o\t2e\n56\t90\t1\tapp\t3d\n"
    >>> graph = '''digraph ninja { a [label="a.o"]; b [label="b.o"]; e [label="app"]
    ... l [label="link", shape=ellipse]; a -> l; b -> l; l -> e }'''
    >>> graph = ss.load(text.encode(), graph=graph.encode())
    >>> graph.durations_s.tolist(), graph.kinds.to_list(), graph.n_edges
    ([0.04, 0.055, 0.034], ['.o', '.o', 'link'], 2)
    """
    report = ImportReport(path.name, "ninja", {KINDS_ARE: "rules"})
    log = Log(path, mends_if(path, tolerant, report))
    number = _build(path, build, log, report, known=graph is not None)
    commands = log.commands(number)
    lanes = packed(*_times_ns(commands))
    if graph is None:
        if deps is not None:
            raise FormatError(f"{path}: deps= needs graph=, the steps that wrote and read those files")
        edges, kinds = in_order(lanes).tolist(), [""] * len(commands)
        report.doubt(
            "a log of ninja records no dependencies: edges are the order on lanes inferred from overlaps, a chain "
            "each; graph= takes what ninja -t graph prints"
        )
    else:
        steps = given(path, "graph", graph, "what ninja -t graph prints")
        edges, kinds = _joined(path, commands, steps, deps, report)
    return _graph(path, commands, edges, kinds, None if number is None else lanes, report)


NINJA = Reader(
    title="log of a ninja build (.ninja_log)",
    dependencies="ninja -t graph (graph=) and .ninja_deps (deps=); without them order on inferred lanes",
    times="ms",
    options={
        "graph": "what ninja -t graph prints, in a file: the steps and their files",
        "deps": "the file .ninja_deps, or what ninja -t deps prints: headers that compilers read; needs graph=",
        "build": "which build of the log, from 1, or all: each output as it was built last; the last when not given",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: head.startswith(b"# ninja log v"),
    read=_read,
)


def _build(path: Path, build: object, log: Log, report: ImportReport, *, known: bool) -> int | None:
    """Return the number of the build to take, None for all of them."""
    report.facts["builds"] = 1 if log.anew else len(log)
    if build == ALL or (log.anew and build is None):
        if not known:
            raise FormatError(
                f"{path}: {'ninja wrote this log anew: its builds are not known' if log.anew else 'build=all'}; "
                "graph= (what ninja -t graph prints) has to say what comes before what"
            )
        report.note("each output is taken as it was built last, in builds at different times: no recording")
        return None
    number = len(log) if build is None else build
    report.note(
        f"the log has {len(log)} builds; the last one was taken, build= chooses others",
        when=len(log) > 1 and not build,
    )
    allowed = range(1, len(log) + 1)
    return whole_number(path, "build", number, allowed, f"all, or one of the builds 1 to {len(log)}")


def _joined(
    path: Path, commands: Sequence[Command], graph: Path, deps: str | Path | None, report: ImportReport
) -> tuple[Edges, list[str]]:
    """Return edges and the rules' names."""
    joined = _Joined(commands, _rules_of(graph))
    unknown = joined.kinds.count("")
    if unknown == len(commands):
        raise FormatError(
            f"{graph}: it has none of the outputs in {path.name}, as {shown(commands[0].outputs[0])}; is it of another "
            "build?"
        )
    report.facts["commands_without_step"] = unknown
    without = counted(unknown, "command of the log has", "commands of the log have")
    report.note(f"{without} no step in graph=, and no edges", when=unknown)
    if deps is not None:
        read = given(path, "deps", deps, ".ninja_deps")
        for output, inputs in _found_by_compilers(read):
            joined.read_by(output, inputs, read)
    else:
        report.note(
            "without deps= (.ninja_deps), headers that steps generate count only where build.ninja names them"
        )
    return joined.edges(), joined.kinds


def _graph(
    path: Path,
    commands: Sequence[Command],
    edges: Edges,
    kinds: Sequence[str],
    lanes: Small | None,
    report: ImportReport,
) -> TaskGraph:
    starts_ns, finishes_ns = _times_ns(commands)
    report.facts["outputs"] = sum(len(command.outputs) for command in commands)
    run = None
    if lanes is not None:
        report.note("ninja does not tell which job ran a command: lanes are as few as its overlaps need")
        names = [f"job {i}" for i in range(1, int(lanes.max()) + 2)]
        run = recording(path, starts_ns, finishes_ns, lanes, names, own_clock=True)
    return TaskGraph.from_edges(
        (finishes_ns - starts_ns) / 1e9,
        np.array(edges, np.int64).reshape(-1, 2),
        kinds=[
            kind or PurePosixPath(command.outputs[0]).suffix or "file"
            for kind, command in zip(kinds, commands, strict=True)
        ],
        names=[command.outputs[0] for command in commands],
        name=plain_name(path, ".ninja_log") or "ninja",
        recorded_on=UNKNOWN,
        report=report,
        recording=run,
    )


def _times_ns(commands: Sequence[Command]) -> tuple[Whole, Whole]:
    times = np.array([(command.start_ms, command.end_ms) for command in commands], np.int64) * 1_000_000
    return times[:, 0], times[:, 1]
