"""Workflows of Pegasus in XML (DAX): jobs as tasks, files as data objects.

References
----------
dax-2.1.xsd to dax-3.6.xsd of Pegasus: `adag` holds `job` (and `dax`, `dag`: workflows as jobs), each with `uses`, and
`child` with `parent`. Sizes and run times, which generators of workflows write, are attributes.
"""

from __future__ import annotations

import math
import re
from array import array
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import NOBODY, ImportReport, LabelColumn, TaskGraph, TextColumn
from simsched.graph.budget import budget
from simsched.graph.data_checks import with_reads
from simsched.graph.loading import Reader, open_plain, plain_name
from simsched.graph.recording import UNKNOWN
from simsched.graph.report import KINDS_ARE
from simsched.graph.xml import XmlReading
from simsched.text import counted, printable
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.spans import Whole

JOBS = ("job", "dax", "dag")
READS, WRITES = 1, 2
NONE = -1
_LINKS = {"input": READS, "output": WRITES, "inout": READS | WRITES}
_NUMBER = re.compile(
    r"\s*\+?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?|\.[0-9]{1,25})(?:[eE][+-]?[0-9]{1,3})?\s*", re.ASCII
)
MAX_S, MAX_SIZE_B = 1e9, 1e18
MAX_CORES = 2**20
#: Of a profile or a datum that is kept; arguments of jobs are not.
MOST_TEXT = 1000


