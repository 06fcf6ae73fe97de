"""`CostModel`: seconds of a task on a team, when nothing disturbs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from simsched.costs.curves import (
    OWN,
    SEVERAL,
    Curve,
    default_curves,
    kinds_of,
    normalised,
    of_several,
    ranges,
    sampled_families,
    several_curve,
    taken_to_be_serial,
    taken_to_divide,
    unknown_kinds,
)
from simsched.costs.discrepancy import Discrepancy
from simsched.costs.kernels.library import DEFAULT, LibraryChoice, parameters
from simsched.costs.noise import Noise, noise_of
from simsched.costs.possible import never_on
from simsched.costs.rescaling import one_core_of_recorded, one_core_roofline_s, rescaled
from simsched.costs.shapes.by_shape import ShapeCosts, by_shape, planner_of
from simsched.costs.shapes.elements import Rates, elements_of
from simsched.costs.task_costs import TaskCosts, Terms
from simsched.costs.width_table import MeasuredSeconds, WidthTable
from simsched.errors import CostError
from simsched.graph import LabelColumn, TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.recording import on_device
from simsched.graph.required import check_graph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Clocks, Machine, RuntimeProfile
from simsched.machine.memory import of_kinds
from simsched.machine.ways import Kinds
from simsched.notes import Note, Weight
from simsched.renamed import warn_renamed
from simsched.text import counted

#: Name of the library on a machine whose local memories are planned.
PLANNED = "a plan of the machine's local memories"


@dataclass(frozen=True, eq=False)
class CostModel:
    """Conversion of seconds recorded on one width and machine to another.

    Parameters
    ----------
    curves : mapping of str to Curve
        Cost curves by kind, which replace the defaults in `curves.toml`. A kind takes the curve of its very spelling,
        else that of another spelling (`aten::add_` and `Add` are one kind), the last one if there are several.
    default : Curve, optional
        Curve of all kinds that are listed nowhere; by default they do not gain from more cores.
    noise : float, str or Noise
        How actual seconds vary around the estimated ones; the factors are sampled for each task from the replay's seed.
        Either the standard deviation of their logarithm, or a model of `simsched.costs.noise`, such as
        `stragglers[share=0.01,factor=5]`.
    measured : MeasuredSeconds, optional
        Measured seconds by width, which replace curves and recorded seconds; see docs/calibration.md.
    library : str, optional
        Library of the tasks: how it divides ops, and its rates (`onednn`, `mkl`, `libxsmm`, `eigen`,
        `graphi`, `plain`, `tensorflow-1.9`; docs/costs.md). When not given, that of the graph (its report's fact
        `library`), else that of the machine's file, else `onednn`.
    discrepancy : Discrepancy, optional
        By how much all seconds are off, in a model that `sampled` returns; not at all when not given.
    families : mapping of str to Curve
        Curves of families, in place of those in `curves.toml`, in a model that `sampled` returns.

    Examples
    --------
    >>> import simsched as ss
    >>> graph, noisy = ss.TaskGraph.from_edges([1.0, 2.0]), ss.CostModel(noise=0.1)
    >>> runs = [ss.simulate(graph, "generic[cores=2]", "fifo", costs=noisy, seed=seed) for seed in (1, 1, 2)]
    >>> runs[0].makespan_s == runs[1].makespan_s, runs[0].makespan_s == runs[2].makespan_s
    (True, False)
    """

    curves: Mapping[str, Curve] = field(default_factory=dict)
    default: Curve | None = None
    noise: float | str | Noise = 0.0
    measured: MeasuredSeconds | None = None
    library: str | None = None
    discrepancy: Discrepancy | None = None
    families: Mapping[str, Curve] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.curves, Mapping) or not all(isinstance(kind, str) for kind in self.curves):
            raise CostError(
                f"curves are {self.curves!r}; expected curves by kind, as {{'MatMul': Curve(0.1)}}"
            )
        given = [*self.curves.values(), *([] if self.default is None else [self.default])]
        if wrong := [curve for curve in given if not isinstance(curve, Curve)]:
            raise CostError(f"{wrong[0]!r} is not a Curve; write Curve(serial_share=...)")
        noise_of(self.noise)
        if self.library is not None:
            parameters(self.library)
        if self.measured is not None and not hasattr(self.measured, "on"):
            raise CostError(
                f"{self.measured!r} is not measured seconds; write Calibration.load(path).cost_model()"
            )

    def curve(self, kind: str) -> Curve:
        """Return the curve of a kind.

        Parameters
        ----------
        kind : str
            As the graph spells it.

        Returns
        -------
        Curve

        Examples
        --------
        >>> import simsched as ss
        >>> ss.CostModel({"mine": ss.Curve(serial_share=0.2)}).curve("mine").serial_share
        0.2
        >>> ss.CostModel().curve("MatMul").family
        'matrix product'
        """
        return self._curve(kind, self.library or DEFAULT)

    def _curve(self, kind: str, library: str) -> Curve:
        table, other = default_curves(library)
        listed = table.get(normalised(kind))
        listed = listed and self.families.get(listed.family, listed)
        return self._own(kind) or listed or self.default or other

    def _curves(self, graph: TaskGraph, library: str) -> list[Curve]:
        """Return the curve of each label of a graph's kinds."""
        curves = [self._curve(kind, library) for kind in kinds_of(graph)]
        several = self.families.get(SEVERAL) or several_curve()
        wide = of_several(graph, curves)
        return [several if one else curve for one, curve in zip(wide, curves, strict=True)]

    def _own(self, kind: str) -> Curve | None:
        name = kind.removeprefix(OWN)
        return self.curves.get(kind) or self.curves.get(name) or self._by_kind.get(normalised(name))

    @cached_property
    def _by_kind(self) -> Mapping[str, Curve]:
        return {normalised(kind): curve for kind, curve in self.curves.items()}

    def sampled(self, generator: np.random.Generator) -> Self:
        """Return a model whose curves are sampled from their uncertainty: one of the possible true models.

        Curves of `curves.toml` are sampled within the intervals stated there, all kinds of a family alike; measured
        seconds within the errors of their medians. All have the error of one `Discrepancy`. Curves given as numbers are
        exact, and so is the noise.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> sampled = ss.CostModel().sampled(np.random.default_rng(1))
        >>> sampled.curve("MatMul").serial_share == ss.CostModel().curve("MatMul").serial_share
        False
        >>> own = ss.CostModel({"MatMul": ss.Curve(serial_share=0.1)})
        >>> own.sampled(np.random.default_rng(1)).curve("MatMul").serial_share
        0.1
        """
        table, other = default_curves(self.library or DEFAULT)
        families = sampled_families([*table.values(), other], generator)
        measured = None if self.measured is None else self.measured.sampled(generator)
        off = Discrepancy(int(generator.integers(2**62)))
        families = {**families, **sampled_families([several_curve()], generator)}
        return replace(self, families=families, measured=measured, discrepancy=off)

    def while_busy(self, threads: float | None) -> Self:
        """Return a sampled model for a replay in which so many threads are busy on average; any other as it is.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> ss.CostModel().sampled(np.random.default_rng(2)).while_busy(4.0).discrepancy.busy
        4.0
        """
        if self.discrepancy is None:
            return self
        model = replace(self, discrepancy=replace(self.discrepancy, busy=threads))
        vars(model)["_last"] = self._last
        return model

    def drawn(self, generator: np.random.Generator) -> Self:
        """Return `sampled(generator)`, under its old name.

        Examples
        --------
        >>> import numpy as np
        >>> import pytest
        >>> import simsched as ss
        >>> with pytest.warns(DeprecationWarning, match="CostModel.sampled"):
        ...     model = ss.CostModel().drawn(np.random.default_rng(2))
        """
        warn_renamed("CostModel.drawn", "CostModel.sampled")
        return self.sampled(generator)

    def factors(self, n_tasks: int, seed: int) -> Seconds | None:
        """Return the noise of a replay: a factor for each task, float64 (n_tasks,), or None without noise.

        The same for the same seed, whatever the policy, layout, machine and engine (docs/semantics.md, rule 7).

        Examples
        --------
        >>> import simsched as ss
        >>> noisy = ss.CostModel(noise=0.1)
        >>> (noisy.factors(3, seed=1) == noisy.factors(3, seed=1)).all()
        np.True_
        >>> ss.CostModel().factors(3, seed=1) is None
        True
        """
        noise = noise_of(self.noise)
        return None if noise.silent else noise.sampled(n_tasks, np.random.default_rng([seed, 0]))

    def on(self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile | None = None) -> TaskCosts:
        """Return the costs of a graph's tasks on a machine.

        Parameters
        ----------
        graph : TaskGraph
        machine : Machine
        runtime : RuntimeProfile, optional
            The software's own costs; the machine's when not given.

        Raises
        ------
        CostError
            If a task has neither a duration nor FLOPs or bytes to estimate one from, or if the seconds were measured on
            another machine.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0], kinds="mine")
        >>> costs = ss.CostModel({"mine": ss.Curve(serial_share=0.2)}).on(graph, ss.machine("generic[cores=4]"))
        >>> costs.seconds(1).tolist(), costs.seconds(4).tolist()
        ([1.0], [0.4])
        """
        check_graph(graph)
        runtime = machine.runtime if runtime is None else runtime
        if self.discrepancy is None:
            return self._on(graph, machine, runtime)[0]
        found, curves = self._once(graph, machine, runtime)
        return self.discrepancy.on(found, graph, machine, curves)

    @cached_property
    def _last(self) -> dict[str, tuple[Any, Any]]:
        """What a sampled model was last asked, and its costs: policies are compared in the same worlds."""
        return {}

    def _once(
        self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile
    ) -> tuple[TaskCosts, list[Curve]]:
        """Return `_on`, which is found anew for other arguments than the last ones only."""
        asked, (last, found) = (graph, machine, runtime), self._last.get("on", (None, None))
        if last is None or last[0] is not graph or last[1] is not machine or last[2] != runtime:
            found = self._on(*asked)
            self._last["on"] = asked, found
        costs, curves = found
        return costs, curves

    def _on(
        self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile
    ) -> tuple[TaskCosts, list[Curve]]:
        """Return the costs without a discrepancy, and the curve of each label of the graph's kinds."""
        library = LibraryChoice.of(self.library, graph, machine)
        curves = self._curves(graph, library.params.library.name)
        terms = Terms.of(curves, runtime)
        recorded = one_core_of_recorded(graph, terms)
        pieces, traffic_B = terms.pieces(graph), graph.bytes_B
        threads = graph.widths
        table, shaped, said = self._by_width(graph, machine, runtime, library)
        if shaped is not None:
            pieces, traffic_B = shaped.over(pieces, traffic_B)
        if table is not None:
            recorded, threads = table.one_core(recorded), np.where(table.covers, 1, threads)
        covers = None if table is None or not table.covers.any() else table.covers
        t1, notes = rescaled(graph, machine, recorded, covers, self._doubt)
        said = (*said, *notes, *self._unused(graph), *_families(graph, curves, covers))
        alone = self._alone(graph, machine, runtime, t1)
        found = TaskCosts(
            one_core_s=t1,
            labels=graph.kinds.codes,
            terms=terms,
            traffic_B=_traffic(traffic_B, machine, t1, np.minimum(threads, pieces)),
            pieces=pieces,
            reach_Bps=machine.reach_Bps,
            notes=(*said, *_of_cores(graph, machine, alone)),
            table=table,
            kinds_s=_by_kind(graph, machine, t1, Rates(machine.element_flops, self._doubt)),
            kinds_reach_Bps=_kinds_reach(machine),
            kinds_threads=tuple(machine.smt * count for count in machine.kinds.counts)
            if machine.kinds
            else (),
            devices=() if machine.kinds is None else tuple(bps > 0 for bps in machine.kinds.link_Bps),
            alone=alone,
        )
        return found, curves

    @property
    def _doubt(self) -> float:
        return 0.0 if self.discrepancy is None else self.discrepancy.doubt

    def _unused(self, graph: TaskGraph) -> tuple[str, ...]:
        """Return a note where curves are given, and none is of a kind of the graph."""
        kinds = graph.kinds.labels
        if not self.curves or self.measured is not None or not kinds or any(map(self._own, kinds)):
            return ()
        given, there = (", ".join(map(repr, list(some)[:3])) for some in (self.curves, kinds))
        return (
            Note(f"no task is of a kind whose curve is given ({given}); kinds are {there}", Weight.DOUBT),
        )

    def _by_width(
        self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile, library: LibraryChoice
    ) -> tuple[WidthTable | None, ShapeCosts | None, tuple[str, ...]]:
        """Return seconds by width, measured or by shape, None without any; those by shape; and notes on both."""
        table, said = (None, ()) if self.measured is None else self.measured.on(graph, machine)
        wanted = np.isnan(graph.durations_s) & self._left_to_shapes(graph, table)
        if not library.params.library.by_shape or not wanted.any():
            return table, None, said
        shaped = _shaped(graph, replace(machine, runtime=runtime), library, wanted, self._doubt)
        table = shaped.table if table is None else table.or_else(shaped.table)
        return table, shaped, (*said, *shaped.notes)

    def _alone(
        self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile, one_core: Seconds
    ) -> Seconds | None:
        """Return each task's seconds on a core while all others are idle, over those while all are busy.

        Recorded durations have the clock that they were recorded at.
        """
        flops, estimated = machine.core_flops_at(1), np.isnan(graph.durations_s)
        if flops == machine.core_flops_at() or not estimated.any():
            return None
        peak = max(machine.peak_flops, flops)
        idle = replace(machine, core_flops=flops, peak_flops=peak, clocks=Clocks(machine.scalar_clock_Hz(1)))
        alone = self._on(graph, idle, runtime)[0].one_core_s
        found = np.ones(graph.n_tasks)
        np.divide(alone, one_core, out=found, where=estimated & (one_core > 0))
        return found

    def _left_to_shapes(self, graph: TaskGraph, measured: WidthTable | None) -> Mask:
        """Return the tasks that were not measured and whose kind was given no curve."""
        curves = [self._own(kind) for kind in graph.kinds.labels]
        left = np.array([curve is None or curve.family in ranges() for curve in curves], np.bool_)
        found: Mask = left[graph.kinds.codes]
        return found if measured is None else found & ~measured.covers


