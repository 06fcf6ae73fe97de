"""Names of a few tasks, without those of all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.graph import TaskGraph


def task_names(graph: TaskGraph, tasks: Iterable[int]) -> list[str]:
    """Return the names of some tasks; an empty name for -1."""
    return [graph.task_name(int(task)) if task >= 0 else "" for task in tasks]
