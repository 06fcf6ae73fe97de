"""All locations of an OTF2 archive: their pieces on one clock, and the edges between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.cleanup.matching import matcher
from simsched.graph.loading import Mend
from simsched.system import give_back
from simsched.traces.otf2.archive import UNDEFINED, Archive
from simsched.traces.otf2.definitions import (
    BARRIERS,
    METRICS,
    MPI,
    TASK_WAIT,
    THREAD_WAIT,
    Region,
    definitions,
)
from simsched.traces.otf2.events import Events, Whole, events
from simsched.traces.otf2.links import BARRIER, OTHER, TASKS, WAIT_ENTER, WAIT_LEAVE, Join, Links, Sync
from simsched.traces.otf2.pieces import Columns, Pieces, chains_of, pieces
from simsched.traces.shared.spans import Small
from simsched.traces.shared.timeline import picked

_WAITS = {**dict.fromkeys(BARRIERS, BARRIER), TASK_WAIT: TASKS, THREAD_WAIT: OTHER}
_JOINED = "collective"
_NS = 10**9


@dataclass
class Run:
    """Tasks of an archive, unsorted, and edges between them.

    Parameters
    ----------
    tasks : Columns
        Times in nanoseconds.
    labels : list of str
        Names of regions.
    lanes : list of (str, str)
        Process and name of each location.
    in_task : bool array, shape (n,)
        Pieces of tasks, which are not in the order of a thread.
    joined : bool array, shape (n,)
        Empty tasks, at which several wait for several.
    edges : int64 array, shape (m, 2)
    edge_bytes : float array, shape (m,)
        NaN where an edge is no message.
    left_out, counts : Counter
        Other events, by type, and what was found.
    waited_s : float
        What was cut out of calls that waited.
    """

    tasks: Columns
    labels: list[str]
    lanes: list[tuple[str, str]]
    in_task: npt.NDArray[np.bool_]
    joined: npt.NDArray[np.bool_]
    edges: Whole
    edge_bytes: npt.NDArray[np.float64]
    left_out: Counter[int]
    counts: Counter[str]
    waited_s: float


class Recording:
    """Locations of an archive as they are read.

    Parameters
    ----------
    archive : Archive
    names : str
        Patterns of the regions that count; any where empty.
    mend : callable or None
        See `events`.
    """

    def __init__(self, archive: Archive, names: str, mend: Mend | None) -> None:
        self.told = definitions(archive)
        self._archive, self._mend = archive, mend
        self._fits = matcher(names) if names else None
        self._chains: dict[Hashable, int] = {}
        self._regions: dict[int, int] = {}
        self._found: list[Region] = []
        #: Of each region found, how it waits (-1 for work), and whether it counts.
        self._roles, self._counted = list[int](), list[bool]()
        self._links = Links(self.told, self._chain)
        self._parts: list[Pieces] = []
        self._size, self._numbers, self._held = 0, list[int](), 0
        self.lanes: list[tuple[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.left_out: Counter[int] = Counter()

    def run(self) -> Run:
        """Return the tasks of all locations, and what they wait for.

        Raises
        ------
        FormatError
            If the archive is damaged, or holds no regions.
        """
        for number, location in self.told.locations.items():
            if location.kind == METRICS:
                self.counts["locations of metrics alone"] += 1
                continue
            found = events(self._archive, self.told, number, self._mend, self._held)
            if found is None:
                self.counts["locations without events"] += 1
                continue
            self._take(number, found)
        if not self._size:
            raise FormatError(f"{self._archive.path}: {self._nothing()}")
        return self._joined()

    def _nothing(self) -> str:
        if self._fits is not None and self._found:
            named = ", ".join(sorted({region.name for region in self._found})[:8])
            return f"names chooses none of the regions that ran; there are {named}"
        seen = sum(self.left_out.values())
        return (
            f"no region in it took time ({len(self.told.locations)} locations, {seen} events of other kinds); "
            "was it recorded with instrumentation?"
        )

    def _chain(self, key: Hashable) -> int:
        return self._chains.setdefault(key, len(self._chains))

    def _take(self, number: int, found: Events) -> None:
        own, process = self._chain(("location", number)), self.told.locations[number].process
        region = self._codes(found.region)
        # What no region has (-1) is the last of each.
        counted, waits = np.array([*self._counted, False]), np.array([*self._roles, -1]) >= 0
        kept = np.flatnonzero((found.kind == 0) | counted[region])
        if len(kept) < len(region):
            found, region = found.taken(kept), region[kept]
        chain = chains_of(found, own, self._chain, process)
        ran = pieces(found, region, chain, waits, self.counts)
        self._held += len(ran.start) + 4 * len(found.marks)
        self._links.take(number, self._syncs(found, region, chain, ran))
        del ran.event
        self._parts.append(ran)
        self._size += len(ran.start)
        self._numbers.append(number)
        self.lanes.append((self.told.processes.get(process, ("", 0))[0], self.told.locations[number].name))
        self.left_out.update(found.counts)
        self.counts["events set back to the time before"] += found.set_back

    def _codes(self, refs: Whole) -> Small:
        """Return the number of each region; -1 at marks. Negative references are calling contexts."""
        each, which = np.unique(refs, return_inverse=True)
        codes = [self._code(ref) for ref in each.tolist()]
        return np.array(codes, np.int32)[which] if codes else np.zeros(0, np.int32)

    def _code(self, ref: int) -> int:
        if ref == UNDEFINED:
            return -1
        known = ref if ref >= 0 else self.told.contexts.get(-2 - ref, UNDEFINED)
        if known not in self._regions:
            self._regions[known] = len(self._found)
            region = self.told.regions.get(known, Region(f"region {known}", 0, 0))
            self._found.append(region)
            self._roles.append(_role(region))
            self._counted.append(self._fits is None or self._fits(region.name) or self._roles[-1] >= 0)
        return self._regions[known]

    def _syncs(self, found: Events, region: Small, chain: Small, ran: Pieces) -> list[Sync]:
        """Return the marks and the waits of a location with the pieces around them, in order."""
        roles = np.array([*self._roles, -1])
        calls = np.flatnonzero(roles[region] >= 0)
        told = [(mark.event, mark.kind, mark.fields) for mark in found.marks]
        for event in calls.tolist():
            kind = WAIT_ENTER if found.kind[event] > 0 else WAIT_LEAVE
            told.append((event, kind, (int(region[event]), int(roles[region[event]]))))
        told.sort(key=lambda one: one[0])
        at = np.array([event for event, _, _ in told], np.int64)
        before, earlier, after = (
            np.where(side >= 0, side + self._size, -1).tolist() for side in ran.around(at, chain[at])
        )
        ticks, chains, begin = found.ticks[at].tolist(), chain[at].tolist(), self._size
        in_call = [
            piece >= 0
            and bool(ran.finish[piece - begin] == tick)
            and self._found[ran.region[piece - begin]].paradigm == MPI
            for piece, tick in zip(before, ticks, strict=True)
        ]
        kinds, fields = [kind for _, kind, _ in told], [one for _, _, one in told]
        columns = (kinds, fields, ticks, chains, before, earlier, after, in_call)
        return [Sync(*row) for row in zip(*columns, strict=True)]

    def _all(self) -> Columns:
        """Return the pieces of all locations, and hold them no longer."""
        parts, self._parts = self._parts, []
        lanes = [np.full(len(part.start), lane, np.int32) for lane, part in enumerate(parts)]
        names = ("start", "finish", "region", "chain")
        # A column at a time: no two are there twice.
        start, finish, region, chain = (
            np.concatenate([vars(part).pop(name) for part in parts]) for name in names
        )
        return Columns(start, finish, region, np.concatenate(lanes), chain)

    def _joined(self) -> Run:
        tasks, links = self._all(), self._links
        give_back()
        links.finish(tasks)
        waited = _cut(tasks.start, tasks.finish, links.cuts)
        count, labels = len(tasks.start), [*(known.name for known in self._found), _JOINED]
        edges = np.column_stack([np.frombuffer(links.before, np.int64), np.frombuffer(links.after, np.int64)])
        edge_bytes = np.frombuffer(links.size_B, np.float64)
        if links.joins:
            tasks, more = self._with_joins(tasks, links.joins)
            edges = np.concatenate([edges, more])
            edge_bytes = np.append(edge_bytes, np.full(len(more), np.nan))
        threads = np.zeros(len(self._chains) + len(links.joins), np.bool_)
        threads[[self._chains["location", number] for number in self._numbers]] = True
        joined = np.zeros(len(tasks.start), np.bool_)
        joined[count:] = True
        clock = self.told.clock
        for name in ("start", "finish"):
            setattr(tasks, name, _ns(vars(tasks).pop(name), clock.offset, clock.resolution))
        return Run(
            tasks, labels, self.lanes, ~picked(threads, tasks.chain) & ~joined, joined, edges, edge_bytes,
            self.left_out, self.counts + links.counts, waited / clock.resolution,
        )  # fmt: skip

    def _with_joins(self, tasks: Columns, joins: Sequence[Join]) -> tuple[Columns, Whole]:
        """Return the tasks and the empty ones of joins, and the edges of these."""
        lanes = {number: lane for lane, number in enumerate(self._numbers)}
        edges = []
        for task, join in enumerate(joins, len(tasks.start)):
            edges += [(piece, task) for piece in join.before] + [(task, piece) for piece in join.after]
        at = np.array([join.ticks for join in joins], np.int64)
        regions = [join.region if join.region >= 0 else len(self._found) for join in joins]
        chains = np.arange(len(self._chains), len(self._chains) + len(joins), dtype=np.int32)
        more = Columns(
            np.append(tasks.start, at),
            np.append(tasks.finish, at),
            np.append(tasks.region, np.array(regions, np.int32)),
            np.append(tasks.location, np.array([lanes[join.location] for join in joins], np.int32)),
            np.append(tasks.chain, chains),
        )
        return more, np.array(edges, np.int64).reshape(-1, 2)


def _role(region: Region) -> int:
    """Return which kind of waiting a region is; -1 for work. Calls of MPI are matched with each other instead."""
    return -1 if region.paradigm == MPI else _WAITS.get(region.role, -1)


def _cut(start: Whole, finish: Whole, cuts: list[tuple[int, int]]) -> int:
    """Let pieces begin when what they waited for was there; return how long they waited in all."""
    if not cuts:
        return 0
    piece, until = np.array(cuts, np.int64).T
    each = np.unique(piece)
    before = start[each].copy()
    np.maximum.at(start, piece, until)
    np.minimum(start, finish, out=start)
    return int((start[each] - before).sum())


def _ns(ticks: Whole, offset: int, resolution: int) -> Whole:
    """Return ticks as nanoseconds from the beginning of the recording."""
    since = ticks - min(offset, 2**62)
    if resolution == _NS:
        return since
    seconds, rest = np.divmod(since, resolution)
    return seconds * _NS + np.rint(rest * (_NS / resolution)).astype(np.int64)
