"""Spans of lanes as columns, for files that hold millions: pairing, nesting, the choice of tasks, edges, the graph."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, LabelColumn, Recording, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.build import called as name_of, tell_merged
from simsched.graph.cleanup.matching import matcher
from simsched.graph.edges import adjacency
from simsched.graph.loading import MANY
from simsched.system import give_back
from simsched.text import counted
from simsched.traces.shared.choice import MOST_LISTED, Choice, listed, said_again, spelled
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.timeline import ascending, by_lane, in_order, picked, recording, sizes, timed

Whole = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
#: How deep an end looks for a beginning of its name.
MAX_SEARCH = 1000
_BLOCK = 1 << 16
_COLUMNS = ("start_ns", "finish_ns", "lane", "name", "scope")


@dataclass
class Spans:
    """Spans, each on a lane, in the order of the file.

    Parameters
    ----------
    start_ns, finish_ns : int64 arrays, shape (n,)
        On the recording's clock.
    lane : int32 array, shape (n,)
        Index into `lanes`.
    name, scope : int32 arrays, shape (n,)
        Index into `labels`.
    labels : sequence of str
        Texts of all spans.
    lanes : sequence of (str, str)
        Process and thread of each lane.
    depth : int32 array, shape (n,)
        Spans of its lane around it; see `nest`.
    inner : bool array, shape (n,)
        Whether there are spans within it.
    """

    start_ns: Whole
    finish_ns: Whole
    lane: Small
    name: Small
    scope: Small
    labels: Sequence[str]
    lanes: Sequence[tuple[str, str]]
    depth: Small = field(default_factory=lambda: np.zeros(0, np.int32))
    inner: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __len__(self) -> int:
        return len(self.start_ns)

    def taken(self, rows: npt.NDArray[Any]) -> Spans:
        """Return some of the spans, in an order; how they nest is not known of these."""
        start, finish, lane, name, scope = (picked(vars(self)[name], rows) for name in _COLUMNS)
        return Spans(start, finish, lane, name, scope, self.labels, self.lanes)

    def keep(self, rows: npt.NDArray[Any]) -> None:
        """Become some of the spans, in an order: a column at a time, so that no two are there twice."""
        for name in _COLUMNS:
            setattr(self, name, picked(vars(self)[name], rows))


class SpanTable:
    """Spans as a file has them, one after the other.

    Parameters
    ----------
    path : Path
        The file, for messages.

    Examples
    --------
    >>> table = SpanTable(Path())
    >>> table.add(0, 9, ("a process", "a thread"), "work", "a category")
    >>> table.spans(lambda lane: lane).lanes, len(table)
    ([('a process', 'a thread')], 1)
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start, self._finish = array("q"), array("q")
        self._lane, self._name, self._scope = array("i"), array("i"), array("i")
        self._labels: dict[str, int] = {"": 0}
        self._lanes: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._start)

    @property
    def lanes(self) -> list[tuple[str, str]]:
        """All lanes, as they were added."""
        return list(self._lanes)

    def lane(self, lane: tuple[str, str]) -> int:
        """Return the number of a lane."""
        return self._lanes.setdefault(lane, len(self._lanes))

    def add(self, start_ns: int, finish_ns: int, lane: tuple[str, str], name: str, scope: str) -> None:
        """Add a span."""
        labels = self._labels
        self._start.append(start_ns)
        self._finish.append(finish_ns)
        self._lane.append(self.lane(lane))
        self._name.append(labels.setdefault(name, len(labels)))
        self._scope.append(labels.setdefault(scope, len(labels)))
        budget().check(self._path, len(self._start), "tasks")

    def spans(self, called: Callable[[tuple[str, str]], tuple[str, str]]) -> Spans:
        """Return all spans; a lane has the names of its process and thread that `called` returns."""
        columns = self._start, self._finish, self._lane, self._name, self._scope
        start, finish, lane, name, scope = (np.array(column, column.typecode) for column in columns)
        return Spans(start, finish, lane, name, scope, list(self._labels), list(map(called, self._lanes)))


def recorded(path: Path, tasks: Spans) -> Recording:
    """Return the recording of some tasks, from the time 0 of their clock."""
    lanes, lane = np.unique(tasks.lane, return_inverse=True)
    names = lane_names([tasks.lanes[number] for number in lanes.tolist()])
    return recording(path, tasks.start_ns, tasks.finish_ns, lane, names, origin_ns=0)


