"""The schema of machine files: every number with its unit, its source and its confidence."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)

#: Factor from each accepted unit to SI, by the quantity it measures.
UNITS: dict[str, dict[str, float]] = {
    "cores": {"core": 1},
    "cores per tile": {"core/tile": 1},
    "cores, or cores per tile": {"core": 1, "core/tile": 1},
    "threads per core": {"thread/core": 1},
    "share": {"": 1},
    "count": {"": 1},
    "frequency": {"Hz": 1, "MHz": 1e6, "GHz": 1e9},
    "work per cycle": {"FLOP/cycle": 1},
    "bandwidth": {"B/s": 1, "MB/s": 1e6, "GB/s": 1e9},
    "size": {"B": 1, "GiB": 1024**3, "GB": 1e9},
    "size per core": {"B/core": 1, "KiB/core": 1024, "MiB/core": 1024**2},
    "size per tile": {"B/tile": 1, "KiB/tile": 1024, "MiB/tile": 1024**2},
    "size per domain": {"B/domain": 1, "KiB/domain": 1024, "MiB/domain": 1024**2},
    "bandwidth per tile": {"B/s/tile": 1, "GB/s/tile": 1e9},
    "time": {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "time per thread": {"s/thread": 1, "ms/thread": 1e-3, "us/thread": 1e-6, "ns/thread": 1e-9},
    "time per poller": {"s/poller": 1, "ms/poller": 1e-3, "us/poller": 1e-6, "ns/poller": 1e-9},
    "power": {"W": 1},
    "vector width": {"bit": 1},
}
#: The same by unit alone: a unit that measures several quantities has one factor.
FACTORS = {unit: number for units in UNITS.values() for unit, number in units.items()}


class Strict(BaseModel):
    """A table of a machine file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Confidence = Literal["high", "med", "low", "unverified"]

#: Types of elements whose rate a core may state: those narrower than FP32, whose rate is `flop_per_cycle`.
NARROW = ("bf16", "fp16", "int8")

#: Prefix of the source of a number between the brackets of a machine: it is given, hence exact.
GIVEN = "varied: "


class Quantity(Strict):
    """A number stated in a machine file.

    Parameters
    ----------
    value : float
        The number, in `unit`.
    unit : str
        One of the units its place accepts.
    source : str
        Place of the number, or its derivation.
    confidence : {"high", "med", "low", "unverified"}
        How far to trust it.
    ends : pair of float, optional
        Ends of its 95 % interval in `unit`, where its source has them; else these follow from the confidence.
    """

    value: Annotated[float, Field(allow_inf_nan=False, strict=True)]
    unit: str
    source: Annotated[str, Field(min_length=1)]
    confidence: Confidence
    ends: tuple[float, float] | None = None


def measures(
    what: str,
    *,
    least: float = 0,
    above: float | None = None,
    most: float = float("inf"),
    whole: bool = False,
) -> AfterValidator:
    """Return the check that a quantity measures `what`, a key of `UNITS`, within bounds in SI units."""
    units = UNITS[what]

    def check(quantity: Quantity) -> Quantity:
        value, expected = quantity.value, ", ".join(map(repr, units))
        if quantity.unit not in units:
            raise ValueError(f"unit {quantity.unit!r} does not measure {what}; expected one of {expected}")
        if whole and value != int(value):
            raise ValueError(f"{value} is not a whole number")
        if above is not None and value <= above:
            raise ValueError(f"{value:g} is too small; it must be above {above:g}")
        if si(quantity) < least:
            raise ValueError(f"{value:g} is too small; the least is {_in_unit(least, quantity.unit)}")
        if si(quantity) > most:
            raise ValueError(f"{value:g} is too large; the most is {_in_unit(most, quantity.unit)}")
        if quantity.ends and not quantity.ends[0] <= value <= quantity.ends[1]:
            raise ValueError(f"{value:g} is not between its ends, {list(quantity.ends)}")
        return quantity

    return AfterValidator(check)


def _in_unit(bound: float, unit: str) -> str:
    return f"{bound / factor(unit):g} {unit}".rstrip()


class Quantities(Strict):
    """Several numbers of one unit, as stated in a machine file; see `Quantity`."""

    value: Annotated[
        tuple[Annotated[float, Field(allow_inf_nan=False, strict=True)], ...], Field(min_length=1)
    ]
    unit: str
    source: Annotated[str, Field(min_length=1)]
    confidence: Confidence


