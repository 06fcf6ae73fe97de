"""The uncertain numbers that move the makespan most: one at a time (`sensitivity`), or all together (`sobol`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.defaults import POLICY
from simsched.document.result import Result
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.recording import measured_on
from simsched.intervals import LEVEL
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note, Weight
from simsched.parameters import is_whole
from simsched.plots.tornado import sobol_bars, tornado
from simsched.policy import Layout, Policy
from simsched.policy.layout import BEST
from simsched.progress import shows_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario, check_seed
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.spec import Engine
from simsched.study.uncertain import Parameter, Uncertain, chosen
from simsched.text import counted

#: Gives the schedule with some numbers changed, by name.
Replay = Callable[[Mapping[str, float]], Schedule]
#: Makespans that differ by less, over themselves, are the same: numbers were added in another order.
ROUNDING = 1e-9


@shows_progress
def sensitivity(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    parameters: Sequence[str] | None = None,
    change: float = 0.1,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Find the numbers that the makespan depends on, by replays with one uncertain number changed at a time.

    Parameters
    ----------
    graph, machine, policy, layout, costs, runtime, engine, seed, progress
        As in `simsched.simulate`. Every replay has the same seed.
    parameters : sequence of str, optional
        Names of the numbers to change, such as `cores.clock` and `costs.convolution.serial_share`. By default all
        numbers of the machine's file except counts and lists, and all of the cost curves of the graph's kinds.
    change : float
        Relative change of a number to compute its elasticity; above 0, below 1.

    Returns
    -------
    Result
        One row per parameter, the largest swing first: rank, the same for equal swings; parameter, value, unit,
        confidence; low, high, the ends of its 95 % interval (docs/sensitivity.md); makespan_s, with all nominal
        numbers; low_makespan_s, high_makespan_s, at either end; swing_s, the longest of the three less the shortest;
        swing_share, that over the makespan; elasticity, per cent of it for a per cent of the number. 0 shows if named.

    Raises
    ------
    SimschedError
        If a parameter does not exist, none is given or one twice, or `change` is not a share.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> one = TaskGraph.from_edges([float("nan")], flops=[1e12])
    >>> frame = sensitivity(one, "generic", "fifo", parameters=["cores.clock"])
    >>> frame["elasticity"].round(9).tolist()
    [-1.0]
    """
    if not 0 < change < 1:
        raise SimschedError(f"change is {change!r}; expected a share above 0 and below 1, as 0.1")
    uncertain = Uncertain(graph, Scenario.on(graph, machine, layout, costs, runtime, engine, seed, progress))
    replay = _replay_of(uncertain, policy)
    nominal = replay({})
    wanted = chosen(uncertain.parameters(), parameters)
    values = [value for one in wanted for value in (one.low, one.high, *_beside(uncertain, one, change))]
    pairs = zip([one.name for one in wanted for _ in range(4)], values, strict=True)
    found = parallel_map(lambda pair: replay({pair[0]: pair[1]}).makespan_s, pairs, graph.n_tasks)
    fours = [slice(4 * i, 4 * i + 4) for i in range(len(wanted))]
    rows = [_row(one, nominal.makespan_s, values[i], found[i]) for one, i in zip(wanted, fours, strict=True)]
    return _ranked(rows, notes_of([nominal]), folds=parameters is None, unmoved=_unmoved(uncertain))


def _replay_of(uncertain: Uncertain, policy: str | Policy | type[Policy]) -> Replay:
    """Return a replay with some numbers changed, always on one layout: the best with none changed."""
    scenario, graph = uncertain.scenario, uncertain.graph
    if scenario.layout is None or scenario.layout == BEST:
        best = replace(scenario, layout=BEST).layout_of(graph, policy)
        uncertain = Uncertain(graph, replace(scenario, layout=best))
    return lambda values: uncertain.changed(values).replay(graph, policy)


def _beside(uncertain: Uncertain, one: Parameter, change: float) -> tuple[float, float]:
    """Return the values below and above a parameter's own, as far as possible."""
    sides = (one.value * (1 - change), one.value * (1 + change))
    below, above = (uncertain.reachable(one.name, one.value, side) for side in sides)
    return below, above


