"""The header of a stored task graph: what its JSON must hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simsched.errors import GraphError
from simsched.graph.build import MAX_TASKS
from simsched.graph.edges import MAX_EDGES
from simsched.mistakes import described

#: Of tasks, edges, objects or kinds of cores.
Count = Annotated[int, Field(ge=0, le=min(MAX_TASKS, MAX_EDGES))]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Labels(_Part):
    """The labels of each column."""

    kinds: list[str]
    shapes: list[str]
    scopes: list[str]


class Machine(_Part):
    """The machine that recorded the durations."""

    name: str
    core_flops: float | None = None
    core_bandwidth_Bps: float | None = None
    clock_Hz: float | None = None


class Report(_Part):
    """The import report."""

    source: str
    format: str
    facts: dict[str, Any]
    notes: list[str]
    doubts: list[str] | None = None


class Header(_Part):
    """The whole header; what it holds beside this is not read."""

    name: str
    tasks: Count
    edges: Count
    labels: Labels
    names: bool
    report: Report
    lane_names: list[str] | None = None
    recorded_on: Machine | None = None
    objects: Count | None = None
    kinds_of_cores: Count | None = None


def checked(entries: dict[str, Any], member: str) -> Header:
    """Return a header; raise `GraphError` about its first mistake, in a member of the file."""
    try:
        return Header.model_validate(entries)
    except ValidationError as error:
        raise GraphError(f"{member}: {described(error.errors()[0])}") from None
