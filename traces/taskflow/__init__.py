"""Recordings of Taskflow's profiler."""
