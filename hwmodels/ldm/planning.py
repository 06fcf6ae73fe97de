"""The plan of an operation: tiles, loop order, transfers, seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd

from simsched.drawing import Axes
from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.evaluation import Evaluation
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, Split, across_of, split, swapped, transposition
from simsched.hwmodels.ldm.search import fastest, fastest_order, refitted
from simsched.hwmodels.ldm.tiles import (
    VariableClass,
    buffer_B,
    classify,
    doubled,
    fewest_transfers,
    first_fit,
)
from simsched.hwmodels.ldm.times import Times, Transfer, hidden_s, serial, transfers

#: Tile of each loop of a CPE's part, and the tile loops, outermost first.
_Tiled = tuple[dict[str, int], tuple[str, ...]]


@dataclass(frozen=True)
class Plan:
    """The computation of a nest on one core group.

    Parameters
    ----------
    nest : LoopNest
        The operation.
    group : CoreGroup
        Where it runs.
    shares : Split
        A CPE's part.
    tiles : dict of str to int
        Tile of each loop of a CPE's part.
    order : tuple of str
        Tile loops, outermost first.
    classes : dict of str to VariableClass
        Class of each loop before any tile grew.
    buffers_B : dict of str to float
        LDM of each tensor, second buffers included.
    transfers : tuple of Transfer
        Moves of each tensor by one CPE.
    times : Times
        Seconds by part.
    transposed : tuple of str
        Inputs that are first copied with other dimensions in front; `nest` reads the copies.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import core_group, matmul, plan
    >>> found = plan(matmul(512, 512, 512), core_group(ss.machine("sw26010")))
    >>> found.ldm_B <= 65536, found.seconds == found.times.total_s, list(found.tiles)
    (True, True, ['m', 'n', 'k'])
    """

    nest: LoopNest
    group: CoreGroup
    shares: Split
    tiles: dict[str, int]
    order: tuple[str, ...]
    classes: dict[str, VariableClass]
    buffers_B: dict[str, float]
    transfers: tuple[Transfer, ...]
    times: Times
    transposed: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of the operation on the core group."""
        return self.times.total_s

    @property
    def ldm_B(self) -> float:
        """LDM in use on a CPE."""
        return sum(self.buffers_B.values())

    def table(self) -> pd.DataFrame:
        """Return one row per tensor.

        Returns
        -------
        DataFrame
            tensor; classes, "n sizevar, k compvar" of the loops that index it; tile, its extents by dimension; ldm_B,
            bytes of a CPE's buffers; within, the tile loop in which its transfer sits, empty for none; moves
            (transfers in swTVM's words), gets and puts of tiles by a CPE; blocks and block_B, number and bytes of the
            contiguous runs of a tile; bytes, moved by all CPEs; seconds, of these moves without overlap; by, "DMA" or
            "gload".
        """
        rows = []
        for tensor, moved in zip(self.shares.part.tensors, self.transfers, strict=True):
            loops = [loop for loop in self.nest.loops if loop in tensor.variables]
            rows.append(
                {
                    "tensor": tensor.name,
                    "classes": ", ".join(f"{loop} {self.classes[loop]}" for loop in loops),
                    "tile": " x ".join(f"{span:g}" for span in tensor.spans(self.tiles)),
                    "ldm_B": self.buffers_B[tensor.name],
                    "within": moved.within,
                    "moves": moved.moves,
                    "gets": moved.gets,
                    "puts": moved.puts,
                    "blocks": moved.blocks.count,
                    "block_B": moved.blocks.size_B,
                    "bytes": moved.moved_B * self.shares.cpes,
                    "seconds": moved.seconds,
                    "by": "gload" if moved.by_gload else "DMA",
                }
            )
        return pd.DataFrame(rows)

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw LDM occupancy and time by part; see `simsched.hwmodels.ldm.picture.draw`."""
        from simsched.hwmodels.ldm.picture import draw

        return draw(self, ax)


def plan(nest: LoopNest, group: CoreGroup) -> Plan:
    """Plan a nest on a core group, with its seconds.

    The nest is split over the CPEs (swTVM, Sec. 5.4). Tiles that fit the LDM and the order of the tile loops are
    those that take the least seconds, as `simsched.hwmodels.ldm.search.fastest` finds them from swTVM's first
    tiles. A CPE computes at the share of its peak that compiled loops reach. With double buffering, tensors of more
    than one tile take two buffers and DMA overlaps computation; it is left out where single buffers, whose tiles are
    larger, are faster. Where an input of a reduction lies so that each CPE would fetch short runs, and a copy with
    other dimensions first saves more than it costs, it is copied first (`transposed`).

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup

    Returns
    -------
    Plan

    Raises
    ------
    NestError
        If not even one element of each tensor fits the LDM of a CPE.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import convolution, core_group, plan
    >>> nest = convolution(channels=64, filters=64, size=56, kernel=3, padding=1)
    >>> plan(nest, core_group(ss.machine("sw26010"))).table()["tensor"].tolist()
    ['X', 'W', 'Y']
    """
    found = _searched(nest, group)
    across = across_of(nest, group)
    if not nest.reductions or not across:
        return found
    turned = _searched(swapped(nest, across, group), group)
    copies_s = sum(_searched(transposition(nest, tensor, group), group).seconds for tensor in across)
    if turned.seconds + copies_s >= found.seconds:
        return found
    return replace(
        turned,
        times=replace(turned.times, layout_s=copies_s),
        transposed=tuple(tensor.name for tensor in across),
    )


def plan_by_doubling(nest: LoopNest, group: CoreGroup) -> Plan:
    """Plan a nest as swTVM does: tiles and order of `simsched.hwmodels.ldm.tiles`, by numbers of transfers.

    It copies no input first. As in `plan`, single buffers are used where these are faster.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup

    Raises
    ------
    NestError
        If not even one element of each tensor fits the LDM of a CPE.

    Examples
    --------
    The worked example of swTVM's Sec. 5.2, on one CPE with single buffers:

    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import core_group, matmul, plan_by_doubling
    >>> lone = replace(core_group(ss.machine("sw26010")), cpes=1, mesh_columns=1, double_buffering=False)
    >>> found = plan_by_doubling(matmul(1, 1024, 1024), lone)
    >>> found.tiles, found.order, found.ldm_B / 1024
    ({'m': 1, 'n': 128, 'k': 64}, ('m', 'n', 'k'), 32.75)
    """
    return _faster(nest, group, _doubled)


def _searched(nest: LoopNest, group: CoreGroup) -> Plan:
    return _faster(nest, group, _of_least_seconds)


def _faster(nest: LoopNest, group: CoreGroup, tiled: Callable[[Split, CoreGroup], _Tiled]) -> Plan:
    """Return the faster of the plans with single and with double buffers."""
    shares = split(nest, group.cpes)
    one = group.buffered(double=False)
    single = planned(nest, one, *tiled(shares, one))
    if not group.double_buffering:
        return single
    try:
        double = planned(nest, group, *tiled(shares, group))
    except NestError:
        return single
    return double if double.seconds <= single.seconds else single


def _of_least_seconds(shares: Split, group: CoreGroup) -> _Tiled:
    """Return the choice of the program, which is planned for the stated numbers as far as its tiles fit."""
    tiles, order = _chosen(shares.part, group.stated or group, shares.cpes)
    evaluation = Evaluation(shares.part, group, shares.cpes)
    return refitted(evaluation, tiles, order) or _chosen(shares.part, group, shares.cpes)


@lru_cache(maxsize=1 << 14)
def _chosen(part: LoopNest, group: CoreGroup, cpes: int) -> _Tiled:
    return fastest(Evaluation(part, group, cpes), _first(part, group))


def _doubled(shares: Split, group: CoreGroup) -> _Tiled:
    first, twice = _first(shares.part, group), group.double_buffering
    tiles = doubled(shares.part, first, group.ldm_B, double_buffering=twice)
    return tiles, fewest_transfers(shares.part, tiles)


def _first(part: LoopNest, group: CoreGroup) -> dict[str, int]:
    twice = group.double_buffering
    return first_fit(part, group.ldm_B, preferred=group.preferred_elements, double_buffering=twice)


def planned(
    nest: LoopNest, group: CoreGroup, tiles: dict[str, int], order: tuple[str, ...] | None = None
) -> Plan:
    """Return the plan with given tiles of a CPE's part, whether they fit or not; see `plan`.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup
    tiles : dict of str to int
        Tile of each loop of a CPE's part.
    order : tuple of str, optional
        Tile loops, outermost first; the fastest that is found when not given.
    """
    twice = group.double_buffering
    shares = split(nest, group.cpes)
    part = shares.part
    if order is None:
        order = fastest_order(Evaluation(part, group, shares.cpes), tiles)
    moved = transfers(part, tiles, order, group, shares.cpes)
    times = serial(moved, group.compute_s(part.total_flops), group.spawn_join_s)
    if twice:
        times = replace(times, hidden_s=hidden_s(moved, times.compute_s + times.gload_s))
    return Plan(
        nest=nest,
        group=group,
        shares=shares,
        tiles=tiles,
        order=order,
        classes=classify(part, dict.fromkeys(part.loops, 1)),
        buffers_B={t.name: buffer_B(t, part, tiles, double_buffering=twice) for t in part.tensors},
        transfers=moved,
        times=times,
    )
