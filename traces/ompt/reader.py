"""OpenMP: a run's tasks, as written by a tool on the OMPT interface.

The tool comes with the project, in `traces/recorders/ompt`: build it there with `make`, then::

    OMP_TOOL_LIBRARIES=./libompt_jsonl.so SIMSCHED_OMPT=run.jsonl ./program
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.contracting import contracted
from simsched.graph.loading import Reader, plain_name
from simsched.graph.report import KINDS_ARE
from simsched.multimap import multimap
from simsched.text import counted
from simsched.traces.ompt.events import Log, read_log
from simsched.traces.ompt.run import Node, TaskRun
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import TOLERANT, given, mends_if
from simsched.traces.shared.places import lines
from simsched.traces.shared.timeline import numbered, recording

_FIRST = re.compile(rb'\s*\{\s*"ev"\s*:\s*"(?:tool|thread|create|sched|depend|parallel|implicit|sync)"')


def _read(path: Path, *, names: str | Path | None = None, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of the explicit tasks that ran.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    names : str or Path, optional
        A text file of lines `ADDRESS NAME`; an address is a `codeptr` of the file, or its `at`.
    tolerant : bool or str
        Whether lines that are cut off are skipped.

    Raises
    ------
    FormatError
        If a file is malformed, or no explicit task ran.
    GraphError
        If the order is impossible.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"ev": "tool", "version": 1, "clock": "ns"}
    ... {"ev": "create", "task": 2, "parent": 1, "flags": 4, "has_dep": 1, "tid": 0, "ns": 100}
    ... {"ev": "depend", "task": 2, "deps": [["0x9", 3]]}
    ... {"ev": "create", "task": 3, "parent": 1, "flags": 4, "has_dep": 1, "tid": 0, "ns": 200}
    ... {"ev": "depend", "task": 3, "deps": [["0x9", 3]]}
    ... {"ev": "sched", "prior": 1, "status": 7, "next": 2, "tid": 0, "ns": 300}
    ... {"ev": "sched", "prior": 2, "status": 1, "next": 3, "tid": 0, "ns": 400}
    ... {"ev": "sched", "prior": 3, "status": 1, "next": 1, "tid": 0, "ns": 600}
    ... {"ev": "end", "lost_B": 0, "ns": 700}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "run.jsonl").write_text(text)
    ...     graph = ss.load(Path(folder, "run.jsonl"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('ompt', ['task', 'task'], [1e-07, 2e-07], 1)
    """
    report = ImportReport(path.name, "ompt", {KINDS_ARE: "functions"})
    mend = mends_if(path, tolerant, report)
    log = read_log(path, lines(path, mend), mend)
    labels = log.places | _names(path, names)
    run = TaskRun(path, log)
    _describe(report, log, run)
    return _graph(path, run, labels, report)


OMPT = Reader(
    title="OpenMP tasks recorded through OMPT (.jsonl)",
    dependencies="from depend clauses, taskwait, taskgroup, barriers",
    times="in the file, ns",
    options={
        "names": "a text file of lines ADDRESS NAME: what the tasks of each address of code are called",
        "tolerant": TOLERANT,
    },
    recognises=lambda head: _FIRST.match(head) is not None,
    read=_read,
)


def _names(path: Path, names: object) -> dict[str, str]:
    if names is None:
        return {}
    file, found = given(path, "names", names, "a text file"), dict[str, str]()
    for number, line in lines(file):
        if line.strip():
            address, *name = line.split(maxsplit=1)
            if not name:
                raise FormatError(f"{file}: line {number} is {shown(line)}; expected ADDRESS NAME")
            found[address] = name[0].strip()
    return found


