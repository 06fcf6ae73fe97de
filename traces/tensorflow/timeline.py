"""Timelines made by TensorFlow's `Timeline.generate_chrome_trace_format` from run metadata.

Whole microseconds, the inputs of each op from its label, lanes made up by the writer: less than the run
metadata, but more often kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend, Reader
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import of_tensorflow
from simsched.traces.shared.options import TOLERANT, mends_if
from simsched.traces.shared.places import ObjectFields
from simsched.traces.shared.timeline import MAX_NS, whole_ns
from simsched.traces.tensorflow.join import joined
from simsched.traces.tensorflow.reader import graph_of
from simsched.traces.tensorflow.records import Definition, Execution, add_kernels, split

#: The processes that every timeline has, in whatever order an old Python wrote the fields of an object.
_PROCESS = re.compile(rb'"name"\s*:\s*"(?:Allocators|[^"]{1,200} Compute)"')
_COMPUTE = " Compute"
#: Year 2262, in microseconds: nanoseconds still fit 64 bits.
MAX_TS_US = 2**63 // 1000


def _recognises(head: bytes) -> bool:
    """Recognise the names of processes: `Allocators`, and `... Compute` for each device."""
    named = b'"traceEvents"' in head and b'"process_name"' in head
    return head.lstrip().startswith(b"{") and named and _PROCESS.search(head) is not None


def _read(path: Path, *, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of a step.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    tolerant : bool or str
        Keep the complete part of a cut-off file.

    Raises
    ------
    FormatError
        If the file is malformed or holds no op.
    GraphError
        If the dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"traceEvents": [
    ... {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:CPU:0 Compute"}},
    ... {"ph": "X", "cat": "Op", "name": "Relu", "pid": 1, "tid": 0, "ts": 100, "dur": 10,
    ... "args": {"name": "a", "op": "Relu"}},
    ... {"ph": "X", "cat": "Op", "name": "Exp", "pid": 1, "tid": 0, "ts": 110, "dur": 5,
    ... "args": {"name": "b", "op": "Exp", "input0": "a"}}]}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "timeline.json").write_text(text)
    ...     graph = ss.load(Path(folder, "timeline.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('tensorflow-timeline', ['Relu', 'Exp'], [1e-05, 5e-06], 1)
    """
    report = ImportReport(path.name, "tensorflow-timeline")
    found = _executions(path, mends_if(path, tolerant, report))
    ops, kernels, copies = split(e for e in found if e.name != "_SOURCE")
    if not ops:
        raise FormatError(f"{path}: no event of category Op on a device; is this a timeline of TensorFlow?")
    result = joined(path, ops, [])
    report.note(
        "A timeline tells what ops read, as whole microseconds and with lanes made up: control dependencies that "
        "TensorFlow added and shapes are lost. The run metadata that it was made of tells them."
    )
    report.note(f"Left out: {copies} copies of GPU records (stream:all, memcpy).", when=copies)
    if kernels:
        report.facts["kernels"] = len(kernels)
        add_kernels(result, kernels)
    of_tensorflow(report, (task.label.op for task in result.tasks))
    return graph_of(path, result, {}, 1000, report)


TIMELINE = Reader(
    title="TensorFlow timeline (Chrome JSON)",
    dependencies="inputs of the ops (added control dependencies are lost)",
    times="timeline, us",
    options={"tolerant": TOLERANT},
    recognises=_recognises,
    read=_read,
)


def _executions(path: Path, mend: Mend | None) -> list[Execution]:
    devices: dict[object, str] = {}
    found: list[Execution] = []
    for place, event in enumerate(objects(path, "traceEvents", mend=mend)[1]):
        fields = ObjectFields(path, f"event {place}", event)
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        if event.get("ph") == "M" and event.get("name") == "process_name":
            name = plain_text(args.get("name"))
            if name.endswith(_COMPUTE):
                devices[shown(event.get("pid"))] = name.removesuffix(_COMPUTE)
        elif event.get("ph") == "X" and event.get("cat") == "Op":
            found.append(_execution(place, fields, args, devices))
    return found


def _execution(
    place: int, fields: ObjectFields, args: Mapping[str, Any], devices: Mapping[object, str]
) -> Execution:
    name, op = args.get("name"), args.get("op")
    if not isinstance(name, str) or not name:
        raise fields.wrong("args.name", name, "the name of a node")
    if (device := devices.get(shown(fields.values.get("pid")))) is None:
        raise FormatError(
            f"{fields.path}: {fields.where} is of process {shown(fields.values.get('pid'))}, which has no name "
            "before it"
        )
    start_ns = _ns(fields, "ts", MAX_TS_US)
    length_ns = _ns(fields, "dur", MAX_NS // 1000)
    inputs: list[str] = []
    while isinstance(source := args.get(f"input{len(inputs)}"), str):
        inputs.append(plain_text(source))
    name = plain_text(name)
    label = Definition(-1, name, plain_text(op if isinstance(op, str) else ""), tuple(inputs))
    return Execution(place, name, device, label, 0, start_ns, length_ns, start_ns + length_ns)


def _ns(fields: ObjectFields, key: str, most_us: int) -> int:
    value = fields.values.get(key)
    moment = None if isinstance(value, str) else whole_ns(value, 1000, 0, most_us * 1000)
    if moment is None:
        raise fields.wrong(key, value, f"0 to {most_us} microseconds")
    return moment
