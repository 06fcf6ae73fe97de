"""Many replays at once: policies compared, makespans predicted by core count."""

from simsched.sweep.compare import compare
from simsched.sweep.predict import predict

__all__ = ["compare", "predict"]