class Matrix(Strict):
    """Numbers of one unit for pairs, row by row, as stated in a machine file; see `Quantity`."""

    value: Annotated[tuple[tuple[Annotated[float, Field(strict=True)], ...], ...], Field(min_length=1)]
    unit: str
    source: Annotated[str, Field(min_length=1)]
    confidence: Confidence


def pairs(what: str, *, above: float = float("-inf"), zero: str = "") -> AfterValidator:
    """Return the check that a matrix is square and measures `what`, from 0 up, and above a bound off its diagonal."""

    def check(matrix: Matrix) -> Matrix:
        rows, expected = matrix.value, ", ".join(map(repr, UNITS[what]))
        if matrix.unit not in UNITS[what]:
            raise ValueError(f"unit {matrix.unit!r} does not measure {what}; expected one of {expected}")
        for p, row in enumerate(rows):
            if len(row) != len(rows):
                raise ValueError(
                    f"row {p} has {len(row)} numbers, but there are {len(rows)} rows; expected a square"
                )
            for q, value in enumerate(row):
                if p != q and not (value >= 0 and value > above):
                    raise ValueError(f"from {p} to {q} it is {value:g}; expected {zero}")
        return matrix

    return AfterValidator(check)


def _throughput(quantities: Quantities) -> Quantities:
    for ways, value in enumerate(quantities.value, 1):
        if not 0 < value <= ways:
            raise ValueError(
                f"{ways} threads of a core do {value:g} times the work of one; expected above 0, at most {ways}"
            )
    if quantities.value[0] != 1:
        raise ValueError(f"the first is {quantities.value[0]:g}; one thread does 1 time the work of one")
    if quantities.unit:
        raise ValueError(f"unit {quantities.unit!r} does not measure a share; expected ''")
    return quantities


Throughput = Annotated[Quantities, AfterValidator(_throughput)]


class CoreCount(Strict):
    """Number of cores."""

    count: Annotated[Quantity, measures("cores", least=1, most=2**20, whole=True)]
    per_tile: Annotated[Quantity, measures("cores per tile", least=1, most=2**20, whole=True)]


class BusyClock(Strict):
    """Frequencies by the number of busy cores of a chip, and by the width of the vectors in use."""

    busy: Annotated[tuple[Annotated[int, Field(ge=1, strict=True)], ...], Field(min_length=1)]
    between: Literal["steps", "line"] = "steps"
    scalar: Quantities | None = None
    avx2: Quantities | None = None
    avx512: Quantities | None = None

    @property
    def rows(self) -> dict[str, Quantities]:
        """The stated frequencies, from narrow vectors to wide."""
        stated = {"scalar": self.scalar, "avx2": self.avx2, "avx512": self.avx512}
        return {name: row for name, row in stated.items() if row is not None}

    @model_validator(mode="after")
    def _one_a_number(self) -> Self:
        mistakes = [] if self.rows else ["expected at least one of scalar, avx2, avx512"]
        if list(self.busy) != sorted(set(self.busy)):
            mistakes.append(f"busy: {list(self.busy)} do not ascend")
        for name, row in self.rows.items():
            if row.unit not in UNITS["frequency"]:
                mistakes.append(f"{name}: unit {row.unit!r} does not measure frequency")
            if len(row.value) != len(self.busy):
                mistakes.append(
                    f"{name}: {len(row.value)} frequencies for {len(self.busy)} numbers of busy cores"
                )
            if min(row.value) <= 0 or list(row.value) != sorted(row.value, reverse=True):
                mistakes.append(f"{name}: expected frequencies above 0 that do not rise with the busy cores")
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self


_Narrow = Annotated[Quantity, measures("work per cycle", above=0, most=1e12)]


class Cores(CoreCount):
    """Number of cores, and what one is."""

    smt_ways: Annotated[Quantity, measures("threads per core", least=1, most=64, whole=True)]
    clock: Annotated[Quantity, measures("frequency", least=1e3, most=1e12)]
    flop_per_cycle: Annotated[Quantity, measures("work per cycle", least=1e-6, most=1e12)]
    bf16_per_cycle: _Narrow | None = None
    fp16_per_cycle: _Narrow | None = None
    int8_per_cycle: _Narrow | None = None
    sustained: Annotated[Quantity, measures("share", least=1e-6, most=1)]
    compute_throughput: Throughput | None = None
    memory_throughput: Throughput | None = None
    busy_clock: BusyClock | None = None

    @property
    def per_cycle(self) -> dict[str, float]:
        """The stated operations per cycle of each type of elements narrower than FP32."""
        stated = {element: getattr(self, f"{element}_per_cycle") for element in NARROW}
        return {element: si(number) for element, number in stated.items() if number is not None}

    @model_validator(mode="after")
    def _no_slower_than_wider(self) -> Self:
        for element, number in self.per_cycle.items():
            check_narrow(f"{element}_per_cycle", number, si(self.flop_per_cycle))
        return self

    @model_validator(mode="after")
    def _one_a_way(self) -> Self:
        for key in ("compute_throughput", "memory_throughput"):
            given = getattr(self, key)
            if given is not None and len(given.value) != self.smt_ways.value:
                raise ValueError(
                    f"{key} has {len(given.value)} numbers; expected one for each of the {self.smt_ways.value:g} ways"
                )
        return self


