"""OTF2 archives: pieces of regions on their threads, and waits between threads, processes and tasks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, LabelColumn, TaskGraph
from simsched.graph.adjacency import Csr, place_in
from simsched.graph.build import called, tell_merged
from simsched.graph.edges import adjacency
from simsched.graph.loading import Reader, plain_name
from simsched.system import give_back
from simsched.traces.otf2.archive import SUFFIX, Archive, is_archive, open_archive
from simsched.traces.otf2.definitions import Definitions
from simsched.traces.otf2.recording import Recording, Run
from simsched.traces.shared.choice import EDGES, MOST_LISTED, listed, patterns
from simsched.traces.shared.options import TOLERANT, mends_if, word
from simsched.traces.shared.spans import Small, Whole, lane_names
from simsched.traces.shared.timeline import in_order, picked, timed

#: Events that are left out, by their types.
_OTHERS = {
    "flushes of the recorder's buffer": range(10, 11),
    "switches of the recorder": range(11, 12),
    "requests of MPI": (16, 17, 20, 21, *range(85, 87), *range(89, 93)),
    "forks and joins without teams": range(24, 26),
    "locks": (26, 27, 57, 58),
    "metrics": range(31, 32),
    "parameters": range(32, 35),
    "one-sided communication": range(35, 53),
    "samples": range(68, 69),
    "files": range(69, 83),
    "begin and end of programs": range(83, 85),
    "communicators": range(87, 89),
}
_MOST_NS = 2**62


def _read(
    path: Path, *, names: str | None = None, edges: str = EDGES[0], tolerant: bool | str = False
) -> TaskGraph:
    r"""Return the graph of an archive; options as in `OTF2`.

    Raises
    ------
    FormatError
        If a file is missing, damaged or cut off, or no region took time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> chunk, ticks = bytes([3, 0x42]) + bytes(16), [(10**6 * i).to_bytes(8, "little") for i in range(3)]
    >>> anchor = b"\3\x42OTF2\0" + bytes([3, 2, 3, 2, 0]) + 2 * (2**20).to_bytes(8, "little") + bytes([1, 1])
    >>> clock, thread = bytes([5, 8, 4, 0, 202, 154, 59, 0, 0, 0]), bytes([14, 5, 0, 0, 1, 0, 0])
    >>> entered = b"\5" + ticks[1] + bytes([12, 1, 7]) + b"\5" + ticks[2] + bytes([13, 1, 7])
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "run").mkdir()
    ...     for name, content in (
    ...         ("run.otf2", anchor + bytes(19)),
    ...         ("run.def", chunk + clock + thread + bytes([2])),
    ...         ("run/0.evt", chunk + entered + bytes([2])),
    ...     ):
    ...         _ = Path(folder, name).write_bytes(content)
    ...     graph = ss.load(folder)
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist()
    ('otf2', ['region 7'], [0.001])
    """
    word(path, "edges", edges, EDGES)
    wanted = patterns(path, "names", names)
    report = ImportReport(path.name, "otf2")
    mend = mends_if(path, tolerant, report)
    with open_archive(path) as archive:
        reading = Recording(archive, wanted, mend)
        run = reading.run()
        _tell(report, archive, reading.told, run)
    return _graph(path, run, report, edges)


OTF2 = Reader(
    title="OTF2 archive (Score-P, APEX of HPX, and others): its folder, its anchor file or a tar",
    dependencies="order of each thread; messages, collectives, teams, threads and tasks as far as recorded",
    times="ticks of its clock, as ns",
    options={
        "names": "patterns of the regions that count, as solve*+MPI_*; the time of others belongs to those around them",
        "edges": "lanes+flows (when not given), lanes, or flows: order of threads, and what they wait for",
        "tolerant": TOLERANT,
    },
    recognises=is_archive,
    read=_read,
    anchor=SUFFIX,
)


def _graph(path: Path, run: Run, report: ImportReport, edges: str) -> TaskGraph:
    give_back()
    tasks = run.tasks
    if max(abs(int(tasks.start.min())), abs(int(tasks.finish.max()))) > _MOST_NS:
        raise FormatError(f"{path}: times of more than {_MOST_NS // 10**9} s; is the archive damaged?")
    flows, sizes = _sorted(run, "flows" in edges)
    report.facts["flows_backwards"] = int((flows[:, 0] >= flows[:, 1]).sum())
    forward = flows[:, 0] < flows[:, 1]
    flows, sizes = flows[forward], sizes[forward]
    report.facts["flow_edges"] = len(flows)
    chained = _chained(run, edges)
    del tasks.chain
    if len(flows):
        chained = chained[~np.isin(_keys(chained), _keys(flows))]
    told = (
        np.append(~np.isnan(sizes), np.zeros(len(chained), np.bool_)) if not np.isnan(sizes).all() else None
    )
    every: Small | Csr = np.concatenate([flows, chained]) if len(flows) else chained
    del flows, chained
    if told is None:
        every, merged = adjacency(len(tasks.start), every, lambda task: called(task, None))
        tell_merged(report, merged)
    # The columns of the graph take the place of those of the tasks.
    kinds = LabelColumn.from_codes(vars(tasks).pop("region"), run.labels)
    times_ns = [vars(tasks).pop(name) for name in ("start", "finish")]
    durations_s, where = timed(path, times_ns, vars(tasks).pop("location"), lane_names(run.lanes))
    return TaskGraph.from_edges(
        durations_s, every, kinds=kinds, name=plain_name(path, ".tar", SUFFIX), report=report, recording=where,
        **({} if told is None else _messages(told, sizes)),
    )  # fmt: skip


def _sorted(run: Run, with_flows: bool) -> tuple[Small, npt.NDArray[np.float64]]:
    """Put tasks into the order of their starts; return the edges of flows between them, and their bytes."""
    tasks = run.tasks
    # An empty task comes before those that it lets begin.
    order = np.lexsort((~run.joined, tasks.finish, tasks.start))
    if not with_flows:
        order = order[~run.joined[order]]
    place = place_in(order, len(tasks.start))
    for name, column in vars(tasks).items():
        setattr(tasks, name, picked(column, order))
    run.in_task = run.in_task[order]
    return (place[run.edges], run.edge_bytes) if with_flows else (place[run.edges[:0]], run.edge_bytes[:0])


def _keys(edges: Small) -> Whole:
    return edges[:, 0].astype(np.int64) << 32 | edges[:, 1]


def _chained(run: Run, edges: str) -> Small:
    """Return the edges between pieces of each task and, where asked for, of each thread, by start."""
    if edges == "lanes":
        return in_order(run.tasks.location)
    found = in_order(run.tasks.chain)
    return found if "lanes" in edges else found[run.in_task[found[:, 0]]]


def _messages(told: npt.NDArray[np.bool_], sizes: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return the bytes of edges, of which `told` are messages, and the number of each message."""
    objects = np.full(len(told), -1, np.int64)
    objects[told] = np.arange(int(told.sum()))
    return {"edge_bytes": np.append(sizes, np.full(len(told) - len(sizes), np.nan)), "edge_objects": objects}


