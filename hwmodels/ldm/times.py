"""DMA transfers of a plan, and the seconds that they, the computation and both together take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.nest import LoopNest, Tensor, Tiles, distinct, moves, placement, trips


@dataclass(frozen=True)
class Blocks:
    """Contiguous runs of memory that make up a tile.

    Parameters
    ----------
    count : float
        Runs of a tile, on average over the tiles.
    size_B : float
        Bytes of one, on average.
    """

    count: float
    size_B: float

    @property
    def strided(self) -> bool:
        """Whether a tile is more than one run."""
        return self.count > 1


def blocks(nest: LoopNest, tensor: Tensor, tiles: Tiles) -> Blocks:
    """Return the contiguous runs of a tensor's tile.

    Runs of the lowest dimension merge where it is buffered whole, because then they follow one another both in memory
    and in LDM; so do those of the next dimension (swTVM, Alg. 5). Tiles at the end of a range are smaller: sizes are
    averages over all tiles, which is exact because spans are linear in tile sizes.
    """
    counts = trips(nest, tiles)
    mean = tensor.spans({loop: extent / counts[loop] for loop, extent in nest.loops.items()})
    full = tensor.spans(tiles)
    lowest = len(full) - 1
    while lowest > 0 and full[lowest] == tensor.shape[lowest]:
        lowest -= 1
    return Blocks(math.prod(mean[:lowest]), math.prod(mean[lowest:]) * nest.element_B)


@dataclass(frozen=True)
class Transfer:
    """All moves of one tensor, by one CPE.

    Parameters
    ----------
    tensor : str
        Its name.
    within : str
        The tile loop whose body moves it; empty where it moves once, before all loops.
    moves : int
        How often its buffer is filled or written back (transfers, in the words of swTVM).
    gets, puts : int
        Tiles read from memory and written to it.
    blocks : Blocks
        Contiguous runs of a tile.
    get_s, put_s : float
        Seconds of one get and one put of a tile.
    by_gload : bool
        Whether loads past the LDM are faster than DMA.
    """

    tensor: str
    within: str
    moves: int
    gets: int
    puts: int
    blocks: Blocks
    get_s: float
    put_s: float
    by_gload: bool

    @property
    def moved_B(self) -> float:
        """Bytes moved by one CPE."""
        return (self.gets + self.puts) * self.blocks.count * self.blocks.size_B

    @property
    def seconds(self) -> float:
        """Seconds of all moves by one CPE."""
        return self.gets * self.get_s + self.puts * self.put_s


def transfer(
    nest: LoopNest,
    tensor: Tensor,
    run: Blocks,
    times: tuple[int, int, int],
    group: CoreGroup,
    cpes: int,
    within: str = "",
) -> Transfer:
    """Return the moves of a tensor: `times` are moves, gets and puts; by DMA or gload, whichever is faster."""
    gload_s = (run.count * run.size_B / nest.element_B) * group.gload_s(cpes)
    get_s = run.count * group.get_s(run.size_B, cpes, strided=run.strided)
    put_s = run.count * group.put_s(run.size_B, cpes, strided=run.strided)
    by_gload = times[1] * get_s + times[2] * put_s > (times[1] + times[2]) * gload_s
    if by_gload:
        get_s = put_s = gload_s
    return Transfer(tensor.name, within, *times, run, get_s, put_s, by_gload)


def transfers(
    nest: LoopNest, tiles: Tiles, order: Sequence[str], group: CoreGroup, cpes: int
) -> tuple[Transfer, ...]:
    """Return the moves of all tensors with these tiles and this order of the tile loops.

    The output is put at each move. Where a reduction runs around its moves, it comes back to be added to: all but the
    first visits of each tile get it, too.
    """
    counts = trips(nest, tiles)
    found = []
    for tensor in nest.tensors:
        times = moves(tensor, order, counts)
        gets, puts = (times, 0) if tensor in nest.inputs else (times - distinct(tensor, counts), times)
        around = placement(tensor, order, counts)
        within = order[around - 1] if around else ""
        run = blocks(nest, tensor, tiles)
        found.append(transfer(nest, tensor, run, (times, gets, puts), group, cpes, within))
    return tuple(found)


class Moved(NamedTuple):
    """The part of a `Transfer` that `hidden_s` needs."""

    gets: int
    puts: int
    get_s: float
    put_s: float
    seconds: float
    by_gload: bool


@dataclass(frozen=True)
class Times:
    """Parts of the time of an operation on a core group, in seconds.

    Parameters
    ----------
    dma_s : float
        Transfers between memory and LDM.
    compute_s : float
        Computation of the CPE with the most work.
    gload_s : float
        Loads and stores past the LDM.
    register_s : float
        Register communication.
    layout_s : float
        Changing the layout of operands beforehand (im2col).
    spawn_join_s : float
        Starting the CPEs and waiting for them.
    hidden_s : float
        What overlap hides of the parts above.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import Times
    >>> Times(dma_s=3e-3, compute_s=2e-3, hidden_s=2e-3).total_s
    0.003
    """

    dma_s: float
    compute_s: float
    gload_s: float = 0.0
    register_s: float = 0.0
    layout_s: float = 0.0
    spawn_join_s: float = 0.0
    hidden_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Seconds of the operation."""
        parts = (self.dma_s, self.compute_s, self.gload_s, self.register_s, self.layout_s, self.spawn_join_s)
        return sum(parts) - self.hidden_s

    def repeated(self, times: int) -> Times:
        """Return the parts of as many such operations in sequence."""
        return Times(**{name: times * seconds for name, seconds in vars(self).items()})


def serial(moved: Iterable[Transfer], compute_s: float, spawn_join_s: float) -> Times:
    """Return the parts when a CPE waits for each transfer."""
    moved = tuple(moved)
    return Times(
        dma_s=sum(t.seconds for t in moved if not t.by_gload),
        compute_s=compute_s,
        gload_s=sum(t.seconds for t in moved if t.by_gload),
        spawn_join_s=spawn_join_s,
    )


def hidden_s(moved: Iterable[Transfer | Moved], busy_s: float) -> float:
    """Return the seconds of DMA that double buffering hides behind `busy_s` seconds of other work.

    The first tile of each input and the last of the output cannot be hidden, and the work on a tile cannot
    hide its own transfer: with as many steps as the tensor that moves most often, one step's share of the work is
    exposed.
    """
    moved = [t for t in moved if not t.by_gload]
    alone_s = sum(min(t.gets, 1) * t.get_s + min(t.puts, 1) * t.put_s for t in moved)
    steps = max((t.gets + t.puts for t in moved), default=0)
    if steps < 2:
        return 0.0
    return min(sum(t.seconds for t in moved) - alone_s, busy_s * (steps - 1) / steps)
