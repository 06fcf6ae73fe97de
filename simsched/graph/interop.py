"""Task graphs to and from networkx and pandas.

The columns, the names and the edges survive the way there and back bit by bit; the report, the recording
and the machine that recorded are not part of these forms (`TaskGraph.save` keeps them), but that a graph of networkx
says whose names its kinds are, as the report does, and which machine recorded its durations (`recorded_on`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph import data_columns
from simsched.graph.checks import kind_means, refuse_where
from simsched.graph.columns import Floats, plain_text
from simsched.graph.data_columns import ENDS
from simsched.graph.recording import RECORDED_ON, RecordedOn, measured_on
from simsched.graph.report import KINDS_ARE, ImportReport
from simsched.later import later

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from simsched.graph.taskgraph import TaskGraph

NUMBER_COLUMNS = ("duration_s", "flops", "bytes_B")
TEXT_COLUMNS = ("name", "kind", "shape", "scope")
COLUMNS = (*NUMBER_COLUMNS, "width", *TEXT_COLUMNS)
#: Seconds on each kind of core.
KIND_COLUMN = "duration_kind{}_s".format
_KIND_COLUMN = re.compile(r"duration_kind(\d{1,3})_s", re.ASCII)


def from_frames(tasks: pd.DataFrame, edges: pd.DataFrame, *, name: str = "graph") -> TaskGraph:
    """Build a graph from a table of tasks and one of edges.

    Parameters
    ----------
    tasks : DataFrame
        One row per task, in index order, with `duration_s` and any of `name`, `kind`, `shape`, `scope`,
        `width`, `flops`, `bytes_B`; empty cells are unknown, but of `width`, which has whole numbers only.
        `input_bytes` and `output_bytes`: see `TaskGraph.from_edges`; empty for none. A
        column `task`, if there is one, labels the tasks for the edges; else the frame's index does. Without a column
        `name`, labels are the tasks' names, too, unless they are 0 to n - 1 in this order.
        Seconds by kind of core are columns `duration_kind0_s`, `duration_kind1_s`, ..., and `duration_s`, if it is
        there, is their mean.
    edges : DataFrame
        Columns `before` and `after`; where tasks hand data to others, `bytes_B`, the bytes of the object that the edge
        carries (empty where unknown), and `object`, its number or label (empty or -1 where it carries none; without
        the column, each edge carries an object of its own). An edge with several objects has as many rows.
    name : str
        Name of the graph.

    Raises
    ------
    GraphError
        If a column is missing, occurs twice or holds no numbers, two tasks have one label, an edge names a
        missing task, or as for `TaskGraph.from_edges`.
    """
    import pandas as pd

    for table, what in ((tasks, "tasks"), (edges, "edges")):
        if not hasattr(table, "columns"):
            raise GraphError(f"{what} is {table!r:.80}; expected a DataFrame")
    by_kind = kind_columns(tasks)
    _refuse_columns(tasks, "tasks", () if by_kind else ("duration_s",))
    _refuse_columns(edges, "edges", ("before", "after"))
    report = ImportReport("frames")
    _tell_ignored(report, (c for c in tasks.columns if c not in (*COLUMNS, *ENDS, "task", *by_kind)))
    unread = (c for c in edges.columns if c not in ("before", "after", *data_columns.COLUMNS))
    _tell_ignored(report, unread, "edges of task graphs")
    text = {c: _strings(tasks[c]) for c in TEXT_COLUMNS if c in tasks}
    number = {c: _numbers(tasks[c], c) for c in NUMBER_COLUMNS if c in tasks}
    edge_bytes, edge_objects = _data(edges)
    labels = pd.Index(tasks["task"]) if "task" in tasks else tasks.index.to_flat_index()
    return later("TaskGraph").from_edges(
        _seconds(tasks, by_kind, number.get("duration_s")),
        _ends(labels, edges),
        names=text["name"] if "name" in text else _label_names(labels),
        kinds=text.get("kind"),
        shapes=text.get("shape"),
        scopes=text.get("scope"),
        flops=number.get("flops"),
        bytes_B=number.get("bytes_B"),
        widths=tasks["width"].to_numpy() if "width" in tasks else 1,
        name=name,
        report=report,
        edge_bytes=edge_bytes,
        edge_objects=edge_objects,
        **{c: np.nan_to_num(_numbers(tasks[c], c)) for c in ENDS if c in tasks},
    )


def kind_columns(columns: Iterable[object]) -> list[str]:
    """Return the columns of seconds by kind of core, in the order of kinds.

    Raises
    ------
    GraphError
        If one between them is missing.
    """
    found = [match for c in columns if (match := _KIND_COLUMN.fullmatch(str(c)))]
    by_number = {int(match[1]): match[0] for match in found}
    for kind in range(len(by_number)):
        if kind not in by_number:
            raise GraphError(
                f"there is a column {by_number[max(by_number)]!r} and no {KIND_COLUMN(kind)!r}; give the seconds on "
                "every kind of core"
            )
    return [by_number[kind] for kind in range(len(by_number))]


def _seconds(tasks: pd.DataFrame, by_kind: list[str], means: Floats | None) -> Floats:
    """Return the seconds of tasks, shape (n,), or (n, kinds of cores) where there are columns for kinds."""
    if not by_kind and means is not None:
        return means
    matrix = np.stack([_numbers(tasks[c], c) for c in by_kind], axis=1)
    if means is not None:
        refuse_other_means(means, matrix)
    return matrix


def refuse_other_means(means: Floats, matrix: Floats) -> None:
    """Check that seconds are the means of those by kind of core.

    Raises
    ------
    GraphError
        If one is not.
    """
    refuse_where(
        ~np.isclose(means, kind_means(matrix), rtol=1e-9, atol=0, equal_nan=True),
        lambda task: (
            f"task {task} has duration_s {means[task]:g}, but its seconds by kind of core have the mean "
            f"{kind_means(matrix)[task]:g}; leave duration_s out"
        ),
    )


def _data(edges: pd.DataFrame) -> tuple[Floats | None, npt.NDArray[np.int64] | None]:
    """Return bytes and objects of edges."""
    if "bytes_B" not in edges:
        if "object" in edges:
            raise GraphError(
                "the table of edges has a column 'object' and no 'bytes_B'; give the objects' bytes, too"
            )
        return None, None
    sizes = _numbers(edges["bytes_B"], "bytes_B")
    if "object" not in edges:
        return sizes, None
    column = edges["object"]
    if column.dtype.kind in "iu" and not column.isna().any():
        return sizes, column.to_numpy(np.int64)
    labels = [
        None if absent else label
        for label, absent in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]
    # pandas makes whole numbers floats where one is missing.
    labels = [int(label) if isinstance(label, float) and label.is_integer() else label for label in labels]
    return sizes, data_columns.numbered(labels, [False] * len(labels))


def _refuse_columns(frame: pd.DataFrame, called: str, needed: tuple[str, ...]) -> None:
    missing = [c for c in needed if c not in frame]
    if missing:
        has = ", ".join(map(repr, frame.columns)) or "none"
        raise GraphError(f"the table of {called} has no column {missing[0]!r}; its columns are {has}")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise GraphError(f"the table of {called} has two columns {twice!r}; drop or rename one")


def _tell_ignored(report: ImportReport, columns: Iterable[object], what: str = "task graphs") -> None:
    if ignored := sorted({plain_text(c) for c in columns}):
        report.note(f"not kept, as {what} have no such columns: {', '.join(ignored)}")


def _label_names(labels: pd.Index[Any]) -> list[str] | None:
    return None if labels.tolist() == list(range(len(labels))) else _strings(labels)


def _ends(labels: pd.Index[Any], edges: pd.DataFrame) -> npt.NDArray[np.int64]:
    import pandas as pd

    try:
        if not labels.is_unique:
            raise GraphError(
                f"two tasks are labelled {_shown(labels[labels.duplicated()][0])}; labels must differ"
            )
        ends = np.stack([labels.get_indexer(pd.Index(edges[c])) for c in ("before", "after")], axis=1)
    except TypeError as error:  # lists, dictionaries
        raise GraphError(f"labels of tasks and edges are numbers or texts: {error}") from None
    unknown = np.flatnonzero((ends < 0).any(axis=1))
    if len(unknown):
        before, after = (_shown(edges[c].iloc[unknown[0]]) for c in ("before", "after"))
        raise GraphError(f"edge {unknown[0]} ({before} -> {after}) names a task that is not there")
    return ends.astype(np.int64)


def _shown(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)


def _numbers(column: pd.Series[Any], called: str) -> Floats:
    from pandas.api import types

    # Text has its own type in newer versions of pandas, that of objects in older ones.
    held = "str" if len(column) and types.is_string_dtype(column) else str(column.dtype)
    numbers = types.is_numeric_dtype(column) or types.is_object_dtype(column)
    if held == "str" or types.is_bool_dtype(column) or not numbers:
        raise GraphError(f"column {called!r} holds {held}; give numbers")
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"column {called!r} is not a column of numbers: {error}") from None


def _strings(column: pd.Series[Any] | pd.Index[Any]) -> list[str]:
    return [
        "" if absent else str(v) for v, absent in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def from_networkx(graph: nx.DiGraph[Any], *, duration: str = "duration_s") -> TaskGraph:
    """Build a graph from a `networkx.DiGraph`.

    Parameters
    ----------
    graph : networkx.DiGraph
        Nodes become tasks in the graph's own order; attributes named like the columns of `from_frames` are
        kept, and a node without a `name` is named by its label, unless no node has a name and the labels are
        0 to n - 1 in this order: then the tasks have none either. Attributes `input_bytes` and `output_bytes` as for
        `TaskGraph.from_edges`. An edge with the attribute `bytes_B` carries an
        object of so many bytes, the one that its attribute `object` names (a number or a label), or one of its own; an
        edge with several objects has lists of both. The graph's attribute `recorded_on` is the machine that recorded
        the durations, as `to_networkx` writes it: a JSON object of `name` and what else is known of `RecordedOn`, or
        a name.
    duration : str
        The node attribute that holds the seconds, or a list of them, one for each kind of core; a node without it has
        an unknown duration.

    Raises
    ------
    GraphError
        If the graph is undirected or a multigraph, or as `TaskGraph.from_edges`.
    """
    if not hasattr(graph, "is_directed"):
        raise GraphError(f"graph is {graph!r:.80}; expected a networkx.DiGraph")
    if not graph.is_directed() or graph.is_multigraph():
        raise GraphError(f"{type(graph).__name__} is not a DiGraph; a task graph has one edge per dependency")
    index = {node: i for i, node in enumerate(graph)}
    rows: list[dict[str, Any]] = [graph.nodes[node] for node in graph]
    report = ImportReport("networkx")
    if whose := graph.graph.get(KINDS_ARE):
        report.facts[KINDS_ARE] = plain_text(whose)
    others = {key for row in rows for key in row} - {*COLUMNS, *ENDS, duration}
    _tell_ignored(report, others)
    if others and not any(duration in row for row in rows):
        there = ", ".join(sorted(map(plain_text, others)))
        report.facts["durations_why"] = (
            f"no node has an attribute {plain_text(duration)}; others are {there}: duration=NAME takes one"
        )
    pairs, edge_bytes, edge_objects = networkx_edges(graph, index)
    unread = {key for *_, row in graph.edges(data=True) for key in row} - {*data_columns.COLUMNS}
    _tell_ignored(report, unread, "edges of task graphs")
    return later("TaskGraph").from_edges(
        node_seconds([row.get(duration, np.nan) for row in rows]),
        pairs,
        names=_node_names(graph, rows),
        kinds=[row.get("kind", "") for row in rows],
        shapes=[row.get("shape", "") for row in rows],
        scopes=[row.get("scope", "") for row in rows],
        flops=[row.get("flops", np.nan) for row in rows],
        bytes_B=[row.get("bytes_B", np.nan) for row in rows],
        widths=[row.get("width", 1) for row in rows],
        name=plain_text(graph.name) or "graph",
        recorded_on=None if (origin := graph.graph.get(RECORDED_ON)) is None else RecordedOn.read(origin),
        report=report,
        edge_bytes=edge_bytes,
        edge_objects=edge_objects,
        **{c: [row.get(c, 0) for row in rows] for c in ENDS if any(c in row for row in rows)},
    )


def networkx_edges(
    graph: nx.DiGraph[Any], index: Mapping[Any, int]
) -> tuple[list[tuple[int, int]], list[Any] | None, npt.NDArray[np.int64] | None]:
    """Return the edges of a graph, once for each object, with bytes and objects; None where no edge has any."""
    rows: list[tuple[int, int]] = []
    sizes: list[Any] = []
    labels: list[Any] = []
    own: list[bool] = []
    for a, b, row in graph.edges(data=True):
        held = [row.get(key) for key in data_columns.COLUMNS]
        listed = [value if isinstance(value, (list, tuple)) else [value] for value in held]
        if len(listed[0]) != len(listed[1]) and held[1] is not None:
            raise GraphError(
                f"edge ({a!r}, {b!r}) has {len(listed[0])} bytes_B for {len(listed[1])} objects; give as many of both"
            )
        for i, size_B in enumerate(listed[0]):
            rows.append((index[a], index[b]))
            sizes.append(np.nan if size_B is None else size_B)
            labels.append(None if held[1] is None else listed[1][i])
            own.append(size_B is not None)
    if not any(own) and not any(label is not None for label in labels):
        return rows, None, None
    return rows, sizes, data_columns.numbered(labels, own)


def node_seconds(values: list[Any]) -> Any:
    """Return seconds by kind of core where a node has a list of them; one number is that of all kinds.

    Raises
    ------
    GraphError
        If nodes have lists of different lengths, or empty ones.
    """
    kinds = {len(value) for value in values if _by_kind(value)}
    if not kinds:
        return values
    if len(kinds) > 1 or 0 in kinds:
        counts = " and ".join(map(str, sorted(kinds)))
        raise GraphError(f"nodes have seconds for {counts} kinds of cores; give each node one for every kind")
    (k,) = kinds
    return [value if _by_kind(value) else [value] * k for value in values]


def _by_kind(value: Any) -> bool:
    """Return whether an attribute is a list of seconds; NumPy's scalars and arrays without an axis are numbers."""
    return isinstance(value, (list, tuple)) or bool(getattr(value, "ndim", 0))