def _tell(report: ImportReport, archive: Archive, told: Definitions, run: Run) -> None:
    report.facts.update(
        recorder=archive.anchor.creator or "unknown",
        otf2_version=archive.anchor.version,
        processes=len({location.process for location in told.locations.values()}),
        ticks_per_second=told.clock.resolution,
        system=_system(told, archive.anchor.machine),
        waited_in_calls_s=run.waited_s,
    )
    report.facts.update({what: count for what, count in sorted(run.counts.items()) if count})
    others = Counter({what: sum(run.left_out[kind] for kind in kinds) for what, kinds in _OTHERS.items()})
    known = {kind for kinds in _OTHERS.values() for kind in kinds}
    others["unknown events"] = sum(n for kind, n in run.left_out.items() if kind not in known)
    dropped = [f"{what} ({count})" for what, count in others.items() if count]
    report.note(f"left out: {listed(dropped, MOST_LISTED)}", when=dropped)
    tasks = bool(run.in_task.any())
    report.doubt(
        "what tasks wait for of each other (depend clauses, futures) is not in the file: they come after the task that "
        "created them, and before the next barrier or wait for them that was recorded",
        when=tasks,
    )
    report.doubt(
        "edges are the order of each thread, a chain, and what threads and processes wait for of each other; no policy "
        "can run the pieces of a thread in parallel",
        when=not tasks,
    )
    report.note(
        f"{run.counts['messages sent or received alone']} messages were sent or received without their counterpart",
        when=run.counts["messages sent or received alone"],
    )


def _system(told: Definitions, machine: str) -> str:
    """Return the machine that was recorded: nodes with processes, and what is around them."""
    nodes: Counter[int] = Counter(node for _, node in told.processes.values())
    names = []
    for node, processes in nodes.items():
        path, at = list[str](), node
        while at in told.nodes and len(path) < MOST_LISTED:
            kind, name, at = told.nodes[at]
            path.append(f"{kind} {name}".strip())
        names.append(f"{', '.join(reversed(path)) or 'unknown'} (processes: {processes})")
    return f"{machine or 'machine unknown'}: {listed(names, MOST_LISTED)}"
