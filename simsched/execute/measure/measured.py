"""`Measured`: the results of `simsched.measure` for a host."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simsched.costs.fitting import CalibratedModel, Calibration, MeasuredCurves
from simsched.defaults import POLICY
from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.errors import EngineError
from simsched.execute.measure.machine_file import DISTURBED, Numbers, toml
from simsched.files import write_text
from simsched.graph import TaskGraph
from simsched.machine import Fact, Machine, RuntimeProfile
from simsched.machine.build import built
from simsched.machine.confidence import ends
from simsched.plots.accuracy import measured_numbers
from simsched.policy import Layout, Policy
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.spec import Spec

#: In the source of a number that was measured.
MEASURED = "measured"


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of a host: tables, its machine with these numbers, and seconds of ops by size.

    Parameters
    ----------
    host : Machine
        The machine `host`, whose other numbers are from a table or assumed.
    model : CalibratedModel
        Seconds of products, element-wise ops and convolutions by size and number of threads.
    clocks, streams, lines : DataFrame
        As `simsched.execute.measure.measuring.Probes` measures them.
    seconds : float
        Seconds that the measurements took.

    Examples
    --------
    >>> import simsched as ss
    >>> found = ss.measure(repeats=1, limit_s=0.0)
    >>> found.table["number"][0], found.simulate(ss.workload("rnn[layers=1,steps=4]"), "fifo", "1x1").layout
    ('cores.clock', '1x1')
    """

    host: Machine
    model: CalibratedModel
    clocks: Result
    streams: Result
    lines: Result
    seconds: float

    @cached_property
    def machine(self) -> Machine:
        """The host as a machine, with the measured numbers."""
        return built(tomllib.loads(self.toml()), Spec("measured", {}))

    @cached_property
    def costs(self) -> CalibratedModel:
        """Cost model of ops by size, for `simulate(costs=...)` on this machine."""
        measured = self.model.measured
        assert isinstance(measured, MeasuredCurves)  # noqa: S101 - narrows the type: models of calibrations have them
        return replace(self.model, measured=replace(measured, machine=None))

    @cached_property
    def runtime(self) -> RuntimeProfile:
        """Software's own costs of real runs here, as measured; those that they do not pay, as new threads, are 0."""
        return self.calibration.runtime()

    @cached_property
    def products(self) -> Result:
        """Matrix products by size and width: shape, threads, seconds_s, low_s, high_s, flops_per_s, low, high."""
        rows = []
        for one in self.calibration.ops:
            if one.op.kind != "MatMul" or one.op.flops is None:
                continue
            for point in one.points:
                # The interquartile range of the runs.
                low_s, high_s = (point.seconds * (1 + (point.spread or 0.0)) ** side for side in (-1, 1))
                rates = {"flops_per_s": point.seconds, "low": high_s, "high": low_s}
                rows.append(
                    {"shape": one.op.shape, "threads": point.width, "seconds_s": point.seconds, "low_s": low_s,
                     "high_s": high_s, **{name: one.op.flops / each_s for name, each_s in rates.items()}}
                )  # fmt: skip
        return Result.of(rows)

    @property
    def regions(self) -> dict[str, float]:
        """Seconds of fork, join, barrier, a decision, and waking a thread, where they were measured."""
        return {name: value for name, value in vars(self.calibration.overheads).items() if value is not None}

    @cached_property
    def table(self) -> Result:
        """One row for each measured number: number, unit, measured, low, high; then those of the machine `host`.

        `host`, `host_low`, `host_high`, and `ratio`, the measured number over it; `host_source` says where it is from.
        """
        before = {fact.key: fact for fact in self.host.facts}
        rows = [
            _row(fact, before.get(fact.key))
            for fact in self.machine.facts
            if fact.source.startswith(MEASURED) and isinstance(fact.value, int | float)
        ]
        return Result.of(rows, self.notes, measured_numbers, ["host_low", "host_high", "host_source"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the measurements."""
        doubts = str(self.calibration.facts.get("cannot_tell_here", ""))
        said = [f"measured in {self.seconds:.0f} s; {self.host.title}"]
        said += [
            f"{fact.key} ({fact.value:.3g} {fact.unit}) is {fact.source}"
            for fact in self.machine.facts
            if DISTURBED in fact.source
        ]
        if doubts:
            count, points = len(doubts.split("; ")), sum(len(one.points) for one in self.calibration.ops)
            said.append(
                f"seconds of {count} of {points} ops and widths are doubtful, as others disturb the host; for example "
                + doubts.split("; ", maxsplit=1)[0]
            )
        return tuple(said)

    def simulate(
        self,
        graph: TaskGraph,
        policy: str | Policy | type[Policy] = POLICY,
        layout: str | Layout | tuple[int, int] | None = None,
        seed: int = 0,
    ) -> Schedule:
        """Replay a graph on this host: ops by their measured sizes, starts as measured.

        Ops were measured while all cores were busy. Their seconds contain what tasks share, which is not added again.

        Parameters
        ----------
        graph, policy, layout, seed
            As in `simsched.simulate`.
        """
        machine = self.machine.varied({"contention": False})
        return simulate(graph, machine, policy, layout, self.costs, self.runtime, seed=seed)

    def toml(self) -> str:
        """Return the machine file of the host, as `simsched.machine` reads it."""
        alone = [row for row in _records(self.products) if row["threads"] == 1]
        clocks, streams, lines = (_records(table) for table in (self.clocks, self.streams, self.lines))
        content = Numbers(clocks, streams, lines, alone, self.calibration.overheads).content(self.host)
        return toml({**content, "title": f"{self.host.title}; measured {self.calibration.date}".strip()})

    def save(self, path: str | Path) -> None:
        """Write the machine file, and the seconds of ops by size beside it, as `NAME.costs.json`.

        `simsched.machine` reads the former, `simsched.Calibration.load` the latter.

        Raises
        ------
        SimschedError
            If the name does not end in `.toml`, or nothing can be written there.
        """
        check_machine_file(Path(path))
        write_text(Path(path), self.toml())
        self.calibration.save(Path(path).with_suffix(".costs.json"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the measured numbers over those of the machine `host`, with the intervals of both."""
        return self.table.plot(ax)

    def to_json_object(self) -> dict[str, Any]:
        """Return all tables, as `--json` prints them."""
        parts = {"numbers": self.table, "clocks": self.clocks, "streams": self.streams, "lines": self.lines}
        tables = {**parts, "products": self.products}
        rows: dict[str, Any] = {name: one.to_json_object()["rows"] for name, one in tables.items()}
        return {**rows, "overheads": self.regions, "seconds": self.seconds, "notes": list(self.notes)}

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    @property
    def calibration(self) -> Calibration:
        """Seconds of ops by size and width, and costs of threads."""
        assert self.model.calibration is not None  # noqa: S101 - narrows the type: models of `calibrate` have it
        return self.model.calibration


def _records(table: Result) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_json_object()["rows"]
    return rows


def _interval(fact: Fact | None) -> tuple[float, float, float]:
    """Return a number and the ends of its interval; NaN where it is unknown, or a list."""
    if fact is None or not isinstance(fact.value, int | float):
        return (math.nan,) * 3
    return float(fact.value), *ends(float(fact.value), fact.confidence)


def _row(fact: Fact, before: Fact | None) -> dict[str, Any]:
    value, low, high = _interval(fact)
    host, host_low, host_high = _interval(before)
    return {
        "number": fact.key,
        "unit": fact.unit,
        "measured": fact.value,
        "low": low,
        "high": high,
        "host": host,
        "host_low": host_low,
        "host_high": host_high,
        "ratio": value / host if host else float("nan"),
        "host_source": before.source if before is not None else "",
    }


def check_machine_file(path: Path) -> None:
    """Check that a machine file can have this name.

    Raises
    ------
    EngineError
        If it does not end in `.toml`.
    """
    if path.suffix != ".toml":
        raise EngineError(f"{path}: machine files end in .toml; name it so")
