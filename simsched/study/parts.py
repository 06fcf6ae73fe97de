"""Parts of a predicted makespan, and those that grew with the cores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from simsched.units import format_time

#: Columns of a prediction, their names, and the resources of `simsched.study.binding` that it adds up.
PARTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "path_work_s": ("work on the path", ("dependencies", "cores", "narrow teams")),
    "team_overhead_s": ("team overhead", ("members without work", "team overhead", "team changes")),
    "bandwidth_s": ("memory bandwidth", ("memory bandwidth",)),
    "contention_s": (
        "contention",
        ("hardware threads", "tiles", "remote memory", "interconnect", "cause unknown"),
    ),
    "dispatch_s": ("dispatch", ("dispatch",)),
    "queue_s": ("queue", ("queue",)),
    "data_s": ("data", ("data", "reading from afar")),
}
#: Growth below this share of the makespan is not reported.
LEAST_GROWTH = 0.01


def parts_of(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the columns of a prediction that add up to its makespan.

    Parameters
    ----------
    seconds : mapping of str to float
        By resource, as `simsched.study.binding.bound_by` returns them.
    """
    return {
        column: sum(seconds.get(resource, 0.0) for resource in resources)
        for column, (_, resources) in PARTS.items()
    }


def with_growth(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a prediction with the column `grew`: parts longer than with the next fewer cores.

    As in "queue +1.2 ms, dispatch +300 µs", the largest first; those below 1 % of the makespan are left out.

    Parameters
    ----------
    frame : DataFrame
        With the columns cores, binds_share and those of `PARTS`.
    """
    order = np.argsort(frame["cores"].to_numpy(), kind="stable")
    parts = frame[list(PARTS)].to_numpy(np.float64)[order]
    grown_s = np.diff(parts, axis=0, prepend=parts[:1])
    least_s = LEAST_GROWTH * parts.sum(axis=1)
    said = np.full(len(frame), "", object)
    names = [name for name, _ in PARTS.values()]
    for place, more_s, threshold_s in zip(order, grown_s.tolist(), least_s.tolist(), strict=True):
        grown = [
            (seconds, name) for seconds, name in zip(more_s, names, strict=True) if seconds > threshold_s
        ]
        largest_first = sorted(grown, key=lambda one: -one[0])
        said[place] = ", ".join(f"{name} +{format_time(seconds)}" for seconds, name in largest_first)
    frame.insert(list(frame.columns).index("binds_share") + 1, "grew", said)
    return frame
