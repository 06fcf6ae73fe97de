"""CHAOS: data-parallel training of convolutional networks on Knights Corner, and its performance model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simsched.machine import machine as machine_of
from simsched.reproduce.chaos_model import PerformanceModel
from simsched.reproduce.system import Prediction, System

MACHINE = "knc-7120p"


@dataclass(frozen=True)
class Chaos(System):
    """Workers that train a network image by image on shared weights, on the 244 threads of a Knights Corner."""

    name = "chaos"

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return the closed form of Tables 8 and 9."""
        model = PerformanceModel(self.published(), machine_of(MACHINE))

        def minutes(
            network: str, threads: int, images: tuple[int, int] | None = None, epochs: int | None = None
        ) -> float:
            return model.predicted_s(network, threads, images, epochs) / 60

        return {("Table 8", "predicted time"): minutes, ("Table 9", "predicted time"): minutes}