def _node_names(graph: nx.DiGraph[Any], rows: list[dict[str, Any]]) -> list[str] | None:
    if not any("name" in row for row in rows) and list(graph) == list(range(len(rows))):
        return None
    return [plain_text(row.get("name", node)) for node, row in zip(graph, rows, strict=True)]


def to_frames(graph: TaskGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of tasks and edges that `from_frames` reads.

    Returns
    -------
    tasks : DataFrame
        Index `task`, 0 to n - 1; columns `name` (where tasks have names), `duration_s`, `width`, `flops`,
        `bytes_B`, and the categories `kind`, `shape`, `scope`; where seconds differ by kind of core,
        `duration_kind0_s` and so on; `input_bytes` and `output_bytes`, 0 for none, where a task has any.
    edges : DataFrame
        Columns `before` and `after`, task indices, ascending; where there are data objects, `bytes_B` and `object`,
        with a row for each object of an edge, and -1 where it has none. Inputs that several tasks read
        are in neither table.
    """
    import pandas as pd

    columns: dict[str, Any] = {"name": graph.names.to_list()} if graph.names is not None else {}
    columns |= {"duration_s": graph.durations_s, "width": graph.widths, "flops": graph.flops,
                "bytes_B": graph.bytes_B}  # fmt: skip
    for column, labels in (("kind", graph.kinds), ("shape", graph.shapes), ("scope", graph.scopes)):
        columns[column] = pd.Categorical.from_codes(labels.codes, pd.Index(list(labels.labels), dtype=object))
    if graph.seconds_by_kind is not None:
        columns |= {KIND_COLUMN(kind): seconds for kind, seconds in enumerate(graph.seconds_by_kind.T)}
    columns |= data_columns.ends_of(graph)[0]
    tasks = pd.DataFrame(columns, index=pd.RangeIndex(graph.n_tasks, name="task"))
    rows = data_columns.EdgeRows.of(graph)
    ends = {"before": rows.before, "after": rows.after}
    return tasks, pd.DataFrame(
        ends if rows.object is None else ends | {"bytes_B": rows.bytes_B, "object": rows.object}
    )


def to_networkx(graph: TaskGraph) -> nx.DiGraph[int]:
    """Return a `networkx.DiGraph` whose nodes are task indices, with every column as an attribute."""
    import networkx as nx

    tasks, edges = to_frames(graph)
    by_kind = [
        KIND_COLUMN(kind)
        for kind in range(0 if graph.seconds_by_kind is None else graph.seconds_by_kind.shape[1])
    ]
    columns = {str(c): tasks[c].tolist() for c in tasks.columns if c not in by_kind}
    if by_kind:
        columns["duration_s"] = tasks[by_kind].to_numpy().tolist()
    whose, origin = graph.report.facts.get(KINDS_ARE), measured_on(graph)
    result: nx.DiGraph[int] = nx.DiGraph(name=graph.name)
    told = {KINDS_ARE: whose, RECORDED_ON: origin and origin.written}
    result.graph |= {key: text for key, text in told.items() if text}
    rows = zip(*columns.values(), strict=True)
    result.add_nodes_from((i, dict(zip(columns, row, strict=True))) for i, row in enumerate(rows))
    ends = zip(edges["before"].tolist(), edges["after"].tolist(), strict=True)
    if graph.data is None:
        result.add_edges_from(ends)
    else:
        attributes = zip(edges["bytes_B"].tolist(), edges["object"].tolist(), strict=True)
        for (before, after), (size_B, number) in zip(ends, attributes, strict=True):
            _add_object(result, before, after, size_B, number)
    return result


def _add_object(graph: nx.DiGraph[int], before: int, after: int, size_B: float, number: int) -> None:
    """Add an edge with an object, or another object to the edge."""
    if not graph.has_edge(before, after):
        graph.add_edge(before, after, **({} if number < 0 else {"bytes_B": size_B, "object": number}))
        return
    row = graph.edges[before, after]
    for key, value in (("bytes_B", size_B), ("object", number)):
        row[key] = [*(row[key] if isinstance(row[key], list) else [row[key]]), value]
