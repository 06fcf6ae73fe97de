"""`Calibration`: measurements of a host, the method, and the fitted curves; a cost model on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Self

import numpy as np
import pandas as pd

from simsched.costs.curves import Curve, normalised
from simsched.costs.fitting import calibration_file
from simsched.costs.fitting.fingerprint import Fingerprint
from simsched.costs.fitting.interpolation import Method
from simsched.costs.fitting.measured import MeasuredCurves
from simsched.costs.fitting.overheads import Overheads
from simsched.costs.fitting.pair import Pair, pairs_frame
from simsched.costs.fitting.parametric import curve_of, fitted
from simsched.costs.fitting.points import STRICT, Fit, MeasuredOp, Sharing, fits_frame, points_frame
from simsched.costs.fitting.report import summary
from simsched.costs.fitting.sampling import disturbed, sampled_curve_of, scatter, sigma_of_spread
from simsched.costs.model import CostModel
from simsched.costs.noise import Noise
from simsched.document.html import card
from simsched.drawing import Axes
from simsched.errors import CostError
from simsched.later import later
from simsched.machine import RuntimeProfile
from simsched.multimap import multimap
from simsched.renamed import old_arguments
from simsched.text import counted

#: The name of the running host as a machine.
HOST = "host"


@dataclass(frozen=True)
class Calibration:
    """Measurements of a host; `save` writes them, `load` reads them, `cost_model` uses them.

    Parameters
    ----------
    host : Fingerprint
        Where it was measured.
    method : str
        Description of the method for readers: runs, repetitions, dropped runs.
    ops : tuple of MeasuredOp
        Ops, their points and the curves fitted to them; at most one per kind and shape.
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

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point
    >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> calibration = ss.Calibration.of([op], "by hand", machine="knl-7250")
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="8x8;8x8")
    >>> ss.simulate(graph, "knl-7250", "sequential", "1x2", costs=calibration.cost_model()).makespan_s
    3e-06
    """

    __pydantic_config__ = STRICT

    host: Fingerprint
    method: str
    ops: tuple[MeasuredOp, ...]
    machine: str = HOST
    date: str = ""
    overheads: Overheads = field(default_factory=Overheads)
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
        """Fit curves to new measurements, of the running host unless another is given.

        Parameters
        ----------
        ops : sequence of MeasuredOp
            Their own fits are replaced.
        method, overheads, pairs, machine, host, facts
            As in `Calibration`; nothing measured when not given.

        Returns
        -------
        Calibration

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
        >>> calibration = ss.Calibration.of([op], "by hand")
        >>> calibration.machine, calibration.ops[0].fits[0].points
        ('host', 2)
        """
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
        """Write the calibration to one JSON file; see `simsched.costs.fitting.calibration_file`.

        Parameters
        ----------
        path : str or Path
            One that is there is replaced once the new one is complete.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> calibration = ss.Calibration.of([MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6),))], "by hand")
        >>> with TemporaryDirectory() as folder:
        ...     calibration.save(f"{folder}/host.json")
        ...     ss.Calibration.load(f"{folder}/host.json").ops == calibration.ops
        True
        """
        calibration_file.write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a file written by `save`, from any host.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Calibration

        Raises
        ------
        FormatError
            If the file is not there or not one of these; all mistakes are listed, each with its place.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> measured = ss.Calibration.of([MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6),))], "by hand")
        >>> with TemporaryDirectory() as folder:
        ...     measured.save(f"{folder}/host.json")
        ...     ss.Calibration.load(f"{folder}/host.json").method
        'by hand'
        """
        return calibration_file.read(Path(path))

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
        """Return a cost model of the measured seconds, for `simulate(costs=...)`.

        Parameters
        ----------
        other_host : bool
            Whether it may be used for the machine "host" although it was measured on another host.
        machine : str, optional
            Machine to use it on instead of the one it describes; the notes name it.
        method, sharing, unmeasured_shapes
            As in `MeasuredCurves`.
        noise : float, str or Noise
            As in `CostModel`; "measured" is what `measured_noise` returns.

        Returns
        -------
        CalibratedModel

        Raises
        ------
        CostError
            If it was measured on another host, and neither argument allows that.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6, spread=0.02),))
        >>> calibration = ss.Calibration.of([op], "by hand")
        >>> calibration.cost_model(machine="knl-7250", noise=0.05).noise
        0.05
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
        """Return a runtime profile with the measured overheads; the rest is that of `base`.

        Parameters
        ----------
        base : RuntimeProfile, optional
            One without costs when not given.

        Returns
        -------
        RuntimeProfile

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Overheads, Point
        >>> op = MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6),))
        >>> calibration = ss.Calibration.of([op], "by hand", overheads=Overheads(dispatch_s=2e-7))
        >>> calibration.runtime(ss.RuntimeProfile(dispatch_s=1e-6, pop_s=1e-6)).dispatch_s
        2e-07
        """
        return self.overheads.runtime(base)

    def curves(self) -> dict[str, Curve]:
        """Return the curve of each kind that has an op fitted on three or more widths; see `curve_of`.

        Returns
        -------
        dict of str to Curve

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 8e-3), Point(2, 5e-3), Point(4, 3.5e-3)))
        >>> curves = ss.Calibration.of([op], "by hand").curves()
        >>> {kind: round(curve.serial_share, 2) for kind, curve in curves.items()}
        {'MatMul': 0.25}
        """
        return {kind: curve_of(fits) for kind, fits in self.wide_fits().items()}

    def wide_fits(self) -> dict[str, list[Fit]]:
        """Return the fits of each kind measured on three or more widths; other kinds are left out.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> wide = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 8e-3), Point(2, 5e-3), Point(4, 3.5e-3)))
        >>> narrow = MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6),))
        >>> fits = ss.Calibration.of([wide, narrow], "by hand").wide_fits()
        >>> {kind: [fit.points for fit in found] for kind, found in fits.items()}
        {'MatMul': [3]}
        """
        return multimap((one.op.kind, fit) for one in self.ops for fit in one.fits if fit.points > 2)

    def points(self) -> pd.DataFrame:
        """Return one row per point; see `points_frame`.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
        >>> ss.Calibration.of([op], "by hand").points()[["width", "seconds"]].values.tolist()
        [[1.0, 4e-06], [2.0, 3e-06]]
        """
        return points_frame(self.ops)

    def fits(self) -> pd.DataFrame:
        """Return one row per fitted curve: kind, shape, sharing, parameters, their intervals, and fit error.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 8e-3), Point(2, 5e-3)))
        >>> ss.Calibration.of([op], "by hand").fits()[["kind", "serial_share", "points"]].round(3).values.tolist()
        [['MatMul', 0.25, 2]]
        """
        return fits_frame(self.ops)

    def pairs_frame(self) -> pd.DataFrame:
        """Return two rows a pair, one for each of its ops; see `simsched.costs.fitting.pair.pairs_frame`.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Pair, Point
        >>> add = MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6),))
        >>> twice = Pair(kinds=("Add", "Add"), shapes=("8x8;8x8", "8x8;8x8"), widths=(1, 1), slowdowns=(1.2, 1.3))
        >>> ss.Calibration.of([add], "by hand", pairs=[twice]).pairs_frame()["slowdown"].tolist()
        [1.2, 1.3]
        """
        return pairs_frame(self.pairs)

    def measured_noise(self) -> float:
        """Return the standard deviation of the log seconds of a task, estimated from the points' spreads.

        It is that of the median of their spreads. It includes what slows all tasks of a run alike.

        Returns
        -------
        float

        Raises
        ------
        CostError
            If no point has a spread.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("Add", "8x8;8x8"), (Point(1, 1e-6, spread=0.02),))
        >>> round(ss.Calibration.of([op], "by hand").measured_noise(), 4)
        0.0297
        """
        spreads = [point.spread for one in self.ops for point in one.points if point.spread is not None]
        if not spreads:
            raise CostError("no point of this calibration has a spread; give the noise as a number")
        return sigma_of_spread(median(spreads))

    @old_arguments(most="max_ops")
    def plot(self, ax: Axes | None = None, max_ops: int = 6) -> Axes:
        """Draw the curves of the longest ops; see `simsched.plots.cost_curves`.

        Parameters
        ----------
        ax, max_ops
            As `simsched.plots.cost_curves` and `cost_curves_frame` take them.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
        >>> ss.Calibration.of([op], "by hand").plot().get_ylabel()
        'time (µs)'
        """
        return later("plots").cost_curves(later("plots").cost_curves_frame(self, max_ops), ax)

    def summary(self) -> dict[str, object]:
        """Return place and time of the measurement, quality of fits, and costs of software and neighbours.

        Returns
        -------
        dict of str to object

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.costs.fitting import MeasuredOp, Op, Point
        >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
        >>> ss.Calibration.of([op], "by hand", machine="knl-7250").summary()["points"]
        '2 on 1, 2 threads'
        """
        return summary(self)

    def __repr__(self) -> str:
        points = counted(sum(len(one.points) for one in self.ops), "point")
        return f"<Calibration of {self.machine!r}: {points} of {counted(len(self.ops), 'op')}; summary() has more>"

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
    """A cost model that knows the origin of its seconds, and can be saved.

    Parameters
    ----------
    calibration : Calibration
        The measurements.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import MeasuredOp, Op, Point
    >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> model = ss.Calibration.of([op], "by hand", machine="knl-7250").cost_model()
    >>> model.calibration.method, model.calibration.machine
    ('by hand', 'knl-7250')
    """

    calibration: Calibration | None = None

    def sampled(self, generator: np.random.Generator) -> Self:
        """Return a model sampled from its uncertainty, curves of kinds from the intervals of their fits.

        The common factors of its seconds are the less certain, the more of its runs were dropped as disturbed, and the
        more the others differed.
        """
        model = super().sampled(generator)
        if self.calibration is not None and model.discrepancy is not None:
            facts = self.calibration.facts
            off = replace(model.discrepancy, disturbed=disturbed(facts), scatter=scatter(facts))
            model = replace(model, discrepancy=off)
        fits = {} if self.calibration is None else self.calibration.wide_fits()
        curves = {kind: sampled_curve_of(of, generator) for kind, of in fits.items()}
        of_others = {normalised(kind): curve for kind, curve in curves.items()}
        return replace(model, curves={**model.curves, **of_others, **curves})

    def save(self, path: str | Path) -> None:
        """Write its calibration to a file, for `Calibration.load`."""
        if self.calibration is None:
            raise CostError("this model was made without a calibration; use Calibration.cost_model()")
        self.calibration.save(path)

    def __repr__(self) -> str:
        return f"<CalibratedModel of {self.calibration or 'no calibration'}>"

    def _repr_html_(self) -> str | None:
        return None if self.calibration is None else self.calibration._repr_html_()
