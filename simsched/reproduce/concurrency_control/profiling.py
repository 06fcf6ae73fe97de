"""Table V of concurrency control: accuracy of hill climbing for ops' seconds by width.

Ops of four networks on the simulated 68-core machine represent the measured ones; a profiler's measurements of them are
noisy. Nothing is fitted to the paper's table, which is shown next to the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from simsched.costs.fitting.climbing import Climb, accuracy, errors_together, hill_climb, most_steps, widest
from simsched.costs.fitting.interpolation import Method
from simsched.costs.fitting.points import Sharing
from simsched.graph.columns import Floats
from simsched.machine import Machine, machine as machine_of
from simsched.reproduce.concurrency_control.op_mixes import OpCurve, op_curves, op_mix
from simsched.reproduce.concurrency_control.op_times import MACHINE, NETWORKS, paper

STEPS = (2, 4, 8, 16)


def published() -> dict[tuple[str, int], float]:
    """Return the accuracies of Table V, by network and interval: for comparison, never fitted."""
    asked = next(q for q in paper().quantities if q.table == "Table V").asked()
    return {(one.case["network"], one.case["x"]): one.paper for one in asked if one.paper is not None}


def curves(network: str, machine: str | Machine = MACHINE) -> list[OpCurve]:
    """Return the simulated curves of a network's ops."""
    target = machine_of(machine)
    return op_curves(op_mix(network, target), target)


def measured(
    ops: Sequence[OpCurve], noise: float, generator: np.random.Generator
) -> list[Mapping[Sharing, Floats]]:
    """Return a profiler's measurements: each number once, with its own log-normal noise."""
    return [
        {s: row * np.exp(noise * generator.standard_normal(len(row))) for s, row in one.seconds.items()}
        for one in ops
    ]


def climbs(rows: Sequence[Mapping[Sharing, Floats]], machine: Machine, step: int) -> list[Climb]:
    """Return the climb of each op through its measured seconds."""
    most = widest(machine)

    def measure(row: Mapping[Sharing, Floats], width: int, sharing: Sharing) -> float:
        return float(row[sharing][width - 1])

    return [hill_climb(row, measure, most, step) for row in rows]


def hill_climbing(
    names: Sequence[str] = (),
    noise: float = 0.01,
    seed: int = 0,
    method: Method = "linear",
    machine: str = MACHINE,
) -> pd.DataFrame:
    """Return the quality of hill climbing, one row per network and interval.

    Parameters
    ----------
    names : sequence of str
        Networks; all when not given.
    noise : float
        Standard deviation of the log of a measured time.
    seed : int
        Of the noise.
    method : {"linear", "pchip"}
        How untried counts are filled; the paper's is "linear".
    machine : str
        The simulated machine.

    Returns
    -------
    DataFrame
        network, x, ops, steps (mean profiling steps an op), steps_limit, accuracy, within (accuracy of the counts below
        the widest tried), optimum (mean share by which the found width is slower than the fastest), optimum_95 (that of
        95 % of the ops), paper (accuracy, where published), error (accuracy less paper).
    """
    target, known, rows = machine_of(machine), published(), []
    for name in names or NETWORKS:
        ops = curves(name, target)
        seen = measured(ops, noise, np.random.default_rng([seed, list(NETWORKS).index(name)]))
        for step in STEPS:
            found = climbs(seen, target, step)
            slower = [_slower(one, climb) for one, climb in zip(ops, found, strict=True)]
            errors = errors_together(found, seen, method)
            (ours, within), printed = (accuracy([each]) for each in errors), known.get((name, step), np.nan)
            rows.append({
                "network": name,
                "x": step,
                "ops": len(ops),
                "steps": float(np.mean([climb.steps for climb in found])),
                "steps_limit": most_steps(target.n_cores, step),
                "accuracy": ours,
                "within": within,
                "optimum": float(np.mean(slower)),
                "optimum_95": float(np.quantile(slower, 0.95)),
                "paper": printed,
                "error": ours - printed,
            })  # fmt: skip
    return pd.DataFrame(rows)


def _slower(one: OpCurve, climb: Climb) -> float:
    """Return the slowdown of the found width over the fastest one, without noise."""
    width, sharing, _ = climb.best
    return float(one.seconds[sharing][width - 1]) / one.best_s - 1
