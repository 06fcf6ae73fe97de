"""Times of a cache line for a machine of sockets, taken from a machine of any structure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simsched.hwmodels.preset import Preset, Table, number

#: From near to far; a time that the preset does not know is that of the next nearer one that it does.
NEAR_TO_FAR = ("same_tile", "same_l3", "same_socket", "other_socket")


def times_of(preset: Preset) -> Table:
    """Return the times of `SocketsTable`, each marked as taken from the preset or assumed from it."""
    structure = preset.stated["structure"]
    if structure["kind"] == "sockets":
        known = {key: preset.taken(structure[key]) for key in NEAR_TO_FAR if key in structure}
    else:
        known = _measured(preset)
    times = dict(known)
    for nearer, key in pairwise(NEAR_TO_FAR):
        if key not in times and nearer in times:
            factor = 2 if key == "other_socket" else 1
            why = f"as {nearer}" if factor == 1 else f"twice {nearer}, as it has one socket"
            times[key] = preset.assumed(factor * times[nearer]["value"], times[nearer]["unit"], why)
    for key, farther in zip(NEAR_TO_FAR[-2::-1], NEAR_TO_FAR[:0:-1], strict=True):
        if key not in times and farther in times:
            times[key] = preset.assumed(times[farther]["value"], times[farther]["unit"], f"as {farther}")
    return times


def _measured(preset: Preset) -> Table:
    """Return the median times of another structure: within a tile, and between tiles."""
    machine = preset.machine
    seconds, tile = machine.transfer_s(0), machine.structure.tile_of
    groups = {"same_tile": seconds[1:][tile[1:] == tile[0]], "same_l3": seconds[tile != tile[0]]}
    return {
        key: number(
            float(np.median(values)) * 1e9, "ns", f"taken from {preset.name}: median from core 0", "low"
        )
        for key, values in groups.items()
        if values.size
    } or {"same_l3": preset.assumed(0.0, "ns", "it has one core")}
