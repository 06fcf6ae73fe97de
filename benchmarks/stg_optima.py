"""How far the policies are from the proven optima of the Standard Task Graph set.

    python benchmarks/stg_optima.py FOLDER

FOLDER holds `optima.csv` (graph, processors, optimal_makespan) and the graphs it names, unpacked.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

import simsched as ss

POLICIES = ("critical-path", "wavefront", "fifo", "fifo[order=lifo]", "fifo[order=random]")


def main(folder: Path) -> None:
    """Print the table."""
    with (folder / "optima.csv").open() as file:
        rows = list(csv.DictReader(file))
    print(
        f"{len(rows)} rows\n{'policy':<20} {'optimal':>8} {'below':>6} {'mean gap':>9} {'p90':>7} {'worst':>7}"
    )
    graphs = {name: ss.load(folder / name) for name in sorted({row["graph"] for row in rows})}
    for policy in POLICIES:
        gaps = np.array([gap(graphs[row["graph"]], policy, row) for row in rows])
        print(f"{policy:<20} {(gaps == 0).sum():>8} {(gaps < 0).sum():>6} {gaps.mean():>9.2%} "
              f"{np.percentile(gaps, 90):>7.2%} {gaps.max():>7.2%}")  # fmt: skip


def gap(graph: ss.TaskGraph, policy: str, row: dict[str, str]) -> float:
    """Return a policy's makespan over the optimum, minus 1."""
    makespan = ss.simulate(graph, f"generic[cores={row['processors']}]", policy).makespan_s
    return makespan / float(row["optimal_makespan"]) - 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
