"""Many replays at once: sweeps, policies compared, makespans predicted, layouts tuned, and what a makespan hangs on."""

from simsched.sweep.axes import Range
from simsched.sweep.compare import compare
from simsched.sweep.predict import predict
from simsched.sweep.replayed import replayed
from simsched.sweep.sensitivity import sensitivity
from simsched.sweep.sobol import sobol
from simsched.sweep.statistics import verdicts
from simsched.sweep.stored import results
from simsched.sweep.sweep import Sweep
from simsched.sweep.tune import tune, worker_layouts

__all__ = [
    "Range", "Sweep", "compare", "predict", "replayed", "results", "sensitivity", "sobol", "tune", "verdicts",
    "worker_layouts",
]  # fmt: skip
