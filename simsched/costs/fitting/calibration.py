"""`Calibration`: what was measured on a host, by which method, and the curves fitted to it; a cost model on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Self

from simsched.costs.curves import normalised
from simsched.costs.fitting.drawing import drawn_curve_of, sigma_of_spread
from simsched.costs.fitting.fingerprint import Fingerprint
from simsched.costs.fitting.interpolation import Method
from simsched.costs.fitting.measured import MeasuredCurves
from simsched.costs.fitting.pair import Pair, pairs_frame
from simsched.costs.fitting.parametric import curve_of, fitted
from simsched.costs.fitting.points import STRICT, Fit, MeasuredOp, Sharing, fits_frame, points_frame
from simsched.costs.fitting.summary import summary
from simsched.costs.model import CostModel
from simsched.costs.noise import Noise
from simsched.errors import CostError
from simsched.html import card
from simsched.machine import RuntimeProfile

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.costs.curves import Curve

#: The machine that stands for the running host.
HOST = "host"


@dataclass(frozen=True)
class Overheads:
    """The software's own costs as measured, in seconds; None where they were not.

    Parameters
    ----------
    dispatch_s : float or None
        A decision of the scheduler.
    decide_s : float or None
        A decision of a policy that chooses widths while it runs.
    pop_s, pop_per_poller_s : float or None
        Taking a task from a shared queue, and what each further polling executor adds.
    fork_join_s, fork_join_per_thread_s : float or None
        Forking and joining a team, and what each thread adds.
    barrier_s, barrier_per_thread_s : float or None
        The barrier at the end of a team's work, and what each thread adds.
    wake_up_s : float or None
        From waking a sleeping thread to its first instruction.
    """

    __pydantic_config__ = STRICT

    dispatch_s: float | None = None
    decide_s: float | None = None
    pop_s: float | None = None
    pop_per_poller_s: float | None = None
    fork_join_s: float | None = None
    fork_join_per_thread_s: float | None = None
    barrier_s: float | None = None
    barrier_per_thread_s: float | None = None
    wake_up_s: float | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise CostError(f"overhead {name} is {value}; it must be zero or more, finite, or None")

    def runtime(self, base: RuntimeProfile | None = None) -> RuntimeProfile:
        """Return a runtime profile with what was measured, the rest that of `base` (nothing when not given)."""
        known = {f.name for f in fields(RuntimeProfile)}
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name in known}
        return replace(base or RuntimeProfile(), **{name: v for name, v in told.items() if v is not None})


@dataclass(frozen=True)
class Calibration:
    """What was measured on a host; `save` writes it, `load` reads it, `cost_model` uses it.

    Parameters
    ----------
    host : Fingerprint
        Where it was measured.
    method : str
        How, for people: what was run, how often, what was dropped.
    ops : tuple of MeasuredOp
        Ops, their points and the curves fitted to them; at most one a kind and shape.
    machine : str
        Name of the machine it describes: "host", or that of a machine file.
    date : str
        When, as ISO 8601.
    overheads : Overheads
        The software's own costs.
    pairs : tuple of Pair
        Interference of ops side by side.
    facts : mapping of str to float or str
        Whatever else was found: seconds it took, the share of slow core-to-core transfers.
    """

    __pydantic_config__ = STRICT

    host: Fingerprint
    method: str
    ops: tuple[MeasuredOp, ...]
    machine: str = HOST
    date: str = ""
    overheads: Overheads = Overheads()
    pairs: tuple[Pair, ...] = ()
    facts: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.date:
            try:
                datetime.fromisoformat(self.date)
            except ValueError:
                raise CostError(
                    f"date is {self.date!r}; expected ISO 8601, as 2026-01-31T12:00:00+00:00"
                ) from None
        MeasuredCurves(self.ops)  # no op twice

    @classmethod
    def of(
        cls,
        ops: Sequence[MeasuredOp],
        method: str,
        *,
        overheads: Overheads | None = None,
        pairs: Sequence[Pair] = (),
        machine: str = HOST,
        host: Fingerprint | None = None,
        facts: Mapping[str, float | str] | None = None,
    ) -> Calibration:
        """Fit the curves of what was measured just now, on the running host where no other is given."""
        overheads = overheads or Overheads()
        return cls(
            host=host or Fingerprint.here(),
            method=method,
            ops=tuple(fitted(one, overheads.runtime()) for one in ops),
            machine=machine,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            overheads=overheads,
            pairs=tuple(pairs),
            facts=dict(facts or {}),
        )

    def save(self, path: str | Path) -> None:
        """Write it to one JSON file; see `simsched.costs.fitting.calibration_file`."""
        from simsched.costs.fitting.calibration_file import write

        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read what `save` wrote, from whatever host.

        Raises
        ------
        FormatError
            If the file is not there or not one of these; all mistakes are listed, each with its place.
        """
        from simsched.costs.fitting.calibration_file import read

        return read(Path(path))

    def cost_model(
        self,
        *,
        other_host: bool = False,
        machine: str | None = None,
        method: Method = "pchip",
        sharing: Sharing | None = None,
        unmeasured_shapes: bool = True,
        noise: float | str | Noise = 0.0,
    ) -> CalibratedModel:
        """Return a cost model of the measured seconds, to be given to `simulate(costs=...)`.

        Parameters
        ----------
        other_host : bool
            Whether it may be used for the machine "host" although it was measured on another host.
        machine : str, optional
            Machine it is to be used on instead of the one it describes; its name stands in the notes.
        method, sharing, unmeasured_shapes
            As in `MeasuredCurves`.
        noise : float, str or Noise
            As in `CostModel`; "measured" is what `measured_noise` returns.

        Raises
        ------
        CostError
            If it was measured on another host, and neither says that this is meant.
        """
        measured = MeasuredCurves(
            self.ops,
            machine or self.machine,
            method,
            sharing,
            unmeasured_shapes,
            self._notes(other_host, machine),
        )
        sigma = self.measured_noise() if noise == "measured" else noise
        return CalibratedModel(curves=self.curves(), noise=sigma, measured=measured, calibration=self)

    def runtime(self, base: RuntimeProfile | None = None) -> RuntimeProfile:
        """Return a runtime profile with the overheads that were measured, the rest that of `base`."""
        return self.overheads.runtime(base)

    def curves(self) -> dict[str, Curve]:
        """Return the curve of each kind of which an op was fitted on three or more widths; see `curve_of`."""
        return {kind: curve_of(fits) for kind, fits in self.wide_fits().items()}

    def wide_fits(self) -> dict[str, list[Fit]]:
        """Return the fits of each kind that three or more widths tell; kinds without one are left out."""
        found: dict[str, list[Fit]] = {}
        for one in self.ops:
            for fit in one.fits:
                if fit.points > 2:
                    found.setdefault(one.op.kind, []).append(fit)
        return found

    def points(self) -> pd.DataFrame:
        """Return one row a point; see `points_frame`."""
        return points_frame(self.ops)

    def fits(self) -> pd.DataFrame:
        """Return one row a fitted curve: kind, shape, sharing, the parameters, their ends, and how well it fits."""
        return fits_frame(self.ops)

    def pairs_frame(self) -> pd.DataFrame:
        """Return two rows a pair, one for each of its ops; see `simsched.costs.fitting.pair.pairs_frame`."""
        return pairs_frame(self.pairs)

    def measured_noise(self) -> float:
        """Return the standard deviation of the log seconds of a task that the points' spreads tell.

        It is that of the median of their spreads. What slows all tasks of a run down alike is in it, too.

        Raises
        ------
        CostError
            If no point has a spread.
        """
        spreads = [point.spread for one in self.ops for point in one.points if point.spread is not None]
        if not spreads:
            raise CostError("no point of this calibration has a spread; give the noise as a number")
        return sigma_of_spread(median(spreads))

    def plot(self, ax: Axes | None = None, most: int = 6) -> Axes:
        """Draw the curves of the longest ops; see `simsched.plots.cost_curves`."""
        from simsched.plots import cost_curves, cost_curves_frame

        return cost_curves(cost_curves_frame(self, most), ax)

    def summary(self) -> dict[str, object]:
        """Return what was measured where and when, how well the curves fit, and what software and neighbours cost."""
        return summary(self)

    def _repr_html_(self) -> str:
        return card(f"Calibration of {self.machine}", self.summary(), (self.method,))

    def _notes(self, other_host: bool, machine: str | None) -> tuple[str, ...]:
        measured = f"measured on {self.host}" + (f", {self.date}" if self.date else "")
        if machine is not None and machine != self.machine:
            return (f"seconds {measured} ({self.machine}), are used for {machine}, as asked for",)
        if self.machine != HOST:
            return (f"seconds of {self.machine}, {measured}",)
        here = Fingerprint.here()
        if not (differences := self.host.differs(here)):
            changed = self.host.changed(here)
            return (f"seconds {measured}",) + ((f"since then: {'; '.join(changed)}",) if changed else ())
        if not other_host:
            raise CostError(
                f"the calibration was {measured}, which is not this host: {'; '.join(differences)}. Calibrate here, "
                "or say cost_model(other_host=True) to use it here, or cost_model(machine=NAME) for another machine"
            )
        return (f"seconds {measured}, another host, are used as asked for: {'; '.join(differences)}",)


@dataclass(frozen=True, eq=False)
class CalibratedModel(CostModel):
    """A cost model that knows where its seconds come from, and can be saved.

    Parameters
    ----------
    calibration : Calibration
        What was measured.
    """

    calibration: Calibration | None = None

    def drawn(self, generator: np.random.Generator) -> Self:
        """Return a model drawn from what is known, curves of kinds from the intervals of their fits."""
        model = super().drawn(generator)
        fits = {} if self.calibration is None else self.calibration.wide_fits()
        curves = {kind: drawn_curve_of(of, generator) for kind, of in fits.items()}
        return replace(
            model, curves={**model.curves, **{normalised(kind): curve for kind, curve in curves.items()}}
        )

    def save(self, path: str | Path) -> None:
        """Write its calibration to a file, for `Calibration.load`."""
        if self.calibration is None:
            raise CostError("this model was made without a calibration; use Calibration.cost_model()")
        self.calibration.save(path)

    def _repr_html_(self) -> str | None:
        return None if self.calibration is None else self.calibration._repr_html_()
