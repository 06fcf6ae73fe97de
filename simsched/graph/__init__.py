"""`TaskGraph`: columns, checks, building, frames and networkx, storage."""

from simsched.graph.columns import LabelColumn, TextColumn
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import RecordedOn, Recording, TaskGraph

__all__ = ["ImportReport", "LabelColumn", "RecordedOn", "Recording", "TaskGraph", "TextColumn"]
