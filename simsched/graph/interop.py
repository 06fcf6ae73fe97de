"""Task graphs to and from networkx and pandas.

The columns, the names and the edges survive the way there and back bit by bit; the report, the recording
and the machine that recorded are not part of these forms (`TaskGraph.save` keeps them).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.columns import Floats, plain_text
from simsched.graph.report import ImportReport
from simsched.later import later

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from simsched.graph.taskgraph import TaskGraph

NUMBER_COLUMNS = ("duration_s", "flops", "bytes_B")
TEXT_COLUMNS = ("name", "kind", "shape", "scope")
COLUMNS = (*NUMBER_COLUMNS, "width", *TEXT_COLUMNS)


def from_frames(tasks: pd.DataFrame, edges: pd.DataFrame, *, name: str = "graph") -> TaskGraph:
    """Build a graph from a table of tasks and one of edges.

    Parameters
    ----------
    tasks : DataFrame
        One row per task, in index order, with `duration_s` and any of `name`, `kind`, `shape`, `scope`,
        `width`, `flops`, `bytes_B`; empty cells are unknown, but of `width`, which has whole numbers only. A
        column `task`, if there is one, names the tasks for the edges; else they are named by the frame's index.
    edges : DataFrame
        Columns `before` and `after`.
    name : str
        Name of the graph.

    Raises
    ------
    GraphError
        If a column is missing, occurs twice or holds no numbers, two tasks have one label, an edge names a
        missing task, or as for `TaskGraph.from_edges`.
    """
    _refuse_columns(tasks, "tasks", ("duration_s",))
    _refuse_columns(edges, "edges", ("before", "after"))
    report = ImportReport("frames")
    _tell_ignored(report, (c for c in tasks.columns if c not in (*COLUMNS, "task")))
    text = {c: _strings(tasks[c]) for c in TEXT_COLUMNS if c in tasks}
    number = {c: _numbers(tasks[c], c) for c in NUMBER_COLUMNS if c in tasks}
    return later("TaskGraph").from_edges(
        number["duration_s"],
        _ends(tasks, edges),
        names=text.get("name"),
        kinds=text.get("kind"),
        shapes=text.get("shape"),
        scopes=text.get("scope"),
        flops=number.get("flops"),
        bytes_B=number.get("bytes_B"),
        widths=tasks["width"].to_numpy() if "width" in tasks else 1,
        name=name,
        report=report,
    )


def _refuse_columns(frame: pd.DataFrame, called: str, needed: tuple[str, ...]) -> None:
    missing = [c for c in needed if c not in frame]
    if missing:
        has = ", ".join(map(repr, frame.columns)) or "none"
        raise GraphError(f"the table of {called} has no column {missing[0]!r}; its columns are {has}")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise GraphError(f"the table of {called} has two columns {twice!r}; drop or rename one")


def _tell_ignored(report: ImportReport, columns: Iterable[object]) -> None:
    ignored = sorted({plain_text(c) for c in columns})
    if ignored:
        report.note(f"not kept, as task graphs have no such columns: {', '.join(ignored)}")


def _ends(tasks: pd.DataFrame, edges: pd.DataFrame) -> npt.NDArray[np.int64]:
    import pandas as pd

    labels = pd.Index(tasks["task"]) if "task" in tasks else tasks.index
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


def _strings(column: pd.Series[Any]) -> list[str]:
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
        0 to n - 1 in this order: then the tasks have none either.
    duration : str
        The node attribute that holds the seconds; a node without it has an unknown duration.

    Raises
    ------
    GraphError
        If the graph is undirected or a multigraph, or as `TaskGraph.from_edges`.
    """
    if not graph.is_directed() or graph.is_multigraph():
        raise GraphError(f"{type(graph).__name__} is not a DiGraph; a task graph has one edge a dependency")
    index = {node: i for i, node in enumerate(graph)}
    rows: list[dict[str, Any]] = [graph.nodes[node] for node in graph]
    report = ImportReport("networkx")
    _tell_ignored(report, {key for row in rows for key in row} - {*COLUMNS, duration})
    return later("TaskGraph").from_edges(
        [row.get(duration, np.nan) for row in rows],
        [(index[a], index[b]) for a, b in graph.edges],
        names=_node_names(graph, rows),
        kinds=[row.get("kind", "") for row in rows],
        shapes=[row.get("shape", "") for row in rows],
        scopes=[row.get("scope", "") for row in rows],
        flops=[row.get("flops", np.nan) for row in rows],
        bytes_B=[row.get("bytes_B", np.nan) for row in rows],
        widths=[row.get("width", 1) for row in rows],
        name=plain_text(graph.name) or "graph",
        report=report,
    )


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
        `bytes_B`, and the categories `kind`, `shape`, `scope`.
    edges : DataFrame
        Columns `before` and `after`, task indices, ascending.
    """
    import pandas as pd

    columns: dict[str, Any] = {"name": graph.names.to_list()} if graph.names is not None else {}
    columns |= {"duration_s": graph.durations_s, "width": graph.widths, "flops": graph.flops,
                "bytes_B": graph.bytes_B}  # fmt: skip
    for column, labels in (("kind", graph.kinds), ("shape", graph.shapes), ("scope", graph.scopes)):
        columns[column] = pd.Categorical.from_codes(labels.codes, pd.Index(list(labels.labels), dtype=object))
    tasks = pd.DataFrame(columns, index=pd.RangeIndex(graph.n_tasks, name="task"))
    edges = pd.DataFrame({"before": graph.successors.sources(), "after": graph.successors.indices})
    return tasks, edges


def to_networkx(graph: TaskGraph) -> nx.DiGraph[int]:
    """Return a `networkx.DiGraph` whose nodes are task indices, with every column as an attribute."""
    import networkx as nx

    tasks, edges = to_frames(graph)
    columns = {str(c): tasks[c].tolist() for c in tasks.columns}
    result: nx.DiGraph[int] = nx.DiGraph(name=graph.name)
    rows = zip(*columns.values(), strict=True)
    result.add_nodes_from((i, dict(zip(columns, row, strict=True))) for i, row in enumerate(rows))
    result.add_edges_from(zip(edges["before"].tolist(), edges["after"].tolist(), strict=True))
    return result
