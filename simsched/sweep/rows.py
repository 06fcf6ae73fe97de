"""Rows of the results: the inputs of a point and its outcome."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.costs import CostModel, Noise
from simsched.errors import SimschedError, SweepError
from simsched.machine.stated import varied_spec
from simsched.spec import Scalar, format_scalar
from simsched.sweep.description import graph_id, identity
from simsched.sweep.replaying import MACHINE_PREFIX, POLICY_PREFIX, Point, with_parameters
from simsched.version import version

if TYPE_CHECKING:
    import pandas as pd

    from simsched.sweep.replaying import Outcome
    from simsched.sweep.sweep import Sweep

#: Columns that exist even if every point failed.
ALWAYS = ("layout_used", "engine_used", "makespan_s", "error")
#: Last columns, in this order.
LAST = ("error", "replay_s", "sweep_id", "simsched", "numpy", "python")
#: Columns of text that may hold nothing at all.
TEXTS = ("layout", "layout_used", "engine_used", "error")


class Rows:
    """Maker of rows of a sweep.

    Parameters
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._graphs = [(graph.name, graph_id(graph)) for graph in sweep.axis("graph").listed]
        self.last = {
            "sweep_id": identity(sweep),
            "simsched": version(),
            "numpy": np.__version__,
            "python": platform.python_version(),
        }

    def row(self, outcome: Outcome) -> dict[str, Any]:
        """Return the row of a point: its inputs, its outcome, versions."""
        inputs = self.inputs(self._sweep.point(outcome["point"]))
        return {**inputs, **dict.fromkeys(ALWAYS), **outcome, **self.last}

    def inputs(self, point: Point) -> dict[str, Any]:
        """Return the inputs of a point, one value per column."""
        sweep = self._sweep
        name, identifier = self._graphs[point.graph]
        machine, scaling = sweep.axis("machine").at(point.machine), sweep.axis("scaling").at(point.scaling)
        varied, chosen = dict(point.machine_parameters), dict(point.policy_parameters)
        return {
            "point": point.number,
            "graph": name,
            "graph_id": identifier,
            "machine": str(varied_spec(machine, varied)) if varied else machine.spec,
            **{
                f"{MACHINE_PREFIX}{key}": self._column(f"{MACHINE_PREFIX}{key}", varied[key])
                for key in varied
            },
            "policy": self._policy(point),
            **{
                f"{POLICY_PREFIX}{key}": self._column(f"{POLICY_PREFIX}{key}", chosen.get(key))
                for key in sweep.policy_parameters
            },
            "layout": None if point.layout is None else str(point.layout),
            # One column has one type.
            "scaling": json.dumps(scaling, sort_keys=True)
            if isinstance(scaling, Mapping)
            else f"{scaling:.17g}",
            "noise": _told((sweep.costs or CostModel()).noise if point.noise is None else point.noise),
            "seed": point.seed,
            "engine": sweep.engine,
        }

    def _column(self, name: str, value: Scalar | None) -> Scalar | None:
        """Return a parameter's value for its column: as text, where the column holds several types."""
        values = self._sweep.axis(name).values
        kinds = (
            {float if type(one) is int else type(one) for one in values} if isinstance(values, tuple) else ()
        )
        return format_scalar(value) if len(kinds) > 1 and value is not None else value

    def _policy(self, point: Point) -> str:
        base = self._sweep.axis("policy").at(point.policy)
        try:
            return str(with_parameters(base, dict(point.policy_parameters)))
        except SimschedError:
            # An impossible parameter is the error of the row, and has its own column.
            return str(base)


def _told(noise: float | str | Noise) -> float | str:
    return str(noise) if isinstance(noise, str | Noise) else float(noise)


def number_of(sweep: Sweep, row: int | Mapping[str, Any] | pd.Series[Any]) -> int:
    """Return the number of the point of a row.

    Raises
    ------
    SweepError
        If the row is none of this sweep.
    """
    if isinstance(row, int | np.integer):
        return int(row)
    if "point" not in row or "sweep_id" not in row:
        raise SweepError("this is not a row of a sweep: it has no 'point' and no 'sweep_id'")
    if row["sweep_id"] != (here := identity(sweep)):
        raise SweepError(
            f"the row is of sweep {row['sweep_id']}, this is sweep {here}: make the Sweep as it was"
        )
    return int(row["point"])