def check_narrow(where: str, number: float, of_fp32: float) -> None:
    """Check the operations per cycle of a type of elements narrower than FP32 against those of FP32."""
    if number < of_fp32:
        raise ValueError(
            f"{where} is {number:g}, less than the {of_fp32:g} FLOP/cycle of FP32, in which such elements can be "
            "computed; leave it out where a core has no faster instructions for them"
        )


_Bandwidth = Annotated[Quantity, measures("bandwidth", least=1e3, most=1e18)]
_Sharpness = Annotated[Quantity, measures("share", least=0.5, most=1e6)]


class ClusterNumbers(Strict):
    """Numbers of a memory that differ in one cluster mode."""

    core_bandwidth: _Bandwidth | None = None
    bandwidth: _Bandwidth | None = None
    sharpness: _Sharpness | None = None


class Mode(Strict):
    """One of the memories a machine can be used with."""

    title: str
    core_bandwidth: _Bandwidth
    bandwidth: _Bandwidth
    sharpness: _Sharpness | None = None
    size: Annotated[Quantity, measures("size", above=0)] | None = None
    latency: dict[str, Annotated[Quantity, measures("time", above=0)]] = {}
    remote_latency: dict[str, Annotated[Quantity, measures("time", above=0)]] = {}
    link_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)] | None = None
    cluster_bandwidth: _Bandwidth | None = None
    stores_fetch: StrictBool = True
    peak: _Bandwidth | None = None
    clusters: dict[str, ClusterNumbers] = {}

    @property
    def moved_over_named(self) -> float:
        """Bytes that move over those that a triad names, 24 an element; 32 move where a store fetches its line."""
        return 4 / 3 if self.stores_fetch else 1.0

    @field_validator("latency", "remote_latency", mode="before")
    @classmethod
    def _by_cluster(cls, given: object, info: ValidationInfo) -> object:
        if isinstance(given, dict) and "value" in given:
            raise ValueError(
                f"expected a number by cluster mode; where there are none, {info.field_name}.any = {{ value, ... }}"
            )
        return given

    @model_validator(mode="after")
    def _channels_carry_it(self) -> Self:
        stated = [self.bandwidth, *(one.bandwidth for one in self.clusters.values() if one.bandwidth)]
        if self.peak and (most := max(map(si, stated))) * self.moved_over_named > si(self.peak) * (1 + 1e-9):
            fetched = ", since stores fetch their lines" if self.stores_fetch else ""
            raise ValueError(
                f"a bandwidth of {most / 1e9:.6g} GB/s is above the {si(self.peak) / self.moved_over_named / 1e9:.4g} "
                f"that the channels' peak carries, as a triad counts{fetched}; of other channels state their peak, too"
            )
        return self

    @model_validator(mode="after")
    def _remote_is_farther(self) -> Self:
        for cluster, remote in self.remote_latency.items():
            if (local := self.latency.get(cluster)) is None:
                raise ValueError(f"remote_latency.{cluster} needs a latency.{cluster}, too")
            if si(remote) < si(local):
                raise ValueError(
                    f"remote_latency.{cluster}, {remote.value:g} {remote.unit}, is less than "
                    f"latency.{cluster}, {local.value:g} {local.unit}; the other way round?"
                )
        return self


class MemoryTable(Strict):
    """Memory, which all cores share: the mode in use, and all there are."""

    mode: str
    modes: Annotated[dict[str, Mode], Field(min_length=1)]

    @model_validator(mode="after")
    def _mode_is_there(self) -> Self:
        if self.mode not in self.modes:
            raise ValueError(f"mode {self.mode!r} is none of {', '.join(self.modes)}")
        return self


class Caches(Strict):
    """Sizes of the caches, where the machine has them."""

    l1d: Annotated[Quantity, measures("size per core", above=0)] | None = None
    l2: Annotated[Quantity, measures("size per tile", above=0)] | None = None
    l3: Annotated[Quantity, measures("size per domain", above=0)] | None = None
    l2_bandwidth: Annotated[Quantity, measures("bandwidth per tile", above=0)] | None = None
    tile_slowdown: Annotated[Quantity, measures("share", least=1)] | None = None


