"""CHAOS: data-parallel training of convolutional networks on Knights Corner, and its performance model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simsched.machine import machine as machine_of
from simsched.parameters import one_of, positive, whole
from simsched.reproduce.chaos.claims import VERDICTS
from simsched.reproduce.chaos.model import PerformanceModel
from simsched.reproduce.chaos.pictures import PICTURES
from simsched.reproduce.chaos.team import MACHINE
from simsched.reproduce.chaos.training import Training
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict

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
        How the measured waiting of an image's updates divides among layers: by their weights, evenly; or nobody waits.
    xeon_issue : float
        Instructions a cycle of the sequential Xeon E5 over those of one thread of the Phi. 4: four micro-operations a
        cycle there, here two pipes that a thread uses every second cycle.

    Examples
    --------
    >>> import simsched as ss
    >>> summary = ss.reproduce("chaos", tables=["Table 8"]).summary()
    >>> summary["as_printed"], summary["scored"]
    (8.0, 8.0)
    """

    name = "chaos"

    variant: str = one_of("chaos", "hybrid", "averaged", "delayed", "hogwild")
    batch: int = whole(1)
    waiting: str = one_of("weights", "layers", "none")
    xeon_issue: float = positive(4.0)

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return the closed form of Tables 8 and 9, and the simulated workers for all others."""
        numbers = Numbers(self)
        return {
            ("Table 8", "predicted time"): numbers.predicted_min,
            ("Table 9", "predicted time"): numbers.predicted_min,
            ("Fig. 5, 8", "time"): numbers.hours,
            ("Fig. 5, 8", "speed-up over one thread"): numbers.speedup,
            ("Fig. 7", "time of the sequential Xeon E5"): numbers.xeon_hours,
            ("Fig. 7", "speed-up over the sequential Xeon E5"): numbers.speedup_over_xeon,
            ("Table 6", "speed-up over one thread"): numbers.layer_speedup,
            ("Table 8, workers", "simulated time"): numbers.simulated_min,
            ("Strategies", "simulated time"): numbers.simulated_min,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return what judges the statements."""
        return VERDICTS

    def pictures(self) -> Mapping[str, Drawing]:
        """Return times and speed-ups by threads, and strategies as bars."""
        return PICTURES


class Numbers:
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
        """Return a training, with all that is known of it."""
        key = (network, threads, variant or self.system.variant)
        if key not in self._trainings:
            batch, waiting = self.system.batch, self.system.waiting
            self._trainings[key] = Training(self.published, *key, batch, waiting)
        return self._trainings[key]

    def predicted_min(
        self, network: str, threads: int, images: tuple[int, int] | None = None, epochs: int | None = None
    ) -> float:
        """Return what the closed form says."""
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
        """Return the hours of the sequential program on a Xeon E5: those on one thread, by clock and issue width."""
        inputs = self.published.inputs
        clocks = float(inputs["xeon_e5"]["clock_Hz"]) / float(inputs["performance_model"]["clock_Hz"])
        return self.hours(network, 1) / (self.system.xeon_issue * clocks)

    def speedup_over_xeon(self, network: str, threads: int) -> float:
        """Return the speed-up of a training over the sequential program on a Xeon E5."""
        return self.xeon_hours(network) / self.hours(network, threads)
