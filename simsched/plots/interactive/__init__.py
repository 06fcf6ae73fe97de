"""The interactive Gantt chart: what goes to the page, its figures, and the script that draws what is in sight."""

from simsched.plots.interactive.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