class Runtime(Strict):
    """The software's own costs on this machine; see `RuntimeProfile`."""

    dispatch: Annotated[Quantity, measures("time")]
    pop: Annotated[Quantity, measures("time")]
    pop_per_poller: Annotated[Quantity, measures("time per poller")]
    fork_join: Annotated[Quantity, measures("time")]
    fork_join_per_thread: Annotated[Quantity, measures("time per thread")]
    barrier: Annotated[Quantity, measures("time")] | None = None
    barrier_per_thread: Annotated[Quantity, measures("time per thread")] | None = None
    resize: Annotated[Quantity, measures("time")]
    team_creation: Annotated[Quantity, measures("time")] | None = None
    team_creation_per_thread: Annotated[Quantity, measures("time per thread")] | None = None
    unpinned_region: Annotated[Quantity, measures("share", least=1)] | None = None
    misplaced: Annotated[Quantity, measures("share", most=1)] | None = None


class PowerTable(Strict):
    """Power of the whole machine; see `Power`."""

    limit: Annotated[Quantity, measures("power", above=0)] | None = None
    idle: Annotated[Quantity, measures("power")] | None = None
    busy: Annotated[Quantity, measures("power")] | None = None
    all_cores: Annotated[Quantity, measures("power")] | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        stated = [self.idle is not None, self.busy is not None, self.all_cores is not None]
        if any(stated) and not all(stated):
            raise ValueError("expected idle, busy and all_cores, or none of them")
        if self.idle and self.busy and self.all_cores:
            full = self.all_cores.value
            most, key = max((self.busy.value, "busy"), (self.idle.value, "idle"))
            if full < most:
                raise ValueError(
                    f"all_cores, {full:g} W, is less than {key}, {most:g} W; it is of all cores busy"
                )
            # What brackets state is measured, of the cores that they state, and worth more than a limit of the file.
            given = any(number.source.startswith(GIVEN) for number in (self.limit, self.all_cores) if number)
            if self.limit and full > self.limit.value and not given:
                raise ValueError(f"all_cores, {full:g} W, is more than limit, {self.limit.value:g} W")
        return self


class EffectsTable(Strict):
    """Switches of the effects of a replay, on by default; see `Effects`."""

    share_bandwidth: StrictBool = True
    share_tiles: StrictBool = True
    share_cores: StrictBool = True
    share_interconnect: StrictBool = True
    remote_memory: StrictBool = True
    share_links: StrictBool = True


SOME_LINK = "above 0: where there is no link, state what passes over others, the least of their bandwidths"


class DataTable(Strict):
    """How tasks hand objects to each other; see `DataWays`."""

    mode: Literal["none", "sent", "read"] = "none"
    places: Literal["core", "tile", "domain"] = "core"
    home: Literal["everywhere", "memory", "host"] = "everywhere"
    route: Literal["direct", "host"] = "direct"
    link_latency: Annotated[Quantity, measures("time")] | None = None
    link_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)] | None = None
    hop_latency: Annotated[Quantity, measures("time")] | None = None
    hop_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)] | None = None
    memory_latency: Annotated[Quantity, measures("time")] | None = None
    memory_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)] | None = None
    place_size: Annotated[Quantity, measures("size", above=0)] | None = None
    pair_bandwidth: Annotated[Matrix, pairs("bandwidth", above=0, zero=SOME_LINK)] | None = None
    pair_latency: Annotated[Matrix, pairs("time", zero="0 or more")] | None = None

    @field_validator("home", "route", mode="before")
    @classmethod
    def _master_is_the_host(cls, given: object) -> object:
        return "host" if given == "master" else given

    @model_validator(mode="after")
    def _pairs_are_not_by_the_host(self) -> Self:
        sizes = {len(matrix.value) for matrix in (self.pair_bandwidth, self.pair_latency) if matrix}
        if len(sizes) > 1:
            raise ValueError("pair_bandwidth and pair_latency have different numbers of rows")
        if sizes and self.route == "host":
            raise ValueError("with route = 'host' no object goes over the links of pairs; leave out one")
        return self


def factor(unit: str) -> float:
    """Return the factor from a unit of `UNITS` to SI."""
    return FACTORS[unit]


def si(quantity: Quantity) -> float:
    """Return a checked quantity in SI units."""
    return quantity.value * factor(quantity.unit)
