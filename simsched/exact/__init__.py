"""Proven optima of small graphs."""

from simsched.exact.optimum import Optimum, optimum

__all__ = ["Optimum", "optimum"]
