"""Logs of ninja (`.ninja_log`): each command of a build is a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.loading import Reader, plain_name
from simsched.text import counted
from simsched.traces.ninja.log import ALL, Command, Log
from simsched.traces.ninja.rules import Joined, found_by_compilers, rules_of
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import TOLERANT, given, mends_if, whole_number
from simsched.traces.shared.spans import Small, Whole
from simsched.traces.shared.timeline import in_order, packed, recording

Edges = Sequence[Sequence[int]]


def _recognises(head: bytes) -> bool:
    """Recognise the first line."""
    return head.startswith(b"# ninja log v")


def _read(
    path: Path,
    *,
    graph: str | Path | None = None,
    deps: str | Path | None = None,
    build: int | str | None = None,
    tolerant: bool | str = False,
) -> TaskGraph:
    r"""Return the graph of the commands of a build; options as in `options`.

    Raises
    ------
    FormatError
        If a file is malformed, the graph is of another build, or an option is invalid.
    GraphError
        If dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = "# ninja log v7\n0\t40\t1\ta.o\t1f\n0\t55\t1\tb.o\t2e\n56\t90\t1\tapp\t3d\n"
    >>> graph = '''digraph ninja { a [label="a.o"]; b [label="b.o"]; e [label="app"]
    ... l [label="link", shape=ellipse]; a -> l; b -> l; l -> e }'''
    >>> graph = ss.load(text.encode(), graph=graph.encode())
    >>> graph.durations_s.tolist(), graph.kinds.to_list(), graph.n_edges
    ([0.04, 0.055, 0.034], ['.o', '.o', 'link'], 2)
    """
    report = ImportReport(path.name, "ninja")
    log = Log(path, mends_if(path, tolerant, report))
    number = _build(path, build, log, report, known=graph is not None)
    commands = log.commands(number)
    lanes = packed(*_times_ns(commands))
    if graph is None:
        if deps is not None:
            raise FormatError(f"{path}: deps= needs graph=, the steps that wrote and read those files")
        edges, kinds = in_order(lanes).tolist(), [""] * len(commands)
        report.doubt(
            "a log of ninja records no dependencies: edges are the order on lanes inferred from overlaps, a chain "
            "each; graph= takes what ninja -t graph prints"
        )
    else:
        steps = given(path, "graph", graph, "what ninja -t graph prints")
        edges, kinds = _joined(path, commands, steps, deps, report)
    return _graph(path, commands, edges, kinds, None if number is None else lanes, report)


NINJA = Reader(
    title="log of a ninja build (.ninja_log)",
    dependencies="ninja -t graph (graph=) and .ninja_deps (deps=); without them order on inferred lanes",
    times="ms",
    options={
        "graph": "what ninja -t graph prints, in a file: the steps and their files",
        "deps": "the file .ninja_deps, or what ninja -t deps prints: headers that compilers read; needs graph=",
        "build": "which build of the log, from 1, or all: each output as it was built last; the last when not given",
        "tolerant": TOLERANT,
    },
    recognises=_recognises,
    read=_read,
)


def _build(path: Path, build: object, log: Log, report: ImportReport, *, known: bool) -> int | None:
    """Return the number of the build to take, None for all of them."""
    report.facts["builds"] = 1 if log.anew else len(log)
    if build == ALL or (log.anew and build is None):
        if not known:
            raise FormatError(
                f"{path}: {'ninja wrote this log anew: its builds are not known' if log.anew else 'build=all'}; "
                "graph= (what ninja -t graph prints) has to say what comes before what"
            )
        report.note("each output is taken as it was built last, in builds at different times: no recording")
        return None
    number = len(log) if build is None else build
    report.note(
        f"the log has {len(log)} builds; the last one was taken, build= chooses others",
        when=len(log) > 1 and not build,
    )
    allowed = range(1, len(log) + 1)
    return whole_number(path, "build", number, allowed, f"all, or one of the builds 1 to {len(log)}")


def _joined(
    path: Path, commands: Sequence[Command], graph: Path, deps: str | Path | None, report: ImportReport
) -> tuple[Edges, list[str]]:
    """Return edges and the rules' names."""
    joined = Joined(commands, rules_of(graph))
    unknown = joined.kinds.count("")
    if unknown == len(commands):
        raise FormatError(
            f"{graph}: it has none of the outputs in {path.name}, as {shown(commands[0].outputs[0])}; is it of another "
            "build?"
        )
    report.facts["commands_without_step"] = unknown
    without = counted(unknown, "command of the log has", "commands of the log have")
    report.note(f"{without} no step in graph=, and no edges", when=unknown)
    if deps is not None:
        read = given(path, "deps", deps, ".ninja_deps")
        for output, inputs in found_by_compilers(read):
            joined.read_by(output, inputs, read)
    else:
        report.note(
            "without deps= (.ninja_deps), headers that steps generate count only where build.ninja names them"
        )
    return joined.edges(), joined.kinds


def _graph(
    path: Path,
    commands: Sequence[Command],
    edges: Edges,
    kinds: Sequence[str],
    lanes: Small | None,
    report: ImportReport,
) -> TaskGraph:
    starts_ns, finishes_ns = _times_ns(commands)
    report.facts["outputs"] = sum(len(command.outputs) for command in commands)
    run = None
    if lanes is not None:
        report.note("ninja does not tell which job ran a command: lanes are as few as its overlaps need")
        names = [f"job {i}" for i in range(1, int(lanes.max()) + 2)]
        run = recording(path, starts_ns, finishes_ns, lanes, names, own_clock=True)
    return TaskGraph.from_edges(
        (finishes_ns - starts_ns) / 1e9,
        np.array(edges, np.int64).reshape(-1, 2),
        kinds=[
            kind or PurePosixPath(command.outputs[0]).suffix or "file"
            for kind, command in zip(kinds, commands, strict=True)
        ],
        names=[command.outputs[0] for command in commands],
        name=plain_name(path, ".ninja_log") or "ninja",
        report=report,
        recording=run,
    )


def _times_ns(commands: Sequence[Command]) -> tuple[Whole, Whole]:
    times = np.array([(command.start_ms, command.end_ms) for command in commands], np.int64) * 1_000_000
    return times[:, 0], times[:, 1]
