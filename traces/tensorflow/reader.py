"""TensorFlow's RunMetadata: step statistics with nanoseconds, and the partition graphs that were executed.

Record it with ``RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)``; TensorFlow itself is not
needed to read it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, head_of
from simsched.graph.shapes import format_shape, numel
from simsched.text import counted
from simsched.traces.shared.elements import element_of
from simsched.traces.shared.libraries import of_tensorflow
from simsched.traces.shared.options import TOLERANT, given, mends_if
from simsched.traces.shared.timeline import packed, recording, refuse_long
from simsched.traces.tensorflow.flops import flops, plain_op, shape_attributes
from simsched.traces.tensorflow.join import ELEMENT_NAMES, ITEMSIZE_B, base_name, joined, outputs, slot_of
from simsched.traces.tensorflow.metadata import RunMetadata, read_graph, read_run
from simsched.traces.tensorflow.records import Definition, Dims, Execution, Joined, Tensor, add_kernels, split


@dataclass(frozen=True)
class Size:
    """Shapes of a task's inputs and strides as text, its operations and bytes; "" and NaN where unknown."""

    shape: str
    flops: float
    bytes_B: float


UNKNOWN = Size("", math.nan, math.nan)


#: The tensors that each node made, by graph and name, then by slot.
Made = dict[tuple[int, str], dict[int, Tensor]]


def sizes(run: Joined) -> list[Size]:
    """Return the size of every task, from the outputs that executions recorded and the attributes of nodes."""
    made: Made = {}
    for task, node in zip(run.tasks, run.nodes, strict=True):
        outputs = made.setdefault((node.graph, node.name), {})
        outputs.update(task.outputs)
        element = str(node.attributes.get("T", ""))
        for slot, dims in enumerate(node.shapes):
            outputs.setdefault(slot, Tensor(element, dims))
    return [_size(made, node) for node in run.nodes]


def _size(made: Made, node: Definition) -> Size:
    reads = [name for name in node.inputs if not name.startswith("^")]
    inputs = [made.get((node.graph, base_name(name)), {}).get(slot_of(name)) for name in reads]
    outputs = [tensor for _, tensor in sorted(made[node.graph, node.name].items())]
    if any(t is None or t.dims is None for t in inputs):
        return UNKNOWN
    shapes = [t.dims for t in inputs if t is not None and t.dims is not None]
    results: list[Dims] = [t.dims for t in outputs if t.dims is not None]
    work = flops(node.op, shapes, results, node.attributes)
    known = len(results) == len(outputs)
    size_B = _bytes([t for t in inputs if t is not None] + outputs) if known else math.nan
    attributes = shape_attributes(plain_op(node.op), shapes, results, node.attributes)
    operands = ((t.dtype, len(t.dims or ())) for t in inputs if t is not None)
    element = element_of(plain_op(node.op), operands, ELEMENT_NAMES)
    return Size(format_shape(shapes, attributes, element), work, size_B)


def _bytes(tensors: Sequence[Tensor]) -> float:
    return sum((ITEMSIZE_B.get(t.dtype, math.nan) * numel(t.dims or ()) for t in tensors), 0.0)


Times = npt.NDArray[np.int64]


def graph_of(
    path: Path, run: Joined, threads: Mapping[tuple[str, int], str], clock_ns: int, report: ImportReport
) -> TaskGraph:
    """Return the graph of a run.

    Parameters
    ----------
    path : Path
        The file.
    run : Joined
        Its tasks, at least one.
    threads : mapping of (str, int) to str
        Names of the threads of devices.
    clock_ns : int
        Unit of the file's clock.
    report : ImportReport
        Continued.

    Raises
    ------
    FormatError
        If the run is longer than times can hold exactly.
    GraphError
        If the graphs of the file make a cycle.
    """
    origin = min(run.starts_ns)
    refuse_long(path, max(task.finish_ns for task in run.tasks) - origin)
    start_ns = np.array([start - origin for start in run.starts_ns], np.int64)
    finish_ns = np.array([task.finish_ns - origin for task in run.tasks], np.int64)
    lanes, names = _lanes(run, threads, start_ns, finish_ns, report)
    _tell(run, finish_ns - start_ns, clock_ns, report)
    work = sizes(run)
    report.facts["tasks_without_flops"] = int(np.isnan([size.flops for size in work]).sum())
    graph = TaskGraph.from_edges(
        (finish_ns - start_ns) / 1e9,
        np.array(sorted(run.edges), np.int64).reshape(-1, 2),
        kinds=[task.label.op or node.op for task, node in zip(run.tasks, run.nodes, strict=True)],
        names=[task.name for task in run.tasks],
        shapes=[size.shape for size in work],
        scopes=[task.name.rpartition("/")[0] for task in run.tasks],
        flops=[size.flops for size in work],
        bytes_B=[size.bytes_B for size in work],
        name=path.name.split(".")[0],
        report=report,
        recording=recording(path, start_ns, finish_ns, lanes, names),
    )
    return outputs(run).on(graph)


