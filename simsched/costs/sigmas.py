"""Standard deviations of the log of seconds, by where they come from: what `discrepancies.toml` says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.costs.origins import REGIMES, Origin, Regime


@dataclass(frozen=True)
class Sigmas:
    """Standard deviations of the log seconds of one origin.

    Parameters
    ----------
    common, cores, disturbed : float
        Of all tasks alike: always; per doubling of the cores beyond those seen; per share of runs that were disturbed.
    discrepancy : float
        Of a kind in a regime, where `rows` has none.
    rows : mapping of (str, str) to float
        By family of kinds and regime.
    width : mapping of str to float
        By regime, per doubling of a team beyond the width that is known.
    gain : float
        Share of a perfect gain that is expected of such a doubling, of which the seconds have none; 0 to 1.
    """

    common: float
    cores: float
    disturbed: float
    discrepancy: float
    rows: Mapping[tuple[str, str], float]
    width: Mapping[str, float]
    gain: float = 0.0

    def of(self, family: str, regime: Regime) -> float:
        """Return that of a kind in a regime."""
        return self.rows.get((family, regime), self.discrepancy)


@cache
def sigmas() -> Mapping[Origin, Sigmas]:
    """Return what is known of each origin."""
    table = tomllib.loads((files("simsched.costs") / "discrepancies.toml").read_text("utf-8"))
    return {row["name"]: _sigmas(row, table["width"], table["row"]) for row in table["origin"]}


def _sigmas(origin: Mapping[str, Any], widths: Mapping[str, Any], rows: list[dict[str, Any]]) -> Sigmas:
    mine = [row for row in rows if row["origin"] == origin["name"]]
    of = {name: float(number["sigma"]) for name, number in origin.items() if name not in ("name", "gain")}
    return Sigmas(
        common=of["common"],
        cores=of["cores"],
        disturbed=of.get("disturbed", 0.0),
        discrepancy=of["discrepancy"],
        rows={(row["family"], row["regime"]): float(row["sigma"]) for row in mine},
        width={regime: of.get("width", float(widths[regime]["sigma"])) for regime in REGIMES},
        gain=float(origin["gain"]["share"]) if "gain" in origin else 0.0,
    )
