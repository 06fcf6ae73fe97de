"""A search over policies, layouts and widths by Optuna's tree-structured Parzen estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simsched.errors import require
from simsched.policy import Layout, Policy
from simsched.policy.names import names_in_table
from simsched.study.compare import Point, Trials
from simsched.study.tune_widths import OTHERS, TUNED, Widths

#: Suggestions per replay: known points cost nothing, and a small space is soon exhausted.
SUGGESTIONS = 4


def search(
    trials: Trials,
    policies: Sequence[Policy],
    layouts: Sequence[Layout] | None,
    widths: Widths,
    workers: int,
    seed: int,
) -> None:
    """Spend the replays on the suggestions of Optuna.

    A point is a policy; its layout, one of those given, or any of up to `workers` cores, where it takes one; and the
    width of each kind, where it is `kind-widths`. Replays are sequential: the next suggestion depends on all before.

    Parameters
    ----------
    trials : Trials
    policies : sequence of Policy
    layouts : sequence of Layout, optional
    widths : Widths
    workers : int
        Cores that executors can have.
    seed : int
        Seed of the sampler: same inputs, same points.

    References
    ----------
    Algorithms for Hyper-Parameter Optimization, NIPS 2011, Sec. 4; Optuna: A Next-generation Hyperparameter
    Optimization Framework, KDD 2019.
    """
    require("optuna", "tune", "searching policies, layouts and widths")
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        by_name = dict(zip(names_in_table(policies), policies, strict=True))
        for _ in range(SUGGESTIONS * trials.most):
            trial = study.ask()
            study.tell(trial, trials.seconds(*_point(trial, by_name, layouts, widths, workers)))
            if trials.left <= 0:
                break
    finally:
        optuna.logging.set_verbosity(verbosity)


def _point(
    trial: Any, by_name: dict[str, Policy], layouts: Sequence[Layout] | None, widths: Widths, workers: int
) -> Point:
    """Return a trial's suggestion."""
    policy = by_name[trial.suggest_categorical("policy", list(by_name))]
    if policy.name == TUNED:
        named = {
            kind: trial.suggest_int(f"width of {kind}", 1, widths.most, log=True) for kind in widths.kinds
        }
        others = trial.suggest_int("width of others", 1, widths.most, log=True) if widths.rest else 1
        return widths.policy({**named, OTHERS: others}), None
    if not policy.takes_layout:
        return policy, None
    if layouts is not None:
        texts = [str(layout) for layout in layouts]
        suggested = layouts[texts.index(trial.suggest_categorical("layout", texts))]
    else:
        executors = trial.suggest_int("executors", 1, workers, log=True)
        width = trial.suggest_int("width", 1, workers, log=True)
        # A width that does not fit becomes the widest that does.
        suggested = Layout(executors, min(width, workers // executors))
    # A policy that cannot have several executors has one.
    return policy, policy.suited(suggested) or policy.suited(Layout(1, workers))
