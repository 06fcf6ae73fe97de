"""TensorFlow's RunMetadata: step statistics with nanoseconds, and the partition graphs that were executed.

Record it with ``RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)``; TensorFlow itself is not
needed to read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import FormatError
from simsched.graph.loading import HEAD_B, open_plain, read_bounded
from simsched.graph.report import ImportReport
from simsched.traces.shared.libraries import of_tensorflow
from simsched.traces.shared.options import TOLERANT, given, mends_if
from simsched.traces.tensorflow.graph import graph_of
from simsched.traces.tensorflow.join import joined
from simsched.traces.tensorflow.metadata import Run, read_graph, read_run
from simsched.traces.tensorflow.records import Definition, Execution
from simsched.traces.tensorflow.run import Joined, add_kernels, split

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

#: Three nested messages, field 1 each, and the name of a device.
_BINARY = re.compile(
    rb"\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]{0,1}[\x00-\x7f]/[\w:/.-]+"
)
_TEXT = re.compile(rb"(?:\s|#[^\n]*\n)*step_stats\s*:?\s*[{<]\s*dev_stats\s*:?\s*[{<]")
#: What TensorFlow writes, too, and what tells no times, or not of nodes: why it is refused.
_OTHERS = {
    re.compile(
        rb"\n[\x80-\xff]{0,4}[\x00-\x7f]\n[\x80-\xff]?[\x00-\x7f][\w./>-]+?\x12[\x01-\x7f][A-Za-z_]\w+"
        rb"|(?:\s|#[^\n]*\n)*node\s*:?\s*[{<]\s*name\s*:"
    ): "a GraphDef, which tells no times; load the run metadata of a step and give this as graph=",
    re.compile(
        rb"\n[\x80-\xff]{0,4}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f]/(?:host|device):"
    ): "the xplane.pb of TensorFlow 2's profiler, which is not read; its *.trace.json.gz is, as any Chrome trace",
}
#: Nodes of the runtime, in no graph.
PSEUDO = frozenset({"_SOURCE", "_SINK"})


class RunMetadataReader:
    """Reads TensorFlow's run metadata.

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

    title = "TensorFlow RunMetadata, binary (.pb) or text (.pbtxt)"
    dependencies = "partition graphs in the file (else graph=, else labels)"
    times = "step statistics, ns (us in old ones)"
    options = {  # noqa: RUF012 - the protocol's attribute
        "graph": "a GraphDef, binary or text, for nodes that no partition graph in the file has",
        "tolerant": TOLERANT,
    }

    def recognises(self, head: bytes) -> bool:
        """Tell by the statistics of a device at the beginning; graphs and profiles are refused with advice."""
        own = _BINARY.match(head) is not None or _TEXT.match(head) is not None
        return own or _other(head) is not None

    def read(self, path: Path, *, graph: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
        """Return the graph of a step.

        Parameters
        ----------
        path : Path
            The file, plain or gzipped.
        graph : str or Path, optional
            A GraphDef, plain or gzipped; the names of fused and folded nodes differ from those executed.
        tolerant : bool or str
            Keep what is complete of a cut-off binary file.

        Raises
        ------
        FormatError
            If a file is malformed, or no task is left.
        GraphError
            If the dependencies form a cycle.
        """
        with open_plain(path, lambda _: None) as file:
            if (other := _other(read_bounded(file, HEAD_B))) is not None:
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


RUNMETADATA = RunMetadataReader()


def _other(head: bytes) -> str | None:
    """Return what else of TensorFlow's a file is, and why it is refused."""
    return next((what for beginning, what in _OTHERS.items() if beginning.match(head)), None)


def _given(path: Path, graph: object, definitions: Sequence[Definition]) -> list[Definition]:
    file = given(path, "graph", graph, "a GraphDef")
    known = {node.name for node in definitions}
    number = max((node.graph for node in definitions), default=-1) + 1
    return [node for node in read_graph(file, number) if node.name not in known]


def _tell_origin(run: Run, result: Joined, graph: str | Path | None, report: ImportReport) -> None:
    """Say where the dependencies come from, and of how many tasks."""
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
    if missing:
        report.doubt(
            f"{missing} executed nodes are in no graph: their dependencies are those of their labels, without the "
            "control dependencies that TensorFlow added. Record with output_partition_graphs=True."
        )
    if missing and not result.edges:
        report.doubt("No dependencies at all were found.")


def _tell_dropped(run: Run, copies: int, report: ImportReport) -> None:
    pseudo = sum(e.name in PSEUDO for e in run.executions)
    dropped = {
        "records of the runtime's own nodes (_SOURCE, _SINK)": pseudo,
        "records without a time": run.without_time,
        "copies of GPU records (stream:all, memcpy)": copies,
    }
    told = [f"{count} {what}" for what, count in dropped.items() if count]
    if told:
        report.note(f"Left out: {', '.join(told)}.")


def _add_kernels(result: Joined, kernels: Sequence[Execution], report: ImportReport) -> None:
    unowned = add_kernels(result, kernels)
    report.facts["kernels"] = len(kernels)
    report.note(
        f"{len(kernels)} GPU kernels run after the op that starts them, in the order of their stream; what waits for "
        "one is not recorded, so that readers of their results depend on the start alone."
    )
    if unowned:
        report.note(f"{unowned} of them name no op that started before.")
