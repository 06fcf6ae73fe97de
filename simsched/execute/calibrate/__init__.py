"""Calibration: which widths and pairs are measured, until when, and how much they scatter."""