def lane_names(lanes: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of lanes: their threads, and the processes where these are of several.

    Examples
    --------
    >>> lane_names([("", "main"), ("", "pool")]), lane_names([("a", "main"), ("b", "main")])
    (['main', 'pool'], ['a: main', 'b: main'])
    """
    several = len({process for process, _ in lanes}) > 1
    return [f"{process}: {thread}" if several and process else thread for process, thread in lanes]


def paired(
    lane: Small, time_ns: Whole, name: Small, begins: npt.NDArray[np.bool_], counts: Counter[str]
) -> tuple[Small, Small]:
    """Return rows of beginnings, and of the ends of their spans, in the order of the ends.

    An end ends the innermost span of its name, or of no name; an end without a name (-1) ends the innermost one.

    Parameters
    ----------
    lane, time_ns, name : int arrays, shape (n,)
        Of each beginning or end, in any order.
    begins : bool array, shape (n,)
        Which of them are beginnings.
    counts : Counter of str
        Receives the numbers of beginnings without an end, and of ends without a beginning.
    """
    order = by_lane(lane, time_ns)
    ends = len(order) - int(np.count_nonzero(begins))
    firsts, lasts = np.empty(ends, np.int32), np.empty(ends, np.int32)
    found, current, open_ = 0, -1, list[tuple[int, int]]()
    for row, of, called, opens in rows_in(order, lane, name, begins):
        if of != current:
            counts["unfinished"] += len(open_)
            current, open_ = of, []
        if opens:
            open_.append((row, called))
            continue
        if (place := _innermost(open_, called)) is None:
            counts["ended, never begun"] += 1
        else:
            firsts[found], lasts[found] = open_.pop(place)[0], row
            found += 1
    counts["unfinished"] += len(open_)
    return firsts[:found], lasts[:found]


def _innermost(open_: Sequence[tuple[int, int]], name: int) -> int | None:
    for back in range(1, min(len(open_), MAX_SEARCH) + 1):
        if name < 0 or open_[-back][1] in (name, -1):
            return len(open_) - back
    return None


def rows_in(order: npt.NDArray[Any], *columns: npt.NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield rows in an order, and their values in columns, as Python's numbers, of which few exist at a time.

    Examples
    --------
    >>> list(rows_in(np.array([1, 0]), np.array([5, 6])))
    [(1, 6), (0, 5)]
    """
    for begin in range(0, len(order), _BLOCK):
        rows = order[begin : begin + _BLOCK]
        yield from zip(rows.tolist(), *(column[rows].tolist() for column in columns), strict=True)


def nest(spans: Spans) -> int:
    """Set depth and inner of all spans; return how many overlap another one of their lane without nesting."""
    order = by_lane(spans.lane, -spans.finish_ns, spans.start_ns)
    spans.depth, spans.inner = np.zeros(len(spans), np.int32), np.zeros(len(spans), np.bool_)
    overlaps, current, around = 0, -1, list[tuple[int, int, int]]()
    for row, lane, start, finish in rows_in(order, spans.lane, spans.start_ns, spans.finish_ns):
        if lane != current:
            current, around = lane, []
        # A span of no length lies within one that has none either.
        while around and around[-1][2] <= start and not (finish == start == around[-1][1] == around[-1][2]):
            around.pop()
        if around and around[-1][2] < finish:
            overlaps += 1
            while around and around[-1][2] < finish:
                around.pop()
        if around:
            spans.inner[around[-1][0]] = True
            spans.depth[row] = len(around)
        around.append((row, start, finish))
    return overlaps


def choose(path: Path, spans: Spans, choice: Choice, report: ImportReport) -> Small:
    """Return the rows of the spans that become tasks, by start; the others are counted in the report.

    Raises
    ------
    FormatError
        If there are none; the message lists the choices.
    """
    report.facts["overlaps"] = nest(spans)
    by_depth = enumerate(np.bincount(spans.depth).tolist())
    report.facts.update(
        spans=len(spans), spans_by_depth=listed((f"{depth}: {n}" for depth, n in by_depth if n), MOST_LISTED)
    )
    rows = _without_summaries(spans, choice, report)
    every = len(rows)
    for option, value, chosen, codes, called in _filters(spans, choice):
        kept = chosen[rows]
        if not kept.any():
            there = Counter(codes[rows].tolist()).most_common()
            raise FormatError(
                f"{path}: {option} is {shown(value)}, which chooses none of {len(rows)} spans; there are "
                f"{listed((f'{called(code)} ({n})' for code, n in there), MOST_LISTED)}"
            )
        report.facts[f"left_out_{option}"] = int((~kept).sum())
        rows = rows[kept]
    left = spans
    if len(rows) < len(spans):
        left = spans.taken(rows)
        nest(left)
    kept = left.depth == 0 if choice.level == "outermost" else ~left.inner
    report.facts["left_out_level"] = int((~kept).sum())
    rows = rows[kept]
    if len(rows) < every:
        others = f"{every - len(rows)} of {every} spans are not tasks"
        report.note(
            f"{others}: they lie within others, or hold others. Spans by depth: {report.facts['spans_by_depth']}; "
            "depth=, names= and lanes= choose others"
            if choice == Choice(choice.level, edges=choice.edges)
            else f"{others}: the options chose others"
        )
    spans.depth, spans.inner = spans.depth[:0].copy(), spans.inner[:0].copy()
    return by_start(spans, rows)


def _without_summaries(spans: Spans, choice: Choice, report: ImportReport) -> Small:
    """Return the rows of the spans that do not say again what others do; all where lanes were chosen."""
    rows = np.arange(len(spans), dtype=np.int32)
    there = np.flatnonzero(sizes(spans.lane)).tolist()
    found = zip(there, said_again(spans.lanes[lane] for lane in there), strict=True)
    again = [lane for lane, is_said in found if is_said and not choice.lanes]
    if not again:
        return rows
    rows = rows[~np.isin(spans.lane, again)]
    names = listed(dict.fromkeys(spans.lanes[lane][1] for lane in again), MOST_LISTED)
    left_out = counted(len(spans) - len(rows), "span")
    report.note(
        f"{left_out} of lines that say again what others of their device do: {names}; lanes= takes them"
    )
    return rows


def by_start(spans: Spans, rows: Small) -> Small:
    """Return rows, given in their order, by start, then by finish, as `numpy.lexsort` would, with half of its memory.

    Examples
    --------
    >>> zeros = np.zeros(3, np.int32)
    >>> three = Spans(np.array([5, 0, 5]), np.array([7, 3, 6]), zeros, zeros, zeros, ["a"], [("", "main")])
    >>> by_start(three, np.arange(3, dtype=np.int32)).tolist()
    [1, 2, 0]
    """
    if ascending(spans.start_ns, rows):
        return rows
    start = spans.start_ns if len(rows) == len(spans) else picked(spans.start_ns, rows)
    rows = picked(rows, np.argsort(start, kind="stable"))
    start = picked(spans.start_ns, rows)
    tied = np.flatnonzero(start[1:] == start[:-1])
    if len(tied):
        places = np.union1d(tied, tied + 1)
        some = rows[places]
        rows[places] = some[np.lexsort((spans.finish_ns[some], start[places]))]
    return rows


def _filters(spans: Spans, choice: Choice) -> Iterator[tuple[str, str, Any, Small, Callable[[int], str]]]:
    """Yield name and value of each option, which spans it selects, and what it looks at, with the words for that."""
    if choice.lanes:
        names, alone = lane_names(spans.lanes), [thread for _, thread in spans.lanes]
        fits = [any(map(matcher(choice.lanes), pair)) for pair in zip(names, alone, strict=True)]
        yield "lanes", choice.lanes, np.array(fits)[spans.lane], spans.lane, lambda code: shown(names[code])
    if choice.names:
        fits = list(map(matcher(choice.names), spans.labels))
        yield (
            "names",
            choice.names,
            np.array(fits)[spans.name],
            spans.name,
            lambda code: shown(spans.labels[code]),
        )
    if choice.depths is not None:
        within = (spans.depth >= choice.depths.start) & (spans.depth < choice.depths.stop)
        yield "depth", spelled(choice.depths), within, spans.depth, str


def of_process(path: Path, spans: Spans, process: object) -> Whole:
    """Return the rows of the spans of one process, by name or number; of all where it is None.

    Raises
    ------
    FormatError
        If there is no such process.
    """
    if process is None:
        return np.arange(len(spans))
    wanted = {str(process), f"process {process}"}
    fits = np.array([name in wanted for name, _ in spans.lanes], np.bool_)
    rows = np.flatnonzero(fits[spans.lane])
    if not len(rows):
        known = listed(sorted({shown(name) for name, _ in spans.lanes}), MOST_LISTED)
        raise FormatError(f"{path}: process is {shown(process)}; expected one of {known}")
    return rows


def edges_of(tasks: Spans, flows: Whole, choice: Choice) -> Whole:
    """Return the edges that an option asks for: of tasks in their order on each lane, and of flows, shape (m, 2).

    Parameters
    ----------
    tasks : Spans
        By start.
    flows : int64 array, shape (k, 2)
        Edges of flows; see `arrows`.
    choice : Choice
    """
    chosen = [in_order(tasks.lane)] if "lanes" in choice.edges else []
    return np.concatenate([*chosen, flows] if "flows" in choice.edges else chosen)


def distinct(*edges: Small | Whole) -> Small:
    """Return edges of several columns by their first and second tasks, each once, shape (m, 2).

    Examples
    --------
    >>> distinct(np.array([[1, 2], [0, 2]], np.int32), np.array([[1, 2]], np.int32)).tolist()
    [[0, 2], [1, 2]]
    """
    keys = np.concatenate([pairs[:, 0] for pairs in edges], dtype=np.int64)
    keys <<= 32
    first = 0
    for pairs in edges:
        keys[first : first + len(pairs)] |= pairs[:, 1]
        first += len(pairs)
    keys.sort()
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if len(again):
        keys = np.delete(keys, again)
    halves = keys.view(np.int32).reshape(-1, 2)  # no copy
    return halves[:, ::-1] if sys.byteorder == "little" else halves


def enclosing(tasks: Spans, lane: Small, time_ns: Whole) -> Whole:
    """Return the task that holds each moment of a lane, the last that started before; -1 where none does.

    Parameters
    ----------
    tasks : Spans
        By start.
    lane, time_ns : int arrays, shape (m,)
        Of the moments.

    Examples
    --------
    >>> zeros = np.zeros(2, np.int32)
    >>> two = Spans(np.array([0, 5]), np.array([3, 9]), zeros, zeros, zeros, ["a"], [("", "main")])
    >>> enclosing(two, np.zeros(3, np.int32), np.array([3, 4, 5])).tolist()
    [0, -1, 1]
    """
    # Tasks before moments of the same time.
    lanes, times = np.append(tasks.lane, lane), np.append(tasks.start_ns, time_ns)
    late = np.append(np.zeros(len(tasks), np.int8), np.ones(len(lane), np.int8))
    order = np.lexsort((late, times, lanes))
    # The last task at or before each row.
    last = np.maximum.accumulate(np.where(late[order] == 0, np.arange(len(order)), -1))
    found = np.full(len(order), -1, np.int64)
    found[order] = np.where(last >= 0, order[last], -1)
    found = found[len(tasks) :]
    there = np.flatnonzero(found >= 0)
    before = found[there]
    holds = (tasks.lane[before] == lane[there]) & (tasks.finish_ns[before] >= time_ns[there])
    found[there[~holds]] = -1
    return found


def arrows(tasks: Spans, before: Whole | Small, after: Whole | Small, report: ImportReport) -> Whole:
    """Return arrows between tasks as edges, shape (m, 2), without those that the recording contradicts.

    Parameters
    ----------
    tasks : Spans
        By start.
    before, after : int arrays, shape (m,)
        The ends of each arrow; -1 for no task.
    report : ImportReport
        Receives the facts `flow_edges`, `flows_backwards` (their second task started before the first had finished)
        and `flows_unbound` (with an end in no task, or both in one).
    """
    bound = (before >= 0) & (after >= 0) & (before != after)
    edges: Whole = np.column_stack([before[bound], after[bound]])
    forward = (tasks.finish_ns[edges[:, 0]] <= tasks.start_ns[edges[:, 1]]) & (edges[:, 0] < edges[:, 1])
    report.facts.update(
        flow_edges=int(forward.sum()),
        flows_backwards=int((~forward).sum()),
        flows_unbound=int((~bound).sum()),
    )
    return edges[forward]


def graph_of(
    path: Path, tasks: Spans, edges: npt.ArrayLike, report: ImportReport, name: str, **columns: Any
) -> TaskGraph:
    """Return the graph of some tasks: kinds by their names, scopes, durations and the recording.

    The columns of the tasks are given up, as those of the graph take their place, and so are the edges where the caller
    holds them no longer.
    """
    if len(tasks) > MANY:
        give_back()
    named = columns.get("names")
    successors, merged = adjacency(len(tasks), edges, lambda task: name_of(task, named))
    del edges
    tell_merged(report, merged)
    lanes = np.flatnonzero(sizes(tasks.lane))
    number = np.zeros(len(tasks.lanes), np.int32)
    number[lanes] = np.arange(len(lanes))
    names = lane_names([tasks.lanes[lane] for lane in lanes.tolist()])
    kinds, scopes = (
        LabelColumn.from_codes(vars(tasks).pop(codes), tasks.labels) for codes in ("name", "scope")
    )
    times_ns = [vars(tasks).pop(name) for name in ("start_ns", "finish_ns")]
    durations_s, run = timed(path, times_ns, picked(number, vars(tasks).pop("lane")), names)
    return TaskGraph.from_edges(
        durations_s,
        successors,
        kinds=kinds,
        scopes=scopes,
        name=name,
        report=report,
        recording=run,
        **columns,
    )
