"""Pictures of schedules, graphs and result tables: each a tidy frame or a schedule, and a drawing of it.

Importing this package loads NumPy only; matplotlib and bokeh are imported on use.
"""

from simsched.plots.accuracy import accuracy
from simsched.plots.corunning import corunning, corunning_frame
from simsched.plots.corunning_events import corunning_events, corunning_events_frame
from simsched.plots.curves import cost_curves, cost_curves_frame
from simsched.plots.gantt import gantt
from simsched.plots.graph import draw_graph, graph_frame
from simsched.plots.interactive import Explorer, explore
from simsched.plots.order import diagonal_score, start_order, start_order_frame
from simsched.plots.published import curves, grouped_bars
from simsched.plots.relative import relative_times
from simsched.plots.scaling import comparison, scaling
from simsched.plots.stacked import stacked

__all__ = [
    "Explorer",
    "accuracy",
    "comparison",
    "corunning",
    "corunning_events",
    "corunning_events_frame",
    "corunning_frame",
    "cost_curves",
    "cost_curves_frame",
    "curves",
    "diagonal_score",
    "draw_graph",
    "explore",
    "gantt",
    "graph_frame",
    "grouped_bars",
    "relative_times",
    "scaling",
    "stacked",
    "start_order",
    "start_order_frame",
]
