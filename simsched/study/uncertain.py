"""Uncertain numbers of a machine and of cost curves: scenarios with some of them changed, and sampled machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from math import isclose
from typing import Any, cast

from simsched.costs import CostModel
from simsched.costs.curves import MOST, OWN, kinds_of, normalised, ranges, sampled_between
from simsched.costs.normal import NormalByName
from simsched.costs.own_machine import has_chip
from simsched.costs.shapes.elements import OTHERS, elements_of
from simsched.errors import MachineError, SimschedError
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.machine.confidence import REACHED_GAIN, ends
from simsched.machine.schema import GIVEN, NARROW, factor
from simsched.machine.stated import ASSUMED, Fact
from simsched.machine.varying import as_built, with_numbers
from simsched.multimap import multimap
from simsched.replay.scenario import Scenario
from simsched.spec import parse_path

#: Units of whole numbers, which are not uncertain.
COUNTS = ("core", "core/tile", "thread/core")
#: End of the key of what a memory's channels carry: it limits the bandwidth, which is uncertain.
PEAK = ".peak"
#: Share by which a number near another one differs.
NEAR = 1e-3
#: Share of the stated rise of clocks where fewer cores are busy: the stated ones are the most, 1.
RISE = "cores.busy_clock"
#: Prefix of the names of numbers of cost curves.
COSTS = "costs."
#: Halvings in search of the largest possible value.
HALVINGS = 20


@dataclass(frozen=True)
class Parameter:
    """An uncertain number.

    Parameters
    ----------
    name : str
        Of a machine its place in the file, as `cores.clock`; of a cost curve `costs.FAMILY.NUMBER`, as
        `costs.convolution.serial_share`, with the kind of task for the family where the curve was given.
    value : float
        In `unit`.
    unit : str
    low, high : float
        Ends of its 95 % interval, as far as possible.
    confidence : str
        Confidence stated by its file; "given" for given curves.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    confidence: str


