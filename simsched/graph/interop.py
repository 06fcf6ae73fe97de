"""Task graphs to and from networkx and pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import GraphError
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

#: Columns of the table of tasks beside its index `task`; all but `duration_s` may be left out.
NUMBER_COLUMNS = {"duration_s": np.nan, "width": 1, "flops": np.nan, "bytes_B": np.nan}
TEXT_COLUMNS = ("name", "kind", "shape", "scope")


def from_frames(tasks: pd.DataFrame, edges: pd.DataFrame, *, name: str = "graph") -> TaskGraph:
    """Build a graph from a table of tasks and one of edges.

    Parameters
    ----------
    tasks : DataFrame
        One row a task, in index order, with `duration_s` and any of `name`, `kind`, `shape`, `scope`, `width`,
        `flops`, `bytes_B`. A column `task`, if there is one, names the tasks for the edges; else they are
        named by the frame's index.
    edges : DataFrame
        Columns `before` and `after`.

    Raises
    ------
    GraphError
        If a column is missing, two tasks have one label, or an edge names a task that is not there.
    """
    import pandas as pd

    for frame, called, needed in ((tasks, "tasks", ("duration_s",)), (edges, "edges", ("before", "after"))):
        missing = [c for c in needed if c not in frame]
        if missing:
            raise GraphError(f"the table of {called} has no column {missing[0]!r}; it has {list(frame.columns)}")
    labels = pd.Index(tasks["task"]) if "task" in tasks else tasks.index
    if not labels.is_unique:
        raise GraphError(f"two tasks are labelled {labels[labels.duplicated()][0]!r}")
    ends = np.stack([labels.get_indexer(pd.Index(edges[c])) for c in ("before", "after")], axis=1)
    unknown = np.flatnonzero((ends < 0).any(axis=1))
    if len(unknown):
        row = edges.iloc[unknown[0]]
        raise GraphError(f"edge {unknown[0]} ({row['before']!r} -> {row['after']!r}) names a task that is not there")
    text = {c: tasks[c].fillna("").astype(str).tolist() for c in TEXT_COLUMNS if c in tasks}
    return TaskGraph.from_edges(
        tasks["duration_s"].to_numpy(float),
        ends,
        names=text.get("name"),
        kinds=text.get("kind"),
        shapes=text.get("shape"),
        scopes=text.get("scope"),
        flops=tasks["flops"].to_numpy(float) if "flops" in tasks else None,
        bytes_B=tasks["bytes_B"].to_numpy(float) if "bytes_B" in tasks else None,
        widths=tasks["width"].to_numpy() if "width" in tasks else 1,
        name=name,
        report=ImportReport("frames"),
    )


def from_networkx(graph: nx.DiGraph[Any], *, duration: str = "duration_s") -> TaskGraph:
    """Build a graph from a `networkx.DiGraph`.

    Parameters
    ----------
    graph : networkx.DiGraph
        Nodes become tasks in the graph's own order; attributes called as the columns of `from_frames` are kept,
        and a node without a `name` is named by its label.
    duration : str
        The node attribute that holds the seconds; a node without it has an unknown duration.

    Raises
    ------
    GraphError
        If the graph is undirected or a multigraph, or as `TaskGraph.from_edges`.
    """
    if not graph.is_directed() or graph.is_multigraph():
        raise GraphError(f"{type(graph).__name__} is not a DiGraph; a task graph has one directed edge a dependence")
    index = {node: i for i, node in enumerate(graph)}
    rows = [graph.nodes[node] for node in graph]
    number = {c: [row.get(c, default) for row in rows] for c, default in NUMBER_COLUMNS.items()}
    text = {c: [str(row.get(c, "")) for row in rows] for c in TEXT_COLUMNS}
    return TaskGraph.from_edges(
        [row.get(duration, np.nan) for row in rows],
        [(index[a], index[b]) for a, b in graph.edges],
        names=[str(row.get("name", node)) for node, row in zip(graph, rows, strict=True)],
        kinds=text["kind"],
        shapes=text["shape"],
        scopes=text["scope"],
        flops=number["flops"],
        bytes_B=number["bytes_B"],
        widths=np.asarray(number["width"], np.int64),
        name=graph.name or "graph",
        report=ImportReport("networkx"),
    )


def to_frames(graph: TaskGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of tasks and edges that `from_frames` reads."""
    import pandas as pd

    columns: dict[str, Any] = {"duration_s": graph.durations_s, "width": graph.widths, "flops": graph.flops,
                               "bytes_B": graph.bytes_B}  # fmt: skip
    for column, labels in (("kind", graph.kinds), ("shape", graph.shapes), ("scope", graph.scopes)):
        columns[column] = pd.Categorical.from_codes(labels.codes.tolist(), list(labels.labels))
    if graph.names is not None:
        columns = {"name": graph.names.to_list(), **columns}
    tasks = pd.DataFrame(columns, index=pd.RangeIndex(graph.n_tasks, name="task"))
    edges = pd.DataFrame({"before": graph.successors.sources(), "after": graph.successors.indices})
    return tasks, edges


def to_networkx(graph: TaskGraph) -> nx.DiGraph[int]:
    """Return a `networkx.DiGraph` whose nodes are task indices, with every column as an attribute."""
    import networkx as nx

    tasks, edges = to_frames(graph)
    result: nx.DiGraph[int] = nx.DiGraph(name=graph.name)
    result.add_nodes_from(zip(range(graph.n_tasks), tasks.to_dict("records"), strict=True))
    result.add_edges_from(zip(edges["before"].tolist(), edges["after"].tolist(), strict=True))
    return result
