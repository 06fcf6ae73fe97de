"""`simulate()` and its engines."""

from simsched.replay.simulate import simulate

__all__ = ["simulate"]
