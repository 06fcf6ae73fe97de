"""A model's own functions, put in the place of their calls; what would grow without measure is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.report import ImportReport
from simsched.traces.onnx.proto import bodies, library_errors
from simsched.traces.shared.json_stream import shown

#: Functions call functions call functions: each level may double the graph, and the library recurses.
MAX_LEVELS = 64
MAX_INLINED_B = 64 * 1024 * 1024
MAX_GROWTH = 16

Key = tuple[str, str, str]


def inlined(file: Path, proto: Any, report: ImportReport) -> Any:
    """Return a model without functions of its own, but for those written for another version of the operators.

    Raises
    ------
    FormatError
        If they call each other in a circle, too deep, or so often that the model would not fit in memory.
    """
    if not proto.functions:
        return proto
    from onnx.inliner import inline_local_functions

    calls = _Calls(file, {_key(f.domain, f.name, f.overload): f for f in proto.functions})
    size_B = proto.graph.ByteSize() + calls.within(proto.graph, ())[0]
    if size_B > max(MAX_INLINED_B, MAX_GROWTH * proto.ByteSize()):
        raise FormatError(
            f"{file}: the model's functions call each other so often that it would take {size_B} bytes without them"
        )
    report.facts["functions"] = len(proto.functions)
    try:
        return inline_local_functions(proto)
    except library_errors() as error:
        report.note(
            f"The model's functions are single tasks, since they cannot be put in place: {_line(error)}."
        )
        return proto


def _line(error: Exception) -> str:
    return shown(" ".join(str(error).split()))[1:-1]


@dataclass
class _Calls:
    """How many bytes calls of functions stand for, and how many levels of further calls."""

    file: Path
    functions: dict[Key, Any]
    known: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def within(self, graph: Any, callers: tuple[Key, ...]) -> tuple[int, int]:
        """Return the bytes that the calls in a graph or function add to it, and their levels."""
        calls = [self._of(key, callers) for key in _called(graph, self.functions)]
        return sum(size_B for size_B, _ in calls), max((levels for _, levels in calls), default=0)

    def _of(self, key: Key, callers: tuple[Key, ...]) -> tuple[int, int]:
        if key in callers:
            raise self._refused(key, "in a circle")
        if key not in self.known and len(callers) < MAX_LEVELS:
            size_B, levels = self.within(self.functions[key], (*callers, key))
            self.known[key] = self.functions[key].ByteSize() + size_B, levels + 1
        if len(callers) + self.known.get(key, (0, 1))[1] > MAX_LEVELS:
            raise self._refused(key, f"more than {MAX_LEVELS} deep")
        return self.known[key]

    def _refused(self, key: Key, how: str) -> FormatError:
        return FormatError(f"{self.file}: function {shown(key[1])} of the model is called {how}; refused")


def _called(graph: Any, functions: dict[Key, Any]) -> Iterator[Key]:
    for node in graph.node:
        key = _key(node.domain, node.op_type, node.overload)
        if key in functions:
            yield key
        for body in bodies(node):
            yield from _called(body, functions)


def _key(domain: str, name: str, overload: str) -> Key:
    return "" if domain == "ai.onnx" else str(domain), str(name), str(overload)
