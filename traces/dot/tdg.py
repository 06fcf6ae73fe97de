"""Task dependency graphs of Nanos++: DOT files for drawing, in which sizes of nodes show times.

A node's diameter is that of a circle whose area is the task's time, over the smallest one: the width itself
(`--node-size=linear`), or the logarithm of e times it (`log`, the default). Times are therefore known as ratios only.

References
----------
Nanos++, src/plugins/instrumentation/tdg.cpp.
"""

from __future__ import annotations

import math
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph import ImportReport, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.loading import Reader, plain_name
from simsched.graph.recording import UNKNOWN
from simsched.text import counted
from simsched.traces.dot.statements import Dot, read_dot
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import real_number

_BEGINNING = re.compile(
    rb"\s*digraph\s*\{\s*graph\s*\[compound=true\];.{0,400}?\s-?[0-9]+"
    rb"\[(?:label=\"(?:Taskwait|Barrier)|style=\"filled\", color=\"black\", fillcolor=)",
    re.DOTALL,
)
#: Ids of tasks, and negative ones of taskwaits; the legend's begin with 0 or are words.
_TASK = re.compile(r"-?[1-9][0-9]{0,18}|0")
_SWATCH = re.compile(r"0[0-9]{1,9}")
_LEGEND = re.compile(r'<td bgcolor="([^"<>]{1,40})"[^<>]{0,80}></td>\s*<td>([^<>]{1,400})</td>')
#: Grey edges lead from a task to one that it created.
NESTING = "gray47"
#: As a logarithm, a width beyond this would be a ratio of more than a million.
MOST_LOG = 1 + math.log(1e6) / 2
MOST_WIDTH = 1e100
SIZES = ("linear", "log")
#: Bounds of `seconds`.
SECONDS = math.ulp(0.0), sys.float_info.max


