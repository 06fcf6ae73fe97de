"""Conclusions of a cross-check, in numbers and in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.execute.crosscheck.frames import over
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import CrossCheck

#: Largest error of a ratio of policies.
RATIO_BAR = 0.05
#: A run is in the slow regime if its latency between cores is above this many times the tenth percentile of all runs.
SLOW = 2.0
#: Change of a host's speed from which it is to be measured again.
DRIFT = 0.03
#: Advice where others disturb the runs.
REMEDY = "Stop other programs, or take shorter graphs and more repeats."
SOURCES = {
    "kernels_s": "kernel times",
    "interference_s": "interference",
    "dispatch_s": "dispatch and order",
}


def summary(check: CrossCheck) -> dict[str, float]:
    """Return a cross-check in numbers; NaN where there is no data.

    Returns
    -------
    dict of str to float
        `cases`, those that are not declined, and `declined`, the others, which count for `runs` to `slow_regime` only;
        `median_error`, `p90_error`, `largest_error` of the absolute errors of the makespan; `rankings`, pairs of cases
        of one graph that differ by more than both spreads, and `rankings_agree`, the share ranked alike; `ratios`,
        pairs of policies, `median_ratio_error` and `p90_ratio_error` of the absolute errors of their ratio, and
        `ratios_within`, the share within 5 %; `kernels`, `interference` and `dispatch`, the shares of the sources in
        the sum of their absolute seconds; `runs`, `dropped`; `repeated`, disturbed runs that were repeated immediately;
        `disturbed`, cases whose runs were all disturbed; `largest_stolen`, the largest share of a run in which a thread
        had no CPU; `latency_s`, median latency between cores over all runs, and `slow_regime`, the share of runs in
        which it was more than twice the tenth percentile; `drift`, see `CrossCheck`.
    """
    table, pairs = check.table[check.table["cannot_tell"] == ""], check.rankings
    error = table["error"].abs().to_numpy()
    differ, policies = pairs[pairs["differ"]], pairs[pairs["policies"]]
    ratio_error = policies["ratio_error"].abs().dropna().to_numpy()
    seconds = {name: float(table[name].abs().sum()) for name in SOURCES}
    total_s = sum(seconds.values())
    return {
        "cases": float(len(table)),
        "declined": float(len(check.cases) - len(table)),
        "median_error": _percentile(error, 50),
        "p90_error": _percentile(error, 90),
        "largest_error": _percentile(error, 100),
        "rankings": float(len(differ)),
        "rankings_agree": _share(differ["agree"].to_numpy()),
        "ratios": float(len(ratio_error)),
        "median_ratio_error": _percentile(ratio_error, 50),
        "p90_ratio_error": _percentile(ratio_error, 90),
        "ratios_within": _share(ratio_error <= RATIO_BAR),
        **{name.removesuffix("_s"): over(part, total_s) for name, part in seconds.items()},
        **_runs(check),
        "drift": check.drift,
    }


def median_error(check: CrossCheck) -> float:
    """Return `summary`'s `median_error`, without its other numbers, which take longer."""
    return _percentile(np.array([abs(case.error) for case in check.conclusive]), 50)


def _runs(check: CrossCheck) -> dict[str, float]:
    runs = [run for case in check.cases for run in case.execution.runs]
    latency_s = np.array([run.latency_s for run in runs if np.isfinite(run.latency_s)])
    slow = latency_s > SLOW * _percentile(latency_s, 10)
    return {
        "runs": float(len(runs)),
        "dropped": float(sum(case.execution.n_dropped for case in check.cases)),
        "repeated": float(sum(case.execution.repeated for case in check.cases)),
        "disturbed": float(sum(not case.execution.undisturbed.any() for case in check.cases)),
        "largest_stolen": _percentile(np.array([run.stolen for run in runs]), 100),
        "latency_s": _percentile(latency_s, 50),
        "slow_regime": _share(slow),
    }


def _percentile(values: npt.NDArray[np.float64], percent: float) -> float:
    """Return a percentile of the values that are numbers; NaN where none is."""
    known = values[np.isfinite(values)]
    return float(np.percentile(known, percent)) if len(known) else float("nan")


def _share(held: npt.NDArray[np.bool_]) -> float:
    return float(held.mean()) if len(held) else float("nan")