def _graph(path: Path, run: TaskRun, labels: Mapping[str, str], report: ImportReport) -> TaskGraph:
    ends, edges = _resolved(run)
    kept = _kept(run, edges, ends)
    nodes = [node for node, stays in zip(run.nodes, kept, strict=False) if stays]
    if not any(node.task for node in nodes):
        raise FormatError(
            f"{path}: no explicit task ran; are there none, or did the recorder die before them?"
        )
    index = {i: k for k, i in enumerate(i for i, stays in enumerate(kept) if stays)}
    pieces = sum(node.task is not None for node in nodes)
    report.facts.update(pieces=pieces, joins=len(nodes) - pieces)
    kinds = [_kind(node, labels) for node in nodes]
    return TaskGraph.from_edges(
        [(node.finish_ns - node.start_ns) / 1e9 for node in nodes],
        [(index[a], index[b]) for a, b in contracted(edges, kept, budget().most(path, "edges"))],
        kinds=kinds,
        names=[_name(node, kind) for node, kind in zip(nodes, kinds, strict=True)],
        scopes=[
            f"parallel {node.task.region.number}" if node.task and node.task.region.number else ""
            for node in nodes
        ],
        name=plain_name(path, ".jsonl"),
        report=report,
        recording=recording(
            path,
            [node.start_ns for node in nodes],
            [node.finish_ns for node in nodes],
            *numbered([f"thread {node.tid}" for node in nodes]),
        ),
    )


def _resolved(run: TaskRun) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of nodes, with those of tasks that never ran, and all edges between nodes."""
    ends: dict[int, int] = {}
    n = len(run.nodes)
    edges = []
    for task in run.tasks:
        if task.pieces:
            ends[task.index] = task.pieces[-1]
        else:
            # Tasks that wait for it inherit its dependencies.
            ends[task.index] = n
            edges += [(ref, n) for ref in task.after]
            n += 1
    edges += run.edges
    return n, [(ref if ref >= 0 else ends[~ref], node) for ref, node in edges]


def _kept(run: TaskRun, edges: list[tuple[int, int]], n: int) -> list[bool]:
    """Keep all pieces of tasks, and the empty nodes that precede one of them."""
    before = multimap((b, a) for a, b in edges)
    waiting = [i for i, node in enumerate(run.nodes) if node.task]
    useful = set(waiting)
    while waiting:
        for a in before.get(waiting.pop(), ()):
            if a not in useful:
                useful.add(a)
                waiting.append(a)
    return [i in useful and i < len(run.nodes) for i in range(n)]


def _kind(node: Node, labels: Mapping[str, str]) -> str:
    if node.task is None or node.task.explicit is None:
        return node.what
    code = node.task.explicit.at
    place = labels.get(code, code)
    return labels.get(place, place) or "task"


def _name(node: Node, kind: str) -> str:
    if node.task is None or node.task.explicit is None:
        return f"{kind} at {node.finish_ns} ns"
    part = f" part {node.part}" if len(node.task.pieces) > 1 else ""
    return f"{kind} {node.task.explicit.task}{part}"


def _describe(report: ImportReport, log: Log, run: TaskRun) -> None:
    explicit = [task for task in run.tasks if task.explicit]
    at_once = "all" if run.undeferred == len(explicit) else run.undeferred
    unfinished = sum(not task.done for task in explicit)
    report.facts.update(
        unit="ns",
        explicit_tasks=len(explicit),
        threads=len({event.tid for event in log.events}),
    )
    report.note(
        "only explicit tasks are tasks here: what threads did outside them (loops, serial code) is not recorded"
    )
    for wrong, sentence in (
        (
            unfinished,
            f"{counted(unfinished, 'task')} did not finish; what was done last is left out, dependencies go through",
        ),
        (
            run.undeferred,
            f"{counted(at_once, 'task')} ran at once where created, as in a team of one thread; that order is not kept",
        ),
        (run.exclusive, f"{counted(run.exclusive, 'task')} of mutexinoutset, which edges cannot say"),
        (
            not any(event.ev == "sync" for event in log.events),
            "the order that taskwait, taskgroup and barriers impose is not recorded",
        ),
        (
            "version" in log.tool and not log.complete,
            "the recorder did not reach its end; the last events are missing",
        ),
        (log.lost_B, f"the recorder could not write {log.lost_B} bytes; was the disk full?"),
        (
            log.tool.get("dependences", 5) != 5,
            "the OpenMP runtime does not tell all dependencies (ompt_set_always is 5); edges may be missing",
        ),
    ):
        report.note(sentence, when=wrong)
