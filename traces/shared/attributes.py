"""Tasks as nodes with attributes, as in DOT and GraphML: the columns of a graph, read and written by name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.columns import plain_text
from simsched.graph.data_columns import ENDS, EdgeRows, ends_of, numbered, tell_lost
from simsched.graph.interop import node_seconds, refuse_other_means, to_frames
from simsched.graph.loading import plain_name
from simsched.graph.recording import RECORDED_ON, Recording
from simsched.graph.report import KINDS_ARE
from simsched.text import counted, printable
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import written_origin
from simsched.traces.shared.options import word

TEXTS = ("name", "kind", "scope", "shapes")
NUMBERS = ("flops", "bytes_B", "start_s", "finish_s", *ENDS)
#: All that is read and written: columns of `TaskGraph.to_frames` and of a recording.
COLUMNS = ("duration_s", *TEXTS, "threads", *NUMBERS, "lane", "seconds_by_kind")
#: Columns with other names in files, because many programs take a node's width and shape for those of its drawing.
RENAMED = {"width": "threads", "shape": "shapes"}
#: Of a node: a JSON list of its seconds on each kind of core.
BY_KIND = "seconds_by_kind"
#: Of the graph: the names of the recording's lanes, a JSON list.
LANE_NAMES = "lane_names"
#: Attributes of the graph besides its name: texts.
OF_GRAPH = (LANE_NAMES, KINDS_ARE, RECORDED_ON)
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
OPTIONS = {
    "duration": "attribute of the nodes that holds their durations; duration_s when not given",
    "unit": "its unit: s (when not given), ms, us or ns",
}
#: Longer lists of seconds are none.
MAX_LIST = 10_000
_NUMBER = re.compile(r"[+-]?(\d{1,400}\.?\d{0,400}|\.\d{1,400})([eE][+-]?\d{1,4})?", re.ASCII)
#: Some programs, such as igraph, write all numbers as floats.
_WHOLE = re.compile(r"(\d{1,10})(?:\.0*)?", re.ASCII)


@dataclass(frozen=True)
class Durations:
    """Attribute that holds durations, and how many decimals its unit is away from seconds."""

    attribute: str
    decimals: int

    @classmethod
    def of(cls, path: Path, duration: object, unit: object) -> Durations:
        """Return the meaning of the options `duration` and `unit`, or raise `FormatError`."""
        if not isinstance(duration, str) or not duration:
            raise FormatError(f"{path}: duration is {shown(duration)}; expected the name of an attribute")
        return cls(duration, UNITS[word(path, "unit", unit, UNITS)])


@dataclass(frozen=True)
class Nodes:
    """The nodes and edges of a file.

    Parameters
    ----------
    path : Path
        The file.
    format : str
        Name of the format.
    rows : dict of str to mapping
        Of every node, by id, its attributes by the names in `COLUMNS`, and the duration's.
    edges : int array, shape (m, 2)
        Positions in `rows`.
    name : str
        Of the graph; "" where the file has none.
    of_graph : mapping of str to str
        Of `OF_GRAPH`, those that the file has.
    unread : iterable of str
        Names of other attributes, for the report.
    objects : mapping of int to mapping
        Attributes of the edges that have any, of which `bytes_B` and `object` are read.
    """

    path: Path
    format: str
    rows: Mapping[str, Mapping[str, Any]]
    edges: npt.NDArray[np.integer[Any]]
    name: str
    of_graph: Mapping[str, str]
    unread: Sequence[str]
    objects: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def graph(self, durations: Durations) -> TaskGraph:
        """Return the task graph; raise `FormatError` or `GraphError` where there is none."""
        report = ImportReport(self.path.name, self.format)
        if whose := plain_text(self.of_graph.get(KINDS_ARE)):
            report.facts[KINDS_ARE] = whose
        seconds = [self._number(node, durations.attribute, durations.decimals) for node in self.rows]
        self._tell(report, durations, seconds)
        number = {c: [self._number(node, c) for node in self.rows] for c in NUMBERS}
        text = {c: [plain_text(row.get(c)) for row in self.rows.values()] for c in TEXTS[1:]}
        edge_bytes, edge_objects = self._data()
        return TaskGraph.from_edges(
            self._by_kind(durations, seconds),
            self.edges,
            names=self._names(),
            kinds=text["kind"],
            scopes=text["scope"],
            shapes=text["shapes"],
            flops=number["flops"],
            bytes_B=number["bytes_B"],
            widths=[self._whole(node, "threads", 1) for node in self.rows] or 1,
            name=self.name or Path(plain_name(self.path)).stem,
            recorded_on=written_origin(self.path, self.of_graph.get(RECORDED_ON)),
            report=report,
            recording=self._recording(number["start_s"], number["finish_s"], report),
            edge_bytes=edge_bytes,
            edge_objects=edge_objects,
            input_bytes=np.nan_to_num(number["input_bytes"]),
            output_bytes=np.nan_to_num(number["output_bytes"]),
        )

    def _by_kind(self, durations: Durations, seconds: list[float]) -> Any:
        """Return seconds by kind of core where nodes have them and no other attribute is to be read."""
        if durations != Durations("duration_s", 0) or not any(BY_KIND in row for row in self.rows.values()):
            return seconds
        values: list[Any] = list(seconds)
        for i, (node, row) in enumerate(self.rows.items()):
            if BY_KIND in row:
                values[i] = _numbers_of(row[BY_KIND])
                if values[i] is None:
                    raise self._wrong(
                        node, BY_KIND, row[BY_KIND], "a JSON list of numbers of zero or more, or null"
                    )
        matrix = np.array(node_seconds(values))
        refuse_other_means(np.array(seconds), matrix)
        return matrix

    def _data(self) -> tuple[list[float] | None, Any]:
        """Return bytes and numbers of the objects that edges carry; None where none has any."""
        if not any("bytes_B" in row or "object" in row for row in self.objects.values()):
            return None, None
        sizes, labels, sized = [], [], []
        for edge in range(len(self.edges)):
            row = self.objects.get(edge, {})
            size, label = str(row.get("bytes_B", "nan")).strip(), row.get("object")
            if isinstance(row.get("bytes_B"), bool) or not (size.lower() == "nan" or _NUMBER.fullmatch(size)):
                raise self._odd_bytes(edge, row["bytes_B"])
            sizes.append(float(size))
            labels.append(None if label is None else str(label).strip())
            sized.append("bytes_B" in row)
        if all(label is None or _WHOLE.fullmatch(label) for label in labels):
            return sizes, numbered([label if label is None else int(float(label)) for label in labels], sized)
        return sizes, numbered(labels, sized)

    def _odd_bytes(self, edge: int, value: object) -> FormatError:
        names = list(self.rows)
        before, after = (shown(names[end]) for end in self.edges[edge])
        return FormatError(
            f"{self.path}: edge {before} to {after} has bytes_B {shown(value)}; expected a number, or nothing where it "
            "is unknown"
        )

    def _tell(self, report: ImportReport, durations: Durations, seconds: Sequence[float]) -> None:
        unknown = sum(map(math.isnan, seconds))
        report.facts["tasks_without_duration"] = unknown
        others = [printable(name)[:40] for name in self.unread if name not in COLUMNS]
        if unknown and unknown == len(seconds):
            there = f"; other attributes are {', '.join(others)}: duration=NAME takes one" if others else ""
            why = (
                f"no node has an attribute {printable(durations.attribute)}, so durations are unknown{there}"
            )
            report.note(why)
            report.facts["durations_why"] = why
        elif others:
            report.note(f"not kept, as task graphs have no such columns: {', '.join(others)}")

    def _names(self) -> list[str] | None:
        named = any("name" in row for row in self.rows.values())
        if not named and all(node == str(i) for i, node in enumerate(self.rows)):
            return None
        return [plain_text(row.get("name", node)) for node, row in self.rows.items()]

    def _wrong(self, node: str, column: str, value: object, expected: str) -> FormatError:
        return FormatError(
            f"{self.path}: node {shown(node)} has {printable(column)} {shown(value)}; expected {expected}"
        )

    def _number(self, node: str, column: str, decimals: int = 0) -> float:
        value = self.rows[node].get(column)
        if value is None or str(value).lower() in ("", "nan"):
            return math.nan
        text = str(value).strip()
        if isinstance(value, bool) or not _NUMBER.fullmatch(text):
            raise self._wrong(node, column, value, "a number, or nothing where it is unknown")
        number = float(Decimal(text).scaleb(-decimals)) if decimals else float(text)
        if not 0 <= number < math.inf:
            raise self._wrong(node, column, value, "a finite number of zero or more")
        return number

    def _whole(self, node: str, column: str, default: int) -> int:
        value = self.rows[node].get(column, default)
        found = _WHOLE.fullmatch(str(value).strip())
        if isinstance(value, bool) or found is None:
            raise self._wrong(node, column, value, "a whole number")
        return int(found[1])

    def _recording(self, start: list[float], finish: list[float], report: ImportReport) -> Recording | None:
        rows = self.rows.values()
        lacking = sum(
            "lane" not in r or math.isnan(s + f) for r, s, f in zip(rows, start, finish, strict=True)
        )
        if lacking or not self.rows:
            report.note(
                f"{counted(lacking, 'task')} without start_s, finish_s or lane, so there is no recorded run",
                when=any(not math.isnan(s) for s in start),
            )
            return None
        labels = [plain_text(row["lane"]) for row in rows]
        if (names := self._lanes()) is None:
            names = list(dict.fromkeys(labels))
            place = {name: lane for lane, name in enumerate(names)}
            lanes = [place[label] for label in labels]
        else:
            lanes = [self._whole(node, "lane", 0) for node in self.rows]
            beyond = next(
                (node for node, lane in zip(self.rows, lanes, strict=True) if lane >= len(names)), None
            )
            if beyond is not None:
                raise self._wrong(
                    beyond, "lane", self.rows[beyond]["lane"], f"an index of the {len(names)} lane_names"
                )
        return Recording(np.array(start), np.array(finish), np.array(lanes, np.int32), tuple(names))

    def _lanes(self) -> list[str] | None:
        if not (written := self.of_graph.get(LANE_NAMES)):
            return None
        try:
            names = json.loads(written)
        except (ValueError, RecursionError):
            names = None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise FormatError(
                f"{self.path}: {LANE_NAMES} is {shown(written)}; expected a JSON list of strings"
            )
        return names


def rows(graph: TaskGraph) -> Iterator[dict[str, str | int | float]]:
    """Yield the attributes of each task by the names in `COLUMNS`, without unknown or empty ones.

    Text has every character that cannot be printed as its escape; numbers are exact. A warning tells of data objects
    that neither these nor edges carry.
    """
    tell_lost(graph)
    tasks, _ = to_frames(replace(graph, data=None, seconds_by_kind=None))
    columns = {RENAMED.get(str(c), str(c)): tasks[c].tolist() for c in tasks.columns}
    if graph.seconds_by_kind is not None:
        columns[BY_KIND] = [
            math.nan if math.isnan(row[0]) else json.dumps(listed(row))
            for row in graph.seconds_by_kind.tolist()
        ]
    columns |= {c: np.where(values, values, np.nan).tolist() for c, values in ends_of(graph)[0].items()}
    if (run := graph.recording) is not None:
        columns |= {
            "start_s": run.start_s.tolist(),
            "finish_s": run.finish_s.tolist(),
            "lane": run.lanes.tolist(),
        }
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield {c: printable(v) if isinstance(v, str) else v for c, v in row.items() if _known(c, v)}


def _known(column: str, value: Any) -> bool:
    if isinstance(value, str):
        return bool(value) or column == "name"
    return not math.isnan(value)


def edge_rows(graph: TaskGraph) -> Iterator[tuple[int, int, dict[str, int | float]]]:
    """Yield the edges, each once for each object that it carries, with the object's known bytes and number."""
    found = EdgeRows.of(graph)
    ends = zip(found.before.tolist(), found.after.tolist(), strict=True)
    if found.object is None or found.bytes_B is None:
        yield from ((before, after, {}) for before, after in ends)
        return
    for (before, after), size_B, number in zip(
        ends, found.bytes_B.tolist(), found.object.tolist(), strict=True
    ):
        row = {"bytes_B": size_B, "object": number} if number >= 0 else {}
        yield before, after, {key: value for key, value in row.items() if not math.isnan(value)}


def _numbers_of(value: object) -> list[float] | None:
    """Return the numbers in a JSON list, inf for null; None for anything else."""
    try:
        found = json.loads(str(value)[:MAX_LIST])
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(type(one) in (int, float, type(None)) for one in found):
        return None
    return (
        list(map(float, unlisted(found))) if all(one is None or 0 <= one < 1e300 for one in found) else None
    )


def listed(row: list[float]) -> list[float | None]:
    """Return seconds on each kind of core as JSON has them: null for kinds that cannot run the task."""
    return [None if math.isinf(seconds) else seconds for seconds in row]


def unlisted(row: list[Any]) -> list[Any]:
    """Return what `listed` was given."""
    return [math.inf if seconds is None else seconds for seconds in row]


def of_graph(graph: TaskGraph) -> dict[str, str]:
    """Return the attributes of `OF_GRAPH` that a graph has."""
    lanes = "" if graph.recording is None else json.dumps(graph.recording.lane_names)
    found = {
        LANE_NAMES: lanes,
        KINDS_ARE: printable(str(graph.report.facts.get(KINDS_ARE, ""))),
        RECORDED_ON: "" if graph.recorded_on is None else graph.recorded_on.written,
    }
    return {key: text for key, text in found.items() if text}
