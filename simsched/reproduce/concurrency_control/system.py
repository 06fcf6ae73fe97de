"""Concurrency control: threads per op, co-running and hardware threads in TensorFlow's runtime on KNL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean

import pandas as pd

from simsched.drawing import Axes
from simsched.parameters import one_of, whole
from simsched.plots import corunning_events_frame, grouped_bars
from simsched.plots.canvas import OKABE_ITO, open_axes, outside_legend, plain
from simsched.reproduce.concurrency_control.ops import PublishedOps
from simsched.reproduce.concurrency_control.profiling import hill_climbing
from simsched.reproduce.concurrency_control.runs import Runs
from simsched.reproduce.pictures import bars
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict


def _widths(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    best = frame[frame["quantity"] == "best threads"]
    size = best["input"].map(lambda dims: "x".join(map(str, dims)))
    return grouped_bars(best.assign(size=size), "size", "op", "best threads", ax, log=False)


def _events(runs: Runs, frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the ops that run at every start and finish of the first network, their means, and the paper's."""
    ax = open_axes((9.0, 4.5), ax)
    network = frame["network"].iloc[0]
    handles, labels = [], []
    for colour, row in zip(OKABE_ITO, frame[frame["network"] == network].itertuples(), strict=False):
        running = corunning_events_frame(runs.strategy(network, row.strategy))["tasks_running"]
        handles += ax.plot(
            range(1, len(running) + 1), running, drawstyle="steps-mid", color=colour, linewidth=0.8, alpha=0.6
        )
        labels.append(f"{row.strategy}, mean {row.simulated:.2f}")
        ax.axhline(row.simulated, color=colour, linestyle="--", linewidth=1)
        if row.paper is not None and row.paper == row.paper:
            handles.append(ax.axhline(row.paper, color=colour, linestyle=":", linewidth=2))
            labels.append(f"{row.strategy}, published mean {row.paper:.2f}")
    ax.set(xlabel=f"starts and finishes of {plain(network)}", ylabel="ops running")
    ax.set_ylim(0, None)
    outside_legend(ax, handles, labels)
    return ax


def _over_networks(runs: Runs, networks: tuple[str, ...], of: str) -> float:
    totals = [runs.improvement(network, "total") for network in networks]
    return fmean(totals) if of == "mean" else max(totals)


#: Networks whose numbers are published.
NETWORKS = ("resnet50", "dcgan")


def _uniform_ms(predicted: Predicted, inter_op: int, intra_op: int) -> float:
    return predicted("Table I", "time", network="resnet50", inter_op=inter_op, intra_op=intra_op)


def _recommended_is_not_best(predicted: Predicted) -> Verdict:
    times = {(k, w): _uniform_ms(predicted, k, w) for k in (1, 2, 4) for w in (34, 68, 136)}
    best = min(times, key=times.__getitem__)
    return best == (2, 34), f"{best} with {times[best]:.0f} ms; (1, 68) {times[1, 68]:.0f} ms"


def _more_threads_than_cores_lose(predicted: Predicted) -> Verdict:
    pairs = [[_uniform_ms(predicted, inter, intra) for intra in (68, 136)] for inter in (1, 2, 4)]
    found = ", ".join(f"{few:.0f} < {many:.0f}" for few, many in pairs)
    return all(few < many for few, many in pairs), f"{found} ms"


def _split_beats_smt_beats_serial(predicted: Predicted) -> Verdict:
    order = ("split 34+34", "SMT 68+68", "serial 68")
    times = [predicted("Table III", "time of 1000 runs", strategy=strategy) for strategy in order]
    return times == sorted(times), " < ".join(f"{time:.1f}" for time in times) + " s"


def _wider_intervals_know_less(predicted: Predicted) -> Verdict:
    rows = {n: [predicted("Table V", "accuracy", network=n, x=x) for x in (2, 4, 8, 16)] for n in NETWORKS}
    falls = all(fine > coarse for row in rows.values() for fine, coarse in pairwise(row))
    return falls, "; ".join(f"{n} {' '.join(f'{a:.3f}' for a in row)}" for n, row in rows.items())


def _optimum_at_4(predicted: Predicted) -> Verdict:
    slower = {n: predicted("Table V", "loss on the thread count found", network=n, x=4) for n in NETWORKS}
    return all(v < 0.02 for v in slower.values()), ", ".join(f"{n} {v:.2%}" for n, v in slower.items())


def _improvements(predict: Prediction, steps: tuple[str, ...]) -> dict[str, list[float]]:
    return {n: [predict("Fig. 3", "improvement", network=n, step=s) for s in steps] for n in NETWORKS}


