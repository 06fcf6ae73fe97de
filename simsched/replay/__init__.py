"""`simulate()` and its engines."""

from simsched.replay.scenario import simulate

__all__ = ["simulate"]
