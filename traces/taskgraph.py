"""simsched's own file of a task graph, as `TaskGraph.save` writes it; see `simsched.graph.storage`."""

from __future__ import annotations

from simsched.graph.loading import Reader
from simsched.graph.saving import Writer
from simsched.graph.storage import HEADER, read, save

#: A zip member's name is at byte 30 of its local header.
_NAME_AT = 30


TASKGRAPH = Reader(
    title="simsched's own file of a task graph (.simsched)",
    dependencies="as saved",
    times="as saved",
    recognises=lambda head: head.startswith(b"PK\x03\x04") and head[_NAME_AT:].startswith(HEADER.encode()),
    read=read,
)


TASKGRAPH_WRITER = Writer(
    title="simsched's own file of a task graph (.simsched)",
    suffixes=(".simsched",),
    writes="graph",
    write=save,
)
