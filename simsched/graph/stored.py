"""The parts of a stored task graph, checked for consistency before use."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.errors import GraphError
from simsched.graph import checks
from simsched.graph.adjacency import Csr
from simsched.graph.archive import Archive, Array
from simsched.graph.build import MAX_TASKS, called
from simsched.graph.columns import Floats, LabelColumn, TextColumn
from simsched.graph.data import DataObjects
from simsched.graph.data_checks import checked
from simsched.graph.edges import MAX_EDGES, refuse_cycle
from simsched.graph.recording import Recording, positive
from simsched.graph.report import ImportReport
from simsched.graph.shapes import parse_shape
from simsched.notes import Note, Weight


class MisfitError(ValueError):
    """A part of the file is invalid; the message names the part and the reason."""


class Fields:
    """A JSON object whose entries are required and checked for their types.

    Parameters
    ----------
    entries : dict
        The object.
    place : str
        What messages call it.
    """

    def __init__(self, entries: dict[str, Any], place: str) -> None:
        self._entries, self._place = entries, place

    def _entry(self, key: str, kinds: tuple[type, ...], expected: str) -> Any:
        value = self._entries.get(key)
        # A bool is an int to isinstance, but no number here.
        if type(value) not in kinds:
            shown = repr(value)[:60] if key in self._entries else "missing"
            raise MisfitError(f"{self._place}: {key!r} is {shown}, expected {expected}")
        return value

    def string(self, key: str) -> str:
        """Return a string."""
        return str(self._entry(key, (str,), "a string"))

    def flag(self, key: str) -> bool:
        """Return true or false."""
        return bool(self._entry(key, (bool,), "true or false"))

    def count(self, key: str) -> int:
        """Return a number of tasks or edges."""
        value = int(self._entry(key, (int,), "a whole number"))
        if not 0 <= value <= min(MAX_TASKS, MAX_EDGES):
            raise MisfitError(f"{self._place}: {key!r} is {value}, expected 0 to {min(MAX_TASKS, MAX_EDGES)}")
        return value

    def count_or_none(self, key: str) -> int | None:
        """Return a number of objects or the like; None where there is no such entry."""
        return self.count(key) if key in self._entries else None

    def positive_or_none(self, key: str) -> float | None:
        """Return a finite number above zero, or None."""
        value = self._entry(key, (int, float, type(None)), "a number above zero or null")
        try:
            return None if value is None else positive(value, repr(key))
        except GraphError as error:
            raise MisfitError(f"{self._place}: {error}") from None

    def object(self, key: str) -> Fields:
        """Return an object."""
        return Fields(self._entry(key, (dict,), "an object"), f"{self._place}: {key}")

    def object_or_none(self, key: str) -> Fields | None:
        """Return an object, or None."""
        return None if self._entry(key, (dict, type(None)), "an object or null") is None else self.object(key)

    def mapping(self, key: str) -> dict[str, Any]:
        """Return an object unchanged."""
        return dict(self._entry(key, (dict,), "an object"))

    def strings(self, key: str) -> list[str]:
        """Return a list of strings."""
        values: list[Any] = self._entry(key, (list,), "a list of strings")
        for i, value in enumerate(values):
            if type(value) is not str:
                raise MisfitError(f"{self._place}: {key!r}: entry {i} is {value!r:.60}, expected a string")
        return values

    def strings_or_none(self, key: str) -> list[str] | None:
        """Return a list of strings, or None."""
        absent = self._entry(key, (list, type(None)), "a list of strings or null") is None
        return None if absent else self.strings(key)


def successors(archive: Archive, n: int, m: int, names: TextColumn | None) -> Csr:
    """Return the successors of `n` tasks, `m` in all."""
    indptr, indices = archive.array("indptr", "<i8", n + 1), archive.array("indices", "<i4", m)
    _refuse_offsets(indptr, m, "indptr.npy")
    outside = np.flatnonzero((indices < 0) | (indices >= n))
    if len(outside):
        found = indices[outside[0]]
        raise MisfitError(f"indices.npy: entry {outside[0]} is {found}, expected a task, 0 to {n - 1}")
    csr = Csr(indptr, indices)
    sources = csr.sources()
    loops = np.flatnonzero(sources == indices)
    if len(loops):
        raise MisfitError(f"indices.npy: entry {loops[0]} is a self-loop on task {indices[loops[0]]}")
    unsorted = np.flatnonzero((sources[1:] == sources[:-1]) & (indices[1:] <= indices[:-1]))
    if len(unsorted):
        entry, task = unsorted[0] + 1, sources[unsorted[0]]
        raise MisfitError(f"indices.npy: entry {entry} does not ascend among the successors of task {task}")
    refuse_cycle(csr, lambda task: called(task, names))
    return csr


def _refuse_offsets(offsets: Array, end: int, member: str) -> None:
    if offsets[0] != 0 or offsets[-1] != end:
        raise MisfitError(f"{member}: runs from {offsets[0]} to {offsets[-1]}, expected 0 to {end}")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        raise MisfitError(
            f"{member}: entry {falls[0] + 1} is {offsets[falls[0] + 1]}, less than the one before"
        )


def names(archive: Archive, n: int) -> TextColumn:
    """Return the names of `n` tasks."""
    data, offsets = archive.array("names_data", "|u1"), archive.array("names_offsets", "<i8", n + 1)
    _refuse_offsets(offsets, len(data), "names_offsets.npy")
    try:
        data.tobytes().decode()
    except UnicodeDecodeError as error:
        raise MisfitError(f"names_data.npy: {error}") from None
    inner = offsets[offsets < len(data)]
    if np.any(data[inner] & 0xC0 == 0x80):
        raise MisfitError("names_offsets.npy: a name starts within a character")
    return TextColumn(data, offsets)


def labels(archive: Archive, column: str, tables: Fields, n: int) -> LabelColumn:
    """Return one of the columns kinds, shapes and scopes, of `n` tasks."""
    table, codes = tables.strings(column), archive.array(column, "<i4", n)
    if len(set(table)) < len(table):
        raise MisfitError(f"labels.{column}: a label occurs twice")
    outside = np.flatnonzero((codes < 0) | (codes >= len(table)))
    if len(outside):
        found = codes[outside[0]]
        raise MisfitError(
            f"{column}.npy: task {outside[0]} has label {found}, expected 0 to {len(table) - 1}"
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
    found = archive.array("seconds_by_kind", "<f8", n * kinds)
    means, by_kind = checks.durations(found.reshape(n, kinds))
    if by_kind is None or not np.allclose(means, durations_s, rtol=1e-9, atol=0, equal_nan=True):
        raise MisfitError("seconds_by_kind.npy: durations_s are not their means")
    return by_kind


def report(fields: Fields) -> ImportReport:
    """Return the import report."""
    doubts = set(fields.strings_or_none("doubts") or ())
    notes = [Note(note, Weight.DOUBT) if note in doubts else note for note in fields.strings("notes")]
    return ImportReport(fields.string("source"), fields.string("format"), fields.mapping("facts"), notes)
