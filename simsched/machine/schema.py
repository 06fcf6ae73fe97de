"""The schema of machine files: every number with its unit, its source and how far to trust it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

#: Factor from each accepted unit to SI, by the quantity it measures.
UNITS: dict[str, dict[str, float]] = {
    "cores": {"core": 1},
    "cores per tile": {"core/tile": 1},
    "threads per core": {"thread/core": 1},
    "share": {"": 1},
    "frequency": {"Hz": 1, "MHz": 1e6, "GHz": 1e9},
    "work per cycle": {"FLOP/cycle": 1},
    "bandwidth": {"B/s": 1, "MB/s": 1e6, "GB/s": 1e9},
    "size per core": {"B/core": 1, "KiB/core": 1024, "MiB/core": 1024**2},
    "size per tile": {"B/tile": 1, "KiB/tile": 1024, "MiB/tile": 1024**2},
    "time": {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "time per thread": {"s/thread": 1, "ms/thread": 1e-3, "us/thread": 1e-6, "ns/thread": 1e-9},
    "time per poller": {"s/poller": 1, "ms/poller": 1e-3, "us/poller": 1e-6, "ns/poller": 1e-9},
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Quantity(_Strict):
    """A number as a machine file states it.

    Parameters
    ----------
    value : float
        The number, in `unit`.
    unit : str
        One of the units its place accepts.
    source : str
        Where the number stands, or how it was derived.
    confidence : {"high", "med", "low", "unverified"}
        How far to trust it.
    """

    value: Annotated[float, Field(allow_inf_nan=False, strict=True)]
    unit: str
    source: Annotated[str, Field(min_length=1)]
    confidence: Literal["high", "med", "low", "unverified"]


def measures(
    what: str,
    *,
    least: float = 0,
    above: float | None = None,
    most: float = float("inf"),
    whole: bool = False,
) -> AfterValidator:
    """Return the check that a quantity measures `what`, a key of `UNITS`, within bounds."""
    units = UNITS[what]

    def check(quantity: Quantity) -> Quantity:
        value, expected = quantity.value, ", ".join(map(repr, units))
        if quantity.unit not in units:
            raise ValueError(f"unit {quantity.unit!r} does not measure {what}; expected one of {expected}")
        if whole and value != int(value):
            raise ValueError(f"{value} is not a whole number")
        if above is not None and value <= above:
            raise ValueError(f"{value:g} is too small; it must be above {above:g}")
        if value < least:
            raise ValueError(f"{value:g} is too small; the least is {least:g}")
        if value > most:
            raise ValueError(f"{value:g} is too large; the most is {most:g}")
        return quantity

    return AfterValidator(check)


class Cores(_Strict):
    """What one core is, and how many there are."""

    count: Annotated[Quantity, measures("cores", least=1, most=2**20, whole=True)]
    per_tile: Annotated[Quantity, measures("cores per tile", least=1, whole=True)]
    smt_ways: Annotated[Quantity, measures("threads per core", least=1, whole=True)]
    clock: Annotated[Quantity, measures("frequency", above=0)]
    flop_per_cycle: Annotated[Quantity, measures("work per cycle", above=0)]
    sustained: Annotated[Quantity, measures("share", above=0, most=1)]
    bandwidth: Annotated[Quantity, measures("bandwidth", above=0)]


class Memory(_Strict):
    """What all cores share."""

    bandwidth: Annotated[Quantity, measures("bandwidth", above=0)]


class Caches(_Strict):
    """Sizes of the caches, where the machine has them."""

    l1d: Annotated[Quantity, measures("size per core", above=0)] | None = None
    l2: Annotated[Quantity, measures("size per tile", above=0)] | None = None


class Runtime(_Strict):
    """The software's own costs on this machine; see `RuntimeProfile`."""

    dispatch: Annotated[Quantity, measures("time")]
    pop: Annotated[Quantity, measures("time")]
    pop_per_poller: Annotated[Quantity, measures("time per poller")]
    fork_join: Annotated[Quantity, measures("time")]
    fork_join_per_thread: Annotated[Quantity, measures("time per thread")]
    resize: Annotated[Quantity, measures("time")]


class MachineFile(_Strict):
    """A machine file, as written."""

    # `schema` itself would hide a method of pydantic's base class.
    version: Literal[1] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]
    title: str
    cores: Cores
    memory: Memory
    caches: Caches = Caches()
    runtime: Runtime


def si(quantity: Quantity) -> float:
    """Return a checked quantity in SI units."""
    for units in UNITS.values():
        if quantity.unit in units:
            return quantity.value * units[quantity.unit]
    raise KeyError(quantity.unit)
