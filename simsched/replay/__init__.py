"""`simulate()` and the engines behind it."""

from simsched.replay.simulate import simulate

__all__ = ["simulate"]
