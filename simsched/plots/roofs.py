"""What one core, a tile, a memory domain and a whole machine can reach: the lines of a roofline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simsched.machine import machine as machine_of

if TYPE_CHECKING:
    import pandas as pd

    from simsched.machine import Machine


def roofs_frame(machine: str | Path | Machine) -> pd.DataFrame:
    """Return what parts of a machine can compute and move, as its file has it.

    Parameters
    ----------
    machine : str, Path or Machine
        As `simsched.machine` takes it.

    Returns
    -------
    DataFrame
        One row a part and level of memory, the smallest part first: part ("one core", "tile of 2 cores", "domain of
        24 cores", "all 68 cores"), cores, level (the memory's name, or "L2"), peak_flops (FP32 operations a second),
        bandwidth_Bps. A part that is one core, or the whole machine, is not repeated; the L2 stands where the file
        says what it delivers, for whole tiles.

    Examples
    --------
    >>> roofs_frame("generic[cores=4]")["part"].tolist()
    ['one core', 'all 4 cores']
    """
    import pandas as pd

    target = machine_of(machine)
    rows = []
    for cores, part in _parts(target).items():
        one = {"part": part, "cores": cores, "peak_flops": cores * target.peak_flops}
        rows.append({**one, "level": target.memory.name, "bandwidth_Bps": _memory_Bps(target, cores)})
        if target.l2_bandwidth_Bps is not None and cores % target.cores_per_tile == 0:
            tiles = cores // target.cores_per_tile
            rows.append({**one, "level": "L2", "bandwidth_Bps": tiles * target.l2_bandwidth_Bps})
    return pd.DataFrame(rows)[["part", "cores", "level", "peak_flops", "bandwidth_Bps"]]


def _parts(machine: Machine) -> dict[int, str]:
    """Return the names of the parts by their cores, ascending; of those of one size that named last below."""
    domain, tile = int(np.bincount(machine.structure.domain_of).max()), machine.cores_per_tile
    parts = {tile: f"tile of {tile} cores", domain: f"domain of {domain} cores"}
    parts |= {machine.n_cores: f"all {machine.n_cores} cores", 1: "one core"}
    return dict(sorted(parts.items()))


def _memory_Bps(machine: Machine, cores: int) -> float:
    """Return the bytes a second that so many neighbouring cores move together."""
    if cores == 1:
        return machine.one_core_Bps
    crowded = cores * machine.core_bandwidth_Bps / machine.tile_slowdown
    return min(float(machine.reach_Bps[cores]), crowded)
