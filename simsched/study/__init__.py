"""Questions that take many replays: policies and machines compared, makespans predicted, layouts tuned, sensitivity."""

from simsched.study.compare import compare
from simsched.study.machines import machines
from simsched.study.predict import predict
from simsched.study.replayed import replayed
from simsched.study.sensitivity import sensitivity
from simsched.study.sobol import sobol
from simsched.study.statistics import verdicts
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
