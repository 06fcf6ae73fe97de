"""TensorFlow on a manycore CPU, after Graphi (Sec. 7): two thread pools, no pinning, a queue of chunks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import Curve, default_curves, kinds_of, normalised
from simsched.errors import GraphError, SpecError
from simsched.graph import DataObjects, ImportReport, TaskGraph, with_data
from simsched.graph.adjacency import Csr, entries, steps
from simsched.policy import Problem, RankPolicy, Shortcuts
from simsched.policy.policy import Discipline
from simsched.policy.rank_policy import FAIR

#: Namespaces of the kinds of an element-wise op that is cut up, and of its chunks.
SHARD, CHUNK = "shard::", "chunk::"
#: Most threads of a pool: far beyond real ones, and an array of them is small.
MOST_THREADS = 1 << 20

# Eigen's cuts of an op: TensorCostModel.h, and parallelFor in TensorDeviceThreadPool.h, of its sources of 2018.
#: Cycles of a byte read or written, and operations per cycle: the width of 512-bit vectors.
BYTE_CYCLES = 11 / 64
VECTOR = 16
#: Cycles that an op must have before it gets threads, and for each of them; a tenth less is enough.
STARTUP_CYCLES = THREAD_CYCLES = 100_000
#: Least cycles of a block, and most blocks per thread.
CHUNK_CYCLES = 40_000
BLOCKS_A_THREAD = 4


@dataclass(frozen=True)
class TensorFlow(RankPolicy):
    """First come, first served; a team of OpenMP threads per executor, and a pool of single threads for chunks.

    The teams run whole ops from one shared queue, the pool runs the chunks that `chunked` cuts element-wise ops into,
    from another. Nothing is pinned, and the pool's threads run on the teams' cores: software threads are more than
    cores. Without `chunked` the pool has nothing to do.

    Cost: one pop from either queue per task, under a lock that idle executors of that kind poll; O(log n) per decision.
    Eigen's own pool lets one idle thread spin and parks the others: a runtime profile with `pop_per_poller_s=0`.

    Parameters
    ----------
    pool : int
        Threads of the pool; 0, the default, for as many as the teams have together, as TensorFlow's defaults have it.
        They go round the teams' cores from the last one back: teams fill them from the first on, and an operating
        system wakes threads on idle cores.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.simulate(graph, "generic[cores=2]", "tensorflow", "2x1").makespan_s
    4.0
    """

    name = "tensorflow"
    queue = "shared"

    pinned: bool = False
    oversubscribe: bool | str = field(default=True, metadata={"words": (FAIR,)})
    pool: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.pool <= MOST_THREADS:
            raise SpecError(
                f"tensorflow[pool={self.pool}]: expected a number of threads, 0 to {MOST_THREADS}"
            )

    @property
    def discipline(self) -> Discipline:
        """First come."""
        return "fifo"

    def shortcuts(self, problem: Problem) -> Shortcuts | None:
        """Return the pool, which runs the chunks; None where there are no chunks."""
        apart = is_chunk(problem.graph)
        if not apart.any():
            return None
        assert problem.layout is not None  # noqa: S101 - narrows the type: static policies always have a layout
        cores = self.executors(problem.machine, problem.layout).indices
        threads = np.arange(self.pool or len(cores)) % len(cores)
        return Shortcuts(single_threaded=apart, inline=np.zeros_like(apart), threads=cores[::-1][threads])


def one_threaded() -> dict[str, Curve]:
    """Return curves of element-wise kinds for `CostModel(curves=...)`: on one thread of a team, as in Eigen.

    What Eigen does not cut up, the thread that popped it runs alone; OpenMP's threads take no part.
    """
    curves, _ = default_curves()
    whole = float(np.finfo(np.float64).max)
    return {
        kind: replace(curve, grain_B=whole)
        for kind, curve in curves.items()
        if curve.family == "element-wise"
    }


def is_chunk(graph: TaskGraph) -> npt.NDArray[np.bool_]:
    """Return which tasks are chunks made by `chunked`, shape (n,)."""
    return np.array([label.startswith(CHUNK) for label in graph.kinds.labels], np.bool_)[graph.kinds.codes]


def chunked(graph: TaskGraph, threads: int = 64, chunk_cycles: float = CHUNK_CYCLES) -> TaskGraph:
    """Return the graph with its element-wise ops cut into chunks, as for TensorFlow's Eigen pool.

    Eigen estimates an op's cycles and cuts it only where it would give it more than one thread. A cut op becomes a
    task that takes no time, which some executor pops, and its chunks, which all wait for it; successors of the op
    wait for all chunks. Tasks keep their indices; chunks come after them. Eigen's last step, larger blocks where
    that leaves fewer threads idle, is left out.

    Parameters
    ----------
    graph : TaskGraph
        Its recorded seconds, where it has any, must be those of one thread.
    threads : int
        Threads of the pool.
    chunk_cycles : float
        Least cycles of a chunk, as Eigen estimates them.

    Raises
    ------
    GraphError
        If an op to be cut was recorded on several threads, or the arguments are below 1.
    """
    if not chunk_cycles >= 1 or threads < 1:
        raise GraphError(f"chunks of {chunk_cycles} cycles for {threads} threads; the least is 1")
    cut = _Cut.of(graph, threads, chunk_cycles)
    wide = cut.ours & (graph.widths > 1) & ~np.isnan(graph.durations_s)
    if wide.any():
        task = int(np.argmax(wide))
        raise GraphError(
            f"task {task} was recorded on {graph.widths[task]} threads; chunks need seconds of one thread, or none"
        )
    said = f"{int(cut.ours.sum())} element-wise ops were cut into {len(cut.parent)} chunks"
    chunks = TaskGraph.from_edges(
        cut.shared(graph.durations_s if graph.seconds_by_kind is None else graph.seconds_by_kind),
        cut.edges(graph),
        kinds=cut.kinds(graph),
        names=None if graph.names is None else cut.inherited(graph.names.to_list()),
        shapes=[*graph.shapes.to_list(), *[""] * len(cut.parent)],
        scopes=cut.inherited(graph.scopes.to_list()),
        flops=cut.shared(graph.flops),
        bytes_B=cut.shared(graph.bytes_B),
        name=f"{graph.name}, chunked",
        recorded_on=graph.recorded_on,
        report=ImportReport("chunked", notes=[said]),
    )
    return chunks if graph.data is None else with_data(chunks, cut.objects(graph.n_tasks, graph.data))


@dataclass(frozen=True, eq=False)
class _Cut:
    """Numbers of pieces of cut tasks, and the task of each chunk."""

    pieces: npt.NDArray[np.int64]
    ours: npt.NDArray[np.bool_]
    parent: npt.NDArray[np.int64]

    @classmethod
    def of(cls, graph: TaskGraph, threads: int, chunk_cycles: float) -> _Cut:
        curves, other = default_curves()
        families = [curves.get(normalised(kind), other).family for kind in kinds_of(graph)]
        ours = np.array([family == "element-wise" for family in families], np.bool_)[graph.kinds.codes]
        cycles = BYTE_CYCLES * np.nan_to_num(graph.bytes_B) + np.nan_to_num(graph.flops) / VECTOR
        worth = np.trunc((cycles - STARTUP_CYCLES) / THREAD_CYCLES + 0.9)
        ours &= (worth > 1) & (threads > 1)
        wanted = np.clip(np.ceil(cycles / chunk_cycles), 1, BLOCKS_A_THREAD * threads)
        pieces = np.where(ours, wanted, 1).astype(np.int64)
        ours &= pieces > 1
        return cls(pieces, ours, np.repeat(np.arange(graph.n_tasks), np.where(ours, pieces, 0)))

    def shared(self, amount: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return an amount per task: none for cut tasks, whose chunks share it equally."""
        chunks = (amount[self.parent].T / self.pieces[self.parent]).T
        return np.concatenate([np.where(self.ours, 0.0, amount.T).T, chunks])

    def objects(self, n: int, data: DataObjects) -> DataObjects:
        """Return the data objects of the graph of `n` tasks: each chunk writes an equal part of the cut task's ones."""
        written = data.producer >= 0
        parts = np.ones(data.n, np.int64)
        parts[written] = np.where(self.ours, self.pieces, 1)[data.producer[written]]
        of, part = steps(parts)
        first = n + np.cumsum(np.where(self.ours, self.pieces, 0)) - self.pieces
        producer = data.producer[of].astype(np.int64)
        producer[parts[of] > 1] = (first[producer] + part)[parts[of] > 1]
        readers = Csr(np.append(0, np.cumsum(data.readers.degrees()[of])), entries(data.readers, of)[1])
        return DataObjects(data.size_B[of] / parts[of], producer.astype(np.int32), readers)

    def edges(self, graph: TaskGraph) -> npt.NDArray[np.int64]:
        """Return edges (before, after) in which the chunks of a task come between it and its successors."""
        before, after = graph.successors.sources(), graph.successors.indices
        chunks = graph.n_tasks + np.arange(len(self.parent))
        first = graph.n_tasks + np.cumsum(np.where(self.ours, self.pieces, 0)) - self.pieces
        count = self.pieces[before]
        edge, piece = steps(count)
        source = np.where(count > 1, first[before], before)[edge] + piece
        sources = np.concatenate([source, self.parent])
        return np.stack([sources, np.concatenate([after[edge], chunks])], axis=1)

    def kinds(self, graph: TaskGraph) -> list[str]:
        kinds = graph.kinds.to_list()
        whole = [SHARD + kind if ours else kind for kind, ours in zip(kinds, self.ours.tolist(), strict=True)]
        return [*whole, *(CHUNK + kinds[task] for task in self.parent.tolist())]

    def inherited(self, texts: list[str]) -> list[str]:
        return [*texts, *(texts[task] for task in self.parent.tolist())]