def _row(one: Parameter, nominal_s: float, values: list[float], found: list[float]) -> dict[str, object]:
    # Makespans that differ by rounding are the nominal one.
    low_s, high_s, *sides_s = (
        nominal_s if abs(makespan_s - nominal_s) <= ROUNDING * nominal_s else makespan_s
        for makespan_s in found
    )
    swing_s = max(low_s, high_s, nominal_s) - min(low_s, high_s, nominal_s)
    return {
        "parameter": one.name,
        "value": one.value,
        "unit": one.unit,
        "confidence": one.confidence,
        "low": one.low,
        "high": one.high,
        "makespan_s": nominal_s,
        "low_makespan_s": low_s,
        "high_makespan_s": high_s,
        "swing_s": swing_s,
        "swing_share": swing_s / nominal_s if nominal_s else 0.0,
        "elasticity": _elasticity(values[2:], sides_s),
    }


def _elasticity(values: list[float], makespans_s: list[float]) -> float:
    """Return the slope between two points on logarithmic axes; 0 where nothing changed."""
    (below, above), (below_s, above_s) = values, makespans_s
    if not (0 < below < above and below_s > 0 and above_s > 0):
        return 0.0
    return log(above_s / below_s) / log(above / below)


def _unmoved(uncertain: Uncertain) -> Note:
    """Return the remark for where nothing has a swing."""
    graph, data = uncertain.graph, uncertain.scenario.machine.data
    durations = "given" if measured_on(graph) is None else "recorded"
    pairs = data is not None and (data.pair_Bps or data.pair_latency_s)
    besides = ", their dependencies and numbers of pairs of places, which are lists and do not vary,"
    return Note(
        f"none of the numbers that vary moves the makespan: {durations} durations"
        f"{besides if pairs else ' and their dependencies'} set it; on a named chip, and with recorded_on= where the "
        "file does not say it, they are carried there by its numbers",
        Weight.DOUBT,
    )


def _ranked(rows: list[dict[str, object]], notes: Iterable[str], folds: bool, unmoved: Note) -> Result:
    frame = pd.DataFrame(rows)
    # Numbers that matter only beyond their interval come before those without effect, which are folded from the end.
    frame = frame.iloc[np.lexsort([-frame["elasticity"].abs(), -frame["swing_s"]])].reset_index(drop=True)
    # Swings that differ by a rounding only are equal.
    steps = (frame["swing_s"].diff() < -ROUNDING * frame["makespan_s"]).cumsum()
    frame.insert(0, "rank", steps.groupby(steps).transform(lambda equal: equal.index[0] + 1))
    still = (frame[["swing_s", "elasticity"]] == 0).all(axis=1)
    folded = int(still[::-1].cummin().sum()) if folds else 0
    idle = counted(folded, "number without effect is", "numbers without effect are")
    none = f"none of {counted(len(frame), 'number')} moves the makespan; .frame and --json have all"
    said = [Note(f"{idle} not shown; .frame and --json have all")] if 0 < folded < len(frame) else []
    said += [] if frame["swing_s"].any() else [unmoved]
    return Result.of(frame, [*notes, *said], tornado, folded=folded, nothing=none)


#: Gives the makespan with some numbers changed, by name.
Makespan = Callable[[Mapping[str, float]], float]
#: Resamples of a bootstrap.
RESAMPLES = 499
#: Parameters that vary where none are named: those of the largest swings.
MOST = 8
COLUMNS = ["parameter", "value", "unit", "low", "high", "confidence",
           "first", "first_low", "first_high", "total", "total_low", "total_high"]  # fmt: skip


