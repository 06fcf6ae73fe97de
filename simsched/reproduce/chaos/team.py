"""The workers of CHAOS on a Knights Corner: their costs of waiting, writing and meeting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from simsched.machine import Machine, machine as machine_of
from simsched.reproduce.chaos.network import LINE, Image, Layer

MACHINE = "knc-7120p"


@dataclass(frozen=True, eq=False)
class Team:
    """Some workers, one hardware thread each.

    Parameters
    ----------
    network : str
        small, medium or large.
    image : Image
    threads : int
    waiting : {"weights", "layers", "none"}
        How the measured waiting of an image's updates divides among layers: by weights, evenly; or no waiting.
    """

    network: str
    image: Image
    threads: int
    waiting: str = "weights"

    @cached_property
    def machine(self) -> Machine:
        """The machine; with more workers than hardware threads, one of more cores on a longer ring."""
        plain = machine_of(MACHINE)
        if self.threads <= plain.n_cores * plain.smt_ways:
            return machine_of(f"{MACHINE}[smt={plain.smt_ways}]")
        return machine_of(f"{MACHINE}[cores={ceil(self.threads / plain.smt_ways)},smt={plain.smt_ways}]")

    @cached_property
    def slowdown(self) -> float:
        """Mean slowdown of a worker over running alone on its core."""
        full, more = divmod(self.threads, self.machine.n_cores)
        throughput = (0.0, *self.machine.compute_throughput)
        whole = (self.machine.n_cores - more) * throughput[full]
        return self.threads / (whole + (more * throughput[full + 1] if more else 0.0))

    def waits_s(self, layer: Layer) -> float:
        """Return the wait of a layer's update (Table 4, measured with all workers writing), alone on a core.

        The measurements are wall-clock seconds; a replay slows tasks that share a core, so they are divided by that.
        """
        if self.waiting == "none" or not layer.weights:
            return 0.0
        shared = sum(1 for other in self.image.layers if other.weights)
        share = layer.weights / self.image.weights if self.waiting == "weights" else 1 / shared
        return share * self._contention_s(self.threads) / self.slowdown

    def writes_s(self, layer: Layer) -> float:
        """Return one writer's time for a layer: as measured alone, plus its lines from another core."""
        alone_s = self._contention_s(1) * layer.weights / self.image.weights
        return alone_s + self.fetches_s(layer.weights)

    def fetches_s(self, values: float) -> float:
        """Return the seconds of values from another core's cache, line by line, over the ring; 0 for one worker."""
        return 0.0 if self.threads == 1 else values / LINE * self._line_s

    def meets_s(self) -> float:
        """Return the seconds of a barrier of all workers; 0 for one."""
        runtime = self.machine.runtime
        return (runtime.barrier_s + self.threads * runtime.barrier_per_thread_s) * (self.threads > 1)

    @cached_property
    def _line_s(self) -> float:
        return float(self.machine.transfer_s(0)[1:].mean())

    def _contention_s(self, writers: int) -> float:
        return float(self.machine.tables["contention"].contention_s(writers, self.network))
