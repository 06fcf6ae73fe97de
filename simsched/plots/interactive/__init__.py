"""The interactive Gantt chart: the data of the page, its figures, and the script that draws the view."""

from simsched.plots.interactive.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
