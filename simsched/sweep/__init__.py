"""Many replays at once: policies compared, makespans predicted by core count, layouts tuned."""

from simsched.sweep.compare import compare
from simsched.sweep.predict import predict
from simsched.sweep.replayed import replayed
from simsched.sweep.statistics import verdicts
from simsched.sweep.tune import tune, worker_layouts

__all__ = ["compare", "predict", "replayed", "tune", "verdicts", "worker_layouts"]
