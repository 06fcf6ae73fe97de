"""Recorded runs and their replays, side by side."""