def _shaped(
    graph: TaskGraph, machine: Machine, library: LibraryChoice, wanted: Mask, doubt: float
) -> ShapeCosts:
    """Return a library's seconds of the wanted tasks, or those of the machine's planner if none is named."""
    planner = planner_of(machine) if library.by_default else None
    found = by_shape(graph, machine, library.params, wanted, planner, doubt)
    name = library.params.library.name if planner is None else PLANNED
    count = int(found.table.covers.sum())
    return replace(found, notes=(*_of_library(name, library.named_by, count), *found.notes))


def _of_library(name: str, named_by: str, count: int) -> tuple[str, ...]:
    if not count:
        return ()
    said = f"{counted(count, 'task takes', 'tasks take')} what {name} takes for their kinds and shapes ({named_by})"
    return (Note(said, Weight.ASSUMPTION),)


def _by_kind(graph: TaskGraph, machine: Machine, one_core: Seconds, rates: Rates) -> Seconds | None:
    """Return the seconds of each task on one core of each kind; None where the machine's cores are alike.

    They are the graph's own, where it gives them, in proportion where tasks were recorded on another width or machine;
    else those of a core of the file over the kind's speed, or in the proportion of the rooflines of both cores; inf on
    kinds that cannot run the task.
    """
    given = graph.seconds_by_kind
    if machine.kinds is None:
        if given is not None and given.shape[1] > 1:
            raise CostError(
                f"the graph has seconds for {given.shape[1]} kinds of cores, and all cores of {machine} are alike; "
                "write kinds=each if each core is a kind, or give the file a table [kinds]"
            )
        return None
    if given is None:
        kinds = range(len(machine.kinds.names))
        found = np.stack(
            [_of_kind(graph, machine, machine.kinds, one_core, kind, rates) for kind in kinds], 1
        )
        if (never := never_on(graph, machine)) is None:
            return found
        # On a device, what was recorded on one takes what it took there.
        recorded = (on_device(graph) & ~np.isnan(graph.durations_s))[:, None]
        return np.where(never, np.inf, np.where(recorded, graph.durations_s[:, None], found))
    if given.shape[1] != len(machine.kinds.names):
        raise CostError(
            f"the graph has seconds for {given.shape[1]} kinds of cores; {machine} has {len(machine.kinds.names)}"
        )
    same = one_core == graph.durations_s
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = given * np.nan_to_num(one_core / graph.durations_s)[:, None]
    return np.where(same[:, None] | np.isinf(given), given, scaled)


