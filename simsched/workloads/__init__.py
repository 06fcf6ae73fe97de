"""Generated task graphs: training steps of networks, one file per family; see docs/workloads.md."""

from simsched.workloads.builder import Builder
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, family, is_workload, no_graph, one_of, whole, workload

__all__ = [
    "Builder",
    "Tensor",
    "Workload",
    "family",
    "is_workload",
    "no_graph",
    "one_of",
    "whole",
    "workload",
]
