"""Kinds of cores in machine files."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, model_validator

from simsched.machine.schema import NARROW, UNITS, Quantities, Strict, factor


class KindsTable(Strict):
    """Kinds of cores, in the order of the cores, of the machine or of each tile; or each core a kind of its own."""

    each: StrictBool = False
    names: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = ()
    cores: Quantities | None = None
    speed: Quantities | None = None
    clock: Quantities | None = None
    flop_per_cycle: Quantities | None = None
    bf16_per_cycle: Quantities | None = None
    fp16_per_cycle: Quantities | None = None
    int8_per_cycle: Quantities | None = None
    core_bandwidth: Quantities | None = None
    start: Quantities | None = None
    link_bandwidth: Quantities | None = None
    link_latency: Quantities | None = None
    memory_size: Quantities | None = None

    @property
    def rows(self) -> dict[str, Quantities]:
        """The stated numbers, each a list with an entry per kind."""
        return {key: row for key in OF_KINDS if (row := getattr(self, key)) is not None}

    def values(self, key: str, otherwise: tuple[float, ...]) -> tuple[float, ...]:
        """Return the numbers of a key in SI units, or others where it is not stated."""
        row = self.rows.get(key)
        return otherwise if row is None else tuple(value * factor(row.unit) for value in row.value)

    @model_validator(mode="after")
    def _one_a_kind(self) -> Self:
        if self.each:
            if self.names or self.rows:
                raise ValueError("each core is a kind of its own: expected no names and no numbers")
            return self
        if not self.names or len(set(self.names)) < len(self.names) or self.cores is None:
            raise ValueError("expected different names, and the cores of each kind; or each = true")
        for key, row in self.rows.items():
            what, least, most = OF_KINDS[key]
            if row.unit not in UNITS[what] or len(row.value) != len(self.names):
                units = " or ".join(map(repr, UNITS[what]))
                raise ValueError(f"{key}: expected {len(self.names)} numbers, one per kind, of unit {units}")
            if (
                min(row.value) < least
                or max(row.value) > most
                or (key == "cores" and any(v % 1 for v in row.value))
            ):
                raise ValueError(f"{key}: {list(row.value)} are not all possible; from {least:g} to {most:g}")
        return self


#: Numbers of kinds of cores: what each measures, the least and the most.
OF_KINDS = {
    "cores": ("cores, or cores per tile", 1.0, 2.0**20),
    "speed": ("share", 1e-6, 2.0**20),
    "clock": ("frequency", 1e-6, 1e6),
    "flop_per_cycle": ("work per cycle", 1e-6, 1e12),
    **{f"{element}_per_cycle": ("work per cycle", 1e-6, 1e12) for element in NARROW},
    "core_bandwidth": ("bandwidth", 1e-6, 1e18),
    "start": ("time", 0.0, 1e9),
    "link_bandwidth": ("bandwidth", 0.0, 1e18),
    "link_latency": ("time", 0.0, 1e9),
    "memory_size": ("size", 0.0, 1e18),
}
