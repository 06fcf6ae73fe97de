"""Pairs of cross-checked cases: which one is faster, and by how much, measured and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from simsched.execute.crosscheck.checked import Checked

COLUMNS = {
    **dict.fromkeys(("graph", "case_a", "case_b"), "object"),
    **dict.fromkeys(("measured_ratio", "spread_a", "spread_b", "predicted_ratio", "ratio_error"), "float64"),
    **dict.fromkeys(("differ", "agree", "policies"), "bool"),
}


def rankings_frame(cases: Sequence[Checked]) -> pd.DataFrame:
    """Return one row a pair of cases of one graph.

    Returns
    -------
    DataFrame
        graph, case_a, case_b (policy and layout); measured_ratio, predicted_ratio (makespan of b over that of a),
        spread_a, spread_b (interquartile range over the median), ratio_error (predicted over measured ratio, less 1);
        differ (whether the measured makespans differ by more than both spreads together), agree (whether the same one
        is predicted to be faster); policies (whether two policies are compared: both on one layout, or one of them
        chooses its widths itself).
    """
    import pandas as pd

    pairs = [_pair(a, b) for a, b in combinations(cases, 2) if a.graph == b.graph]
    return pd.DataFrame(pairs, columns=list(COLUMNS)).astype(COLUMNS)


def over(a: float, b: float) -> float:
    """Return a / b; NaN where b is zero."""
    return a / b if b else float("nan")


def _pair(a: Checked, b: Checked) -> dict[str, object]:
    measured_s = b.execution.median_s - a.execution.median_s
    predicted_s = b.simulated.makespan_s - a.simulated.makespan_s
    measured = over(b.execution.median_s, a.execution.median_s)
    predicted = over(b.simulated.makespan_s, a.simulated.makespan_s)
    layouts = {case.simulated.layout for case in (a, b)}
    return {
        "graph": a.graph,
        "case_a": a.name,
        "case_b": b.name,
        "measured_ratio": measured,
        "spread_a": a.spread,
        "spread_b": b.spread,
        "predicted_ratio": predicted,
        "ratio_error": over(predicted, measured) - 1,
        "differ": abs(measured_s) > a.execution.spread_s + b.execution.spread_s,
        "agree": predicted_s * measured_s > 0,
        "policies": a.simulated.policy != b.simulated.policy and (len(layouts) == 1 or "" in layouts),
    }