@dataclass(frozen=True, eq=False)
class Uncertain:
    """A graph and a scenario with uncertain numbers.

    Parameters
    ----------
    graph : TaskGraph
    scenario : Scenario

    Raises
    ------
    MachineError
        If `dataclasses.replace` made its machine another one than its file's, whose numbers are sampled.
    """

    graph: TaskGraph
    scenario: Scenario

    def __post_init__(self) -> None:
        as_built(self.scenario.machine)

    def parameters(self) -> list[Parameter]:
        """Return all parameters: the machine's in file order, then those of the graph's cost curves."""
        return [*self.of_machine(), *self._of_curves()]

    def of_machine(self) -> list[Parameter]:
        """Return the uncertain numbers of the machine, in the order of its file."""
        return list(self._of_machine(self.reachable))

    def of_machine_together(self) -> list[Parameter]:
        """Return the uncertain numbers of the machine, with the ends that all can have together, where they exist.

        Its watts are none of them: they change no makespan, and where impossible together, others would vary less.
        """
        found = self._but_watts(lambda name, value, end: end)
        ends_of = ({one.name: one.low for one in found}, {one.name: one.high for one in found})
        return found if all(map(self._possible, ends_of)) else self._but_watts(self.reachable)

    def _but_watts(self, reachable: Callable[[str, float, float], float]) -> list[Parameter]:
        return [one for one in self._of_machine(reachable) if not one.name.startswith("power.")]

    def changed(self, values: Mapping[str, float]) -> Scenario:
        """Return the scenario with other values, by name.

        Raises
        ------
        SimschedError
            If a value is impossible.
        """
        ours = {name.removeprefix(COSTS): value for name, value in values.items() if name.startswith(COSTS)}
        theirs = {name: value for name, value in values.items() if not name.startswith(COSTS)}
        machine = _varied(self.scenario.machine, theirs) if theirs else self.scenario.machine
        return replace(self.scenario, machine=machine, costs=self._with_curves(ours))

    def reachable(self, name: str, value: float, end: float) -> float:
        """Return the possible value nearest to `end`, starting from a possible one."""
        if self._possible({name: end}):
            return end
        near, far = value, end
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            near, far = (middle, far) if self._possible({name: middle}) else (near, middle)
        return near

    def _possible(self, values: Mapping[str, float]) -> bool:
        try:
            self.changed(values)
        except SimschedError:
            return False
        return True

    def _of_machine(self, reachable: Callable[[str, float, float], float]) -> Iterator[Parameter]:
        machine = self.scenario.machine
        alone = (fact for fact in machine.facts if not isinstance(fact.value, tuple))
        for fact in (*alone, *_of_kinds(machine)):
            value = float(cast(float, fact.value))
            exact = fact.unit in COUNTS or fact.key.endswith(PEAK) or self._unused(fact.key)
            if exact or self._is_count(fact.key, value, fact.unit):
                continue
            low, high = (reachable(fact.key, value, end) for end in self._ends(fact, value))
            # A count has no other possible value.
            if value == 0 or low < high:
                yield Parameter(fact.key, value, fact.unit, low, high, fact.confidence)
        if machine.clocks.by_vector and machine.clocks.gain(1) > 1:
            widest = next(fact for fact in reversed(machine.facts) if fact.key.startswith(f"{RISE}."))
            yield Parameter(
                RISE, 1.0, "", reachable(RISE, 1.0, ends(1.0, widest.confidence)[0]), 1.0, widest.confidence
            )

    def _unused(self, key: str) -> bool:
        """Return whether a number is the rate of elements that the graph has none of; one without tasks has any."""
        element, types = _narrow(key), elements_of(self.graph).types
        meant = {name for one, assumed in types for name in ([one, OTHERS[one]] if assumed else [one])}
        return bool(element and self.graph.n_tasks) and element not in meant

    def _ends(self, fact: Fact, value: float) -> tuple[float, float]:
        """Return the ends of the interval that a chip allows: no clock above the stated ones, no more lanes."""
        # Chips of a kind have about the same clock; one that is assumed is another's.
        unit = "" if fact.source.startswith(ASSUMED) else fact.unit
        machine, (low, high) = self.scenario.machine, fact.ends or ends(value, fact.confidence, unit)
        if of_fp32 := _of_fp32(fact.key, machine):
            # Faster units are harder to keep busy, whoever states their rate.
            slow = of_fp32 * (value / of_fp32) ** REACHED_GAIN
            return max(min(slow, low), of_fp32), value
        if fact.unit == "FLOP/cycle" and has_chip(machine):
            # Lanes are counted: who read of them has no fraction of them.
            return (value if fact.confidence in ("high", "med") else low), value
        if fact.key == "cores.clock" and machine.clocks.by_vector:
            return low, min(high, machine.clocks.most_Hz / factor(fact.unit))
        return low, high

    def _is_count(self, name: str, value: float, unit: str) -> bool:
        """Return whether a number without a unit is whole and has to be: nothing near it is possible."""
        whole = bool(value) and not unit and value.is_integer()
        return whole and not any(self._possible({name: value * near}) for near in (1 - NEAR, 1 + NEAR))

    def _of_curves(self) -> Iterator[Parameter]:
        for owner, kinds in self._owners().items():
            curve = self.scenario.costs.curve(kinds[0])
            for name, most in MOST.items():
                value, known = float(getattr(curve, name)), ranges().get(curve.family, {}).get(name)
                if known is None and not value:
                    continue
                low, high = known[:2] if known else ends(value, "unverified")
                trust = known.confidence if known else "given"
                yield Parameter(f"{COSTS}{owner}.{name}", value, "", low, min(high, most), trust)

    def _owners(self) -> Mapping[str, list[str]]:
        """Return the graph's kinds by the owner of their curves: a family, or the kind itself."""
        families = [(self.scenario.costs.curve(kind).family, kind) for kind in kinds_of(self.graph)]
        return multimap(
            (family if family in ranges() else normalised(kind.removeprefix(OWN)), kind)
            for family, kind in families
        )

    def _with_curves(self, values: Mapping[str, float]) -> CostModel:
        if not values:
            return self.scenario.costs
        curves, owners = dict(self.scenario.costs.curves), self._owners()
        for place, value in values.items():
            owner, _, name = place.rpartition(".")
            for kind in owners[owner]:
                before = curves.get(kind) or self.scenario.costs.curve(kind)
                curves[kind] = replace(before, **cast(Any, {name: value}))
        return replace(self.scenario.costs, curves=curves)


def _varied(machine: Machine, values: Mapping[str, float]) -> Machine:
    """Return a machine with other numbers, no latency of other domains below that of the own one.

    A number that is varied switches no effect on here: all replays account for the same ones. What plans ops in local
    memories plans them for the numbers that are stated. What such a machine recorded was recorded on its numbers.
    """
    values = dict(values)
    rise = values.pop(RISE, 1.0)
    units = {fact.key: fact.unit for fact in machine.facts}
    near = {name: name.replace(".remote_latency.", ".latency.") for name in values}
    possible = {
        name: max(value, values.get(near[name], value)) if units.get(near[name]) == units.get(name) else value
        for name, value in values.items()
    }
    varied = with_numbers(machine, possible)
    tables = {
        name: table.planned_for(machine.tables[name]) if hasattr(table, "planned_for") else table
        for name, table in varied.tables.items()
    }
    stated = machine.stated_speed or (machine.core_flops, machine.one_core_Bps)
    clocks = varied.clocks.rising(rise)
    return replace(varied, effects=machine.effects, tables=tables, stated_speed=stated, clocks=clocks)


