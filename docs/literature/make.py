"""Write the table of docs/literature.md: python docs/literature/make.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import simsched as ss
from simsched.graph import with_data
from simsched.policy.installed import policies_or_all
from simsched.traces.samples import sample_files

PAGE = Path(__file__).parent.with_suffix(".md")
BEGIN = "<!-- made by docs/literature/make.py -->"
END = "<!-- as far as here -->"
#: Beside the policies of the literature: a shared queue, and Graphi's central scheduler.
OURS = ("fifo", "critical-path")
#: Beyond these, lookahead, which costs the square of the executors, is left out.
MOST_TASKS = 1000

#: Kind of each tile task: seconds on a processor, and how many times as fast an accelerator is.
CHOLESKY = {"potrf": (4e-3, 2.0), "trsm": (8e-3, 8.0), "syrk": (8e-3, 16.0), "gemm": (16e-3, 24.0)}


def cholesky(tiles: int, kinds: tuple[int, int]) -> ss.TaskGraph:
    """Return the Cholesky factorization of tiles x tiles, on so many processors and accelerators; tiles of 4 MB."""
    writer: dict[tuple[int, int], int] = {}
    names: list[str] = []
    edges: list[tuple[int, int]] = []

    def add(kind: str, target: tuple[int, int], *reads: tuple[int, int]) -> None:
        edges.extend((writer[tile], len(names)) for tile in (target, *reads) if tile in writer)
        writer[target] = len(names)
        names.append(kind)

    for k in range(tiles):
        add("potrf", (k, k))
        for i in range(k + 1, tiles):
            add("trsm", (i, k), (k, k))
        for i in range(k + 1, tiles):
            add("syrk", (i, i), (i, k))
            for j in range(k + 1, i):
                add("gemm", (i, j), (i, k), (j, k))
    processors, accelerators = kinds
    table = [
        [s] * processors + [s / factor] * accelerators for s, factor in (CHOLESKY[name] for name in names)
    ]
    seconds = np.array(table) if accelerators else np.array(table)[:, 0]
    written = [before for before, _ in edges]
    return ss.TaskGraph.from_edges(
        seconds, edges, kinds=names, edge_bytes=4e6, edge_objects=written, name="cholesky"
    )


def layered(ratio: float, cores: int = 8, seed: int = 0) -> ss.TaskGraph:
    """Return 200 tasks in layers of 10, of unrelated seconds on each core; mean messages are `ratio` times as long."""
    rng = np.random.default_rng(seed)
    seconds = rng.uniform(0.5, 1.5, (200, 1)) * rng.uniform(0.5, 1.5, (200, cores))
    edges = sorted(
        {(int(i), j) for j in range(10, 200) for i in rng.integers(j - j % 10 - 10, j - j % 10, 3)}
    )
    return ss.TaskGraph.from_edges(seconds, edges, edge_bytes=rng.uniform(0, 2 * ratio * 1e6, len(edges)))


def cases() -> Iterator[tuple[str, ss.TaskGraph, str, str]]:
    """Yield the columns: a heading, a graph, a machine and a layout."""
    sent = "data=sent,link_Bps={},link_latency_s=1e-6"
    for name in ("cnn", "lstm4"):
        trace, execution = sample_files(name)
        graph = ss.load(trace, execution_trace=execution)
        yield f"{name}, no bytes", with_data(graph, None), "generic[cores=16]", "16x1"
        yield f"{name}, 10 GB/s", graph, f"generic[cores=16,{sent.format('1e10')}]", "16x1"
    yield "LSTM on KNL", ss.workload("lstm[size=small,layers=2,steps=8]"), "knl-7250[cores=16]", "16x1"
    yield "Cholesky, 16 cores", cholesky(12, (16, 0)), f"generic[cores=16,{sent.format('1e10')}]", "16x1"
    machine = f"generic[cores=10,kinds=each,{sent.format('1e10')}]"
    yield "Cholesky, 8 + 2", cholesky(12, (8, 2)), machine, "10x1"
    for ratio in (0.1, 1.0, 5.0):
        machine = f"generic[cores=8,kinds=each,{sent.format('1e6')}]"
        yield f"layers, CCR {ratio:g}", layered(ratio), machine, "8x1"


def makespans(graph: ss.TaskGraph, machine: str, layout: str) -> dict[str, float]:
    """Return the makespan of each policy that the machine allows."""
    target = ss.machine(machine)
    left_out = "lookahead" if graph.n_tasks > MOST_TASKS else ""
    policies = [one for one in policies_or_all([*OURS, "classics"], target) if one.name != left_out]
    found = ss.compare(graph, target, policies, layout=layout)
    return dict(zip(found["policy"], found["makespan_s"], strict=True))


def table() -> str:
    """Return the table, in Markdown: makespans over the shortest of the column."""
    columns = [(heading, makespans(graph, *where)) for heading, graph, *where in cases()]
    names = [str(one) for one in policies_or_all([*OURS, "classics"])]
    rows = ["| policy | " + " | ".join(heading for heading, _ in columns) + " |"]
    rows.append("| --- |" + " ---: |" * len(columns))
    cells = {name: " | ".join(_cell(name, found) for _, found in columns) for name in names}
    rows.extend(f"| `{name}` | {ratios} |" for name, ratios in cells.items())
    rows.append("| shortest, s | " + " | ".join(f"{min(found.values()):.4g}" for _, found in columns) + " |")
    return "\n".join([BEGIN, *rows, END])


def _cell(name: str, found: dict[str, float]) -> str:
    if name not in found:
        return "–"
    ratio = f"{found[name] / min(found.values()):.2f}"
    return f"**{ratio}**" if ratio == "1.00" else ratio


def refreshed(text: str) -> str:
    """Return the text of the page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


def main() -> None:
    """Write the table."""
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
