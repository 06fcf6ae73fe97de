"""`Platform`: a problem as planners see it: seconds by kind of core, and seconds of a message between places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Csr, Index
from simsched.graph.columns import Floats
from simsched.graph.taskgraph import Seconds


@dataclass(frozen=True, eq=False)
class Platform:
    """Estimated seconds of tasks on executors, and of the data that move between them.

    Parameters
    ----------
    successors : Csr
        Edges, by source.
    kind_seconds : float64 array, shape (n, kinds)
        Seconds of each task on a team of each kind of core; inf on those that cannot run it.
    kind_of : int32 array, shape (executors,)
        Kind of the cores of each executor.
    place_of : int32 array, shape (executors,)
        Place where each executor keeps its data.
    edge_bytes : float64 array, shape (m,)
        Bytes that each edge of `successors` carries.
    latency_s, s_per_B : float64 arrays, shape (places, places)
        Seconds of a message from a place to another: its latency, and what each byte adds. Zero on the diagonal.

    Examples
    --------
    A chain of two tasks on two cores of different kinds, and 5 bytes at 1 B/s between them:

    >>> from simsched.graph.adjacency import Csr
    >>> apart = 1.0 - np.eye(2)
    >>> platform = Platform(
    ...     successors=Csr(np.array([0, 1, 1]), np.array([1], np.int32)),
    ...     kind_seconds=np.array([[2.0, 4.0], [3.0, 1.0]]), kind_of=np.array([0, 1], np.int32),
    ...     place_of=np.array([0, 1], np.int32), edge_bytes=np.array([5.0]), latency_s=0 * apart, s_per_B=apart,
    ... )
    >>> platform.n_executors, platform.seconds(1).tolist(), platform.mean_seconds.tolist()
    (2, [3.0, 1.0], [3.0, 2.0])
    >>> platform.mean_message_s.tolist(), platform.message_s(0, 0, 1)
    ([5.0], 5.0)
    """

    successors: Csr
    kind_seconds: Seconds
    kind_of: Index
    place_of: Index
    edge_bytes: Floats
    latency_s: npt.NDArray[np.float64]
    s_per_B: npt.NDArray[np.float64]

    @property
    def n_executors(self) -> int:
        """Number of executors."""
        return len(self.kind_of)

    def seconds(self, task: int) -> Seconds:
        """Return the seconds of a task on each executor, shape (executors,)."""
        return np.asarray(self.kind_seconds[task, self.kind_of])

    @cached_property
    def mean_seconds(self) -> Seconds:
        """Mean seconds of each task over the executors that can run it, shape (n,)."""
        possible = np.isfinite(self.kind_seconds)
        counts = np.bincount(self.kind_of, minlength=self.kind_seconds.shape[1])
        total = np.where(possible, self.kind_seconds, 0.0) @ (counts / self.n_executors)
        return np.asarray(total / np.where(possible.all(axis=1), 1.0, possible @ (counts / self.n_executors)))

    def message_s(self, edge: int, sender: int, receiver: int) -> float:
        """Return the seconds in which an edge's bytes get from an executor to another; 0 within a place."""
        one, other = self.place_of[sender], self.place_of[receiver]
        return float(self.latency_s[one, other] + self.edge_bytes[edge] * self.s_per_B[one, other])

    @cached_property
    def mean_message_s(self) -> Seconds:
        """Mean seconds of each edge's bytes between two different executors, shape (m,); 0 where there is one.

        As in the papers, they are the mean latency, and the bytes over the mean bandwidth. Pairs whose messages take
        no time for bytes count as such, and not in the mean bandwidth.
        """
        return self.messages_s(self.n_executors * (self.n_executors - 1) or 1)

    def messages_s(self, parts: int) -> Seconds:
        """Return the `mean_message_s` times the pairs of different executors, divided into parts; shape (m,)."""
        counts = np.bincount(self.place_of, minlength=len(self.latency_s)).astype(np.float64)
        limited = self.s_per_B > 0
        Bps = np.divide(1.0, self.s_per_B, out=np.zeros_like(self.s_per_B), where=limited)
        pairs, total_Bps = counts @ limited @ counts, counts @ Bps @ counts
        per_B = pairs / parts / (total_Bps / pairs) if pairs else 0.0
        return np.asarray(counts @ self.latency_s @ counts / parts + self.edge_bytes * per_B)