def _lanes(
    run: Joined, threads: Mapping[tuple[str, int], str], start: Times, finish: Times, report: ImportReport
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return the lane of each task and the names of all; where threads are unknown, devices' tasks are packed."""
    lanes = np.zeros(len(start), np.int32)
    names: list[str] = []
    guessed = 0
    for device in dict.fromkeys(task.device for task in run.tasks):
        own = np.array([i for i, task in enumerate(run.tasks) if task.device == device])
        numbers = [run.tasks[i].thread for i in own]
        if any(numbers):
            distinct = {number: len(names) + k for k, number in enumerate(dict.fromkeys(numbers))}
            lanes[own] = [distinct[number] for number in numbers]
            names += [threads.get((device, number), f"{device} thread {number}") for number in distinct]
            continue
        taken = packed(start[own], finish[own])
        lanes[own] = taken + len(names)
        count = int(taken.max()) + 1
        guessed += count if "/stream:" not in device else 0
        names += [f"{device} lane {k}" for k in range(count)]
    if guessed:
        report.facts["workers_guess"] = guessed
        report.note(
            f"The file names no threads: tasks are packed on as few lanes as hold them, {guessed}. Taking that for the "
            "number of workers (inter-op threads) is a guess."
        )
    return lanes, names


def _tell(run: Joined, lengths: Times, clock_ns: int, report: ImportReport) -> None:
    report.facts.update(
        devices=len({task.device for task in run.tasks}),
        control_edges=run.control,
        clock_ns=clock_ns,
        zero_length_tasks=int((lengths == 0).sum()),
        executor_s=_median_s([t.finish_ns - t.start_ns - t.op_ns for t in run.tasks]),
        queued_s=_median_s([t.start_ns - t.scheduled_ns for t in run.tasks if t.scheduled_ns]),
    )
    report.note(
        f"{counted(run.repeated, 'node')} run more than once, as in loops: each execution is a task that depends on "
        "the one of its inputs with the same number, or on the latest that had finished.",
        when=run.repeated,
    )
    parts = (
        (run.waits, "receive", "that waited for the send: the task begins when that had finished."),
        (run.calls, "call", "of a function, without time of its own: what ran inside is tasks."),
        (
            run.ambiguous,
            "task",
            "with a name that stands in several graphs: the one of the device was taken.",
        ),
        (run.unpaired, "input", "that had not finished in time in any execution, without an edge."),
    )
    for count, noun, rest in parts:
        report.note(f"{counted(count, noun)} {rest}", when=count)


def _median_s(times_ns: Sequence[int]) -> float:
    return float(np.median(times_ns)) / 1e9 if times_ns else float("nan")


#: Three nested messages, field 1 each, and the name of a device.
_BINARY = re.compile(
    rb"\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]{0,1}[\x00-\x7f]/[\w:/.-]+"
)
_TEXT = re.compile(rb"(?:\s|#[^\n]*\n)*step_stats\s*:?\s*[{<]\s*dev_stats\s*:?\s*[{<]")
#: Other TensorFlow files without times, or without nodes, and why they are rejected.
_OTHERS = {
    re.compile(
        rb"\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]?[\x00-\x7f][\w./>-]+?\x12[\x01-\x7f][A-Za-z_]\w+"
        rb"|(?:\s|#[^\n]*\n)*node\s*:?\s*[{<]\s*name\s*:"
    ): "a GraphDef, which records no times; load the run metadata of a step and give this as graph=",
}
#: Nodes of the runtime, in no graph.
PSEUDO = frozenset({"_SOURCE", "_SINK"})


def _read(path: Path, *, graph: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of a step.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    graph : str or Path, optional
        A GraphDef, plain or gzipped; the names of fused and folded nodes differ from those executed.
    tolerant : bool or str
        Keep the complete part of a cut-off binary file.

    Raises
    ------
    FormatError
        If a file is malformed, or no task is left.
    GraphError
        If the dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''step_stats { dev_stats { device: "/device:CPU:0"
    ... node_stats { node_name: "a" timeline_label: "a = Relu(x)"
    ... all_start_micros: 100 op_end_rel_micros: 4 all_end_rel_micros: 5 }
    ... node_stats { node_name: "b" timeline_label: "b = Exp(a)"
    ... all_start_micros: 106 op_end_rel_micros: 4 all_end_rel_micros: 5 } } }'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.pbtxt").write_text(text)
    ...     graph = ss.load(Path(folder, "run.pbtxt"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('tensorflow', ['Relu', 'Exp'], [5e-06, 5e-06], 1)
    """
    if (other := _other(head_of(path))) is not None:
        raise FormatError(f"{path}: this is {other} (docs/formats/tensorflow.md)")
    report = ImportReport(path.name, "tensorflow")
    run = read_run(path, mends_if(path, tolerant, report))
    definitions = run.definitions + (_given(path, graph, run.definitions) if graph is not None else [])
    ops, kernels, copies = split(e for e in run.executions if e.name not in PSEUDO)
    if not ops and not kernels:
        raise FormatError(f"{path}: no node ran; record with trace_level=RunOptions.FULL_TRACE")
    result = joined(path, ops, definitions)
    _tell_origin(run, result, graph, report)
    _tell_dropped(run, copies, report)
    if kernels:
        _add_kernels(result, kernels, report)
    of_tensorflow(report, (node.op for node in result.nodes), run.producer)
    clock_ns = 1 if any(e.start_ns % 1000 for e in run.executions) else 1000
    return graph_of(path, result, run.threads, clock_ns, report)


RUNMETADATA = Reader(
    title="TensorFlow RunMetadata, binary (.pb) or text (.pbtxt)",
    dependencies="partition graphs in the file (else graph=, else labels)",
    times="step statistics, ns (us in old ones)",
    options={
        "graph": "a GraphDef, binary or text, for nodes that no partition graph in the file has",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: bool(_BINARY.match(head) or _TEXT.match(head)) or _other(head) is not None,
    read=_read,
)


def _other(head: bytes) -> str | None:
    """Return another TensorFlow format of a file, and why it is rejected."""
    return next((what for beginning, what in _OTHERS.items() if beginning.match(head)), None)


def _given(path: Path, graph: object, definitions: Sequence[Definition]) -> list[Definition]:
    file = given(path, "graph", graph, "a GraphDef")
    known = {node.name for node in definitions}
    number = max((node.graph for node in definitions), default=-1) + 1
    return [node for node in read_graph(file, number) if node.name not in known]


def _tell_origin(run: RunMetadata, result: Joined, graph: str | Path | None, report: ImportReport) -> None:
    """Report the origin of the dependencies, and the number of tasks with them."""
    report.facts.update(
        stats=len(run.executions) + run.without_time,
        graph_nodes=len(run.definitions),
        matched_tasks=result.matched,
    )
    own = {node.name for node in run.definitions}
    if graph is not None:
        given = sum(
            t.name not in own and n.graph >= 0 for t, n in zip(result.tasks, result.nodes, strict=True)
        )
        report.facts["matched_in_graph"] = given
        report.note(f"{given} of {len(result.tasks)} executed nodes were looked up in {Path(graph).name}.")
    missing = len(result.tasks) - result.matched
    report.doubt(
        f"{counted(missing, 'executed node')} in no graph: dependencies are those of the labels, without the "
        "control dependencies that TensorFlow added. Record with output_partition_graphs=True.",
        when=missing,
    )
    report.doubt("No dependencies at all were found.", when=missing and not result.edges)


def _tell_dropped(run: RunMetadata, copies: int, report: ImportReport) -> None:
    pseudo = sum(e.name in PSEUDO for e in run.executions)
    dropped = {
        "of the runtime's own nodes (_SOURCE, _SINK)": pseudo,
        "without a time": run.without_time,
        "of a GPU (stream:all, memcpy) that stand elsewhere, too": copies,
    }
    parts = [f"{counted(count, 'record')} {what}" for what, count in dropped.items() if count]
    report.note(f"Left out: {', '.join(parts)}.", when=parts)


def _add_kernels(result: Joined, kernels: Sequence[Execution], report: ImportReport) -> None:
    unowned = add_kernels(result, kernels)
    report.facts["kernels"] = len(kernels)
    report.note(
        f"{counted(len(kernels), 'GPU kernel')}, each after the op that starts it and in the order of its stream; what "
        "waits for one is not recorded, so that readers of its result depend on the start alone."
    )
    report.note(f"{counted(unowned, 'GPU kernel')} without an op that started before.", when=unowned)
