"""The machine file of a measured host: the topology's content with measured numbers in the place of assumed ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.costs.fitting import Overheads
from simsched.intervals import Interval
from simsched.machine import Machine
from simsched.machine.confidence import FACTORS
from simsched.machine.memory import LATENCY_S, saturated_Bps
from simsched.machine.schema import NARROW, Confidence
from simsched.multimap import multimap

Table = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
#: Sharpness of the memory's curve: those that are tried.
SHARPNESSES = np.geomspace(0.5, 16.0, 61)
#: Share by which one core and all must differ: clocks, to be stated by the number of busy cores; bandwidths, to doubt.
FASTER = 0.02
#: In the source of the bandwidth of all cores, where it is less than that of one.
DISTURBED = "less than on one: others disturbed the memory meanwhile; measure again"
#: Keys of `[runtime]` by what is measured, with units and their seconds.
RUNTIME = {
    "dispatch": ("dispatch_s", "ns", 1e-9),
    "pop": ("pop_s", "ns", 1e-9),
    "fork_join": ("fork_join_s", "us", 1e-6),
    "fork_join_per_thread": ("fork_join_per_thread_s", "us/thread", 1e-6),
    "barrier": ("barrier_s", "us", 1e-6),
    "barrier_per_thread": ("barrier_per_thread_s", "us/thread", 1e-6),
}


@dataclass(frozen=True, eq=False)
class Numbers:
    """Measured numbers of a host, for its machine file.

    Parameters
    ----------
    clocks, streams, lines : sequence of mappings
        Rows of `simsched.execute.measure.measuring.Probes`.
    products : sequence of mappings
        Products on one thread: shape, flops_per_s, low, high.
    overheads : Overheads
    """

    clocks: Rows
    streams: Rows
    lines: Rows
    products: Rows
    overheads: Overheads

    def content(self, host: Machine) -> Table:
        """Return the content of the host's machine file with the measured numbers.

        Numbers that no measurement tells keep their sources.
        """
        content: Table = deepcopy(dict(host.content))
        self._put_clock(content["cores"])
        self._put_rate(content["cores"])
        self._put_memory(content["memory"]["modes"][content["memory"]["mode"]])
        for key, time in self._times(host).items():
            if key in content["structure"]:
                content["structure"][key] = time
        for key, (name, unit, unit_s) in RUNTIME.items():
            if (seconds := getattr(self.overheads, name)) is not None:
                content["runtime"][key] = quantity(Interval(*3 * [seconds / unit_s]), unit, "", "med")
        return content

    def _put_clock(self, cores: Table) -> None:
        alone, busy = self.clocks[0], self.clocks[-1]
        clock = Interval(busy["clock_Hz"], busy["low_Hz"], busy["high_Hz"])
        what = f"{busy['busy']} busy cores, dependent additions"
        cores["clock"] = quantity(_scaled(clock, 1e-9), "GHz", what)
        cores.pop("busy_clock", None)
        if alone["clock_Hz"] > (1 + FASTER) * busy["clock_Hz"]:
            # Fewer busy cores are never slower.
            clocks = np.array([row["clock_Hz"] for row in self.clocks])
            values = np.maximum.accumulate(clocks[::-1])[::-1] * 1e-9
            row = {"value": values.tolist(), "unit": "GHz", "source": "measured: dependent additions"}
            counts = [row["busy"] for row in self.clocks]
            cores["busy_clock"] = {"busy": counts, "scalar": {**row, "confidence": "high"}}

    def _put_rate(self, cores: Table) -> None:
        best = max(self.products, key=lambda row: float(row["flops_per_s"]))
        cycle = cores["clock"]["value"] * 1e9
        peak = cores["flop_per_cycle"]["value"]
        rate = Interval(best["flops_per_s"], best["low"], best["high"])
        while rate.middle > peak * cycle:
            peak *= 2
        if peak != cores["flop_per_cycle"]["value"]:
            for element in NARROW:
                if (row := cores.get(f"{element}_per_cycle")) is not None:
                    row["value"] *= peak / cores["flop_per_cycle"]["value"]
            why = "measured: products run faster than half of it"
            cores["flop_per_cycle"] = {
                "value": peak,
                "unit": "FLOP/cycle",
                "source": why,
                "confidence": "low",
            }
        sustained = _scaled(rate, 1 / (peak * cycle))
        cores["sustained"] = quantity(
            sustained, "", f"product {best['shape']} on one thread, of the peak at the clock"
        )

    def _put_memory(self, mode: Table) -> None:
        home = self.streams[0]["domain"]
        near = [row for row in self.streams if row["domain"] == row["home"] == home]
        most = max(
            [row for row in self.streams if row["domain"] == -1] or near, key=lambda row: int(row["cores"])
        )
        mode["core_bandwidth"] = quantity(_gigabytes(near[0]), "GB/s", "triad on one core")
        # Channels of other hosts with such cores.
        mode.pop("peak", None)
        doubt = f" ({DISTURBED})" if near[0]["rate_Bps"] > (1 + FASTER) * most["rate_Bps"] else ""
        mode["bandwidth"] = quantity(_gigabytes(most), "GB/s", f"triad on {most['cores']} cores{doubt}")
        if far := [row for row in self.streams if row["domain"] == home and row["home"] != home]:
            _put_far(mode, near, far)
        if len(near) > 3:
            mode["sharpness"] = {
                "value": _sharpness(near), "unit": "", "confidence": "med",
                "source": f"measured: the least error of triads on {len(near)} numbers of cores",
            }  # fmt: skip

    def _times(self, host: Machine) -> dict[str, Table]:
        """Return the median of a cache line's times by how near two cores are."""
        found = multimap(
            (_near(host, row["first"], row["second"]), row["line_s"] * 1e9) for row in self.lines
        )
        return {
            key: quantity(
                Interval(float(np.median(times)), min(times), max(times)),
                "ns",
                f"cache line one way, {len(times)} pair{'s' * (len(times) > 1)}",
            )
            for key, times in found.items()
        }


