"""Edges of StarPU's `dag.dot`: of tasks, of tags that tasks carry, of messages between MPI ranks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from simsched.errors import GraphError
from simsched.graph import ImportReport
from simsched.graph.contracting import Edge, contracted
from simsched.traces.dot.grammar import Dot
from simsched.traces.dot.statements import read_dot


def dag_edges(path: Path, jobs: Iterable[str], known: list[Edge], report: ImportReport) -> list[Edge]:
    """Return the edges of a `dag.dot` that are not known yet, as positions in `jobs`.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    jobs : iterable of str
        Ids of the jobs.
    known : list of pairs
        Edges that are known already.
    report : ImportReport
        Told how many there were.

    Raises
    ------
    FormatError
        If the file is not DOT text.
    GraphError
        If what is no task forms a cycle, or there are more edges than `contracting.MAX_EDGES`.
    """
    dot = read_dot(path, nodes=(), edges={"style"})
    index = {f"task_{job}": i for i, job in enumerate(jobs)}
    n = len(index)
    for name in dot.nodes:
        index.setdefault(name, len(index))
    names, pairs = list(index), ((index[a], index[b]) for a, b in _plain(dot))
    try:
        joined = contracted(pairs, [i < n for i in range(len(names))], called=lambda node: repr(names[node]))
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    found = sorted({(a, b) for a, b in joined if a != b} - set(known))
    report.facts.update(dag=path.name, dag_edges=len(dot.edges), added_by_dag=len(found))
    drawn = sum(name in dot.nodes for name in names[:n])
    # Control records are not drawn.
    if 2 * drawn < n:
        report.note(f"{path.name} draws {drawn} of {n} jobs alone; is it of the same run?")
    return found


def _plain(dot: Dot) -> list[tuple[str, str]]:
    """Return the edges; tags stand between their task and those that wait for it.

    StarPU draws a tag as a dashed ring, `tag -> task -> tag`: the task waits for what its tag waits for.
    """
    rings = {(edge.before, edge.after) for edge in dot.edges if edge.attributes.get("style") == "dashed"}
    owner = {a: b for a, b in rings if a.startswith("tag_") and b.startswith("task_")}
    edges = [(edge.before, edge.after) for edge in dot.edges]
    return [(a, owner.get(b, b)) for a, b in edges if owner.get(a) != b and (a, b) not in rings] + [
        (task, tag) for tag, task in owner.items()
    ]
