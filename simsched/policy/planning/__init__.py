"""Static scheduling: priorities, and planners of lists, pairs, clusters and moldable tasks, compiled and in Python."""

from simsched.policy.planning.allocation import plan_allocation
from simsched.policy.planning.balanced import plan_balanced
from simsched.policy.planning.dynamic import plan_dynamic
from simsched.policy.planning.grouping import plan_groups
from simsched.policy.planning.imaginary import plan_imaginary
from simsched.policy.planning.listing import OnlineList, plan_clusters, plan_list, plan_lookahead
from simsched.policy.planning.moldable import critical_widths, plan_teams
from simsched.policy.planning.pairing import plan_pairs
from simsched.policy.planning.priorities import Priorities, positions, priorities_note, recorded_priorities

__all__ = [
    "OnlineList", "Priorities", "critical_widths", "plan_allocation", "plan_balanced", "plan_clusters",
    "plan_dynamic", "plan_groups", "plan_imaginary", "plan_list", "plan_lookahead", "plan_pairs", "plan_teams",
    "positions", "priorities_note", "recorded_priorities",
]  # fmt: skip
