"""Chakra: execution traces as streams of protobuf messages, and as JSON linked from PyTorch with times."""

from __future__ import annotations

from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import HEAD_B, Reader, open_plain, plain_name, read_bounded
from simsched.traces.chakra.linked import of_operators
from simsched.traces.chakra.nodes import of_nodes
from simsched.traces.chakra.record import (
    is_workload,
    looks_delimited,
    read_linked,
    read_stream,
    read_workload,
    require_distinct,
)
from simsched.traces.shared.options import TOLERANT, flag, mends_if


def _recognises(head: bytes) -> bool:
    """Return whether a file is a Chakra trace of either form."""
    if head.lstrip()[:1] == b"{":
        if is_workload(head):
            return True
        return b'"nodes"' in head and b'"inclusive_dur"' in head and b'"ctrl_deps"' in head
    return looks_delimited(head)


def _read(path: Path, *, data_deps: bool | str = False, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of a trace.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    data_deps : bool or str, optional
        Whether every node is a task, with the dependencies in the file, although it holds tensors.
    tolerant : bool or str, optional
        Whether to read the complete part of a file that is cut off.

    Raises
    ------
    FormatError
        If the file is damaged.
    GraphError
        If its dependencies run in a circle.
    MissingExtraError
        If protobuf is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"schema": "1.1.1-chakra.0.0.4", "nodes": [
    ... {"id": 2, "name": "aten::mm", "ctrl_deps": 1, "ts": 10, "inclusive_dur": 4, "exclusive_dur": 4,
    ... "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [[3, 7, 0, 8, 4, "cpu"]],
    ... "shapes": [[2, 4]], "types": ["Tensor(float)"]}, "attrs": []},
    ... {"id": 3, "name": "aten::relu", "ctrl_deps": 1, "ts": 15, "inclusive_dur": 2, "exclusive_dur": 2,
    ... "inputs": {"values": [[3, 7, 0, 8, 4, "cpu"]], "shapes": [[2, 4]], "types": ["Tensor(float)"]},
    ... "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}]}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.json").write_text(text)
    ...     graph = ss.load(Path(folder, "run.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('chakra', ['mm', 'relu'], [4e-06, 2e-06], 1)
    """
    as_written = flag(path, "data_deps", data_deps)
    report = ImportReport(path.name, "chakra")
    mend = mends_if(path, tolerant, report)
    with open_plain(path, lambda _: None) as file:
        head = read_bounded(file, HEAD_B)
    read = read_linked if head.lstrip()[:1] == b"{" else read_stream
    metadata, records = (read_workload if is_workload(head) else read)(path, mend)
    if not records:
        raise FormatError(f"{path}: the trace has no nodes; was the recording interrupted?")
    require_distinct(records)
    for key in ("version", "schema"):
        if metadata.get(key):
            report.facts[key] = str(metadata[key])[:60]
    build = of_nodes if as_written or not any(r.has_tensors() for r in records) else of_operators
    name = plain_name(path, ".json", ".et")
    return build(path, records, report, name)


CHAKRA = Reader(
    title="Chakra: execution traces (.et), or PyTorch's linked with times as JSON",
    dependencies="rebuilt from tensors; where it has none, data_deps and ctrl_deps",
    times="the file, us",
    options={
        "data_deps": "true to take the file's dependencies, mostly the order of execution, though it holds tensors",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)
