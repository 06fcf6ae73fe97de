"""Dependencies through tensors: the writers of a task's inputs.

An edge runs from the last writer of a storage to every task that reads it (read after write), and from a view to the
tasks that use the tensor it made, because that tensor does not exist before. Storages carry versions:

- a task whose output is in a storage that is not among its inputs starts a fresh one: storage ids are pointers,
  and a freed one comes back with other contents, on which nothing depends;
- a task that writes in place, by its own schema or by that of an operator within it (`Tensor(a!)`), reads the version
  it changes and leaves a new one;
- an output in the storage of an input that is not written is a view: it makes a tensor and no version;
- a read with another element size than anything written to the storage is of memory that was reused outside
  recorded calls (Python turns every plain number into such a tensor): it depends on nothing.

Sparse and MKL-DNN tensors have no storage in the trace: minus the tensor's id replaces it. A sparse tensor
consists of the storages of its indices and values, as far as calls show: its readers read them, its writers write
them.

A storage is one thing: writes to disjoint parts of it follow each other, although they need not.
Outputs of operators within a task are its own: backward tasks read storages that only the inner calls show.
Each version of a storage that is an output of a task, or that one reads, is a data object: the largest tensor in it.
Write-after-read order is counted, not drawn: memory that a runtime reallocates carries none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from simsched.graph.data import NOBODY
from simsched.traces.pytorch.execution_trace import Node
from simsched.traces.shared.objects import Objects


@dataclass(frozen=True, slots=True)
class Access:
    """Storages that a task reads, makes and writes.

    Parameters
    ----------
    reads : tuple of (int, int, int)
        (tensor, storage, bytes per element) of every input.
    makes : tuple of (int, int)
        (tensor, storage) of every output.
    creates : frozenset of int
        Storages that hold nothing but what the task wrote.
    updates : frozenset of int
        Storages that were there before and that it writes.
    elements : frozenset of (int, int)
        (storage, bytes per element) of all it puts anywhere.
    parts : frozenset of (int, int)
        (substitute storage of a sparse tensor, storage of its indices or values).
    sizes : tuple of (int, float)
        Storage and bytes of every input and output; NaN where unknown.
    """

    reads: tuple[tuple[int, int, int], ...] = ()
    makes: tuple[tuple[int, int], ...] = ()
    creates: frozenset[int] = frozenset()
    updates: frozenset[int] = frozenset()
    elements: frozenset[tuple[int, int]] = frozenset()
    parts: frozenset[tuple[int, int]] = frozenset()
    sizes: tuple[tuple[int, float], ...] = ()

    @property
    def writes_nothing(self) -> bool:
        """Whether the task only looks at tensors or makes views."""
        return not self.creates and not self.updates


def access(node: Node, inner: dict[int, list[Node]]) -> Access:
    """Return a task's accesses to storages, with all calls within it.

    Parameters
    ----------
    node : Node
        The task's call.
    inner : dict of int to list of Node
        As `ExecutionTrace.within_tasks` gives them.
    """
    created: set[int] = set()
    updated: set[int] = set()
    elements: set[tuple[int, int]] = set()
    parts: set[tuple[int, int]] = set()
    stack = [node]
    while stack:
        top = stack.pop()
        created.update(top.creates)
        updated.update(top.updates)
        elements.update(top.elements)
        parts.update(top.parts)
        stack += inner.get(top.id, ())
    inputs, outputs = (node.io.inputs, node.io.outputs) if node.io else ((), ())
    before = {t.storage for t in inputs}
    return Access(
        reads=tuple(dict.fromkeys((t.id, t.storage, t.element_B) for t in inputs)),
        makes=tuple(dict.fromkeys((t.id, t.storage) for t in outputs)),
        creates=frozenset(created - before - {0}),
        updates=frozenset((updated - created | created & before) - {0}),
        elements=frozenset(elements),
        parts=frozenset(parts),
        sizes=tuple(
            dict.fromkeys((t.storage, t.size_B if t.storage > 0 else math.nan) for t in (*inputs, *outputs))
        ),
    )


@dataclass
class Dependencies:
    """Edges between tasks, and the doubts about some of them.

    Parameters
    ----------
    edges : list of (int, int)
        Task indices, the writer first; each pair once.
    reused_ids : int
        Storage ids that came back with other contents.
    through_reused : int
        Edges through a storage id that had come back: the candidates for false ones.
    foreign : int
        Reads of an element size that the storage's contents do not have; they draw no edge.
    in_place : int
        Writes to storages that were there before.
    anti : int
        Pairs of a reader and a later in-place writer of its input, which are no edges.
    by_tensor : int
        Tensors whose storage is unknown, joined by their own ids.
    objects : Objects
        Versions of storages.
    """

    edges: list[tuple[int, int]] = field(default_factory=list)
    reused_ids: int = 0
    through_reused: int = 0
    foreign: int = 0
    in_place: int = 0
    anti: int = 0
    by_tensor: int = 0
    objects: Objects = field(default_factory=Objects)


@dataclass(slots=True)
class _Version:
    """The present contents of a storage.

    Parameters
    ----------
    writer : int or None
        The task that wrote last; None where no task did.
    born : int or None
        The task that started the storage afresh; None: it was there before the first task; negative: no task did.
    reused : bool
        Whether its id had been used before.
    readers : list of int
        Tasks that read the writer's output.
    elements : set of int
        Bytes per element of all tensors that were made in it or read from it.
    object : int or None
        Its number among the objects, once it is one.
    """

    writer: int | None = None
    born: int | None = None
    reused: bool = False
    readers: list[int] = field(default_factory=list)
    elements: set[int] = field(default_factory=set)
    object: int | None = None


class _Storages:
    """Contents of each storage at one moment of the replay of a recording, and which task made each view."""

    def __init__(self) -> None:
        self.found = Dependencies()
        self._versions: dict[int, _Version] = {}
        self._views: dict[tuple[int, int], tuple[int, int | None]] = {}
        self._reused: set[int] = set()
        self._parts: dict[int, dict[int, int | None]] = {}
        self._by_tensor: set[int] = set()

    def run(self, task: int, it: Access) -> None:
        """Add the edges into a task, then its writes and its views."""
        before = self._read(task, it)
        self.found.edges += [(writer, task) for writer in sorted(before)]
        self.found.through_reused += sum(before.values())
        self._grow(it)
        for storage in it.creates:
            self._create(task, storage)
        for storage in it.updates.union(*map(self._made_of, it.updates)) - it.creates:
            self._update(task, storage)
        for whole, part in it.parts:
            self._parts.setdefault(whole, {})[part] = self._at(part).born
        for storage, element_B in it.elements:
            if storage in self._versions:
                self._versions[storage].elements.add(element_B)
        read = {tensor[:2] for tensor in it.reads}
        for tensor in it.makes:
            storage = tensor[1]
            if storage not in it.creates and tensor not in read:
                self._views[tensor] = (task, self._at(storage).born)
        for storage in {storage for _, storage in it.makes if storage in it.creates} | it.updates:
            self._object(self._at(storage))
        self._grow(it)
        self._by_tensor.update(storage for _, storage, *_ in (*it.reads, *it.makes) if storage < 0)
        self.found.reused_ids, self.found.by_tensor = len(self._reused), len(self._by_tensor)

    def _object(self, version: _Version) -> int:
        """Return the number of a version among the objects."""
        if version.object is None:
            version.object = self.found.objects.add(
                producer=NOBODY if version.writer is None else version.writer
            )
        return version.object

    def _grow(self, it: Access) -> None:
        """Note the sizes of a task's tensors, of those objects that they are now in."""
        for storage, size_B in it.sizes:
            version = self._versions.get(storage)
            if version is not None and version.object is not None:
                self.found.objects.grow(version.object, size_B)

    def _made_of(self, whole: int) -> list[int]:
        """Return the storages of a sparse tensor's indices and values, without those reused since."""
        return [part for part, born in self._parts.get(whole, {}).items() if self._at(part).born == born]

    def _at(self, storage: int) -> _Version:
        return self._versions.setdefault(storage, _Version())

    def _read(self, task: int, it: Access) -> dict[int, bool]:
        for _, storage, element_B in it.reads:
            if storage > 0:
                self._meet(storage, element_B)
        before: dict[int, bool] = {}
        seen = it.updates.union(storage for _, storage, _ in it.reads)
        for storage in seen.union(*map(self._made_of, seen)):
            version = self._at(storage)
            version.readers.append(task)
            self.found.objects.read(self._object(version), task)
            if version.writer is not None:
                before[version.writer] = version.reused
        for tensor, storage, _ in it.reads:
            version = self._at(storage)
            maker, born = self._views.get((tensor, storage), (task, None))
            if maker != task and born == version.born:
                before.setdefault(maker, version.reused)
        return before

    def _meet(self, storage: int, element_B: int) -> None:
        """Record how a storage is read; reset it where its contents cannot be the input."""
        version = self._at(storage)
        if version.writer is not None and version.elements and element_B not in version.elements:
            self.found.foreign += 1
            self._reused.add(storage)
            version = self._versions[storage] = _Version(born=-1 - self.found.foreign, reused=True)
        version.elements.add(element_B)

    def _create(self, task: int, storage: int) -> None:
        reused = storage in self._versions
        self._parts.pop(storage, None)
        self._versions[storage] = _Version(task, task, reused)
        if reused:
            self._reused.add(storage)

    def _update(self, task: int, storage: int) -> None:
        old = self._at(storage)
        self.found.in_place += 1
        self.found.anti += sum(reader not in (task, old.writer) for reader in old.readers)
        self._versions[storage] = _Version(task, old.born, old.reused, elements=old.elements)


def dependencies(accesses: Sequence[Access]) -> Dependencies:
    """Return the read-after-write edges between tasks in their recorded order.

    Parameters
    ----------
    accesses : sequence of Access
        Of every task, in the order in which they started.
    """
    storages = _Storages()
    for task, it in enumerate(accesses):
        storages.run(task, it)
    return storages.found
