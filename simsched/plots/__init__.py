"""Pictures of schedules, graphs and result tables: each a tidy frame or a schedule, and a drawing of it.

Importing this package loads NumPy only; matplotlib is imported on use.
"""

from simsched.plots.accuracy import accuracy
from simsched.plots.corunning import corunning, corunning_frame
from simsched.plots.corunning_events import corunning_events, corunning_events_frame
from simsched.plots.curves import cost_curves, cost_curves_frame
from simsched.plots.explained import core_time, critical_path, what_if
from simsched.plots.gantt import gantt
from simsched.plots.graph import draw_graph, graph_frame
from simsched.plots.order import diagonal_score, start_order, start_order_frame
from simsched.plots.published import curves, grouped_bars
from simsched.plots.relative import relative_times
from simsched.plots.scaling import comparison, scaling
from simsched.plots.stacked import stacked

__all__ = [
    "accuracy",
    "comparison",
    "core_time",
    "corunning",
    "corunning_events",
    "corunning_events_frame",
    "corunning_frame",
    "cost_curves",
    "cost_curves_frame",
    "critical_path",
    "curves",
    "diagonal_score",
    "draw_graph",
    "gantt",
    "graph_frame",
    "grouped_bars",
    "relative_times",
    "scaling",
    "stacked",
    "start_order",
    "start_order_frame",
    "what_if",
]
