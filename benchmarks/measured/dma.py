"""DMA of the SW26010: each block size predicted from the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from measured.table import BANDWIDTH_BAR, Row, Table, Tables, read
from simsched.hwmodels.ldm.group import DmaCurve

#: Blocks that each kernel gets and puts a step.
STREAM = {"copy": (1, 1), "scale": (1, 1), "add": (2, 1), "triad": (2, 1)}


def dma(folder: Path) -> Tables:
    """DMA bandwidth by block size, at sizes left out of the curve."""
    frame = read(folder, "sw26010_swcandle_dma_stream.csv")
    own = frame[frame.dma_mode == "PE"].fillna({"stride_step_elems": 0})
    note = "each size between the smallest and the largest is left out and interpolated"
    for access, part in own.groupby("access"):
        rows = [
            row
            for step, group in part.groupby("stride_step_elems")
            for row in _left_out(group, f"step {step:g}")
        ]
        yield Table.of(f"DMA by block size, {access}, SW26010", "B/s", BANDWIDTH_BAR, rows, note)


def _left_out(group: pd.DataFrame, what: str) -> Iterator[Row]:
    group = group.sort_values("block_bytes")
    for index in group.index[1:-1]:
        known, asked = group.drop(index=index), group.loc[index]
        curve = DmaCurve(
            tuple(known.block_bytes.astype(float)), tuple(known.copy_MBps * 1e6), tuple(known.add_MBps * 1e6)
        )
        for kernel, (gets, puts) in STREAM.items():
            modelled = curve.stream_Bps(float(asked.block_bytes), gets, puts)
            yield (
                f"{kernel}, blocks of {asked.block_bytes} B, {what}",
                asked[f"{kernel}_MBps"] * 1e6,
                modelled,
            )


MAKERS = (dma,)