@shows_progress
def sobol(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    parameters: Sequence[str] | None = None,
    samples: int = 64,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Compute Sobol's indices: the shares of the makespan's variance that each uncertain number explains.

    Parameters
    ----------
    graph, machine, policy, layout, costs, runtime, engine, seed, progress
        As in `simsched.simulate`. Every replay has the same seed, which also seeds the samples.
    parameters : sequence of str, optional
        As in `simsched.sensitivity`; by default the 8 with the largest swing there.
    samples : int
        A power of two. The number of replays is `samples` times (the number of parameters plus 2).

    Returns
    -------
    Result
        One row a parameter, the largest total first: rank, the same for equal totals; parameter, value, unit, low,
        high, confidence; first, the share of the variance that the number explains alone, and total, the share left if
        all others were known, each with its 95 % bootstrap interval; with few samples they may be below 0.

    Raises
    ------
    SimschedError
        If a parameter is unknown or given twice, `samples` is not a power of two, or numbers are impossible together.

    References
    ----------
    Variance based sensitivity analysis of model output. Computer Physics Communications 181, 2010.

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> one = TaskGraph.from_edges([float("nan")], flops=[1e12])
    >>> found = sobol(one, "generic", "fifo", parameters=["cores.clock", "runtime.dispatch"], samples=16)
    >>> found[["rank", "parameter"]].values.tolist()
    [[1, 'cores.clock'], [2, 'runtime.dispatch']]
    """
    _check(samples, seed)
    uncertain = Uncertain(graph, Scenario.on(graph, machine, layout, costs, runtime, engine, seed, progress))
    if parameters is None:
        swings = sensitivity(graph, machine, policy, layout, costs, runtime, engine, seed, progress=progress)
        parameters = swings.loc[swings["swing_s"] > 0, "parameter"].head(MOST).tolist()
    wanted = chosen(uncertain.parameters(), parameters) if parameters != [] else []
    replay, n_tasks = _replay_of(uncertain, policy), graph.n_tasks
    indices = _indices(wanted, lambda one: replay(one).makespan_s, samples, seed, n_tasks).tolist()
    rows = [[*astuple(one), *found] for one, found in zip(wanted, indices, strict=True)]
    return _by_total(rows, notes_of([replay({})]), _unmoved(uncertain))


def _check(samples: int, seed: int) -> None:
    check_seed(seed)
    if not is_whole(samples, 2) or samples & (samples - 1):
        raise SimschedError(f"samples is {samples!r}; expected a power of two, as 64")


def _by_total(rows: list[list[Any]], notes: Iterable[str], unmoved: Note) -> Result:
    """Return the table of rows by total, the largest first, with their ranks."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame = frame.sort_values("total", ascending=False, kind="stable").reset_index(drop=True)
    frame.insert(0, "rank", frame["total"].round(9).rank(method="min", ascending=False).astype(np.int64))
    return Result.of(frame, [*notes, *([] if rows else [unmoved])], sobol_bars)


def _indices(
    wanted: list[Parameter], makespan_s: Makespan, samples: int, seed: int, n_tasks: int
) -> npt.NDArray[np.float64]:
    """Return first and total of each parameter, with their ends, shape (parameters, 6)."""
    varying = [place for place, one in enumerate(wanted) if one.high > one.low]
    found = np.zeros((len(wanted), 6))
    if not varying:
        return found
    names, generator = [wanted[place].name for place in varying], np.random.default_rng([seed, 2])
    cases = _design([wanted[place] for place in varying], samples, generator)
    rows = cases.reshape(-1, len(varying)).tolist()
    values = [dict(zip(names, row, strict=True)) for row in rows]
    makespans = np.array(parallel_map(makespan_s, values, n_tasks))
    if np.ptp(makespans) > ROUNDING * makespans.max():
        found[varying] = _with_ends(makespans.reshape(cases.shape[:2]), generator)
    return found


def _design(
    varying: list[Parameter], samples: int, generator: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return the values to replay, shape (parameters + 2, samples, parameters).

    They are two samples A and B of Sobol's sequence, and A with the values of B for each parameter in turn.
    """
    from scipy.stats import qmc

    n = len(varying)
    both = qmc.Sobol(2 * n, rng=generator).random(samples)
    values = np.stack([_between(one).ppf(both[:, [i, i + n]]) for i, one in enumerate(varying)], axis=-1)
    first, second = values[:, 0], values[:, 1]
    mixed = [np.where(np.arange(n) == i, second, first) for i in range(n)]
    return np.stack([first, second, *mixed])


def _with_ends(makespans: npt.NDArray[np.float64], generator: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return first and total of each parameter, each followed by its ends, from the makespans of a design."""
    n = makespans.shape[1]
    resampled = np.stack([_both(makespans[:, generator.integers(n, size=n)]) for _ in range(RESAMPLES)])
    ends = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.concatenate([_both(makespans)[None], ends]).transpose(2, 1, 0).reshape(-1, 6)


def _both(makespans: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return first and total of each parameter, shape (2, parameters)."""
    from scipy.stats import sobol_indices

    first, second, *mixed = makespans
    # The library fails on a single parameter: one without effect is added to those that vary.
    mixed_s = np.stack([*mixed, first])[:, None]
    parts = {"f_A": first[None], "f_B": second[None], "f_AB": mixed_s}
    indices = sobol_indices(func=parts, n=len(first))
    return np.asarray(np.nan_to_num([indices.first_order, indices.total_order])[:, :-1], np.float64)


def _between(one: Parameter) -> Any:
    """Return the distribution of a parameter: even between its ends, on a logarithmic scale where they are above 0."""
    from scipy.stats import loguniform, uniform

    return loguniform(one.low, one.high) if one.low > 0 else uniform(one.low, one.high - one.low)
