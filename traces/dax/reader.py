"""Workflows of Pegasus in XML (DAX): jobs as tasks, files as data objects."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import NOBODY, ImportReport, TaskGraph
from simsched.graph.data_checks import with_reads
from simsched.graph.loading import Reader, open_plain, plain_name
from simsched.text import printable
from simsched.traces.dax.workflow import READS, WRITES, Workflow
from simsched.traces.shared.spans import Whole

#: After blanks, instructions and comments.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->)*+<(?:[A-Za-z_][\w.-]{0,40}:)?adag[\s>]"
)


def _read(path: Path) -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is no DAX, or a number in it is impossible.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.load(b'''<adag version="2.1" name="two">
    ... <job id="A" name="cut" runtime="2.5"><uses file="x" link="output" size="100"/></job>
    ... <job id="B" name="add" runtime="1"><uses file="x" link="input" size="100"/></job>
    ... <child ref="B"><parent ref="A"/></child></adag>''')
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.data.size_B.tolist()
    ('dax', ['cut', 'add'], [2.5, 1.0], [100.0])
    """
    found = Workflow(path)
    with open_plain(path) as stream:
        found.read(stream)
    if not found.ids:
        raise FormatError(f"{path}: no job in it")
    report = ImportReport(path.name, "dax")
    seconds, cores = np.array(found.seconds, np.float64), np.array(found.cores, np.int64)
    writer, reads = _files(found, report)
    edges = found.edges()
    if not len(edges):
        edges = np.column_stack([writer[reads[:, 1]], reads[:, 0]])
        edges = edges[(edges[:, 0] >= 0) & (edges[:, 0] != edges[:, 1])]
        report.note(
            "no job has parents: edges are from the job that writes a file to its readers",
            when=len(edges),
        )
    _tell(report, found, seconds)
    graph = TaskGraph.from_edges(
        seconds,
        edges,
        kinds=found.kinds,
        names=list(found.ids),
        scopes=found.scopes,
        widths=cores,
        name=found.name or plain_name(path, ".xml", ".dax"),
        report=report,
    )
    if not len(found.sizes_B):
        return graph
    return with_reads(graph, np.array(found.sizes_B, np.float64), writer, reads[:, 1], reads[:, 0])


DAX = Reader(
    title="workflow of Pegasus in XML (DAX), versions 2 to 3.6",
    dependencies="parents and children; without any, files",
    times="runtime of jobs, s",
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


def _files(found: Workflow, report: ImportReport) -> tuple[Whole, Whole]:
    """Return the job that writes each file (-1 for none), and job and file of each read, shape (m, 2)."""
    job, file, how = (np.array(column, np.int64) for column in (found.use_job, found.use_file, found.use_how))
    writer = np.full(len(found.files), NOBODY, np.int64)
    wrote = np.flatnonzero(how & WRITES)[::-1]
    writer[file[wrote]] = job[wrote]  # the first of several stays
    again = len(wrote) - len(np.unique(file[wrote]))
    report.note(
        f"{again} times a job writes a file that another one writes, too; the first is its writer", when=again
    )
    read = np.flatnonzero(how & READS)
    read = read[writer[file[read]] != job[read]]
    return writer, np.unique(np.column_stack([job[read], file[read]]), axis=0)


def _tell(report: ImportReport, found: Workflow, seconds: npt.NDArray[np.float64]) -> None:
    if found.version:
        report.facts["version"] = printable(found.version)[:20]
    unknown = int(np.isnan(seconds).sum())
    report.facts["files"] = len(found.files)
    report.note(f"{unknown} of {len(seconds)} jobs have no runtime: their duration is unknown", when=unknown)