def headline(numbers: dict[str, float]) -> str:
    """Return, in a sentence, whether both goals of a cross-check are met, from its `summary`."""
    wrong = round(numbers["rankings"] * (1 - np.nan_to_num(numbers["rankings_agree"], nan=1.0)))
    beyond = round(numbers["ratios"] * (1 - np.nan_to_num(numbers["ratios_within"], nan=1.0)))
    if numbers["declined"] and not numbers["cases"]:
        return f"Cannot tell here: others disturbed the runs of all {numbers['declined']:.0f} cases. {REMEDY}"
    if not numbers["rankings"] and not numbers["ratios"]:
        return "There is nothing to rank: no two cases of one graph, or none that took time."
    ranked = (
        f"{wrong} of {numbers['rankings']:.0f} rankings beyond the spread differ"
        if wrong
        else f"all {numbers['rankings']:.0f} rankings beyond the spread agree"
    )
    ratios = (
        f"{beyond} of {numbers['ratios']:.0f} ratios of policies are off by more than {percent(RATIO_BAR)}"
        if beyond
        else f"all {numbers['ratios']:.0f} ratios of policies are within {percent(RATIO_BAR)}"
    )
    declined = f" ({numbers['declined']:.0f} cases are declined)" if numbers["declined"] else ""
    return f"{'Goals missed' if wrong or beyond else 'Goals met'}: {ranked}; {ratios}{declined}."


def sentences(numbers: dict[str, float]) -> tuple[str, ...]:
    """Return the numbers of a cross-check's `summary` in sentences."""
    parts = ", ".join(f"{name} {percent(numbers[key.removesuffix('_s')])}" for key, name in SOURCES.items())
    return (
        f"Makespan: the absolute error of {numbers['cases']:.0f} cases is {percent(numbers['median_error'])} in the "
        f"median, {percent(numbers['p90_error'])} in the 90th percentile, {percent(numbers['largest_error'])} at most.",
        _ranked(numbers),
        _ratios(numbers),
        f"Where the error comes from, as shares of the absolute seconds over all cases: {parts}.",
        f"Runs: {numbers['runs']:.0f}, of which {numbers['dropped']:.0f} were dropped because too much of their time "
        f"was stolen (at most {percent(numbers['largest_stolen'])} of a run); {numbers['repeated']:.0f} more were "
        "disturbed and done again at once.",
        *_declined(numbers),
        *_drifted(numbers),
        _regime(numbers),
    )


def _declined(numbers: dict[str, float]) -> tuple[str, ...]:
    if not numbers["declined"]:
        return ()
    every = numbers["declined"] + numbers["cases"]
    return (
        f"Cannot tell here: {numbers['declined']:.0f} of {every:.0f} cases stayed disturbed and are in none of these "
        f"figures but the runs. {REMEDY}",
    )


def _drifted(numbers: dict[str, float]) -> tuple[str, ...]:
    """Return how much slower the host has become since it was measured: errors of all makespans contain it."""
    if np.isnan(numbers["drift"]):
        return ()
    change = numbers["drift"] - 1
    return (
        f"Since it was measured, the host has become {percent(abs(change))} {'slower' if change > 0 else 'faster'}, as "
        f"ops show that were measured again beside the cases.{' Measure it again.' if abs(change) > DRIFT else ''}",
    )


def _ranked(numbers: dict[str, float]) -> str:
    if not numbers["rankings"]:
        return "Ranking: no two cases of one graph differ by more than both spreads."
    return (
        f"Ranking: of {numbers['rankings']:.0f} pairs of cases of one graph that differ by more than both spreads, "
        f"{percent(numbers['rankings_agree'])} are ranked alike."
    )


def _ratios(numbers: dict[str, float]) -> str:
    if not numbers["ratios"]:
        return "Ratios: no two policies ran a graph on one layout."
    return (
        f"Ratios: of {numbers['ratios']:.0f} pairs of policies, the ratio of makespans is off by "
        f"{percent(numbers['median_ratio_error'])} in the median, {percent(numbers['p90_ratio_error'])} in the 90th "
        f"percentile; {percent(numbers['ratios_within'])} are within {percent(RATIO_BAR)}."
    )


def _regime(numbers: dict[str, float]) -> str:
    if np.isnan(numbers["latency_s"]):
        return "Core to core: no case ran on two workers that could be timed."
    return (
        f"Core to core: a message takes {format_time(numbers['latency_s'])} in the median; "
        f"{percent(numbers['slow_regime'])} of the runs were in a slow regime, above {SLOW:g} times the tenth "
        "percentile."
    )


def percent(share: float) -> str:
    """Return a share in percent; "unknown" for NaN."""
    return "unknown" if np.isnan(share) else f"{100 * share:.3g} %"
