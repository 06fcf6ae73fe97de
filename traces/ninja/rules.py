"""Dependencies of a ninja build: the graph of its rules (`ninja -t graph`), and what compilers found (`.ninja_deps`).

References
----------
graphviz.cc and deps_log.cc of ninja.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.contracting import contracted
from simsched.graph.loading import open_plain, read_bounded
from simsched.traces.dot.statements import read_dot
from simsched.traces.ninja.log import Command
from simsched.traces.shared.places import lines

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


def rules_of(path: Path) -> list[Rule]:
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


def found_by_compilers(path: Path) -> Iterator[tuple[str, list[str]]]:
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
        found = _OUTPUT.fullmatch(line)
        if found is not None:
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


class Joined:
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
        step = self._producer.get(output)
        if step is not None:
            # A step may read what it writes.
            read = [file for file in inputs if self._producer.get(file, step) != step]
            self._edges += [(self._file[file], step) for file in read]
            budget().check(deps, len(self._edges), "edges")

    def edges(self) -> list[tuple[int, int]]:
        """Return the edges between commands, also through steps that did not run; raise `GraphError` for cycles."""
        called = {number: file for file, number in self._file.items()}
        return contracted(self._edges, self._kept, called=lambda node: repr(called.get(node, "a step")))