def _narrow(key: str) -> str:
    """Return the type of elements whose rate a place of a machine file states; "" of other places."""
    name = key.split(".")[1].removesuffix("_per_cycle") if key.startswith(("cores.", "kinds.")) else ""
    return name if name in NARROW else ""


def _of_fp32(key: str, machine: Machine) -> float:
    """Return the FP32 operations per cycle of the cores whose rate of narrower elements is at a place; else 0."""
    if not _narrow(key):
        return 0.0
    content = machine.content
    rows = {fact.key: fact.value for fact in machine.facts}
    kind, own = key.split(".", 2)[2:], rows.get("kinds.flop_per_cycle")
    if kind and isinstance(own, tuple):
        return float(own[content["kinds"]["names"].index(kind[0])])
    return float(cast(float, rows["cores.flop_per_cycle"]))


def _of_kinds(machine: Machine) -> Iterator[Fact]:
    """Yield the numbers of each kind of cores, as `kinds.clock.GPU`, that are neither the file's cores' nor none."""
    base = {
        "kinds.speed": 1.0,
        "kinds.clock": machine.clocks.nominal_Hz,
        "kinds.flop_per_cycle": machine.peak_flops / machine.clocks.nominal_Hz,
        "kinds.core_bandwidth": machine.core_bandwidth_Bps,
    }
    per_cycle = base["kinds.flop_per_cycle"]
    base |= {f"kinds.{one}_per_cycle": ratio * per_cycle for one, ratio in machine.element_flops.items()}
    for fact in machine.facts:
        if machine.kinds is None or not fact.key.startswith("kinds.") or not isinstance(fact.value, tuple):
            continue
        own = base.get(fact.key, 0.0)
        for kind, value in zip(machine.kinds.names, fact.value, strict=True):
            if value and not isclose(value * factor(fact.unit), own, rel_tol=1e-9):
                yield replace(fact, key=f"{fact.key}.{kind}", value=value)


def chosen(known: list[Parameter], names: Sequence[str] | None) -> list[Parameter]:
    """Return the parameters of some names, in that order; all when none are given.

    Raises
    ------
    SimschedError
        If there is no such parameter, none is named, one is listed twice, or one is given in the place of a list.
    """
    if names is None:
        return known
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise SimschedError(f"parameters is {names!r:.80}; expected a list of names, as ['cores.clock']")
    if not names:
        raise SimschedError("parameters is []; expected at least one, as in ['cores.clock']")
    by_name: Mapping[str, Parameter] = {one.name: one for one in known}
    for place, name in enumerate(names):
        if name not in by_name:
            near = get_close_matches(name, by_name, n=3) or list(by_name)[:3]
            raise MachineError(f"there is no parameter {name!r} to vary; there are {', '.join(near)}, ...")
        if name in names[:place]:
            raise SimschedError(f"parameters: {name!r} is listed twice; leave one out")
    return [by_name[name] for name in names]


#: Number of times that impossible numbers are moved.
TRIES = 10


@dataclass(frozen=True, eq=False)
class MachineNumbers:
    """The uncertain numbers of a machine, each within its 95 % interval (`simsched.machine.confidence`).

    Parameters
    ----------
    parameters : sequence of Parameter
        Those that were not given, with ends that are possible.
    """

    parameters: Sequence[Parameter]

    @classmethod
    def of(cls, machine: Machine) -> MachineNumbers:
        """Return the numbers of a machine; cached from the second call on."""
        return _numbers(machine)

    def sampled(self, machine: Machine, seed: int) -> Machine:
        """Return a machine of the same file, of any number of cores, with sampled numbers and same effects.

        The same numbers for the same seed. A latency of other domains is at least that of the own one. Where numbers
        are impossible together, all move towards those of the file.
        """
        normal = NormalByName.on(machine, seed)
        z = [normal(one.name) for one in self.parameters]
        share = 1.0
        for _ in range(TRIES if self.parameters else 0):
            values = {
                one.name: min(
                    max(sampled_between(one.value, one.low, one.high, share * of), one.low), one.high
                )
                for one, of in zip(self.parameters, z, strict=True)
            }
            try:
                return _varied(machine, values)
            except SimschedError:
                share /= 2
        return machine


@lru_cache(maxsize=64)
def _numbers(machine: Machine) -> MachineNumbers:
    given = {fact.key for fact in machine.facts if fact.source.startswith(GIVEN)}
    given = {key for key in given | parse_path(machine.spec).params.keys() if not _narrow(key)}
    uncertain = Uncertain(TaskGraph.from_edges([]), Scenario(machine))
    return MachineNumbers([one for one in uncertain.of_machine_together() if one.name not in given])
