"""`TaskGraph`: the DAG as columns and CSR adjacency, never as one Python object per task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.document.html import card
from simsched.graph import interop, longest_path
from simsched.graph.adjacency import Csr, Index
from simsched.graph.build import build
from simsched.graph.columns import Floats, LabelColumn, TextColumn
from simsched.graph.data import DataObjects
from simsched.graph.edges import cycle_error
from simsched.graph.recording import Origin, RecordedOn, Recording, Seconds
from simsched.graph.report import ImportReport
from simsched.graph.shapes import Shape, parse_shape
from simsched.later import later
from simsched.text import counted

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.graph.cleanup import Cleanup
    from simsched.schedule import Schedule

__all__ = ["Floats", "RecordedOn", "Recording", "Seconds", "TaskGraph"]


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A directed acyclic graph of tasks.

    Make one with `from_edges`, `from_networkx`, `from_frames` or `simsched.load`; the constructor is for
    code that has checked its arrays already.

    Parameters
    ----------
    successors : Csr
        Edges, by source.
    durations_s : float64 array, shape (n,)
        Recorded seconds; NaN where unknown.
    widths : int32 array, shape (n,)
        Threads that ran the task when its duration was recorded.
    flops : float64 array, shape (n,)
        Floating-point operations; NaN where unknown.
    bytes_B : float64 array, shape (n,)
        Bytes read and written; NaN where unknown.
    kinds : LabelColumn
        Operation of each task (`MatMul`); "" where unknown.
    shapes : LabelColumn
        Shapes of each task's inputs as text (`64x512;512x512`); "" where unknown. See `shape`.
    scopes : LabelColumn
        Where in the program each task belongs (`encoder/layer1`), outermost first; "" where unknown.
    names : TextColumn or None
        Names; None where tasks have none, and then they are called by kind and index.
    name : str
        Name of the graph.
    recorded_on : RecordedOn or None
        The machine that recorded the durations.
    report : ImportReport
        Kept, dropped and suspicious parts of the import.
    recording : Recording or None
        Time and place of each task in the real run, if the graph was imported from one.
    data : DataObjects or None
        What tasks write and others read; None where nothing is known of it.
    seconds_by_kind : float64 array, shape (n, kinds of cores), or None
        Seconds of each task on one core of each kind, inf where it cannot run on it, whose mean over the others the
        durations are; None where all kinds take the durations.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)])
    >>> graph.n_tasks, graph.n_edges, graph.depths.tolist()
    (3, 2, [0, 0, 1])
    >>> graph.work_s, graph.critical_path_s, graph.average_parallelism
    (6.0, 5.0, 1.2)
    >>> graph.topological_order.tolist(), graph.predecessors.neighbours(2).tolist(), graph.recorded
    ([0, 1, 2], [0, 1], None)
    """

    successors: Csr
    durations_s: Seconds
    widths: npt.NDArray[np.int32]
    flops: Floats
    bytes_B: Floats
    kinds: LabelColumn
    shapes: LabelColumn
    scopes: LabelColumn
    names: TextColumn | None = None
    name: str = "graph"
    recorded_on: RecordedOn | None = None
    report: ImportReport = field(default_factory=lambda: ImportReport("arrays"))
    recording: Recording | None = None
    data: DataObjects | None = None
    seconds_by_kind: Floats | None = None

    def __post_init__(self) -> None:
        # Graphs are shared between replays: a change in place would change results already handed out.
        run = self.recording
        recorded = (run.start_s, run.finish_s, run.lanes) if run is not None else ()
        if run is not None and run.priorities is not None:
            run.priorities.setflags(write=False)
        by_kind = () if self.seconds_by_kind is None else (self.seconds_by_kind,)
        for array in (self.durations_s, self.widths, self.flops, self.bytes_B, *recorded, *by_kind):
            array.setflags(write=False)

    @classmethod
    def from_edges(
        cls,
        durations_s: npt.ArrayLike,
        edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr = (),
        *,
        kinds: Iterable[str] | str | None = None,
        names: Iterable[str] | None = None,
        shapes: Iterable[str | Shape] | str | None = None,
        scopes: Iterable[str] | str | None = None,
        flops: npt.ArrayLike | None = None,
        bytes_B: npt.ArrayLike | None = None,
        widths: npt.ArrayLike = 1,
        name: str = "graph",
        recorded_on: Origin | None = None,
        report: ImportReport | None = None,
        recording: Recording | None = None,
        edge_bytes: npt.ArrayLike | None = None,
        edge_objects: npt.ArrayLike | None = None,
        input_bytes: npt.ArrayLike | None = None,
        output_bytes: npt.ArrayLike | None = None,
    ) -> TaskGraph:
        """Build a graph from arrays.

        Parameters
        ----------
        durations_s : array_like of float, shape (n,) or (n, kinds of cores)
            Recorded seconds of each task, or its seconds on a core of each kind, inf on those that cannot run it; NaN
            where unknown.
        edges : (m, 2) array or iterable of pairs
            Task indices (before, after). Duplicates are merged, and counted in the report.
        kinds, names, scopes, shapes : iterable or str, optional
            One per task, or (but for names) one string for all; shapes as text (`64x512;512x512`) or tuples of tuples,
            one per input.
        flops, bytes_B : array_like of float, shape (n,), optional
            Work of each task; NaN where unknown.
        widths : array_like of int, shape (n,), or int
            Threads that ran each task when it was recorded.
        name, recorded_on, recording, report : optional
            See `TaskGraph`; `recorded_on` also as `simsched.load` takes it. A report gets duplicate edges and counts.
        edge_bytes, edge_objects : array_like of float and of int, shape (m,), optional
            Bytes of the object that each edge carries, NaN where unknown; its number, -1 for none, by default its own.
        input_bytes, output_bytes : array_like of float, shape (n,), optional
            Bytes that each task reads from home, and writes there, where the machine says; NaN unknown, 0 none.

        Raises
        ------
        GraphError
            On a cycle (one is named), an unknown endpoint, an impossible number, or columns of different lengths.

        Examples
        --------
        >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)], kinds="MatMul")
        >>> graph.n_tasks, graph.n_edges, graph.critical_path_s
        (3, 2, 5.0)
        """
        return build(
            durations_s, edges, kinds=kinds, names=names, shapes=shapes, scopes=scopes, flops=flops,
            bytes_B=bytes_B, widths=widths, name=name, recorded_on=recorded_on, report=report, recording=recording,
            edge_bytes=edge_bytes, edge_objects=edge_objects, input_bytes=input_bytes, output_bytes=output_bytes,
        )  # fmt: skip

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph[Any], *, duration: str = "duration_s") -> TaskGraph:
        """Build a graph from a `networkx.DiGraph`; see `simsched.graph.interop.from_networkx`.

        Parameters
        ----------
        graph : networkx.DiGraph
        duration : str
            Node attribute of the seconds.

        Returns
        -------
        TaskGraph

        Examples
        --------
        >>> import networkx as nx
        >>> chain = nx.path_graph(3, nx.DiGraph)
        >>> nx.set_node_attributes(chain, 0.5, "duration_s")
        >>> TaskGraph.from_networkx(chain).critical_path_s
        1.5
        """
        return interop.from_networkx(graph, duration=duration)

    @classmethod
    def from_frames(cls, tasks: pd.DataFrame, edges: pd.DataFrame, *, name: str = "graph") -> TaskGraph:
        """Build a graph from two tables; see `simsched.graph.interop.from_frames`.

        Parameters
        ----------
        tasks : DataFrame
            One row per task, with `duration_s`.
        edges : DataFrame
            Columns `before` and `after`.
        name : str
            Name of the graph.

        Returns
        -------
        TaskGraph

        Examples
        --------
        >>> import pandas as pd
        >>> tasks = pd.DataFrame({"duration_s": [1.0, 2.0], "kind": ["Conv2D", "Relu"]})
        >>> edges = pd.DataFrame({"before": [0], "after": [1]})
        >>> TaskGraph.from_frames(tasks, edges, name="layer")
        <TaskGraph 'layer': 2 tasks, 1 edge>
        """
        return interop.from_frames(tasks, edges, name=name)

    def to_networkx(self) -> nx.DiGraph[int]:
        """Return a `networkx.DiGraph` whose nodes are task indices, with every column as an attribute.

        Returns
        -------
        networkx.DiGraph

        Examples
        --------
        >>> import networkx as nx
        >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 1), (1, 2)], kinds="MatMul")
        >>> sorted(nx.descendants(graph.to_networkx(), 0))
        [1, 2]
        """
        return interop.to_networkx(self)

    def to_frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the tables of tasks (one row per task) and of edges (`before`, `after`).

        Returns
        -------
        DataFrame, DataFrame

        Examples
        --------
        >>> tasks, edges = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)]).to_frames()
        >>> tasks["duration_s"].tolist(), edges.values.tolist()
        ([1.0, 2.0, 3.0], [[0, 2], [1, 2]])
        """
        return interop.to_frames(self)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.successors.n

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.successors.indices)

    @cached_property
    def predecessors(self) -> Csr:
        """Edges, by target."""
        return self.successors.transposed()

    @property
    def topological_order(self) -> Index:
        """Task indices, every task before its successors; 0 to n - 1 if these are such an order."""
        if (order := self.successors.topological_order) is None:
            raise cycle_error(self.successors, lambda task: f"task {task} {self.task_name(task)!r}")
        return order

    def levels(self, seconds: npt.ArrayLike | None = None) -> Seconds:
        """Return the level of each task: the longest accumulated time from it to a sink, itself included.

        Parameters
        ----------
        seconds : array_like of float, shape (n,), optional
            Seconds of each task; the recorded durations when not given.

        Returns
        -------
        float64 array, shape (n,)

        Raises
        ------
        GraphError
            If the seconds of a task are unknown (NaN) or negative, or there are more or fewer than tasks.

        Examples
        --------
        >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)])
        >>> graph.levels()
        array([4., 5., 3.])
        """
        return longest_path.longest_path_to_sinks(self, self.durations_s if seconds is None else seconds)

    @cached_property
    def depths(self) -> npt.NDArray[np.int32]:
        """Number of edges on the longest path from a source to each task."""
        return longest_path.depths(self)

    @cached_property
    def critical_path_s(self) -> float:
        """Seconds of the longest path through the recorded durations; NaN if one of them is unknown."""
        if np.isnan(self.durations_s).any():
            return float("nan")
        return float(self.levels().max(initial=0.0))

    @cached_property
    def work_s(self) -> float:
        """Sum of the recorded durations; NaN if one of them is unknown."""
        return float(self.durations_s.sum())

    @property
    def average_parallelism(self) -> float:
        """Work over critical path: the concurrent tasks without any limits; NaN where one is unknown."""
        return self.work_s / self.critical_path_s if self.critical_path_s else float("nan")

    def critical_path(self, seconds: npt.ArrayLike | None = None) -> list[int]:
        """Return the tasks of a longest path, first to last; ties go to the lower index.

        Parameters
        ----------
        seconds : array_like of float, shape (n,), optional
            As in `levels`.

        Returns
        -------
        list of int

        Examples
        --------
        >>> TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)]).critical_path()
        [1, 2]
        """
        return longest_path.critical_path(self, self.levels(seconds))

    @cached_property
    def recorded(self) -> Schedule | None:
        """The measured schedule, where the graph was imported from a run."""
        return None if self.recording is None else later("Schedule").from_recording(self, self.recording)

    def task_name(self, task: int) -> str:
        """Return the name of a task; unnamed tasks are called by kind and index.

        Parameters
        ----------
        task : int

        Returns
        -------
        str

        Examples
        --------
        >>> TaskGraph.from_edges([1.0, 2.0], names=["embed", "attend"]).task_name(1)
        'attend'
        >>> TaskGraph.from_edges([1.0, 2.0], kinds="MatMul").task_name(1)
        'MatMul 1'
        """
        if self.names is not None:
            return self.names[task]
        return f"{self.kinds[task] or 'task'} {task}"

    def shape(self, task: int) -> Shape:
        """Return the shapes of a task's inputs; () where unknown.

        Parameters
        ----------
        task : int

        Returns
        -------
        tuple of tuple of int

        Examples
        --------
        >>> TaskGraph.from_edges([1.0], kinds="MatMul", shapes="64x512;512x32").shape(0)
        ((64, 512), (512, 32))
        """
        return parse_shape(self.shapes[task])

    def cleaned(self, *steps: str | Cleanup) -> TaskGraph:
        """Return the graph after some clean-up steps in sequence; this graph stays unchanged.

        Parameters
        ----------
        *steps : str or Cleanup
            Specs, as `drop[kinds=Identity]` (see `simsched list cleanups`), or objects.

        Returns
        -------
        TaskGraph

        Raises
        ------
        SpecError
            If there is no such step, or it has no such parameter or value.
        GraphError
            If the graph lacks data that a step needs.

        Examples
        --------
        >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 1), (1, 2)], kinds=["MatMul", "Identity", "MatMul"])
        >>> graph.cleaned("drop[kinds=Identity]", "unroll[iterations=3,between=nothing]")
        <TaskGraph 'graph': 6 tasks, 3 edges>
        """
        from simsched.graph.cleanup import cleanup

        return reduce(lambda graph, step: cleanup(step).apply(graph), steps, self)

    def save(self, path: str | Path, *, format: str | None = None) -> None:
        """Write the graph to a file, in simsched's own format (.simsched, or no suffix) or another one by suffix.

        Parameters
        ----------
        path : str or Path
            The file; one that is there is replaced once the new one is complete.
        format : str, optional
            Name of a writer, to choose it whatever the suffix; see `simsched list formats`.

        Raises
        ------
        FormatError
            If no writer has this suffix, or the file cannot be written.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)], name="join")
        >>> with TemporaryDirectory() as folder:
        ...     graph.save(f"{folder}/join.simsched")
        ...     print(ss.load(f"{folder}/join.simsched"))
        <TaskGraph 'join': 3 tasks, 2 edges>
        """
        from simsched.graph.saving import save

        save(self, path, format)

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the graph by depth; see `simsched.plots.draw_graph`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Returns
        -------
        Axes

        Examples
        --------
        >>> TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)]).draw().get_xlabel()
        'depth'
        """
        return later("plots").draw_graph(self, ax)

    def __repr__(self) -> str:
        return f"<TaskGraph {self.name!r}: {counted(self.n_tasks, 'task')}, {counted(self.n_edges, 'edge')}>"

    def summary(self) -> Mapping[str, object]:
        """Return tasks, edges, work, critical path, average parallelism, depth, kinds, data; what is known of them.

        Returns
        -------
        dict of str to object

        Examples
        --------
        >>> summary = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2), (1, 2)]).summary()
        >>> summary["tasks"], summary["depth"], summary["average_parallelism"]
        (3, 2, 1.2)
        """
        facts: dict[str, object] = {"tasks": self.n_tasks, "edges": self.n_edges}
        if self.n_tasks and not np.isnan(self.work_s):
            facts["work_s"] = round(self.work_s, 9)
            facts["critical_path_s"] = round(self.critical_path_s, 9)
            if self.critical_path_s:
                facts["average_parallelism"] = round(self.average_parallelism, 3)
        facts["depth"] = int(self.depths.max(initial=-1)) + 1
        facts["kinds"] = len(self.kinds.labels)
        if self.data is not None and self.data.n:
            facts |= {"data_objects": self.data.n, "data_B": float(np.nansum(self.data.size_B))}
        return facts

    def _repr_html_(self) -> str:
        return card(f"TaskGraph {self.name}", self.summary())
