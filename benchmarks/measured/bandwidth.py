"""Bandwidth by cores of machines of which only two counts, or a few, are given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from measured.table import Row, Table, Tables, machine, read

#: Most median absolute relative error of bandwidths between two given counts.
BETWEEN_BAR = 0.05
#: Nodes, clusters of a node and cores of a cluster of a Kunpeng 920, as its log lays them out.
NODES, CLUSTERS, CORES = 4, 6, 4


def triads_by_cores(folder: Path) -> Tables:
    """Triads on one socket of each machine; one core and all are given, besides cores and memory domains."""
    frame = read(folder, "kerncraft_triad_by_cores.csv").rename(columns={"triad_GBps": "GBps"})
    rows = [row for _, one in frame.groupby("machine", sort=False) for row in between(one)]
    note = "endpoints given: one core and all cores, memory domains; general sharpness"
    yield Table.of("triads by cores of a socket", "B/s", BETWEEN_BAR, rows, note)


def a64fx(folder: Path) -> Tables:
    """Streams on a core memory group of an A64FX; one core and all are given."""
    frame = read(folder, "a64fx_cmg_bandwidth_by_cores.csv").assign(domains_per_socket=1)
    frame = frame.assign(machine=frame.chip + " " + frame.kernel)
    rows = [row for _, one in frame.groupby("machine", sort=False) for row in between(one)]
    note = "endpoints given: one core and all cores; general sharpness"
    yield Table.of("streams by cores of a group, A64FX", "B/s", BETWEEN_BAR, rows, note)


def between(frame: pd.DataFrame) -> Iterator[Row]:
    """Return what is measured between one core and all of a machine, and what the two say of it."""
    one, every = frame.iloc[0], frame.iloc[-1]
    spec = (
        f"generic[cores={every.cores},domains={one.domains_per_socket},"
        f"core_bandwidth_Bps={float(one.GBps) * 1e9},bandwidth_Bps={float(every.GBps) * 1e9}]"
    )
    for row in frame.iloc[1:-1].itertuples():
        yield (
            f"{row.machine}, {row.cores} cores",
            row.GBps * 1e9,
            float(machine(spec).reach_Bps[row.cores]),
        )


def kunpeng(folder: Path) -> Tables:
    """Triads by placement on a Kunpeng 920: of one core, a cluster, a node and four cores apart."""
    frame = read(folder, "kunpeng920_triad_by_placement.csv")
    spread = frame[(frame.cores == CORES) & (frame.clusters_used == CORES)].iloc[0]
    chip = min(
        (machine(_kunpeng_spec(frame, round(k, 2))) for k in np.arange(0.6, 8, 0.05)),
        key=lambda one: abs(one.team_Bps(_placed(spread)) - spread.triad_GBps * 1e9),
    )
    given = {(1, 1), (CORES, 1), (CORES, CORES), (CLUSTERS * CORES, CLUSTERS)}
    rows = [
        (
            f"{row.cores} cores in {row.clusters_used} clusters of {row.nodes_used} nodes",
            row.triad_GBps * 1e9,
            chip.team_Bps(_placed(row)),
        )
        for row in frame.itertuples()
        if (row.cores, row.clusters_used) not in given
    ]
    given_text = f"1 core, 4 in one cluster, 24 of a node, 4 apart (sharpness {chip.memory.sharpness:.2f})"
    note = f"predicted; given: {given_text}"
    yield Table.of("triads by placement, Kunpeng 920", "B/s", BETWEEN_BAR, rows, note)


def _kunpeng_spec(frame: pd.DataFrame, sharpness: float) -> str:
    rates = {(row.cores, row.clusters_used): row.triad_GBps * 1e9 for row in frame.itertuples()}
    node_Bps = rates[CLUSTERS * CORES, CLUSTERS]
    return (
        f"generic[cores={NODES * CLUSTERS * CORES},domains={NODES},cores.per_tile={CORES},sharpness={sharpness},"
        f"core_bandwidth_Bps={rates[1, 1]},cluster_bandwidth_Bps={rates[CORES, 1]},bandwidth_Bps={NODES * node_Bps}]"
    )


def _placed(row: tuple) -> list[int]:
    """Return the cores of a placement: equal numbers in the first clusters of the first nodes."""
    clusters, cores = row.clusters_used // row.nodes_used, row.cores // row.clusters_used
    return [
        (node * CLUSTERS + cluster) * CORES + core
        for node in range(row.nodes_used)
        for cluster in range(clusters)
        for core in range(cores)
    ]


MAKERS = (triads_by_cores, a64fx, kunpeng)
