"""The parts of a stored task graph, checked for consistency before use."""

from __future__ import annotations

import numpy as np

from simsched.errors import GraphError
from simsched.graph import checks
from simsched.graph.adjacency import Csr
from simsched.graph.archive import Archive, Array
from simsched.graph.build import called
from simsched.graph.columns import Floats, LabelColumn, TextColumn
from simsched.graph.data import DataObjects
from simsched.graph.data_checks import checked
from simsched.graph.edges import refuse_cycle
from simsched.graph.header import Report
from simsched.graph.recording import Recording
from simsched.graph.report import ImportReport
from simsched.graph.shapes import parse_shape
from simsched.notes import Note, Weight


def successors(archive: Archive, n: int, m: int, names: TextColumn | None) -> Csr:
    """Return the successors of `n` tasks, `m` in all."""
    indptr, indices = archive.array("indptr", "<i8", n + 1), archive.array("indices", "<i4", m)
    _refuse_offsets(indptr, m, "indptr.npy")
    checks.refuse_where(
        (indices < 0) | (indices >= n),
        lambda i: f"indices.npy: entry {i} is {indices[i]}, expected a task, 0 to {n - 1}",
    )
    csr = Csr(indptr, indices)
    sources = csr.sources()
    checks.refuse_where(
        sources == indices, lambda i: f"indices.npy: entry {i} is a self-loop on task {indices[i]}"
    )
    checks.refuse_where(
        (sources[1:] == sources[:-1]) & (indices[1:] <= indices[:-1]),
        lambda i: f"indices.npy: entry {i + 1} does not ascend among the successors of task {sources[i]}",
    )
    refuse_cycle(csr, lambda task: called(task, names))
    return csr


def _refuse_offsets(offsets: Array, end: int, member: str) -> None:
    if offsets[0] != 0 or offsets[-1] != end:
        raise GraphError(f"{member}: runs from {offsets[0]} to {offsets[-1]}, expected 0 to {end}")
    checks.refuse_where(
        offsets[1:] < offsets[:-1],
        lambda i: f"{member}: entry {i + 1} is {offsets[i + 1]}, less than the one before",
    )


def names(archive: Archive, n: int) -> TextColumn:
    """Return the names of `n` tasks."""
    data, offsets = archive.array("names_data", "|u1"), archive.array("names_offsets", "<i8", n + 1)
    _refuse_offsets(offsets, len(data), "names_offsets.npy")
    try:
        data.tobytes().decode()
    except UnicodeDecodeError as error:
        raise GraphError(f"names_data.npy: {error}") from None
    inner = offsets[offsets < len(data)]
    if np.any(data[inner] & 0xC0 == 0x80):
        raise GraphError("names_offsets.npy: a name starts within a character")
    return TextColumn(data, offsets)


def labels(archive: Archive, column: str, table: list[str], n: int) -> LabelColumn:
    """Return one of the columns kinds, shapes and scopes, of `n` tasks."""
    codes = archive.array(column, "<i4", n)
    if len(set(table)) < len(table):
        raise GraphError(f"labels.{column}: a label occurs twice")
    checks.refuse_where(
        (codes < 0) | (codes >= len(table)),
        lambda i: f"{column}.npy: task {i} has label {codes[i]}, expected 0 to {len(table) - 1}",
    )
    if column == "shapes":
        for text in table:
            parse_shape(text)
    return LabelColumn(codes, tuple(table))


def recording(archive: Archive, lane_names: list[str], n: int) -> Recording | None:
    """Return time and place of each of `n` tasks."""
    start, finish = archive.array("start_s", "<f8", n), archive.array("finish_s", "<f8", n)
    priorities = archive.array("priorities", "<f8", n) if "priorities.npy" in archive.names else None
    lanes = archive.array("lanes", "<i4", n)
    return checks.recording(Recording(start, finish, lanes, tuple(lane_names), priorities), n)


def data(archive: Archive, k: int, successors: Csr) -> DataObjects:
    """Return `k` data objects of the graph with these edges."""
    size_B, producer = archive.array("object_size_B", "<f8", k), archive.array("object_producer", "<i4", k)
    readers = Csr(archive.array("object_indptr", "<i8", k + 1), archive.array("object_readers", "<i4"))
    return checked(DataObjects(size_B, producer, readers), successors)


def seconds_by_kind(archive: Archive, durations_s: Floats, kinds: int) -> Floats:
    """Return the seconds of each task on each of so many kinds of cores."""
    n = len(durations_s)
    means, by_kind = checks.durations(archive.array("seconds_by_kind", "<f8", n * kinds).reshape(n, kinds))
    if by_kind is None or not np.allclose(means, durations_s, rtol=1e-9, atol=0, equal_nan=True):
        raise GraphError("seconds_by_kind.npy: durations_s are not their means")
    return by_kind


def report(found: Report) -> ImportReport:
    """Return the import report."""
    doubts = found.doubts or ()
    notes = [Note(note, Weight.DOUBT) if note in doubts else note for note in found.notes]
    return ImportReport(found.source, found.format, found.facts, notes)
