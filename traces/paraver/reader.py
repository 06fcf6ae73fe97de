"""Reader of Paraver traces: the tasks of an OmpSs program, their dependencies, times and places."""

from __future__ import annotations

import re
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader
from simsched.traces.paraver.assembly import assemble
from simsched.traces.paraver.records import Records, read_records
from simsched.traces.paraver.tasks import follow
from simsched.traces.paraver.vocabulary import Event, Vocabulary, companion, read_labels, read_rows
from simsched.traces.shared.options import TOLERANT, mends_if

_BEGINNING = re.compile(rb"#Paraver ?\(")
ADVICE = (
    "record an OmpSs program with Nanos++ and Extrae: NX_ARGS='--instrumentation=extrae --instrument-default=all', or "
    "one of OmpSs-2 with NANOS6=extrae"
)


def _read(
    path: Path,
    *,
    pcf: str | Path | None = None,
    row: str | Path | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    r"""Return the graph of a trace, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not a Paraver trace, holds no tasks, or a companion cannot be read.
    GraphError
        If its dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> records = '''#Paraver (20/11/2026 at 09:19):900_ns:1(1):1:1(1:1),0
    ... 2:1:1:1:1:5:9200136:8589934595:9200137:1
    ... 2:1:1:1:1:10:9200102:2:9200111:1
    ... 2:1:1:1:1:30:9200102:0:9200111:0
    ... 2:1:1:1:1:40:9200102:3:9200111:2
    ... 2:1:1:1:1:90:9200102:0:9200111:0'''
    >>> numbers = "9200102 Work Descriptor id:", "9200136 Dependence analysis", "9200137 Dependence direction"
    >>> meanings = "".join(f"EVENT_TYPE\n0 {number}\n\n" for number in numbers)
    >>> names = "EVENT_TYPE\n0 9200111 User Function Name\nVALUES\n0 End\n1 potrf\n2 gemm\n"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.prv").write_text(records), Path(folder, "run.pcf").write_text(meanings + names)
    ...     graph = ss.load(Path(folder, "run.prv"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('paraver', ['potrf', 'gemm'], [2e-08, 5e-08], 1)
    """
    report = ImportReport(path.name, "paraver")
    mend = mends_if(path, tolerant, report)
    labels_file, names_file = companion(path, pcf, "pcf"), companion(path, row, "row")
    vocabulary = Vocabulary(None if labels_file is None else read_labels(labels_file))
    report.note(
        "no .pcf file: numbers of events were taken as Nanos++ has them, kinds of tasks are unknown",
        when=labels_file is None,
    )
    records = read_records(path, vocabulary, mend)
    if not (records.event == Event.TASK).any():
        raise FormatError(f"{path}: {_without_tasks(records)}; {ADVICE}")
    report.facts["unit"] = "ns" if records.header.unit_ns == 1 else f"{records.header.unit_ns} ns"
    names = read_rows(names_file) if names_file is not None else []
    return assemble(path, records, follow(records, vocabulary), vocabulary, names, report)


PARAVER = Reader(
    title="Paraver trace of OmpSs (.prv, with .pcf and .row)",
    dependencies="events and communications of the runtime, and its taskwaits",
    times="trace, ns or us",
    options={
        "pcf": "the .pcf file, which says what the numbers mean; the one beside the trace when not given",
        "row": "the .row file, which names the threads; the one beside the trace when not given",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


def _without_tasks(records: Records) -> str:
    kinds = records.kinds
    what = "a trace of MPI" if kinds["of_mpi"] else "a trace"
    return (
        f"{what} without tasks: {kinds['states']} states, {kinds['events']} events, {kinds['communications']} "
        "communications, none of them about a task of OmpSs (with a .pcf file: 'Work Descriptor id' or 'Task instance')"
    )
