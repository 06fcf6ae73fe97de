"""Concurrency control: op by op thread counts, co-running and hardware threads in TensorFlow's runtime on KNL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.parameters import one_of, whole
from simsched.reproduce.concurrency_control.claims import VERDICTS
from simsched.reproduce.concurrency_control.ops import PublishedOps
from simsched.reproduce.concurrency_control.pictures import pictures_of
from simsched.reproduce.concurrency_control.profiling import hill_climbing
from simsched.reproduce.concurrency_control.runs import Runs
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ConcurrencyControl(System):
    """Thread counts op by op, co-running and hardware threads in TensorFlow's runtime, on 68 cores of Knights Landing.

    Parameters
    ----------
    pinned : bool
        Whether the threads of uniform settings are bound to hardware threads.
    waiting : {"spin", "sleep"}
        What a team's threads do between ops of a uniform setting: wait on their hardware threads, or leave them.
    beyond : bool
        Whether the accuracies of Table V count the thread counts beyond the last one that the climb tried.
    interval : int
        Step between the thread counts that strategies 1 to 4 choose among.
    seed : int
        Of the noise of 1 % on what the profiler of Table V measures.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("concurrency-control").published().tables
    ('Table I', 'Table II', 'Table III', 'Table V', 'Table VI', 'Fig. 3', 'Fig. 4')
    """

    name = "concurrency-control"

    pinned: bool = True
    waiting: str = one_of("spin", "sleep")
    beyond: bool = False
    interval: int = whole(2)
    seed: int = whole(0, least=0)

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return training steps, single convolutions, and what hill climbing makes of ops."""
        runs, ops, profiles = Runs(self), PublishedOps(), Profiles(self.seed)
        return {
            ("Table I", "time"): runs.uniform_ms,
            ("Table I", "speed-up over (1, 68)"): runs.speedup,
            ("Table II", "best threads"): ops.best_threads,
            ("Table II", "time of 1000 runs"): ops.best_ms,
            ("Table II", "gain over 68 threads"): ops.gain,
            ("Table III", "time of 1000 runs"): ops.pair_ms,
            ("Table III", "speed-up over serial"): ops.pair_speedup,
            ("Table III", "loss of each on 34 threads"): ops.loss_of_half,
            ("Table V", "accuracy"): profiles("accuracy" if self.beyond else "within"),
            ("Table V", "loss on the thread count found"): profiles("optimum"),
            ("Table VI", "time of a kind"): runs.kind_ms,
            ("Fig. 3", "improvement"): runs.improvement,
            ("Fig. 3", "manual optimum"): runs.manual_optimum,
            ("Fig. 3", "default over recommended"): runs.default_over_recommended,
            ("Fig. 4", "mean co-running ops"): runs.corunning,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return what judges the statements."""
        return VERDICTS

    def pictures(self) -> Mapping[str, Drawing]:
        """Return bars by setting, op, interval, step and network, and ops that run event by event."""
        return pictures_of(self)


class Profiles:
    """What hill climbing makes of the ops of a network; each network is profiled once.

    Parameters
    ----------
    seed : int
        Of the noise on what is measured.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._rows: dict[str, pd.DataFrame] = {}

    def __call__(self, column: str) -> Prediction:
        """Return what gives a column of `hill_climbing`, by network and interval."""

        def number(network: str, x: int) -> float:
            if network not in self._rows:
                self._rows[network] = hill_climbing([network], seed=self.seed).set_index("x")
            return float(self._rows[network][column][x])

        return number
