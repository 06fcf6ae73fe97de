"""Measured bandwidths beside the machine files of today's chips and the table of cores, as these are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from measured.bandwidth import CLUSTERS, CORES, NODES
from measured.table import machine, read
from simsched.costs.kernels.library import parameters
from simsched.costs.shapes.parts import Walk
from simsched.machine import Machine

#: Most median and 90th percentile of absolute relative errors, by what a row is.
BARS = {"cores": (0.06, 0.20), "placements": (0.08, 0.20), "nodes": (0.12, 0.20)}
#: Of kerncraft's and a CMG's kernels: what STREAM's triad would name over what they name.
NAMED = {"triad": 15 / 16, "load": 3 / 4, "copy": 9 / 8, "update": 3 / 4, "daxpy": 3 / 4}
#: STREAM's kernels with an element of 8 bytes: what they name, and what of it they write.
KERNELS = {
    "copy": Walk(1, 0, 16, 8),
    "scale": Walk(1, 1, 16, 8),
    "add": Walk(1, 1, 24, 8),
    "triad": Walk(1, 2, 24, 8),
}
#: Machine of each measured socket, in brackets as it was measured, and whether it is one of the files or of the table.
SOCKETS = {
    "SkylakeSP_Gold-6148": "xeon-6148x2",
    "SkylakeSP_Gold-6148_SNC": "xeon-6148x2[cluster=snc2]",
    "IcelakeSP_Platinum-8360Y": "xeon-8360y",
    "SapphireRapids_Platinum-8470": "xeon-8470",
    "Zen2_EPYC-7452": "epyc-7702[cluster=nps4,cores=32]",
    "SandyBridgeEP_E5-2680": "generic[core=sandy-bridge]",
    "IvyBridgeEP_E5-2690v2": "generic[core=ivy-bridge]",
    "HaswellEP_E5-2695v3": "generic[core=haswell]",
    "BroadwellEP_E5-2630v4": "generic[core=broadwell]",
    "CascadelakeSP_Gold-6248_SNC": "generic[core=cascade-lake,domains=2]",
    "Zen_EPYC-7451": "generic[core=zen,domains=4]",
    "ARMv8_ThunderX2-CN9980": "generic[core=thunderx2]",
}
#: Machines whose files have their ends, and the label of the table's cores.
FIT = ("sandy-bridge", "haswell", "thunderx2")


@dataclass(frozen=True)
class Row:
    """A measured bandwidth and the modelled one; whether the file has it, and by which bar it is scored."""

    what: str
    measured_Bps: float
    modelled_Bps: float
    given: bool = False
    bar: str = "cores"

    @property
    def error(self) -> float:
        """Modelled over measured, less 1."""
        return self.modelled_Bps / self.measured_Bps - 1


@dataclass
class Chip:
    """What was measured of a machine.

    Parameters
    ----------
    name, label, has : str
        Machine; `fit`, `endpoints given` or `predicted`; which of the rows its file has.
    rows : list of Row
    """

    name: str
    label: str
    has: str
    rows: list[Row] = field(default_factory=list)

    def errors(self, bar: str = "", *, given: bool | None = None) -> np.ndarray:
        """Return absolute errors, of the rows of a bar, or of those that the file has or has not."""
        return np.array(
            [
                abs(row.error)
                for row in self.rows
                if (not bar or row.bar == bar) and (given is None or row.given == given)
            ]
        )


def chips(folder: Path) -> list[Chip]:
    """Return the machines of today, then the cores of the table that were measured."""
    listed = tomllib.loads((Path(__file__).with_suffix(".toml")).read_text("utf-8"))["machine"]
    found = {one["name"]: Chip(one["name"], one["label"], one["has"]) for one in listed}
    for name, frame in read(folder, "kerncraft_triad_by_cores.csv").groupby("machine", sort=False):
        spec = SOCKETS[str(name)]
        chip = _chip(found, spec)
        chip.rows += _by_cores(spec, str(name), frame)
    found["a64fx"].rows += _cmg(folder)
    found["kunpeng-920"].rows += _placements(folder)
    for one in listed:
        found[one["name"]].rows += [_node(one["name"], row) for row in one.get("rows", ())]
    return list(found.values())


def _chip(found: dict[str, Chip], spec: str) -> Chip:
    name = spec.partition("[")[0]
    if name != "generic":
        return found[name]
    core = spec.removeprefix("generic[core=").removesuffix("]").partition(",")[0]
    label = "fit" if core in FIT else "endpoints given"
    has = "triads of one core and of all" + ("; sharpness from counts between" if core in FIT else "")
    return found.setdefault(spec, Chip(spec, label, has))


def _by_cores(spec: str, name: str, frame: pd.DataFrame) -> Iterator[Row]:
    """Yield triads by cores of a socket: of one and all, which the files have, and between."""
    chip, ends = machine(spec), {int(frame.cores.iloc[0]), int(frame.cores.iloc[-1])}
    for row in frame.itertuples():
        given = row.cores in ends
        what = f"{name}, {row.cores} cores"
        yield Row(what, row.triad_GBps * 1e9 * NAMED["triad"], _of(chip, range(row.cores)), given)


def _cmg(folder: Path) -> Iterator[Row]:
    """Yield all kernels on a core memory group; the file has its triads."""
    for row in read(folder, "a64fx_cmg_bandwidth_by_cores.csv").itertuples():
        measured = row.GBps * 1e9 * NAMED[row.kernel]
        modelled = _of(machine("a64fx"), range(row.cores))
        yield Row(f"{row.kernel}, {row.cores} cores of a group", measured, modelled, row.kernel == "triad")


def _placements(folder: Path) -> Iterator[Row]:
    """Yield triads by placement; the file has four of them."""
    given = {(1, 1), (CORES, 1), (CORES, CORES), (CLUSTERS * CORES, CLUSTERS)}
    for row in read(folder, "kunpeng920_triad_by_placement.csv").itertuples():
        what = f"{row.cores} cores in {row.clusters_used} clusters of {row.nodes_used} nodes"
        known = (row.cores, row.clusters_used) in given
        yield Row(what, row.triad_GBps * 1e9, _of(machine("kunpeng-920"), _placed(row)), known, "placements")


def _placed(row: tuple) -> list[int]:
    """Return equal numbers of cores in the first clusters of the first nodes."""
    clusters, cores = row.clusters_used // row.nodes_used, row.cores // row.clusters_used
    firsts = [node * CLUSTERS + cluster for node in range(NODES) for cluster in range(clusters)]
    return [first * CORES + core for first in firsts[: row.clusters_used] for core in range(cores)]


def _node(name: str, row: dict) -> Row:
    chip = machine(name)
    modelled = _of(chip, range(row.get("cores", chip.n_cores)))
    if (kernel := row.get("kernel")) is not None:
        # The op of that kernel, as the kernel model has it: a store fetches its line first, on most chips.
        work, memory = KERNELS[kernel].works(parameters())[0], chip.memory
        modelled *= memory.moved_over_named * work.named_B / memory.moving_B(work.named_B, work.moved_B)
    return Row(row["what"], row["GBps"] * 1e9, modelled, row.get("given", False), row.get("bar", "cores"))


def _of(chip: Machine, cores: Sequence[int]) -> float:
    return float(chip.team_Bps(list(cores)))
