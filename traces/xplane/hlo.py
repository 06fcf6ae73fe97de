"""Dependencies of the operations of an XLA program, from its HLO.

References
----------
hlo.proto of XLA: a module has computations, these have instructions, whose operands are ids; a call (while,
conditional, call) names the computations that it runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from functools import cache
from pathlib import Path
from typing import Any

from simsched.errors import FormatError, GraphError
from simsched.graph.budget import budget
from simsched.graph.contracting import contracted
from simsched.traces.shared.protobuf import message_classes

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


@cache
def _messages() -> dict[str, Any]:
    return message_classes("simsched_hlo", MESSAGES, "reading profiles of XLA")


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
        found: dict[str, list[str]] = defaultdict(list)
        try:
            pairs = contracted(self._edges, kept)
        except GraphError as error:
            raise FormatError(f"{self._path}: the HLO of a program: {error}") from None
        for a, b in pairs:
            found[self._names[b]].append(self._names[a])
        return found
