"""Pictures of schedules, graphs and result tables: each a tidy frame or a schedule, and a drawing of it.

Importing this package loads NumPy only; matplotlib and bokeh are imported on use.
"""

from simsched.plots.accuracy import accuracy, learned_curve, measured_numbers
from simsched.plots.corunning import (
    corunning,
    corunning_events,
    corunning_events_frame,
    corunning_frame,
    memory,
    memory_frame,
)
from simsched.plots.curves import cost_curves, cost_curves_frame, model_curves_frame
from simsched.plots.explained import core_time, core_time_svg as core_time_svg, critical_path, what_if
from simsched.plots.gantt import gantt
from simsched.plots.graph import draw_graph, graph_frame
from simsched.plots.interactive import Explorer, explore
from simsched.plots.layouts import layouts, layouts_frame, tuned, tuning, tuning_frame
from simsched.plots.machine import core_use, core_use_frame, draw_machine as draw_machine, link_load
from simsched.plots.order import diagonal_score, start_order, start_order_frame
from simsched.plots.picture import (
    gantt_svg as gantt_svg,
    page as page,
    save_figure as save_figure,
    write_picture as write_picture,
)
from simsched.plots.policies import comparison, policies, policies_frame
from simsched.plots.published import curves, grouped_bars, relative_times
from simsched.plots.roofline import draw_roofline, roofline, roofline_frame, roofs_frame
from simsched.plots.scaling import scaling
from simsched.plots.stacked import stacked
from simsched.plots.tornado import sobol_bars, tornado

__all__ = [
    "Explorer",
    "accuracy",
    "comparison",
    "core_time",
    "core_use",
    "core_use_frame",
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
    "draw_roofline",
    "explore",
    "gantt",
    "graph_frame",
    "grouped_bars",
    "layouts",
    "layouts_frame",
    "learned_curve",
    "link_load",
    "measured_numbers",
    "memory",
    "memory_frame",
    "model_curves_frame",
    "policies",
    "policies_frame",
    "relative_times",
    "roofline",
    "roofline_frame",
    "roofs_frame",
    "scaling",
    "sobol_bars",
    "stacked",
    "start_order",
    "start_order_frame",
    "tornado",
    "tuned",
    "tuning",
    "tuning_frame",
    "what_if",
]