def _put_far(mode: Table, near: Rows, far: Rows) -> None:
    """Put what triads on memories of other domains take longer, and what all cores of a domain move from there."""
    alone = [row for row in far if row["cores"] == 1]
    longer = [
        max(float(near[0][by]) / float(row[over]), 1.0)
        for by, over in (("rate_Bps", "rate_Bps"), ("low_Bps", "high_Bps"), ("high_Bps", "low_Bps"))
        for row in alone
    ]
    local = mode.get("latency", {}).get("any") or quantity(
        Interval(*3 * [LATENCY_S * 1e9]), "ns", "", "low"
    ) | {"source": "assumed: only what memory of other domains takes longer matters"}
    middle = float(np.median(longer[: len(alone)]))
    remote = _scaled(Interval(middle, min(longer), max(longer)), local["value"])
    mode["latency"] = {"any": local}
    mode["remote_latency"] = {
        "any": quantity(
            remote, "ns", f"latency times {middle:.3g}, triads on one core on its own memory over others"
        )
    }
    # What one core moves from there is limited by latency, not by the links.
    if far[-1]["cores"] > 1:
        mode["link_bandwidth"] = quantity(
            _gigabytes(far[-1]), "GB/s", f"triad on {far[-1]['cores']} cores on others"
        )


def _near(host: Machine, first: int, second: int) -> str:
    structure = host.structure
    for key, name in (("same_tile", "tile_of"), ("same_l3", "cluster_of"), ("same_socket", "segment_of")):
        group = getattr(structure, name, None)
        if group is not None and group[first] == group[second]:
            return key
    return "other_socket"


def _gigabytes(row: Mapping[str, Any]) -> Interval:
    return Interval(row["rate_Bps"] * 1e-9, row["low_Bps"] * 1e-9, row["high_Bps"] * 1e-9)


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(*(float(value) * factor for value in interval))


def _sharpness(near: Rows) -> float:
    cores, rates = (np.array([row[name] for row in near], np.float64) for name in ("cores", "rate_Bps"))
    errors = [
        np.abs(np.log(saturated_Bps(cores, rates[0], rates[-1], cores[-1], float(k)) / rates)).sum()
        for k in SHARPNESSES
    ]
    return round(float(SHARPNESSES[int(np.argmin(errors))]), 2)


def quantity(found: Interval, unit: str, what: str, most: Confidence = "high") -> Table:
    """Return a measured number of a machine file, with its range in the source, and the confidence that holds it.

    Examples
    --------
    >>> quantity(Interval(2.0, 1.9, 2.3), "GHz", "2 busy cores")["confidence"]
    'med'
    """
    middle, low, high = (float(f"{value:.5g}") for value in found)
    apart = max(high / middle, middle / low) if low > 0 else np.inf
    order: Sequence[Confidence] = ("high", "med", "low")
    trust = next((one for one in order[order.index(most) :] if apart <= FACTORS[one]), "low")
    said = f"measured{': ' * bool(what)}{what}" + (f", {low:.4g} to {high:.4g}" if high > low else "")
    return {"value": middle, "unit": unit, "source": said, "confidence": trust}


def toml(content: Mapping[str, Any]) -> str:
    """Return a machine file's text.

    Examples
    --------
    >>> print(toml({"name": "host", "cores": {"count": {"value": 2, "unit": "core"}}}))
    name = "host"
    <BLANKLINE>
    [cores]
    count = { value = 2, unit = "core" }
    <BLANKLINE>
    """
    return "\n".join(_lines(content, ()))


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    inner = {
        key: value for key, value in table.items() if isinstance(value, Mapping) and "value" not in value
    }
    own = {key: value for key, value in table.items() if key not in inner}
    if path and (own or not inner):
        yield f"[{'.'.join(map(_key, path))}]"
    yield from (f"{_key(key)} = {_inline(value)}" for key, value in own.items())
    if own:
        yield ""
    for key, value in inner.items():
        yield from _lines(value, (*path, key))


def _key(name: str) -> str:
    plain = name.replace("-", "").replace("_", "")
    return name if plain.isascii() and plain.isalnum() else _inline(name)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_inline(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    # JSON's strings, booleans and finite numbers are those of TOML, which also has DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
