"""`sensitivity`: the numbers of a machine or of cost curves that move the makespan most, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pandas as pd

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.defaults import POLICY
from simsched.document.result import Result
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note, Weight
from simsched.plots.tornado import tornado
from simsched.policy import Layout, Policy
from simsched.policy.layout import BEST
from simsched.progress import shows_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.spec import Engine
from simsched.study.uncertain import Parameter, Uncertain, chosen
from simsched.text import counted

#: Gives the schedule with some numbers changed, by name.
Replay = Callable[[Mapping[str, float]], Schedule]
#: Makespans that differ by less, over themselves, are the same: numbers were added in another order.
ROUNDING = 1e-9
#: Remark where nothing has a swing.
UNMOVED = Note(
    "none of the numbers moves the makespan: recorded durations and their dependencies set it; with recorded_on= "
    "they are carried to the machine by its numbers",
    Weight.DOUBT,
)


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
    target = machine_for(graph, machine)
    uncertain = Uncertain(graph, Scenario.of(target, layout, costs, runtime, engine, seed, progress))
    replay = replay_of(uncertain, policy)
    nominal = replay({})
    wanted = chosen(uncertain.parameters(), None if parameters is None else list(parameters))
    values = [value for one in wanted for value in (one.low, one.high, *_beside(uncertain, one, change))]
    names = [one.name for one in wanted for _ in range(4)]
    found = parallel_map(lambda pair: replay({pair[0]: pair[1]}).makespan_s, zip(names, values, strict=True))
    fours = [slice(4 * i, 4 * i + 4) for i in range(len(wanted))]
    rows = [_row(one, nominal.makespan_s, values[i], found[i]) for one, i in zip(wanted, fours, strict=True)]
    return _ranked(rows, notes_of([nominal]), folds=parameters is None)


def replay_of(uncertain: Uncertain, policy: str | Policy | type[Policy]) -> Replay:
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
    low_s, high_s, *sides_s = (_same(nominal_s, makespan_s) for makespan_s in found)
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


def _same(nominal_s: float, makespan_s: float) -> float:
    """Return a makespan, or the nominal one where the two differ by rounding."""
    return nominal_s if abs(makespan_s - nominal_s) <= ROUNDING * nominal_s else makespan_s


def _elasticity(values: list[float], makespans_s: list[float]) -> float:
    """Return the slope between two points on logarithmic axes; 0 where nothing changed."""
    (below, above), (below_s, above_s) = values, makespans_s
    if not (0 < below < above and below_s > 0 and above_s > 0):
        return 0.0
    return log(above_s / below_s) / log(above / below)


def _ranked(rows: list[dict[str, object]], notes: Iterable[str], folds: bool) -> Result:
    frame = pd.DataFrame(rows)
    # Numbers that matter only beyond their interval come before those without effect, which are folded from the end.
    frame = frame.iloc[np.lexsort([-frame["elasticity"].abs(), -frame["swing_s"]])].reset_index(drop=True)
    # Swings that differ by a rounding only are equal.
    steps = (frame["swing_s"].diff() < -ROUNDING * frame["makespan_s"]).cumsum()
    frame.insert(0, "rank", steps.groupby(steps).transform(lambda equal: equal.index[0] + 1))
    still = (frame[["swing_s", "elasticity"]] == 0).all(axis=1)
    folded = int(still[::-1].cummin().sum()) if folds else 0
    idle = counted(folded, "number without effect is", "numbers without effect are")
    said = [Note(f"{idle} not shown; .frame and --json have all")] if folded else []
    return Result.of(
        frame, [*notes, *said, *([] if frame["swing_s"].any() else [UNMOVED])], tornado, folded=folded
    )