def _of_kind(
    graph: TaskGraph, machine: Machine, kinds: Kinds, one_core: Seconds, kind: int, rates: Rates
) -> Seconds:
    """Return the seconds of each task on one core of a kind, from its speed or its roofline.

    Nothing tells what a task of unknown work gains on a device: there, it takes as long as on a core.
    """
    Bps = machine.one_core_Bps
    # Recorded durations have the clock that they were recorded at.
    flops = np.where(np.isnan(graph.durations_s), machine.core_flops_at(), machine.core_flops)
    device = bool(kinds.flops_ratio) and kinds.link_Bps[kind] > 0
    found = np.asarray(one_core / (1.0 if device else kinds.speeds[kind]))
    if kinds.flops_ratio:
        own_Bps = Bps * kinds.bandwidth_ratio[kind] if device else of_kinds(machine)[kind].one_core_Bps
        own_flops = (machine.core_flops if device else flops) * kinds.flops_ratio[kind]
        elements, own = elements_of(graph), {key: of[kind] for key, of in kinds.element_flops.items()}
        of_kind = replace(rates, stated={**rates.stated, **own})
        here = one_core_roofline_s(graph, own_flops * elements.rates(of_kind), own_Bps)
        before = one_core_roofline_s(graph, flops * elements.rates(rates), Bps)
        np.divide(one_core * here, before, out=found, where=before > 0)
    return found + kinds.start_s[kind] if kinds.start_s else found


