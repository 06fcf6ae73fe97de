"""Exchange of planners with the compiled module: platforms in, plans out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from simsched.errors import GraphError
from simsched.graph.adjacency import Index
from simsched.policy.planned_policy import Assignment
from simsched.policy.platform import Platform


def order_of(platform: Platform) -> Index:
    """Return the tasks, each before its successors."""
    if (order := platform.successors.topological_order) is None:
        raise GraphError("a platform's tasks wait for each other in a cycle")
    return order


def bound(native: ModuleType, platform: Platform) -> Any:
    """Return the platform in the form of the compiled module."""
    graph = platform.successors
    return native.Platform(
        native.Csr(graph.indptr, graph.indices),
        order_of(platform),
        flat(platform.kind_seconds),
        np.ascontiguousarray(platform.kind_of, np.int32),
        np.ascontiguousarray(platform.place_of, np.int32),
        flat(platform.edge_bytes),
        flat(platform.latency_s),
        flat(platform.s_per_B),
        platform.kind_seconds.shape[1],
        len(platform.latency_s),
    )


def flat(table: object) -> Any:
    """Return the numbers of a table, row by row."""
    return np.ascontiguousarray(table, np.float64).ravel()


def assignment(found: tuple[Any, Any]) -> Assignment:
    """Return the plan that the compiled module made."""
    executor, order = found
    return Assignment(executor, order)
