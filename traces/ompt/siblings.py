"""The order that `depend` clauses impose on the tasks of one parent.

References
----------
OpenMP Application Programming Interface 5.2, section 15.9.5 (depend clause); its tool interface, section 19.4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from simsched.traces.ompt.events import Dependency

IN, OUT, INOUT, MUTEXINOUTSET, SOURCE, SINK, INOUTSET = range(1, 8)
#: `omp_all_memory`, as OpenMP 5.2 numbers it.
ALL_MEMORY = (34, 35)
#: Kinds whose tasks, one after the other on the same address, have no order among them.
_SETS = (IN, MUTEXINOUTSET, INOUTSET)


@dataclass
class _Address:
    """What last happened to an address: tasks before the last set, and that set, all of one kind."""

    before: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    kind: int = OUT


class Siblings:
    """Finds what each new task of a parent waits for.

    Examples
    --------
    >>> siblings = Siblings()
    >>> [siblings.add(i, [("a", kind)]) for i, kind in enumerate([OUT, IN, IN, INOUT])]
    [[], [0], [0], [1, 2]]
    """

    def __init__(self) -> None:
        self._addresses: dict[str, _Address] = {}
        self._all: list[int] = []

    def add(self, task: int, dependencies: Iterable[Dependency]) -> list[int]:
        """Return the tasks that a new one waits for; all have been added before."""
        kinds: dict[str, int] = {}
        for address, kind in dependencies:
            if kind in ALL_MEMORY:
                return self._after_all(task)
            if kind not in (SOURCE, SINK):
                # One address in several clauses of a task: together they are inout.
                kinds[address] = kind if kinds.get(address, kind) == kind else INOUT
        found: dict[int, None] = {}
        for address, kind in kinds.items():
            found.update(dict.fromkeys(self._waits(address, task, kind)))
        return list(found)

    def _waits(self, address: str, task: int, kind: int) -> list[int]:
        state = self._addresses.setdefault(address, _Address(last=self._all))
        if not (kind in _SETS and kind == state.kind):
            state.before, state.last, state.kind = state.last, [], kind
        state.last.append(task)
        return state.before

    def _after_all(self, task: int) -> list[int]:
        found = dict.fromkeys(self._all)
        for state in self._addresses.values():
            found.update(dict.fromkeys(state.last))
        self._addresses, self._all = {}, [task]
        return list(found)