def _said(found: Mapping[str, list[float]]) -> str:
    return "; ".join(f"{n} {' '.join(f'{value:+.1%}' for value in row)}" for n, row in found.items())


def _every_step_gains(predicted: Predicted) -> Verdict:
    """Each gain is above 0 as printed."""
    steps = ("s1_s2", "s3", "s4")
    printed = _improvements(predicted.printed, steps)
    return all(gain > 0 for row in printed.values() for gain in row), _said(_improvements(predicted, steps))


def _co_running_gains_most(predicted: Predicted) -> Verdict:
    found = _improvements(predicted, ("s1_s2", "s3", "s4"))
    return all(max(row) == row[1] for row in found.values()), _said(found)


def _beats_manual(predicted: Predicted) -> Verdict:
    found = _improvements(predicted, ("over_manual",))
    return all(row[0] > 0 for row in found.values()), _said(found)


def _default_is_ten_times_slower(predicted: Predicted) -> Verdict:
    found = predicted("Fig. 3", "default over recommended", network="resnet50")
    return found > 10, f"{found:.1f} times"


def _smt_co_runs_more(predicted: Predicted) -> Verdict:
    alone, both = (
        predicted("Fig. 4", "mean co-running ops", network="resnet50", strategy=s) for s in ("s3", "s3_s4")
    )
    return both > alone, f"{both:.2f} and {alone:.2f}"


VERDICTS: Mapping[str, Callable[[Predicted], Verdict]] = {
    "recommended_is_not_best": _recommended_is_not_best,
    "more_threads_than_cores_lose": _more_threads_than_cores_lose,
    "split_beats_smt_beats_serial": _split_beats_smt_beats_serial,
    "wider_intervals_know_less": _wider_intervals_know_less,
    "optimum_at_4": _optimum_at_4,
    "every_step_gains": _every_step_gains,
    "co_running_gains_most": _co_running_gains_most,
    "beats_manual": _beats_manual,
    "default_is_ten_times_slower": _default_is_ten_times_slower,
    "smt_co_runs_more": _smt_co_runs_more,
}


@dataclass(frozen=True)
class ConcurrencyControl(System):
    """Thread counts op by op, co-running and hardware threads in TensorFlow's runtime, on 68 cores of Knights Landing.

    Parameters
    ----------
    pinned : bool
        Whether the threads of uniform settings are bound to hardware threads.
    waiting : {"spin", "sleep"}
        Behaviour of a team's threads between ops of a uniform setting: wait on their hardware threads, or leave them.
    beyond : bool
        Whether the accuracies of Table V count the thread counts beyond the last one that the climb tried.
    interval : int
        Step between the thread counts that strategies 1 to 4 choose among.
    seed : int
        Of the noise of 1 % on the measurements of Table V's profiler.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("concurrency-control").published().tables
    ('Table I', 'Table II', 'Table III', 'Table V', 'Table VI', 'Fig. 3', 'Abstract', 'Fig. 4')
    """

    name = "concurrency-control"

    pinned: bool = True
    waiting: str = one_of("spin", "sleep")
    beyond: bool = False
    interval: int = whole(2)
    seed: int = whole(0, least=0)

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return training steps, single convolutions, and results of hill climbing."""
        runs, ops, profiles = Runs(self), PublishedOps(), _Profiles(self.seed)
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
            ("Abstract", "improvement over the recommended setting"): partial(_over_networks, runs),
            ("Fig. 4", "mean co-running ops"): runs.corunning,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the checks of the statements."""
        return VERDICTS

    def pictures(self) -> Mapping[str, Drawing]:
        """Return bars by setting, op, interval, step and network, and ops that run event by event."""
        return {
            "Table I": partial(bars, "{inter_op} x {intra_op}", "{network}", "training step (ms)", "time"),
            "Table II": _widths,
            "Table III": partial(
                bars, "{strategy}", "{quantity}", "1000 runs of both (s)", "time of 1000 runs", log=False
            ),
            "Table V": partial(bars, "{network}", "{x}", "accuracy of hill climbing", "accuracy", log=False),
            "Fig. 3": partial(bars, "{network}", "{step}", "improvement", "improvement", log=False),
            "Fig. 4": partial(_events, Runs(self)),
        }


class _Profiles:
    """Results of hill climbing for the ops of a network; each network is profiled once.

    Parameters
    ----------
    seed : int
        Of the measurement noise.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._rows: dict[str, pd.DataFrame] = {}

    def __call__(self, column: str) -> Prediction:
        """Return the prediction of a column of `hill_climbing`, by network and interval."""

        def number(network: str, x: int) -> float:
            if network not in self._rows:
                self._rows[network] = hill_climbing([network], seed=self.seed).set_index("x")
            return float(self._rows[network][column][x])

        return number
