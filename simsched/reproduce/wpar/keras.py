"""Keras: one op after another, layer by layer, each by a parallel kernel that forks and joins.

A batch takes the framework's time for it and for each of its ops, and the kernels': those of the kernel model
(`simsched.costs.kernels`), but that matrix products reach a share of the rate that cores sustain. These three numbers
are those with which the paper's reference rows come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from simsched.costs.kernels import Team, elementwise_s, gemm_s, parameters
from simsched.errors import MachineError
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.graph.shapes import parse_shape
from simsched.machine import Machine
from simsched.reproduce.one_core_seconds import LIBRARY
from simsched.reproduce.wpar.cells import Setting
from simsched.workloads.tensor import ELEMENT_B

#: Number of steps beyond which each further one adds the same.
ALIKE = 4

#: Rounds in which the best numbers of cores and the calibrated values settle.
ROUNDS = 5

#: Kind, shapes of inputs, and bytes of an op.
Op = tuple[str, str, float]


@dataclass(frozen=True)
class Keras:
    """A framework that runs ops in turn, on the best number of cores.

    Parameters
    ----------
    machine : Machine
    cores : tuple of int
        Numbers of cores that are tried.
    fused : bool
        Whether the gates of a cell share their products.
    remote : float
        Share of the data on the other socket, in a run on more cores than a socket has.
    batch_s, op_s : float
        The framework's time for a batch, and for an op in addition to its kernel.
    slower : float
        Rate that cores sustain over that of their products here.
    """

    machine: Machine
    cores: tuple[int, ...]
    fused: bool
    remote: float
    batch_s: float = 0.0
    op_s: float = 0.0
    slower: float = 1.0

    def calibrated(self, measured: Mapping[Setting, float]) -> Keras:
        """Return the framework that takes the measured seconds of three settings.

        Raises
        ------
        MachineError
            If on this machine only a framework of negative costs would.
        """
        works = [self.work(setting) for setting in measured]
        made = self
        for _ in range(ROUNDS):
            best = [int(np.argmin(made._kernels_s(work))) for work in works]
            known = [(1.0, work.ops, work.product_s[i]) for work, i in zip(works, best, strict=True)]
            other_s = [work.other_s[i] for work, i in zip(works, best, strict=True)]
            solved = np.linalg.solve(known, np.array(list(measured.values())) - other_s)
            made = replace(self, **dict(zip(("batch_s", "op_s", "slower"), solved.tolist(), strict=True)))
        if min(made.batch_s, made.op_s, made.slower) < 0:
            raise MachineError(
                f"{self.machine}: Keras' reference would need a batch of {made.batch_s:.3g} s, ops of "
                f"{made.op_s:.3g} s and products {made.slower:.3g} times as long; take a machine nearer to xeon-8160x2"
            )
        return made

    def seconds(self, setting: Setting) -> float:
        """Return the seconds of a batch."""
        work = self.work(setting)
        return float(self.batch_s + self.op_s * work.ops + self._kernels_s(work).min())

    def work(self, setting: Setting) -> Work:
        """Return the work of a batch for the framework."""
        found = self._steps(setting, min(setting.steps, ALIKE))
        if setting.steps > ALIKE:
            found = found + (setting.steps - ALIKE) * (self._steps(setting, ALIKE + 1) - found)
        ops, other_s, product_s = found[0, 0], found[1], found[2]
        sockets = np.array(self.cores) > self.machine.n_cores // self.machine.n_domains
        longer = sockets * self.remote * (self.machine.memory.remote_penalty - 1.0)
        # All but operations at the sustained rate is waiting for data, longer for remote ones.
        return Work(float(ops), other_s * (1 + longer) - product_s * longer, product_s * (1 + longer))

    def _kernels_s(self, work: Work) -> Floats:
        return work.other_s + self.slower * work.product_s

    def _steps(self, setting: Setting, steps: int) -> Floats:
        """Return ops of some steps, and by cores the seconds of all but products' operations, and of these."""
        ops = counted(setting.ops(steps, fused=self.fused).graph())
        teams = [Team(self.machine, cores) for cores in self.cores]
        ideal = [replace(team, machine=replace(self.machine, core_flops=inf)) for team in teams]
        all_s, other_s = (
            np.array([sum(n * kernel_s(op, team) for op, n in ops.items()) for team in some])
            for some in (teams, ideal)
        )
        return np.stack([np.full(len(teams), float(ops.total())), other_s, all_s - other_s])


@dataclass(frozen=True)
class Work:
    """The work of a batch for a framework.

    Parameters
    ----------
    ops : float
        How many.
    other_s, product_s : float64 arrays, shape (numbers of cores,)
        Seconds of kernels but for operations of matrix products, and of these at the sustained rate.
    """

    ops: float
    other_s: Floats
    product_s: Floats


def counted(graph: TaskGraph) -> Counter[Op]:
    """Return how often a graph has each op."""
    kinds, shapes = ([column.labels[code] for code in column.codes] for column in (graph.kinds, graph.shapes))
    return Counter(zip(kinds, shapes, graph.bytes_B.tolist(), strict=True))


def kernel_s(op: Op, team: Team) -> float:
    """Return the seconds of an op's kernel in a framework: a matrix product by its sizes, others by bytes."""
    kind, shapes, moved_B = op
    library = parameters(LIBRARY)
    if kind == "MatMul":
        (rows, inner), (_, columns) = parse_shape(shapes)
        return gemm_s(columns, rows, inner, team, params=library)
    arrays = 3
    return elementwise_s(max(1, round(moved_B / ELEMENT_B / arrays)), team, arrays, library, resident=False)
