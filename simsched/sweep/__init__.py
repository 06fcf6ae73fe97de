"""Many replays at once: sweeps, policies compared, makespans predicted by core count, layouts tuned."""

from simsched.sweep.axes import Range
from simsched.sweep.compare import compare
from simsched.sweep.predict import predict
from simsched.sweep.stored import results
from simsched.sweep.sweep import Sweep
from simsched.sweep.tune import tune, worker_layouts

__all__ = ["Range", "Sweep", "compare", "predict", "results", "tune", "worker_layouts"]
