"""GraphML files: nodes with their data, every edge a dependency."""

from __future__ import annotations

import re
from pathlib import Path

from simsched.graph.loading import Reader
from simsched.graph.taskgraph import TaskGraph
from simsched.traces.graphml.elements import read_elements
from simsched.traces.shared.attributes import OPTIONS, Durations, Nodes

#: After blanks, instructions, comments and a DOCTYPE.
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->|<![A-Z](?:[^>\[]|\[[^\]]*+\])*+>)*+"
    rb"<(?:[A-Za-z_][\w.-]{0,40}:)?graphml[\s>]"
)


def _read(path: Path, *, duration: str = "duration_s", unit: str = "s") -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not GraphML, holds anything but one plain directed graph, or a datum is not what it should
        be.
    GraphError
        If its edges form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
    ... <key id="d" for="node" attr.name="duration_s" attr.type="double"/>
    ... <graph edgedefault="directed"><node id="a"><data key="d">1</data></node>
    ... <node id="b"><data key="d">2</data></node><edge source="a" target="b"/></graph></graphml>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "two.graphml").write_text(text)
    ...     graph = ss.load(Path(folder, "two.graphml"))
    >>> graph.report.format, graph.durations_s.tolist(), graph.n_edges
    ('graphml', [1.0, 2.0], 1)
    """
    durations = Durations.of(path, duration, unit)
    file = read_elements(path, duration)
    return Nodes(
        path, "graphml", file.rows, file.edges, file.name, file.lane_names, file.unread, file.objects
    ).graph(durations)


GRAPHML = Reader(
    title="GraphML (.graphml)",
    dependencies="in the file",
    times="data duration_s, or that which duration= names",
    options=OPTIONS,
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)