class _Workflow(XmlReading):
    """Jobs, files and dependencies of a DAX, as columns.

    Parameters
    ----------
    path : Path
        The file, for messages.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.name = self.version = ""
        #: Ids, those of jobs and those that only parents and children name, and the job of each.
        self.ids, self.jobs = _Numbered(), array("i")
        self._numbered = lru_cache(2**16)(self.ids.add)
        #: Of each job.
        self.job_ids, self.kinds, self.scopes, self.labels = array("i"), array("i"), array("i"), _Numbered()
        self.seconds, self.cores = array("d"), array("l")
        #: Of each file, by name.
        self.files = _Numbered()
        self.sizes_B = array("d")
        #: Of each use: job, file, whether it reads, writes or both.
        self.use_job, self.use_file, self.use_how = array("i"), array("i"), array("b")
        #: Of each child: its id and how many parents stand before; of each parent its id and line.
        self.children, self.before = array("i"), array("i")
        self.parents, self.edge_lines = array("i"), array("i")
        self._job = self._file = self._child = NONE
        self._key, self._text = "", ""
        self._root = False

    def feed(self, data: bytes, last: bool = False) -> None:
        """Take the next bytes; count what they hold."""
        super().feed(data, last)
        budget().check(self.path, len(self.kinds), "tasks")
        budget().check(self.path, max(len(self.parents), len(self.use_job)), "edges")

    def start(self, kind: str, attributes: dict[str, str]) -> None:
        """Take the beginning of an element."""
        if kind == "parent" and self._child != NONE:  # of which there may be millions
            self.parents.append(self._id(attributes, "ref", kind))
            self.edge_lines.append(self.parser.CurrentLineNumber)
        elif not self._root:
            self._begin(kind, attributes)
        elif kind == "uses" and self._job >= 0:
            self._uses(attributes)
        elif kind in JOBS and self._job < 0:
            self._begin_job(kind, attributes)
        elif kind == "parent":
            raise self.refused("a parent stands in no child")
        elif kind == "child":
            self._child = self._id(attributes, "ref", kind)
            self.children.append(self._child)
            self.before.append(len(self.parents))
        elif kind == "file" and self._job < 0:
            self._file = self._of(self._needed(attributes, "name", kind))
        elif kind == "profile" and self._job >= 0 and attributes.get("namespace") == "pegasus":
            self._listen(attributes.get("key", ""), "runtime", "cores")
        elif kind == "metadata" and self._file >= 0:
            self._listen(attributes.get("key", ""), "size")

    def end(self, kind: str) -> None:
        """Take the end of an element."""
        if kind == "parent":
            return
        if kind in JOBS:
            self._job = NONE
        if kind in ("uses", "file"):
            self._file = NONE
        if kind == "child":
            self._child = NONE
        if self._key and kind in ("profile", "metadata"):
            self._told(self._key, self._text)
            self._key, self._text = "", ""
            self.parser.CharacterDataHandler = None

    def _begin(self, kind: str, attributes: dict[str, str]) -> None:
        if kind != "adag":
            raise self.refused(f"the element {shown(kind)}; expected adag, the root of a DAX")
        self._root = True
        self.name, self.version = attributes.get("name", ""), attributes.get("version", "")

    def _begin_job(self, kind: str, attributes: dict[str, str]) -> None:
        ident = self._id(attributes, "id", kind)
        self.jobs.extend([NONE] * (ident + 1 - len(self.jobs)))
        if self.jobs[ident] != NONE:
            raise self.refused(f"a second {kind} with the id {shown(attributes['id'])}")
        self._job = self.jobs[ident] = len(self.kinds)
        self.job_ids.append(ident)
        self.kinds.append(self.labels.add(attributes.get("name") or attributes.get("file") or kind))
        self.scopes.append(self.labels.add(attributes.get("namespace", "")))
        told = attributes.get("runtime")
        self.seconds.append(math.nan if told is None else self._number("runtime", told, MAX_S))
        self.cores.append(1)

    def _uses(self, attributes: dict[str, str]) -> None:
        how = _LINKS.get(attributes.get("link", "").lower(), 0)
        name = attributes.get("file") or attributes.get("name")
        if not how or attributes.get("executable", "").lower() == "true":
            return
        if not name:
            raise self.refused("uses without file or name")
        self._file = self._of(name)
        self.use_job.append(self._job)
        self.use_file.append(self._file)
        self.use_how.append(how)
        if "size" in attributes:
            self._told("size", attributes["size"])

    def _of(self, name: str) -> int:
        number = self.files.add(name)
        if number == len(self.sizes_B):
            self.sizes_B.append(math.nan)
        return number

    def _listen(self, key: str, *wanted: str) -> None:
        if key.lower() in wanted:
            self._key, self._text = key.lower(), ""
            self.parser.CharacterDataHandler = self._characters

    def _characters(self, text: str) -> None:
        if len(self._text) < MOST_TEXT:
            self._text += text

    def _told(self, key: str, text: str) -> None:
        if key == "size" and self._file >= 0:
            self.sizes_B[self._file] = self._number("size", text, MAX_SIZE_B)
        elif key == "runtime" and self._job >= 0 and math.isnan(self.seconds[self._job]):
            self.seconds[self._job] = self._number("runtime", text, MAX_S)
        elif key == "cores" and self._job >= 0:
            self.cores[self._job] = max(1, math.ceil(self._number("cores", text, MAX_CORES)))

    def _number(self, what: str, text: str, most: float) -> float:
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not 0 <= value <= most:
            raise self.refused(f"{what} is {shown(text)}; expected a number from 0 to {most:g}")
        return value

    def _needed(self, attributes: dict[str, str], key: str, kind: str) -> str:
        if told := attributes.get(key):
            return told
        raise self.refused(f"{kind} without {key}")

    def _id(self, attributes: dict[str, str], key: str, kind: str) -> int:
        """Return the number of the id that an attribute gives."""
        return self._numbered(self._needed(attributes, key, kind))

    def edges(self) -> npt.NDArray[np.int64]:
        """Return the edges between parents and children, shape (m, 2); raise `FormatError` where a job is not there."""
        counts = np.diff(self.before, append=len(self.parents))
        ids = np.column_stack([self.parents, np.repeat(self.children, counts)])
        self.jobs.extend([NONE] * (len(self.ids) - len(self.jobs)))
        pairs: npt.NDArray[np.int64] = np.array(self.jobs, np.int64)[ids]
        unknown = np.argwhere(pairs == NONE)
        if len(unknown):
            row, end = unknown[0].tolist()
            ident = self.ids.column()[ids[row, end]]
            raise FormatError(
                f"{self.path}: line {self.edge_lines[row]}: a parent or child is job {shown(ident)}, which is not there"
            )
        return pairs

    def names(self) -> TextColumn:
        """Return the ids of jobs."""
        ids = self.ids.column()
        if np.array_equal(self.job_ids, np.arange(len(ids))):
            return ids
        return TextColumn.from_strings(ids[i] for i in self.job_ids)


#: After blanks, instructions and comments.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?>[\s\S]*?\?>)|<!--(?>[\s\S]*?-->))*+<(?:[A-Za-z_][\w.-]{0,40}:)?adag[\s>]"
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
    found = _Workflow(path)
    with open_plain(path) as stream:
        found.read(stream)
    if not found.kinds:
        raise FormatError(f"{path}: no job in it")
    report = ImportReport(path.name, "dax", {KINDS_ARE: "programs"})
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
    labels = found.labels.column().to_list()
    kinds, scopes = (
        LabelColumn.from_codes(np.frombuffer(codes, np.int32), labels)
        for codes in (found.kinds, found.scopes)
    )
    graph = TaskGraph.from_edges(
        seconds,
        edges,
        kinds=kinds,
        names=found.names(),
        scopes=scopes,
        widths=cores,
        name=found.name or plain_name(path, ".xml", ".dax"),
        recorded_on=UNKNOWN,
        report=report,
    )
    sizes_B = np.array(found.sizes_B, np.float64)
    del found, edges, seconds, cores, kinds, scopes  # they would take memory beside the data objects
    return with_reads(graph, sizes_B, writer, reads[:, 1], reads[:, 0])


DAX = Reader(
    title="workflow of Pegasus in XML (DAX), versions 2 to 3.6",
    dependencies="parents and children; without any, files",
    times="runtime of jobs, s",
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


def _files(found: _Workflow, report: ImportReport) -> tuple[Whole, Whole]:
    """Return the job that writes each file (-1 for none), and job and file of each read, shape (m, 2)."""
    job, file, how = (np.array(column, np.int64) for column in (found.use_job, found.use_file, found.use_how))
    writer = np.full(len(found.files), NOBODY, np.int64)
    wrote = np.flatnonzero(how & WRITES)[::-1]
    writer[file[wrote]] = job[wrote]  # the first of several stays
    again = len(wrote) - len(np.unique(file[wrote]))
    report.note(
        f"{counted(again, 'write')} of a file that another job wrote before; the first is its writer",
        when=again,
    )
    read = np.flatnonzero(how & READS)
    read = read[writer[file[read]] != job[read]]
    return writer, np.unique(np.column_stack([job[read], file[read]]), axis=0)


def _tell(report: ImportReport, found: _Workflow, seconds: npt.NDArray[np.float64]) -> None:
    if found.version:
        report.facts["version"] = printable(found.version)[:20]
    unknown = int(np.isnan(seconds).sum())
    report.facts["files"] = len(found.files)
    report.note(f"{unknown} of {len(seconds)} jobs have no runtime: their duration is unknown", when=unknown)


class _Numbered:
    """Texts, of which each has the number of its first appearance.

    Examples
    --------
    >>> found = _Numbered()
    >>> found.add("cut"), found.add("add"), found.add("cut"), len(found)
    (0, 1, 0, 2)
    >>> found.column().to_list()
    ['cut', 'add']
    """

    def __init__(self) -> None:
        self._data, self._ends = bytearray(), array("q", [0])
        #: Numbers by the hashes of their texts, the next free place where that is taken; -1 for none.
        self._slots = array("i", [-1]) * 1024

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> int:
        """Return the number of a text, which it gets here where it has none."""
        key = text.encode()
        place = self._place(key)
        if self._slots[place] < 0:
            self._slots[place] = len(self)
            self._data += key
            self._ends.append(len(self._data))
            if 2 * len(self) > len(self._slots):
                self._grow()
            return len(self) - 1
        return self._slots[place]

    def column(self) -> TextColumn:
        """Return all texts, by number."""
        return TextColumn(np.frombuffer(bytes(self._data), np.uint8), np.array(self._ends, np.int64))

    def _place(self, key: bytes) -> int:
        data, ends, slots = self._data, self._ends, self._slots
        last = len(slots) - 1
        place = hash(key) & last
        while (number := slots[place]) >= 0 and data[ends[number] : ends[number + 1]] != key:
            place = place + 1 & last
        return place

    def _grow(self) -> None:
        self._slots = array("i", [-1]) * (2 * len(self._slots))
        for number in range(len(self)):
            self._slots[self._place(bytes(self._data[self._ends[number] : self._ends[number + 1]]))] = number
