"""Questions that take many replays: policies and machines compared, makespans predicted, layouts tuned, sensitivity."""

from simsched.study.compare import compare
from simsched.study.machines import machines
from simsched.study.predict import predict
from simsched.study.sensitivity import sensitivity, sobol
from simsched.study.statistics import replayed, verdicts
from simsched.study.tune import tune, worker_layouts

__all__ = [
    "compare",
    "machines",
    "predict",
    "replayed",
    "sensitivity",
    "sobol",
    "tune",
    "verdicts",
    "worker_layouts",
]
