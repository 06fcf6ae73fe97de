"""Seconds by threads in a replay, for the longest task of each of the kinds with most work."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simsched.costs import CostModel
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.plots.curves import COLUMNS
from simsched.renamed import old_arguments


@old_arguments(most="max_kinds")
def model_curves_frame(
    graph: TaskGraph,
    machine: str | Path | Machine,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    max_kinds: int = 6,
) -> pd.DataFrame:
    """Return the seconds of some tasks by threads in replays on a machine; `cost_curves` draws them.

    Parameters
    ----------
    graph, machine, costs, runtime
        As in `simsched.simulate`.
    max_kinds : int
        Kinds, those that hold most seconds on one core; of each its longest task, of equal ones the lowest index.

    Returns
    -------
    DataFrame
        The columns of `cost_curves_frame`, one row per kind and width from 1 to the hardware threads, in powers of two:
        fitted_s as in replays; measured_s as recorded, on any machine, NaN where that is unknown; sharing is
        "", and the others are NaN.

    Examples
    --------
    >>> import simsched as ss
    >>> frame = model_curves_frame(ss.TaskGraph.from_edges([2.0, 1.0], kinds="MatMul"), "generic[cores=2]")
    >>> frame[["width", "measured_s"]].values.tolist()
    [[1.0, 2.0], [2.0, nan]]
    """
    target = machine_of(machine)
    on_machine = (costs or CostModel()).on(graph, target, runtime)
    rows: list[dict[str, Any]] = []
    for task in _longest(graph, on_machine.one_core_s, max_kinds):
        threads, seconds = int(graph.widths[task]), float(graph.durations_s[task])
        known = {threads} if threads <= target.n_threads and np.isfinite(seconds) else set()
        powers = (2**k for k in range(target.n_threads.bit_length()))
        rows += [
            {
                "kind": graph.kinds[task],
                "shape": graph.shapes[task],
                "sharing": "",
                "width": width,
                "measured_s": seconds if width == threads else np.nan,
                "fitted_s": on_machine.seconds_of(task, width),
            }
            for width in sorted({*powers, target.n_threads, *known})
        ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _longest(graph: TaskGraph, one_core_s: np.ndarray, most: int) -> list[int]:
    """Return the longest task of each of the kinds that hold most seconds."""
    codes = graph.kinds.codes
    held = np.bincount(codes, one_core_s, len(graph.kinds.labels))
    there = graph.kinds.counts > 0
    kinds = [kind for kind in np.argsort(-held, kind="stable").tolist() if there[kind]][:most]
    return [int(np.where(codes == kind, one_core_s, -1.0).argmax()) for kind in kinds]
