"""`Machine`: cores, tiles, memory and the software's own costs on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import MachineError
from simsched.html import card
from simsched.spec import Scalar, Spec, parse

if TYPE_CHECKING:
    import pandas as pd


#: Demands are added as whole bytes a second, in 64 bits.
MOST_DEMAND_BPS = 2.0**62


@dataclass(frozen=True)
class RuntimeProfile:
    """The software's own costs (docs/semantics.md, rule 3 and 4).

    Parameters
    ----------
    dispatch_s : float
        Seconds that a central scheduler spends on each start; starts are served one after another.
    pop_s, pop_per_poller_s : float
        Seconds to take a task from a shared queue, and what every other idle executor that polls adds to it.
    fork_join_s, fork_join_per_thread_s : float
        Seconds to fork and join a team of more than one thread, and what each thread adds.
    resize_s : float
        Seconds that a team pays when its cores last ran in a team of another size.
    """

    dispatch_s: float = 0.0
    pop_s: float = 0.0
    pop_per_poller_s: float = 0.0
    fork_join_s: float = 0.0
    fork_join_per_thread_s: float = 0.0
    resize_s: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (value >= 0 and np.isfinite(value)):
                raise MachineError(
                    f"runtime cost {name} is {value}; it must be zero or more seconds, and finite"
                )


@dataclass(frozen=True)
class Fact:
    """One number of a machine file: its place, value, unit, source and confidence."""

    key: str
    value: float
    unit: str
    source: str
    confidence: str


@dataclass(frozen=True)
class Machine:
    """A manycore machine.

    Parameters
    ----------
    spec : str
        The string that makes it again: `knl-7250[cores=128]`, `mine.toml`.
    title : str
        Name for people.
    n_cores : int
        Cores.
    cores_per_tile : int
        Cores that share an L2; 1 where there are no tiles.
    smt_ways : int
        Hardware threads a core.
    core_flops : float
        FP32 operations a second that one core sustains in a matrix product.
    core_bandwidth_Bps : float
        Bytes a second that one core alone moves to and from memory.
    bandwidth_Bps : float
        Bytes a second that all cores together move.
    runtime : RuntimeProfile
        The software's own costs.
    share_bandwidth : bool
        Whether running tasks slow each other down when they ask for more than `bandwidth_Bps` together.
    facts : tuple of Fact
        Every number as its file states it.
    """

    spec: str
    title: str
    n_cores: int
    cores_per_tile: int
    smt_ways: int
    core_flops: float
    core_bandwidth_Bps: float
    bandwidth_Bps: float
    runtime: RuntimeProfile = RuntimeProfile()
    share_bandwidth: bool = False
    facts: tuple[Fact, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.share_bandwidth and self.n_cores * self.bandwidth_Bps >= MOST_DEMAND_BPS:
            raise MachineError(
                f"{self.spec}: {self.n_cores} cores that share {self.bandwidth_Bps:g} B/s can ask for more together "
                f"than can be counted exactly, {MOST_DEMAND_BPS:g} B/s"
            )

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return self.n_cores // self.cores_per_tile

    def varied(self, params: Mapping[str, Scalar]) -> Machine:
        """Return this machine with other numbers.

        Parameters
        ----------
        params : mapping
            `cores`: number of cores, in whole tiles; the memory stays as it is. `bandwidth_Bps`: memory bandwidth
            of the chip. `share_bandwidth`: whether running tasks share it.

        Raises
        ------
        MachineError
            On an unknown parameter or an impossible value.
        """
        changes: dict[str, Scalar] = {}
        for key, value in params.items():
            if key == "cores":
                changes["n_cores"] = self._checked_cores(value)
            elif key == "bandwidth_Bps":
                if isinstance(value, (bool, str)) or not (0 < value < float("inf")):
                    raise MachineError(
                        f"{self.spec}[bandwidth_Bps={value}]: expected bytes a second, above 0"
                    )
                changes["bandwidth_Bps"] = float(value)
            elif key == "share_bandwidth":
                if not isinstance(value, bool):
                    raise MachineError(f"{self.spec}[share_bandwidth={value}]: expected true or false")
                changes["share_bandwidth"] = value
            else:
                raise MachineError(
                    f"{self.spec} has no parameter {key!r}; it has cores, bandwidth_Bps and share_bandwidth"
                )
        name, _, varied = self.spec.partition("[")
        before = parse(f"x[{varied}").params if varied else {}
        return replace(self, spec=str(Spec(name, {**before, **params})), **changes)  # type: ignore[arg-type] # checked by key

    def _checked_cores(self, value: Scalar) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= 2**20:
            raise MachineError(
                f"{self.spec}[cores={value}]: expected a whole number of cores from 1 to {2**20}"
            )
        if value % self.cores_per_tile:
            near = max(value // self.cores_per_tile, 1) * self.cores_per_tile
            raise MachineError(
                f"{self.spec}[cores={value}]: a tile has {self.cores_per_tile} cores and tiles stay whole; "
                f"try {near} or {near + self.cores_per_tile}"
            )
        return int(value)

    def describe(self) -> pd.DataFrame:
        """Return every number of the machine's file: key, value, unit, source, confidence."""
        import pandas as pd

        return pd.DataFrame([vars(fact) for fact in self.facts])

    def __str__(self) -> str:
        return self.spec

    def _repr_html_(self) -> str:
        facts = {
            "cores": self.n_cores,
            "tiles": self.n_tiles,
            "SMT ways": self.smt_ways,
            "one core, sustained": f"{self.core_flops / 1e9:.1f} GFLOP/s",
            "one core, memory": f"{self.core_bandwidth_Bps / 1e9:.1f} GB/s",
            "memory": f"{self.bandwidth_Bps / 1e9:.1f} GB/s",
        }
        return card(f"{self.spec}: {self.title}", facts)
