"""Seconds of DMA by block size, from measured streams."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from simsched.errors import MachineError

#: Bytes of a block, and its seconds.
Point = tuple[float, float]


@dataclass(frozen=True)
class DmaCurve:
    """Time that one block takes of the memory controller when many CPEs move blocks of the same size at once.

    A copy gets and puts each block once, an addition gets two blocks and puts one; so both streams together tell a get
    from a put. More bytes never take less time, nor do they move at a lower rate: neighbouring points that say
    otherwise, which is noise, are taken together (geometric means of sizes and of seconds). Between two points a block
    takes a start-up plus its bytes at a rate, both from these two; below the first the time stays, above the last the
    rate of the last pair goes on.

    Parameters
    ----------
    block_B : sequence of float
        Measured block sizes, ascending.
    copy_Bps, add_Bps : sequence of float
        Bandwidth of all CPEs together, bytes of gets and puts, of copy (1 get, 1 put) and addition (2 gets, 1 put).

    Raises
    ------
    MachineError
        If there are fewer than two points, sizes do not ascend, or the two streams contradict each other.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import DmaCurve
    >>> curve = DmaCurve(block_B=(128.0, 1024.0), copy_Bps=(1e10, 2e10), add_Bps=(1e10, 2e10))
    >>> round(curve.stream_Bps(1024.0, gets=1, puts=1) / 1e9, 6), round(curve.get_s(128.0) * 1e9, 6)
    (20.0, 12.8)
    """

    block_B: tuple[float, ...]
    copy_Bps: tuple[float, ...]
    add_Bps: tuple[float, ...]
    gets: tuple[Point, ...] = field(init=False)
    puts: tuple[Point, ...] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.block_B
        if not 2 <= len(sizes) == len(self.copy_Bps) == len(self.add_Bps):
            raise MachineError(
                f"a DMA curve has {len(sizes)} block sizes, {len(self.copy_Bps)} rates of copy and "
                f"{len(self.add_Bps)} of addition; expected as many of each, at least 2"
            )
        if sizes[0] <= 0 or any(b <= a for a, b in pairwise(sizes)):
            raise MachineError(f"block sizes {sizes} of a DMA curve do not ascend from above 0")
        if (least := min(*self.copy_Bps, *self.add_Bps)) <= 0:
            raise MachineError(f"a DMA curve has a bandwidth of {least:g} B/s; expected above zero")
        copies = [2 * b / r for b, r in zip(sizes, self.copy_Bps, strict=True)]
        additions = [3 * b / r for b, r in zip(sizes, self.add_Bps, strict=True)]
        gets = [add - copy for add, copy in zip(additions, copies, strict=True)]
        puts = [copy - get for get, copy in zip(gets, copies, strict=True)]
        for size, get, put in zip(sizes, gets, puts, strict=True):
            if min(get, put) <= 0:
                raise MachineError(
                    f"copy and addition contradict each other at blocks of {size:g} B: a get would take {get:g} s, "
                    f"a put {put:g} s"
                )
        object.__setattr__(self, "gets", growing(sizes, gets))
        object.__setattr__(self, "puts", growing(sizes, puts))

    def get_s(self, block_B: float) -> float:
        """Seconds that a get of one block takes of the controller."""
        return _affine(block_B, self.gets)

    def put_s(self, block_B: float) -> float:
        """Seconds that a put of one block takes of the controller."""
        return _affine(block_B, self.puts)

    def in_place(self) -> DmaCurve:
        """Return the curve whose puts take as long as gets."""
        sizes = tuple(size for size, _ in self.gets) if len(self.gets) > 1 else self.block_B
        rates = tuple(size / self.get_s(size) for size in sizes)
        return DmaCurve(sizes, rates, rates)

    def stream_Bps(self, block_B: float, gets: int, puts: int) -> float:
        """Return the bandwidth of all CPEs in a stream of `gets` and `puts` blocks a step."""
        return (gets + puts) * block_B / (gets * self.get_s(block_B) + puts * self.put_s(block_B))


def growing(sizes_B: Sequence[float], seconds: Sequence[float]) -> tuple[Point, ...]:
    """Return points of which the larger takes at least as long, and no longer than its bytes are more.

    Neighbours that contradict this are replaced by one point at their geometric means, until none do; each measured
    point keeps its weight.
    """
    # Sums of logarithms of size and seconds, and how many points they are of.
    points = [(math.log(size), math.log(time), 1) for size, time in zip(sizes_B, seconds, strict=True)]
    while len(points) > 1 and (at := _contradiction(points)) is not None:
        points[at : at + 2] = [tuple(map(sum, zip(*points[at : at + 2], strict=True)))]  # type: ignore[list-item]
    return tuple((math.exp(size / n), math.exp(time / n)) for size, time, n in points)


def _contradiction(points: Sequence[tuple[float, float, int]]) -> int | None:
    """Return the first point after which time falls, or grows more than the size."""
    for at, ((size, time, n), (next_size, next_time, next_n)) in enumerate(pairwise(points)):
        more = next_time / next_n - time / n
        if not -1e-9 <= more <= next_size / next_n - size / n + 1e-9:
            return at
    return None


def _affine(x: float, points: Sequence[Point]) -> float:
    first_x, first_y = points[0]
    if len(points) == 1:
        return first_y * max(x / first_x, 1.0)
    if x <= first_x:
        return first_y
    at = min(bisect_right(points, (x, math.inf)), len(points) - 1)
    (x0, y0), (x1, y1) = points[at - 1 : at + 1]
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0)
