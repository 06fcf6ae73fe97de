"""Jobs of the published systems: a network, its machine, and the costs that all policies share there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from simsched.costs import CostModel, Curve
from simsched.errors import SpecError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.cleanup import Unroll
from simsched.graph.cleanup.groups import merged
from simsched.machine import Machine
from simsched.reproduce.one_core_seconds import LIBRARY, with_kernel_seconds
from simsched.reproduce.system import system_of
from simsched.workloads import Workload, family

#: Names of ops of a recurrent cell, forward or backward, begin with this.
_CELL = re.compile(r"(?:gradients/)?step\d+/layer\d+(?=/)")
#: Images of a run of CHAOS: five rounds on 192 cores, not quite four on 244 threads.
IMAGES = 960


@dataclass(frozen=True)
class Job:
    """A network that a published system ran, and the machine that it ran on.

    Parameters
    ----------
    system : str
        Whose it is, as `simsched list papers` names it, or a name of your own.
    workload : str
        As `simsched.workload` takes it.
    machine : str
        As `simsched.machine` takes it.
    samples : int
        Number of runs of the network on independent samples, each run a separate graph.
    measured : bool
        Whether a sample takes CHAOS's measured time on one thread of this machine; see `Image`.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.reproduce import Job
    >>> mine = Job("graphi", "lstm[layers=1,steps=2,batch=4,hidden=8]", "knl-7250[cores=4]")
    >>> ss.crossed(jobs=[mine], machines=["own"], systems=["graphi"]).table["workload"].tolist()
    ['lstm[layers=1,steps=2,batch=4,hidden=8]']
    """

    system: str
    workload: str
    machine: str
    samples: int = 1
    measured: bool = False


#: The networks that the five papers measure, in the size of most of each one's numbers.
JOBS = (
    *(
        Job("graphi", network, "knl-7250[bandwidth_Bps=4e11]")
        for network in (
            "lstm[size=medium]",
            "phased_lstm[size=medium]",
            "pathnet[size=medium]",
            "googlenet[size=medium]",
        )
    ),
    *(
        Job("concurrency-control", network, "knl-7250[memory=cache]")
        for network in (
            "resnet50[size=cifar10]",
            "dcgan[size=mnist]",
            "inception_v3[size=imagenet]",
            "lstm[size=ptb]",
        )
    ),
    *(
        Job("swtvm", network, "sw26010[mpes=false,cores=64]")
        for network in ("alexnet[size=swtvm,towers=one]", "vgg19[size=swtvm]")
    ),
    *(
        Job("chaos", f"chaos[size={size}]", "knc-7120p", IMAGES, measured=True)
        for size in ("small", "medium", "large")
    ),
    *(
        Job("wpar", f"{cell}[layers=6,steps=100,input=256,hidden=256,batch=128{fused}]", "xeon-8160x2")
        for cell, fused in (("lstm", ",fused=true"), ("gru", ",fused=true"), ("rnn", ""))
    ),
)


def jobs_of(systems: Sequence[str] | None = None) -> list[Job]:
    """Return the jobs of some systems, or all.

    Raises
    ------
    SpecError
        If a system has none.
    """
    known = list(dict.fromkeys(job.system for job in JOBS))
    for system in systems or ():
        if system not in known:
            raise SpecError(f"{system!r:.60} has no jobs here; {', '.join(known)} have")
    return [job for job in JOBS if not systems or job.system in systems]


class Column:
    """A job on a machine, divided as policies need it; every graph is made once.

    Parameters
    ----------
    job : Job
    machine : Machine
        Its own, or another.
    own : bool
        Whether it is its own, so that measurements there apply.
    curves : mapping of str to Curve, optional
        Cost curves of kinds, in place of those that all replays have.

    Raises
    ------
    SpecError
        If there is no such workload, or it has no batch.
    """

    def __init__(
        self, job: Job, machine: Machine, *, own: bool, curves: Mapping[str, Curve] | None = None
    ) -> None:
        self.job, self.machine = job, machine
        self._costed, costs = _costing(measured=job.measured and own)
        self.costs = replace(costs, curves=curves or {})
        self.network: Any = family(job.workload)
        if not hasattr(self.network, "batch"):
            raise SpecError(f"{job.workload} has no batch, so that policies that cut it have nothing to cut")
        self.ops = cache(self._ops)
        self.cells = cache(self._cells)
        self.batches = cache(self._batches)
        self._part = cache(self._made)

    @property
    def divisors(self) -> list[int]:
        """Numbers of equal parts of the batch."""
        return [parts for parts in range(1, self.network.batch + 1) if self.network.batch % parts == 0]

    def _made(self, parts: int) -> TaskGraph:
        """Return one of so many equal parts of a batch, op by op."""
        return self._costed(replace(self.network, batch=self.network.batch // parts), self.machine)

    def _ops(self, parts: int) -> TaskGraph:
        """Return all parts op by op."""
        return self._copies(self._part(parts), parts)

    def _cells(self, parts: int) -> TaskGraph:
        """Return all parts; the ops of a recurrent cell in one direction are one task, other ops stay."""
        names = self._part(parts).names
        assert names is not None  # noqa: S101 - narrows the type: generated ops have names
        found = [_CELL.match(name) for name in names.to_list()]
        labels = [at[0] if at else f"op {task}" for task, at in enumerate(found)]
        if not any(found):
            return self.ops(parts)
        return self._copies(self._merged(parts, labels, "cell"), parts)

    def _batches(self, parts: int) -> TaskGraph:
        """Return all parts, each as one task: the work of a worker on its samples."""
        labels = ["batch"] * self._part(parts).n_tasks
        return self._copies(self._merged(parts, labels, "batch"), parts)

    def _copies(self, graph: TaskGraph, parts: int) -> TaskGraph:
        return Unroll(iterations=parts * self.job.samples, between="nothing").apply(graph)

    def _merged(self, parts: int, labels: list[str], kind: str) -> TaskGraph:
        """Return a part with the tasks of each label merged into one of a kind that runs on one thread."""
        graph = self._part(parts)
        costs = self.costs.on(graph, self.machine)
        alone = replace(graph, durations_s=costs.one_core_s, bytes_B=costs.traffic_B, recorded_on=None)
        return merged(alone, np.unique(labels, return_inverse=True)[1], ImportReport(graph.name), kind=kind)


def _costing(*, measured: bool) -> tuple[Callable[[Workload, Machine], TaskGraph], CostModel]:
    """Return a maker of a network's graph, and the costs of its tasks: defaults, or measured ones."""
    if measured:
        return _as_measured, CostModel(library=LIBRARY)
    return lambda network, _: _graph(network), CostModel()


@lru_cache(maxsize=128)
def _graph(network: Workload) -> TaskGraph:
    """Return a network's graph, which several machines run."""
    return network.graph()


def _as_measured(network: Any, machine: Machine) -> TaskGraph:
    """Return an image's graph whose forward and backward ops take the times measured by CHAOS (Table 3)."""
    graph = with_kernel_seconds(_graph(network), machine)
    measured = system_of("chaos").published().inputs["measured"]
    if getattr(network, "network", None) not in measured["fprop_s"]:
        raise SpecError(
            f"CHAOS measured no images of {network}; its networks are {', '.join(measured['fprop_s'])}"
        )
    names = graph.names
    assert names is not None  # noqa: S101 - narrows the type: generated ops have names
    forward = np.array([not name.startswith(("gradients/", "update/")) for name in names.to_list()])
    seconds = np.array(graph.durations_s)
    for ops, key in ((forward, "fprop_s"), (~forward, "bprop_s")):
        seconds[ops] *= float(measured[key][network.network]) / seconds[ops].sum()
    return replace(graph, durations_s=seconds)
