"""StarPU: `tasks.rec`, which holds dependencies, times, worker, work and data of every task.

Record one with a StarPU that was configured `--with-fxt`::

    STARPU_FXT_TRACE=1 STARPU_GENERATE_TRACE=1 ./program

or, later, `starpu_fxt_tool -i prof_file_*`, which also takes the files of several MPI ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.contracting import Edge, contracted
from simsched.graph.loading import Reader, plain_name
from simsched.graph.shapes import format_shape
from simsched.text import counted
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.objects import Objects
from simsched.traces.shared.options import TOLERANT, given, mends_if
from simsched.traces.shared.timeline import numbered, overlaps, recording
from simsched.traces.starpu.records import Record, dag_edges, records

_FIRST = re.compile(rb"\s*(?:Control|Name|Model|File|JobId):[^\n]*\n")
_JOB = re.compile(rb"^JobId: ?\S", re.MULTILINE)
_OWN = re.compile(rb"^(?:SubmitOrder|SubmitTime|StartTime|Priority|DependsOn|Tag):", re.MULTILINE)


def _read(path: Path, *, dag: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of the tasks that ran.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    dag : str or Path, optional
        The `dag.dot` of the same run, plain or gzipped.
    tolerant : bool or str
        Whether to read the complete part of a file that is cut off.

    Raises
    ------
    FormatError
        If a file is malformed, or no task ran.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''Name: potrf
    ... JobId: 1
    ... SubmitOrder: 1
    ... WorkerId: 0
    ... StartTime: 0.0
    ... EndTime: 2.0
    ...
    ... Name: trsm
    ... JobId: 2
    ... SubmitOrder: 2
    ... DependsOn: 1
    ... WorkerId: 0
    ... StartTime: 2.0
    ... EndTime: 3.0
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tasks.rec").write_text(text)
    ...     graph = ss.load(Path(folder, "tasks.rec"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('starpu', ['potrf', 'trsm'], [0.002, 0.001], 1)
    """
    report = ImportReport(path.name, "starpu")
    jobs = _jobs(path, records(path, mends_if(path, tolerant, report)))
    edges = _dependencies(path, jobs, report)
    if dag is not None:
        edges += dag_edges(given(path, "dag", dag, "the dag.dot"), jobs, edges, report)
    return _graph(path, list(jobs.values()), edges, report)