def _read(path: Path, *, seconds: object = None, node_size: object = None) -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is no such file, or an option is invalid.
    GraphError
        If its edges form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''digraph {
    ... 1[fillcolor="red", width="1", height="1"]; 2[fillcolor="red", width="2", height="2"];
    ... 1 -> 2 [style="solid"]; subgraph cluster_1 { label="User functions:";
    ... funcs_table [label=<<table><tr><td bgcolor="red"></td><td>work</td></tr></table>>]; } }'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "graph.dot").write_text(text)
    ...     graph = ss.load(Path(folder, "graph.dot"), format="tdg", seconds=3.0)
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('tdg', ['work', 'work'], [0.3576087660663526, 2.6423912339336475], 1)
    """
    expected = "a finite number above zero"
    total_s = None if seconds is None else real_number(path, "seconds", seconds, *SECONDS, expected)
    size = _size(path, node_size)
    dot = read_dot(path, nodes=("label", "width", "fillcolor"), edges=("color", "lhead", "ltail", "style"))
    report = ImportReport(path.name, "tdg")
    tasks = [node for node in dot.nodes if _TASK.fullmatch(node)]
    if not tasks:
        raise FormatError(f"{path}: no node in it has a number, as tasks of Nanos++ have")
    ratios = _ratios(path, dot, tasks, size, report)
    return _graph(path, dot, tasks, _scaled(ratios, total_s, report), report)


TDG = Reader(
    title="Nanos++ task dependency graph (.dot)",
    dependencies="in the file",
    times="ratios from the sizes of nodes; seconds= gives their sum",
    options={
        "seconds": "sum of the tasks' durations, which the file does not tell; they are unknown when not given",
        "node_size": "log or linear, as Nanos++ was told by --node-size; found by the sizes when not given",
    },
    recognises=lambda head: _BEGINNING.match(head) is not None,
    read=_read,
)


def _size(path: Path, node_size: object) -> str:
    if node_size not in (None, *SIZES):
        raise FormatError(f"{path}: node_size is {shown(node_size)}; expected log or linear")
    return str(node_size or "")


def _ratios(path: Path, dot: Dot, tasks: list[str], size: str, report: ImportReport) -> list[float]:
    """Return the time of each task as a ratio, 0 for what is not a task; NaN for all where the sizes are unknown."""
    nodes = [dot.nodes[task] for task in tasks]
    widths = [
        0.0 if "label" in node else _width(path, task, node.get("width", "nan"))
        for task, node in zip(tasks, nodes, strict=True)
    ]
    drawn = [width for width, node in zip(widths, nodes, strict=True) if "label" not in node]
    if not any(drawn) or not all(map(math.isfinite, drawn)) or set(drawn) == {1.0}:
        report.note("the sizes of the nodes show no times: all are one or zero, or some are infinite")
        return [0.0 if "label" in node else math.nan for node in nodes]
    if not size:
        size = "linear" if max(drawn) > MOST_LOG else "log"
        report.note(
            f"sizes of nodes were taken as {size}, by the largest, {max(drawn):g}; node_size= says otherwise"
        )
    if size == "log" and max(drawn) > 300:
        raise FormatError(f"{path}: a width of {max(drawn):g} is not a logarithm; give node_size=linear")
    report.facts["node_size"] = size
    times = [w * w if size == "linear" else math.exp(2 * (w - 1)) for w in widths]
    return [0.0 if "label" in node else time for node, time in zip(nodes, times, strict=True)]


def _width(path: Path, task: str, text: str) -> float:
    try:
        width = float(text)
    except ValueError:
        width = -1.0
    # Nanos++ writes infinities where a task took no time.
    if math.isfinite(width) and not 0 <= width <= MOST_WIDTH:
        raise FormatError(f"{path}: node {task} has width {shown(text)}; expected a number of zero or more")
    return width


def _scaled(ratios: list[float], total_s: float | None, report: ImportReport) -> list[float]:
    ratio = sum(ratios)
    report.note(
        "durations are unknown: the file has ratios only; seconds= gives the sum that they are scaled to",
        when=total_s is None,
    )
    if total_s is None or math.isnan(ratio):
        return [0.0 if r == 0 else math.nan for r in ratios]
    return [r / ratio * total_s for r in ratios]


def _graph(path: Path, dot: Dot, tasks: list[str], seconds: list[float], report: ImportReport) -> TaskGraph:
    functions = _functions(dot)
    kinds = [
        a["label"].lower() if "label" in a else functions.get(a.get("fillcolor", ""), "task")
        for a in (dot.nodes[task] for task in tasks)
    ]
    report.facts["synchronizations"] = sum("label" in dot.nodes[task] for task in tasks)
    return TaskGraph.from_edges(
        seconds,
        _edges(path, dot, tasks, report),
        kinds=kinds,
        names=tasks,
        name=plain_name(path, ".dot", ".tdg"),
        recorded_on=UNKNOWN,
        report=report,
    )


def _edges(path: Path, dot: Dot, tasks: list[str], report: ImportReport) -> npt.NDArray[np.int64]:
    """Return the dependencies; an edge of a cluster is one for each of its nodes."""
    place = {node: i for i, node in enumerate(tasks)}
    task_of = np.array([place.get(node, -1) for node in dot.nodes], np.int64)
    whole = np.column_stack((task_of[np.array(dot.before)], task_of[np.array(dot.after)]))
    kept: npt.NDArray[np.bool_] = np.all(whole >= 0, axis=1)
    found: list[tuple[int, int]] = []
    nested = 0
    for number, attributes in dot.of_edges.items():
        nesting = attributes.get("color") == NESTING
        clusters = "ltail" in attributes or "lhead" in attributes
        if not (nesting or clusters) or not kept[number]:
            continue
        kept[number] = False
        if nesting:
            nested += 1
        else:
            firsts = dot.clusters.get(attributes.get("ltail", ""), {dot.before[number]: None})
            seconds = dot.clusters.get(attributes.get("lhead", ""), {dot.after[number]: None})
            budget().check(path, len(found) + len(firsts) * len(seconds), "edges")
            one, other = (
                [task for i in nodes if (task := int(task_of[i])) >= 0] for nodes in (firsts, seconds)
            )
            found += product(one, other)
    if nested:
        report.facts["tasks_inside_tasks"] = nested
        report.note(
            f"{counted(nested, 'task')} created inside other tasks; no edge keeps one behind the other"
        )
    return np.concatenate((whole[kept], np.array(found, np.int64).reshape(-1, 2)))


def _functions(dot: Dot) -> dict[str, str]:
    """Return the name of the function of each colour, from the legend: a table, or edges in older files."""
    found: dict[str, str] = {}
    # Several colours of one function are a chain that ends at its name.
    names: dict[str, str] = {}
    nodes = list(dot.nodes)
    hidden = [number for number, attributes in dot.of_edges.items() if attributes.get("style") == "invis"]
    for number in sorted(hidden, reverse=True):
        before, after = nodes[dot.before[number]], nodes[dot.after[number]]
        if _SWATCH.fullmatch(before):
            names[before] = names.get(after, after)
            found[dot.nodes[before].get("fillcolor", "")] = names[before]
    table = dot.nodes.get("funcs_table", {}).get("label", "")
    return found | {color: name.strip() for color, name in _LEGEND.findall(table) if name.strip()}
