"""Table V of concurrency control: accuracy of hill climbing and regression for ops' seconds by width.

Ops of four networks on the simulated 68-core machine represent the measured ones; a profiler's measurements of them are
noisy. Nothing is fitted to the paper's table, which is shown next to the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from simsched.costs.fitting.climbing import Climb, accuracy, errors_together, hill_climb, most_steps, widest
from simsched.costs.fitting.interpolation import Method
from simsched.costs.fitting.points import Op, Sharing
from simsched.graph.columns import Floats
from simsched.machine import Machine, machine as machine_of
from simsched.reproduce.concurrency_control.op_mixes import OpCurve, op_curves, op_mix
from simsched.reproduce.concurrency_control.op_times import MACHINE, NETWORKS, paper
from simsched.reproduce.concurrency_control.regression import ModelName, OpRegression, model

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


def _climbs(rows: Sequence[Mapping[Sharing, Floats]], machine: Machine, step: int) -> list[Climb]:
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
            found = _climbs(seen, target, step)
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


def regression(
    names: Sequence[str] = (),
    models: Sequence[ModelName] = ("ridge", "nearest", "random"),
    probes: Sequence[Sequence[int]] = ((), (1,), (1, 34)),
    noise: float = 0.01,
    seed: int = 0,
    machine: str = MACHINE,
) -> pd.DataFrame:
    """Return the quality of regression on unseen ops, one row per network, split, model and set of probes.

    Parameters
    ----------
    names : sequence of str
        Networks to predict; all when not given.
    models : sequence of str
        As `simsched.reproduce.concurrency_control.profiling.model` takes them.
    probes : sequence of sequences of int
        Widths on which the op to be predicted is measured, too.
    noise, seed, machine
        As in `hill_climbing`.

    Returns
    -------
    DataFrame
        network; split ("networks": trained on the other networks; "ops": on half of the network's own distinct ops and
        all others'); model; probes; accuracy (over all counts that are not probes, both sharings); optimum (mean share
        by which the width predicted to be fastest is slower than the fastest).
    """
    target = machine_of(machine)
    known = {name: list({one.op: one for one in curves(name, target)}.values()) for name in NETWORKS}
    seen = {
        name: measured(ops, noise, np.random.default_rng([seed, 1, i]))
        for i, (name, ops) in enumerate(known.items())
    }
    rows = []
    for name in names or NETWORKS:
        for split in ("networks", "ops"):
            train, test = _split(known, seen, name, split, np.random.default_rng([seed, 2]))
            for which in models:
                for widths in probes:
                    error, slower = _trial(
                        which, train, test, tuple(widths), np.random.default_rng([seed, 3])
                    )
                    rows.append(
                        (
                            name,
                            split,
                            which,
                            " ".join(map(str, widths)),
                            accuracy(error),
                            float(np.mean(slower)),
                        )
                    )
    return pd.DataFrame(rows, columns=["network", "split", "model", "probes", "accuracy", "optimum"])


_Example = tuple[OpCurve, Mapping[Sharing, Floats]]


def _split(
    known: Mapping[str, list[OpCurve]],
    seen: Mapping[str, list[Mapping[Sharing, Floats]]],
    name: str,
    split: str,
    generator: np.random.Generator,
) -> tuple[list[_Example], list[_Example]]:
    """Return training and test examples; an op that is in several networks is never in both."""
    mine = list(zip(known[name], seen[name], strict=True))
    others = [
        pair for other in known if other != name for pair in zip(known[other], seen[other], strict=True)
    ]
    if split == "ops":
        order = generator.permutation(len(mine)).tolist()
        half = len(mine) // 2
        others, mine = others + [mine[i] for i in order[:half]], [mine[i] for i in order[half:]]
    tested = {one.op for one, _ in mine}
    return [pair for pair in others if pair[0].op not in tested], mine


def _trial(
    which: ModelName,
    train: Sequence[_Example],
    test: Sequence[_Example],
    probes: tuple[int, ...],
    generator: np.random.Generator,
) -> tuple[list[Floats], list[float]]:
    """Return the errors of one model, each sharing learned separately, and the slowdowns of its choices."""
    errors: list[Floats] = []
    picked: list[tuple[float, float]] = [(np.inf, np.inf)] * len(test)
    for sharing in dict.fromkeys(s for _, rows in test for s in rows):
        ops: list[Op] = [one.op for one, _ in train]
        learned = OpRegression.learned(
            model(which, generator), ops, [rows[sharing] for _, rows in train], probes
        )
        for i, (one, rows) in enumerate(test):
            predicted = learned.seconds(one.op, len(rows[sharing]), rows[sharing])
            errors.append(np.delete(np.abs(predicted / rows[sharing] - 1), [w - 1 for w in probes]))
            best = int(predicted.argmin())
            picked[i] = min(picked[i], (float(predicted[best]), float(one.seconds[sharing][best])))
    return errors, [true / one.best_s - 1 for (_, true), (one, _) in zip(picked, test, strict=True)]
