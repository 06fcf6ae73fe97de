"""CHAOS: data-parallel training on Knights Corner, its performance model, its paper's figures and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil

from simsched.machine import Machine, machine as machine_of
from simsched.parameters import one_of, positive, whole
from simsched.reproduce.chaos.team import MACHINE
from simsched.reproduce.chaos.training import Training
from simsched.reproduce.pictures import bars, lines
from simsched.reproduce.published import Published
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict


@dataclass(frozen=True, eq=False)
class PerformanceModel:
    """Seconds of a training from counted operations, cycles per instruction and memory contention.

    Parameters
    ----------
    published : Published
        The paper's inputs: schedule of epochs, Table 3, and Table 4's extrapolated rows.
    machine : Machine
        Whose contention was measured, `knc-7120p`: the other rows of Table 4.

    References
    ----------
    CHAOS: A Parallelization Scheme for Training Convolutional Neural Networks on Intel Xeon Phi, 2017, Listing 2 and
    Table 3. The sequential term is not multiplied by the CPI.
    """

    published: Published
    machine: Machine

    def predicted_s(
        self, network: str, threads: int, images: tuple[int, int] | None = None, epochs: int | None = None
    ) -> float:
        """Return the seconds of a training.

        Parameters
        ----------
        network : str
            small, medium or large.
        threads : int
        images : (int, int), optional
            Images trained on (and validated on), and tested on; the paper's when not given.
        epochs : int, optional
            The paper's when not given.
        """
        scheme, model = self.published.inputs["scheme"], self.published.inputs["performance_model"]
        i, it = images or (scheme["images"], scheme["test_images"])
        epochs = scheme["epochs"][network] if epochs is None else epochs
        forward, backward = float(model["fprop_ops"][network]), float(model["bprop_ops"][network])
        once = float(model["prep_ops"][network]) + 4 * i + 2 * it + 10 * epochs
        training = (forward + backward) * i + forward * i + forward * it
        cycles = once + training * epochs / threads * self.cpi(threads)
        compute_s = cycles * model["operation_factor"] / float(model["clock_Hz"])
        return float(compute_s + self.contention_s(threads, network) * epochs * i / threads)

    def cpi(self, threads: int) -> float:
        """Return the cycles per instruction with threads spread over cores; constant from four each on."""
        by_threads = self.published.inputs["performance_model"]["cpi"]
        return float(by_threads[min(ceil(threads / self.machine.n_cores), len(by_threads)) - 1])

    def contention_s(self, threads: int, network: str) -> float:
        """Return a worker's wait per image: the paper's extrapolated rows as printed, else measured."""
        printed = self.published.inputs["memory_contention"]
        if threads in printed["threads"]:
            return float(printed[network][printed["threads"].index(threads)])
        return float(self.machine.tables["contention"].contention_s(threads, network))


NETWORKS = ("small", "medium", "large")


def _larger_scale_better(predicted: Predicted) -> Verdict:
    speedups = [
        [
            predicted("Table 6", "speed-up over one thread", network=n, threads=t, layer="conv backward")
            for n in NETWORKS
        ]
        for t in (15, 60)
    ]
    found = "; ".join(" < ".join(f"{s:.2f}" for s in row) for row in speedups)
    return all(row == sorted(row) for row in speedups), found


def _gains_shrink(predicted: Predicted) -> Verdict:
    gains = []
    for network in NETWORKS:
        few, many = (
            predicted(
                "Table 6", "speed-up over one thread", network=network, threads=t, layer="conv backward"
            )
            for t in (60, 240)
        )
        gains.append(many / few)
    return all(1 < gain < 2 for gain in gains), " ".join(f"{gain:.3f}" for gain in gains)


def _all_threads_are_fastest(predicted: Predicted) -> Verdict:
    hours = [predicted("Fig. 5, 8", "time", network="large", threads=t) for t in (1, 15, 30, 60, 244)]
    return hours == sorted(hours, reverse=True), " > ".join(f"{h:.3g}" for h in hours) + " h"


def _beyond_240(predicted: Predicted) -> Verdict:
    times = {
        n: [predicted("Table 8", "predicted time", network=n, threads=t) for t in (480, 960, 1920, 3840)]
        for n in ("small", "large")
    }
    gains = {n: [a / b for a, b in pairwise(row)] for n, row in times.items()}
    holds = all(row == sorted(row, reverse=True) and row[-1] > 1 for row in gains.values())
    return holds, "; ".join(f"{n} {' '.join(f'{g:.2f}' for g in row)}" for n, row in gains.items())


MINUTE_S, HOUR_S = 60.0, 3600.0


@dataclass(frozen=True)
class Chaos(System):
    """Workers that train a network image by image on shared weights, on the 244 threads of a Knights Corner.

    Parameters
    ----------
    variant : {"chaos", "hybrid", "averaged", "delayed", "hogwild"}
        Strategy of all simulated workers; those after the first are A to D.
    batch : int
        Images that a worker of "averaged" takes between two averages.
    waiting : {"weights", "layers", "none"}
        How the measured waiting of an image's updates divides among layers: by their weights, evenly; or no waiting.
    xeon_issue : float
        Instructions per cycle of the sequential Xeon E5 over those of one thread of the Phi. 4: four micro-operations a
        cycle there, here two pipes that a thread uses every second cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> summary = ss.reproduce("chaos", tables=["Table 8"]).summary()
    >>> summary["seen_as_printed"], summary["seen"]
    (8.0, 8.0)
    """

    name = "chaos"

    variant: str = one_of("chaos", "hybrid", "averaged", "delayed", "hogwild")
    batch: int = whole(1)
    waiting: str = one_of("weights", "layers", "none")
    xeon_issue: float = positive(4.0)

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return the closed form of Tables 8 and 9, and the simulated workers for all others."""
        numbers = _Numbers(self)
        return {
            ("Table 8", "predicted time"): numbers.predicted_min,
            ("Table 9", "predicted time"): numbers.predicted_min,
            ("Fig. 5, 8", "time"): numbers.hours,
            ("Fig. 5, 8", "speed-up over one thread"): numbers.speedup,
            ("Fig. 7", "time of the sequential Xeon E5"): numbers.xeon_hours,
            ("Fig. 7", "speed-up over the sequential Xeon E5"): numbers.speedup_over_xeon,
            ("Table 6", "speed-up over one thread"): numbers.layer_speedup,
            ("Abstract", "largest speed-up on all threads"): numbers.largest_speedup,
            ("Table 8, workers", "simulated time"): numbers.simulated_min,
            ("Strategies", "simulated time"): numbers.simulated_min,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the checks of the statements."""
        return {
            "larger_scale_better": _larger_scale_better,
            "gains_shrink": _gains_shrink,
            "all_threads_are_fastest": _all_threads_are_fastest,
            "beyond_240": _beyond_240,
        }

    def pictures(self) -> Mapping[str, Drawing]:
        """Return times and speed-ups by threads, and strategies as bars."""
        minutes = partial(lines, "threads", "{network}", "training (min)", "")
        return {
            "Table 8": minutes,
            "Fig. 5, 8": partial(lines, "threads", "{network}", "training (h)", "time"),
            "Fig. 7": partial(
                lines,
                "threads",
                "{network}",
                "speed-up over a sequential Xeon E5",
                "speed-up over the sequential Xeon E5",
            ),
            "Table 6": partial(lines, "threads", "{network}, {layer}", "speed-up over one thread", ""),
            "Table 8, workers": minutes,
            "Strategies": partial(bars, "{network}, {threads} threads", "{variant}", "training (min)", ""),
        }


class _Numbers:
    """The numbers of all tables; each training is simulated once.

    Parameters
    ----------
    system : Chaos
        The choices.
    """

    def __init__(self, system: Chaos) -> None:
        self.system = system
        self.published = system.published()
        self.model = PerformanceModel(self.published, machine_of(MACHINE))
        self._trainings: dict[tuple[str, int, str], Training] = {}

    def training(self, network: str, threads: int, variant: str | None = None) -> Training:
        """Return a training, with all of its data."""
        key = (network, threads, variant or self.system.variant)
        if key not in self._trainings:
            batch, waiting = self.system.batch, self.system.waiting
            self._trainings[key] = Training(self.published, *key, batch, waiting)
        return self._trainings[key]

    def predicted_min(
        self, network: str, threads: int, images: tuple[int, int] | None = None, epochs: int | None = None
    ) -> float:
        """Return the result of the closed form."""
        return self.model.predicted_s(network, threads, images, epochs) / MINUTE_S

    def simulated_min(self, network: str, threads: int, variant: str | None = None) -> float:
        """Return the minutes of a training."""
        return self.training(network, threads, variant).total_s / MINUTE_S

    def hours(self, network: str, threads: int) -> float:
        """Return the hours of a training."""
        return self.training(network, threads).total_s / HOUR_S

    def speedup(self, network: str, threads: int) -> float:
        """Return the speed-up of a training over one thread."""
        return self.hours(network, 1) / self.hours(network, threads)

    def layer_speedup(self, network: str, threads: int, layer: str) -> float:
        """Return the speed-up of a kind of layers over one thread."""
        one_s, each_s = (self.training(network, n).layer_s(layer) for n in (1, threads))
        return threads * one_s / each_s

    def xeon_hours(self, network: str) -> float:
        """Return the hours of the sequential program on a Xeon E5: one thread's, by clock and issue width."""
        inputs = self.published.inputs
        clocks = float(inputs["xeon_e5"]["clock_Hz"]) / float(inputs["performance_model"]["clock_Hz"])
        return self.hours(network, 1) / (self.system.xeon_issue * clocks)

    def speedup_over_xeon(self, network: str, threads: int) -> float:
        """Return the speed-up of a training over the sequential program on a Xeon E5."""
        return self.xeon_hours(network) / self.hours(network, threads)

    def largest_speedup(self, threads: int, over: str) -> float:
        """Return the largest speed-up of the three networks, over one thread or the sequential program on a Xeon E5."""
        speedup = self.speedup if over == "one thread" else self.speedup_over_xeon
        return max(speedup(network, threads) for network in NETWORKS)