def _kinds_reach(machine: Machine) -> Seconds | None:
    """Return the bandwidth that teams of each kind of cores reach; None where all kinds move the same."""
    kinds = of_kinds(machine)
    return np.stack([one.reach_Bps for one in kinds]) if kinds else None


def _of_cores(graph: TaskGraph, machine: Machine, alone: Seconds | None) -> Iterator[Note]:
    """Yield notes on the cores that seconds are for: on their clock, and on devices."""
    if alone is not None and (slower := int((alone < 1).sum())):
        yield Note(
            f"{counted(slower, 'task')} at the clock of all {machine.n_cores} cores busy, however few are: on one core "
            f"alone up to {1 / alone.min():.2f} times faster",
            Weight.ASSUMPTION,
        )
    yield from _of_devices(graph, machine)


def _of_devices(graph: TaskGraph, machine: Machine) -> Iterator[Note]:
    """Yield a note on tasks whose seconds on a device are unknown."""
    kinds = machine.kinds
    if kinds is None or not kinds.flops_ratio or graph.seconds_by_kind is not None or not any(kinds.link_Bps):
        return
    if never_on(graph, machine) is not None:
        return
    unknown = np.isnan(one_core_roofline_s(graph, machine.core_flops, machine.one_core_Bps))
    if unknown.any():
        yield Note(
            f"no faster on a device than on a core: {counted(unknown.sum(), 'task')} of unknown work, as nothing tells "
            "what is gained there; give seconds by kind of core (from_edges), or FLOPs and bytes",
            Weight.DOUBT,
        )


