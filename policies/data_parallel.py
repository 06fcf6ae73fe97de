"""Data parallelism: a worker per hardware thread takes the next sample and keeps it (CHAOS, W-Par's Seq)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.policy import Problem, RankPolicy


@dataclass(frozen=True)
class DataParallel(RankPolicy):
    """Samples in the order of the graph; a worker that has begun one goes on with it.

    A sample is the chain of tasks that begins with a task without predecessors. Tasks rank by the sample they belong
    to, so one that has begun precedes all that have not, and its next task runs where the last one ran. A task that
    joins several samples belongs to the sample of its predecessor of the lowest index, which need not be the sample
    that begins first. Cost: one dispatch per task, from one counter; O(log n) per decision, and O(n log n) once for
    the ranks.

    Parameters
    ----------
    placement, prefer, pinned, oversubscribe
        As in `RankPolicy`.

    References
    ----------
    CHAOS: A Parallelization Scheme for Training Convolutional Neural Networks on Intel Xeon Phi, 2017: the next image.
    Wavefront Parallelization of Recurrent Neural Networks on Multi-core Architectures, 2020: a mini-batch (Seq).

    Examples
    --------
    >>> import simsched as ss
    >>> two_samples = ss.TaskGraph.from_edges([1.0, 1.0, 2.0, 2.0], [(0, 2), (1, 3)])
    >>> ss.simulate(two_samples, "generic[cores=2]", "data-parallel").executor.tolist()
    [0, 1, 0, 1]
    >>> ss.simulate(two_samples, "generic[cores=1]", "data-parallel").start_order.tolist()
    [0, 2, 1, 3]
    """

    name = "data-parallel"

    prefer: str = "producer"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the first task of each task's sample."""
        return samples(problem.graph)


def samples(graph: TaskGraph) -> npt.NDArray[np.int64]:
    """Return the first task of each task's sample, shape (n,): of predecessors, the lowest one leads back to it."""
    before = graph.predecessors
    first = np.arange(graph.n_tasks)
    joined = np.flatnonzero(np.diff(before.indptr))
    first[joined] = before.indices[before.indptr[joined]]
    # Each step doubles a task's distance of looking back.
    while not np.array_equal(further := first[first], first):
        first = further
    return first
