"""`sobol`: variance of the makespan explained by each uncertain number, all varying together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.defaults import POLICY
from simsched.document.result import Result
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.intervals import LEVEL
from simsched.machine import Machine, RuntimeProfile
from simsched.parameters import is_whole
from simsched.plots.tornado import sobol_bars
from simsched.policy import Layout, Policy
from simsched.progress import shows_progress
from simsched.replay.checks import check_seed
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule.caveats import notes_of
from simsched.spec import Engine
from simsched.study.sensitivity import ROUNDING, UNMOVED, replay_of, sensitivity
from simsched.study.uncertain import Parameter, Uncertain, chosen

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
    target = machine_for(graph, machine)
    uncertain = Uncertain(graph, Scenario.of(target, layout, costs, runtime, engine, seed, progress))
    if parameters is None:
        swings = sensitivity(graph, machine, policy, layout, costs, runtime, engine, seed, progress=progress)
        parameters = swings.loc[swings["swing_s"] > 0, "parameter"].head(MOST).tolist()
    wanted = chosen(uncertain.parameters(), list(parameters)) if len(parameters) else []
    replay = replay_of(uncertain, policy)
    indices = _indices(wanted, lambda values: replay(values).makespan_s, samples, seed).tolist()
    rows = [[*astuple(one), *found] for one, found in zip(wanted, indices, strict=True)]
    return _ranked(rows, notes_of([replay({})]))


def _check(samples: int, seed: int) -> None:
    check_seed(seed)
    if not is_whole(samples, 2) or samples & (samples - 1):
        raise SimschedError(f"samples is {samples!r}; expected a power of two, as 64")


def _ranked(rows: list[list[Any]], notes: Iterable[str]) -> Result:
    """Return the table of rows by total, the largest first, with their ranks."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame = frame.sort_values("total", ascending=False, kind="stable").reset_index(drop=True)
    frame.insert(0, "rank", frame["total"].round(9).rank(method="min", ascending=False).astype(np.int64))
    return Result.of(frame, [*notes, *([] if rows else [UNMOVED])], sobol_bars)


def _indices(
    wanted: list[Parameter], makespan_s: Makespan, samples: int, seed: int
) -> npt.NDArray[np.float64]:
    """Return first and total of each parameter, with their ends, shape (parameters, 6)."""
    varying = [place for place, one in enumerate(wanted) if one.high > one.low]
    found = np.zeros((len(wanted), 6))
    if not varying:
        return found
    names, generator = [wanted[place].name for place in varying], np.random.default_rng([seed, 2])
    cases = _design([wanted[place] for place in varying], samples, generator)
    rows = cases.reshape(-1, len(varying)).tolist()
    makespans = np.array(parallel_map(makespan_s, [dict(zip(names, row, strict=True)) for row in rows]))
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