def _traffic(bytes_B: Seconds, machine: Machine, one_core: Seconds, used: Seconds) -> Seconds:
    """Return the memory traffic of each task: its bytes, less those found in caches when recorded.

    No more can have come from memory than the threads used to run it reach there in its seconds.
    """
    if np.isnan(bytes_B).all():
        return np.zeros(len(bytes_B))
    reach_Bps = machine.reach_Bps[np.minimum(np.ceil(used).astype(np.int64), machine.n_threads)]
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.minimum(bytes_B, reach_Bps * one_core / used))


def _families(graph: TaskGraph, curves: Sequence[Curve], covers: Mask | None) -> tuple[str, ...]:
    """Return notes on how many tasks follow the curve of each family, and on kinds of none; none of measured ones."""
    kinds = graph.kinds if covers is None else LabelColumn(graph.kinds.codes[~covers], graph.kinds.labels)
    counts: Counter[str] = Counter()
    several: list[str] = []
    for kind, curve, count in zip(kinds.labels, curves, kinds.counts.tolist(), strict=True):
        counts[curve.family] += count
        several += [kind] * bool(count and curve.family == SEVERAL)
    said = ", ".join(f"{count} {family}" for family, count in counts.most_common() if count)
    serial = unknown_kinds(graph, curves) if covers is None else ()
    curves_said = (Note(f"cost curves: {said}", Weight.ASSUMPTION),) if said else ()
    return (*curves_said, *taken_to_be_serial(serial), *taken_to_divide(several))
