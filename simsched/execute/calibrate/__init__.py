"""Calibration: the widths and pairs to measure, the stopping rule, and the scatter of the results."""
