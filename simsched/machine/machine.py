"""`Machine`: cores and their shared resources, memory, and the software's own costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.document.html import card
from simsched.errors import MachineError
from simsched.later import later
from simsched.machine.clocks import Clocks
from simsched.machine.effects import Effects
from simsched.machine.memory import Memory, team_reach_Bps
from simsched.machine.network import Network, network_of
from simsched.machine.power import Power
from simsched.machine.runtime import RuntimeProfile
from simsched.machine.stated import Fact, all_notes, check_possible
from simsched.machine.structure import Structure
from simsched.machine.varying import varied
from simsched.machine.ways import DataWays, Kinds
from simsched.parameters import is_whole
from simsched.spec import Scalar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.graph.adjacency import Index


@dataclass(frozen=True, eq=False)
class Machine:
    """A manycore machine; made by `simsched.machine`.

    Parameters
    ----------
    spec : str
        The string that makes the same machine again: `knl-7250[cores=128]`, `mine.toml`.
    title : str
        Name for readers.
    content : mapping
        Content of the machine file that it was made from.
    structure : Structure
        Places of its cores, and their shared resources.
    memory : Memory
        Bandwidth of its memory, in the mode in use.
    smt_ways : int
        Hardware threads of each core.
    smt : int
        Hardware threads of each core that are in use.
    compute_throughput, memory_throughput : tuple of float
        Throughput of a core with 1, 2, ... `smt_ways` threads over that with one thread, for code that is bound by
        computing, and for code that is bound by memory.
    core_flops : float
        FP32 operations per second that one core sustains in a matrix product while all are busy; see `core_flops_at`.
        At most those of its peak at the highest clock, or infinite.
    peak_flops : float
        FP32 operations per second that one core can issue, at its nominal clock.
    clocks : Clocks
        Its frequency by busy cores and width of vectors.
    l1d_B, l2_B, l3_B : float or None
        Bytes of the caches of a core, a tile and a memory domain, where it has them.
    l2_bandwidth_Bps : float or None
        Bytes per second that the L2 of a tile delivers to its cores together.
    interconnect_share : float
        Traffic of a thread on the interconnect, relative to the machine as its file describes it. Below 1 on machines
        with more cores, whose interconnect is assumed to be built for them.
    tile_slowdown : float
        Factor on the time of a core's memory traffic while another core of its tile has as much.
    runtime : RuntimeProfile
        The software's own costs.
    effects : Effects
        The ways in which running tasks slow each other down that replays account for; all when not given.
    data : DataWays or None
        How objects get from place to place; None where they are near everywhere.
    kinds : Kinds or None
        Its kinds of cores; None where all are alike.
    element_flops : mapping of str to float
        Operations per second over those of FP32 of each type of elements narrower than FP32 ("bf16", "fp16", "int8")
        that its cores have instructions for.
    tables : mapping of str to object
        Further tables of the file, as parsed by the packages that registered them.
    power_W, power : float and Power, or None
        Power limit of all chips, and what they draw, where known; in proportion to cores where these are varied, but a
        whole chip's where its clock rises while cores are idle.
    facts : tuple of Fact
        Every number, as the file states it.
    stated_speed : tuple of two floats, or None
        `core_flops` and `one_core_Bps` as the file states them, where uncertain numbers have other values here.

    Examples
    --------
    >>> import simsched as ss
    >>> knl = ss.machine("knl-7250")
    >>> knl.n_cores, knl.n_tiles, knl.cores_per_tile, knl.n_threads, knl.n_domains
    (68, 34, 2, 68, 1)
    >>> knl.core_bandwidth_Bps / 1e9, knl.bandwidth_Bps / 1e9, len(knl.reach_Bps)
    (10.5, 325.0, 69)
    >>> knl.tile_slowdowns[:3].round(2).tolist()
    [1.0, 1.28, 1.28]
    """

    spec: str
    title: str
    content: Mapping[str, Any] = field(repr=False)
    structure: Structure
    memory: Memory
    smt_ways: int
    smt: int
    compute_throughput: tuple[float, ...]
    memory_throughput: tuple[float, ...]
    core_flops: float
    peak_flops: float
    clocks: Clocks
    l1d_B: float | None
    l2_B: float | None
    l3_B: float | None
    l2_bandwidth_Bps: float | None
    interconnect_share: float
    tile_slowdown: float
    runtime: RuntimeProfile
    effects: Effects = field(default_factory=Effects.all)
    data: DataWays | None = None
    kinds: Kinds | None = None
    element_flops: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict, repr=False)
    power_W: float | None = None
    power: Power | None = None
    facts: tuple[Fact, ...] = field(default=(), repr=False)
    stated_speed: tuple[float, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_possible(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Machine):
            return NotImplemented
        # A copy with something replaced is another machine, though it has the same file.
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self))

    def __hash__(self) -> int:
        return hash(self.spec)

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return self.structure.n_cores

    @property
    def n_threads(self) -> int:
        """Number of hardware threads in use: thread `way * n_cores + core` is a way of that core."""
        return self.n_cores * self.smt

    @property
    def kind_of(self) -> Index:
        """Kind of each core, int32 (n_cores,), numbered from 0.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.machine("generic[cores=3]").kind_of.tolist(), ss.machine("generic[cores=3,kinds=each]").kind_of.tolist()
        ([0, 0, 0], [0, 1, 2])
        """
        return np.zeros(self.n_cores, np.int32) if self.kinds is None else self.kinds.of_core

    @property
    def is_device(self) -> npt.NDArray[np.bool_]:
        """Whether each core is a device, with a memory and a link of its own; bool (n_cores,).

        >>> import simsched as ss
        >>> ss.machine("generic[cores=2]").is_device.tolist()
        [False, False]
        """
        return np.zeros(self.n_cores, np.bool_) if self.kinds is None else self.kinds.is_device

    @cached_property
    def network(self) -> Network | None:
        """Places of its data and the ways between them; None where nothing moves.

        Examples
        --------
        >>> import simsched as ss
        >>> latency_s, s_per_B = ss.machine("generic[cores=2,link_Bps=4.0,data=sent]").network.tables
        >>> float(latency_s[0, 1]), float(s_per_B[0, 1])
        (0.0, 0.25)
        """
        return None if self.data is None else network_of(self, self.data)

    @property
    def cores_per_tile(self) -> int:
        """Cores that share an L2; 1 where there are no tiles."""
        return self.structure.cores_per_tile

    @property
    def n_tiles(self) -> int:
        """Number of tiles."""
        return self.n_cores // self.cores_per_tile

    @property
    def n_domains(self) -> int:
        """Number of memory domains."""
        return self.structure.n_domains

    @property
    def core_bandwidth_Bps(self) -> float:
        """Bytes per second that a core can move to and from memory, by the file; see `one_core_Bps`."""
        return self.memory.core_bandwidth_Bps

    @property
    def one_core_Bps(self) -> float:
        """Bytes per second of a single core: `core_bandwidth_Bps`, less where its domain has little more.

        Examples
        --------
        >>> import simsched as ss
        >>> scarce = ss.machine("generic[bandwidth_Bps=5e9]")
        >>> scarce.core_bandwidth_Bps, scarce.one_core_Bps
        (10000000000.0, 5000000000.0)
        """
        own, reached = self.core_bandwidth_Bps, float(self.reach_Bps[1])
        # A rounding is no loss.
        return reached if reached < own * (1 - 1e-9) else own

    def core_flops_at(self, cores: int | None = None) -> float:
        """Return the FP32 operations per second that a core sustains while the first so many cores are busy.

        Matrix products and convolutions use the widest vectors; the clock is that of the chip (ring, socket) with
        most busy cores. Where the file has no clocks by busy cores it is `core_flops`.

        Parameters
        ----------
        cores : int, optional
            From 1 to n_cores; all when not given.

        Examples
        --------
        >>> import simsched as ss
        >>> xeon = ss.machine("xeon-8160x2")
        >>> xeon.core_flops_at(1) / xeon.core_flops_at(24), xeon.core_flops_at(48) == xeon.core_flops
        (1.75, True)
        """
        gain = self.clocks.gain(self._busy(cores or self.n_cores))
        return min(self.core_flops * gain, max(self.core_flops, self.peak_flops * self.clocks.boost))

    def scalar_clock_Hz(self, cores: int) -> float:
        """Return the clock of code without vectors while the first so many cores are busy.

        Parameters
        ----------
        cores : int
            From 1 to n_cores.

        Examples
        --------
        >>> import simsched as ss
        >>> xeon = ss.machine("xeon-8160x2")
        >>> xeon.scalar_clock_Hz(1) / 1e9, xeon.scalar_clock_Hz(48) / 1e9
        (3.7, 2.8)
        """
        return self.clocks.at(self._busy(cores), next(iter(self.clocks.by_vector), None))

    def _busy(self, cores: int) -> int:
        """Return how many of the first cores are on the chip with most of them."""
        return int(np.bincount(self.structure.segment_of[:cores]).max())

    @property
    def bandwidth_Bps(self) -> float:
        """Bytes per second that all cores together move, one thread each, as stated by the file."""
        return self.memory.bandwidth_Bps

    @cached_property
    def domain_Bps(self) -> float:
        """Bytes per second of one memory domain: its part of `bandwidth_Bps`, or more if more ways reach it.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.machine("xeon-8160x2").domain_Bps / 1e9
        82.95
        """
        return max(self.bandwidth_Bps, float(self.reach_Bps[-1])) / self.n_domains

    @cached_property
    def reach_Bps(self) -> npt.NDArray[np.float64]:
        """Bytes per second that 0, 1, ... `n_threads` threads reach as one team; shape (n_threads + 1,).

        Threads are placed compactly: one per core in the order of the cores, then the next way of each. Each reads from
        its own domain. Where one thread more would slow a team down, that thread gets no work.
        """
        reach = np.zeros(self.n_threads + 1)
        np.maximum.accumulate(team_reach_Bps(self, np.arange(self.n_threads)), out=reach[1:])
        reach.setflags(write=False)
        return reach

    def team_Bps(self, threads: npt.ArrayLike) -> float:
        """Return the bytes per second that one team reaches on some hardware threads, each in its own domain.

        Parameters
        ----------
        threads : array_like of int
            Their numbers: cores, from 0 to n_cores - 1, and further ways, `way * n_cores + core`. At least one.

        Raises
        ------
        MachineError
            If one of them does not exist, or occurs twice.

        Examples
        --------
        Six cores on one socket, and three on each:

        >>> import simsched as ss
        >>> xeon = ss.machine("xeon-8160x2")
        >>> round(xeon.team_Bps(range(6)) / 1e9), round(xeon.team_Bps([0, 1, 2, 24, 25, 26]) / 1e9)
        (62, 74)
        """
        numbers = np.asarray(threads)
        if numbers.ndim != 1 or not len(numbers) or not np.issubdtype(numbers.dtype, np.integer):
            raise MachineError(f"threads {threads!r} are not a list of whole numbers, at least one")
        most = self.n_cores * self.smt_ways
        if wrong := numbers[(numbers < 0) | (numbers >= most)].tolist():
            raise MachineError(f"thread {wrong[0]} does not exist: {self} has 0 to {most - 1}")
        if len(np.unique(numbers)) < len(numbers):
            raise MachineError(f"threads {threads!r}: one occurs twice")
        return float(team_reach_Bps(self, numbers)[-1])

    @cached_property
    def tile_slowdowns(self) -> npt.NDArray[np.float64]:
        """Factor on the memory-bound part of teams of 0, 1, ... `n_threads` threads that share their tiles.

        At least 1: where a wide team's threads get less than a crowded tile lets through, the tile does not matter.
        """
        threads = np.maximum(np.arange(self.n_threads + 1), 1)
        through = self.core_bandwidth_Bps / self.tile_slowdown
        slowdowns = np.maximum(self.reach_Bps / threads / through, 1.0)
        slowdowns.setflags(write=False)
        return slowdowns

    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return the steps on the interconnect from a core to every core, shape (n_cores,).

        Parameters
        ----------
        core : int
            From 0 to n_cores - 1.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.machine("knc-7120p").hops(0)[:5].tolist()
        [0, 1, 2, 3, 4]
        """
        return self.structure.hops(self._checked_core(core))

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a cache line from a core to every core, shape (n_cores,).

        Parameters
        ----------
        core : int
            From 0 to n_cores - 1.

        Returns
        -------
        float64 array, shape (n_cores,)

        Examples
        --------
        >>> import simsched as ss
        >>> seconds = ss.machine("knl-7250").transfer_s(0)
        >>> seconds.shape, bool(seconds[1] < seconds[67])
        ((68,), True)
        """
        return self.structure.transfer_s(self._checked_core(core))

    def _checked_core(self, core: int) -> int:
        if not is_whole(core):
            raise MachineError(f"core {core!r} is not the number of a core; expected a whole number from 0")
        if not 0 <= core < self.n_cores:
            raise MachineError(f"core {core} does not exist: {self} has {self.n_cores}")
        return core

    def varied(self, params: Mapping[str, Scalar]) -> Machine:
        """Return a variation of this machine: the same with other numbers.

        Parameters
        ----------
        params : mapping
            As between the brackets of a spec; see `simsched.machine.variations`.

        Returns
        -------
        Machine

        Raises
        ------
        MachineError
            If a parameter is unknown or a value impossible, or for `like`, which only a machine file's name takes.

        Examples
        --------
        >>> import simsched as ss
        >>> twice = ss.machine("knl-7250").varied({"cores": 136, "memory": "cache"})
        >>> twice.spec, twice.n_cores
        ('knl-7250[cores=136,memory=cache]', 136)
        """
        return varied(self, params)

    def describe(self) -> pd.DataFrame:
        """Return every number of the machine's file: key, value, unit, source, confidence.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import simsched as ss
        >>> facts = ss.machine("knl-7250").describe().set_index("key")
        >>> facts.loc["runtime.dispatch", ["value", "unit"]].tolist()
        [182.2, 'ns']
        """
        import pandas as pd

        columns = ["key", "value", "unit", "source", "confidence"]
        return pd.DataFrame([vars(fact) for fact in self.facts], columns=columns)

    def draw(
        self, ax: Axes | None = None, values: npt.ArrayLike | None = None, label: str | None = None
    ) -> Axes:
        """Draw the machine.

        Parameters
        ----------
        ax : Axes, optional
            Where; a new figure when not given.
        values : array_like, shape (n_cores,), optional
            A value for each core, such as busy seconds, executors or distances, which its colour shows.
        label : str, optional
            Meaning of the values, with their unit.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import simsched as ss
        >>> machine = ss.machine("knc-7120p[cores=8]")
        >>> ax = machine.draw(values=machine.hops(0), label="hops from core 0")
        >>> ax.get_title(loc="left").split(":")[0]
        'knc-7120p[cores=8]'
        """
        return later("plots").draw_machine(self, ax=ax, values=values, label=label)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was rounded, is doubtful or assumed, and numbers of the file for an effect that it switches off.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.machine("generic").notes
        ()
        """
        return tuple(all_notes(self))

    def __str__(self) -> str:
        return self.spec

    def summary(self) -> dict[str, object]:
        """Return a readable summary of the machine's numbers.

        Examples
        --------
        >>> import simsched as ss
        >>> numbers = ss.machine("knl-7250").summary()
        >>> numbers["cores"], numbers["tiles"], numbers["SMT ways"]
        (68, 34, '1 of 4')
        """
        return {
            "cores": self.n_cores,
            "tiles": self.n_tiles,
            "memory domains": self.n_domains,
            "SMT ways": f"{self.smt} of {self.smt_ways}",
            "one core, sustained": f"{self.core_flops / 1e9:.1f} GFLOP/s",
            "one core, memory": f"{self.one_core_Bps / 1e9:.1f} GB/s",
            self.memory.name: f"{self.bandwidth_Bps / 1e9:.1f} GB/s",
            **self.structure.facts(),
        }

    def _repr_html_(self) -> str:
        return card(f"{self.spec}: {self.title}", self.summary(), self.notes)