STARPU = Reader(
    title="StarPU records of tasks (tasks.rec)",
    dependencies="in the file; also of dag.dot (dag=)",
    times="in the file, ms",
    options={
        "dag": "the dag.dot of the same run, whose edges are added: those of records without DependsOn",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: all((_FIRST.match(head), _JOB.search(head), _OWN.search(head))),
    read=_read,
)


def _jobs(path: Path, found: Iterable[Record]) -> dict[str, Record]:
    """Return the records by job, in the order of their submission."""
    jobs: dict[str, Record] = {}
    for record in found:
        budget().check(path, len(jobs) + 1, "tasks")
        other = jobs.setdefault(record.job, record)
        if other is not record:
            raise FormatError(
                f"{path}: line {record.line}: JobId {shown(record.job)} stands also at line {other.line}; "
                "are these the records of two runs?"
            )
    order = sorted(jobs.items(), key=lambda job: (job[1].whole("SubmitOrder") or 0, job[1].rank, job[1].line))
    return dict(order)


def _dependencies(path: Path, jobs: dict[str, Record], report: ImportReport) -> list[Edge]:
    """Return the pairs of records, by position, in DependsOn and EndDependencies.

    A job with EndDependencies gets a second position, after those of all records: that of its end.
    """
    index = {job: i for i, job in enumerate(jobs)}
    late = [job for job, record in jobs.items() if "EndDependencies" in record.values]
    end = index | {job: len(jobs) + k for k, job in enumerate(late)}
    edges = [(index[job], end[job]) for job in late]
    named = [(job, index[job], before) for job, record in jobs.items() for before in record.jobs("DependsOn")]
    named += [(job, end[job], before) for job in late for before in jobs[job].jobs("EndDependencies")]
    unknown = 0
    for job, i, before in named:
        if before == job:
            raise FormatError(f"{path}: line {jobs[job].line}: job {shown(job)} depends on itself")
        if before in end:
            edges.append((end[before], i))
        else:
            unknown += 1
    report.facts["dependencies"] = len(named) - unknown
    if unknown:
        report.facts["unknown_dependencies"] = unknown
        report.note(
            f"{counted(unknown, 'dependency', 'dependencies')} on jobs of which the file holds no record left out"
        )
    return edges


def _graph(path: Path, jobs: Sequence[Record], edges: list[Edge], report: ImportReport) -> TaskGraph:
    times = [record.interval_ns() for record in jobs]
    ran = [(record, time) for record, time in zip(jobs, times, strict=True) if time is not None]
    if not ran:
        raise FormatError(f"{path}: none of {len(jobs)} records has StartTime and EndTime; no task ran")
    index = dict(zip((i for i, time in enumerate(times) if time is not None), range(len(ran)), strict=True))
    kept = [time is not None for time in times] + [False] * (
        1 + max((max(edge) for edge in edges), default=0) - len(times)
    )
    late = [record for record in jobs if "EndDependencies" in record.values]
    names = [_name(record) for record in (*jobs, *late)]
    joined = contracted(edges, kept, budget().most(path, "edges"), called=lambda node: repr(names[node]))
    pairs = [(index[a], index[b]) for a, b in joined]
    rows = [record for record, _ in ran]
    starts, finishes = ([time[end] for _, time in ran] for end in (0, 1))
    lanes = [_lane(record) for record in rows]
    _describe(report, jobs, rows)
    report.facts.update(unit="ms", overlaps=overlaps(starts, finishes, lanes))
    graph = TaskGraph.from_edges(
        [(finish - start) / 1e9 for start, finish in zip(starts, finishes, strict=True)],
        pairs,
        kinds=[_kind(record) for record in rows],
        names=[_name(record) for record in rows],
        shapes=[format_shape(record.shape()) for record in rows],
        scopes=[_scope(record) for record in rows],
        flops=[record.flops() for record in rows],
        bytes_B=[record.size_B() for record in rows],
        name=plain_name(path, ".rec", ".tasks"),
        report=report,
        recording=replace(
            recording(path, starts, finishes, *numbered(lanes), own_clock=True),
            priorities=np.array([record.whole("Priority") or 0 for record in rows], np.float64),
        ),
    )
    return _handles(rows).on(graph)


def _handles(rows: Sequence[Record]) -> Objects:
    """Return the contents of handles, in the order of submission: who writes one starts another object."""
    found, now = Objects(), dict[tuple[int, str], int]()
    for task, record in enumerate(rows):
        rank, accesses = record.rank, record.accesses()
        for handle, size_B, (reads, _) in accesses:
            if reads:
                key = rank, handle
                if (number := now.get(key)) is None:
                    number = now[key] = found.add(size_B)
                found.read(number, task)
        for handle, size_B, (_, writes) in accesses:
            if writes:
                now[rank, handle] = found.add(size_B, task)
    return found


def _name(record: Record) -> str:
    return f"{record.values.get('Name') or _kind(record)} {record.job}"


def _kind(record: Record) -> str:
    return record.values.get("Model") or record.values.get("Name") or "task"


def _scope(record: Record) -> str:
    iterations = record.values.get("Iteration", "").split()
    return f"iteration {'/'.join(iterations)}" if iterations else ""


def _lane(record: Record) -> str:
    worker = record.whole("WorkerId")
    name = "no worker" if worker is None else f"worker {worker}"
    return f"rank {record.rank} {name}" if record.rank >= 0 else name


def _describe(report: ImportReport, jobs: Sequence[Record], rows: Sequence[Record]) -> None:
    priorities = sorted({record.whole("Priority") or 0 for record in rows})
    report.facts.update(
        records=len(jobs),
        control_records=sum("Control" in record.values for record in jobs),
        records_not_run=len(jobs) - len(rows),
        zero_length_tasks=sum(record.values["StartTime"] == record.values["EndTime"] for record in rows),
        priorities=f"{priorities[0]} to {priorities[-1]}",
    )
    report.note(
        f"{counted(len(jobs) - len(rows), 'record')} (control, acquiring of data, tasks without a codelet or a worker) "
        "without times, which are not tasks; dependencies go through them",
        when=len(jobs) - len(rows),
    )
    report.note(
        f"the program gave {len(priorities)} priorities to its tasks (graph.recording.priorities); "
        "runtime[system=starpu-prio] keeps to them",
        when=len(priorities) > 1,
    )
    ranks = {record.rank for record in jobs}
    if len(ranks) > 1:
        report.facts["mpi_ranks"] = len(ranks)
        report.note(
            f"the file holds {len(ranks)} MPI ranks; only dag= says what they waited for of each other"
        )
