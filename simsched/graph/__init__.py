"""`TaskGraph`: columns, checks, building, frames and networkx, storage."""

from simsched.graph.columns import LabelColumn, TextColumn
from simsched.graph.data import NOBODY, DataObjects
from simsched.graph.data_checks import with_data
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import RecordedOn, Recording, TaskGraph

__all__ = [
    "NOBODY",
    "DataObjects",
    "ImportReport",
    "LabelColumn",
    "RecordedOn",
    "Recording",
    "TaskGraph",
    "TextColumn",
    "with_data",
]
