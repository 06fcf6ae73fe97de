"""Seconds of an operation by part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from simsched.hwmodels.ldm.transfers import Transfer


class Move(Protocol):
    """Moves of a tensor, as `hidden_s` looks at them."""

    @property
    def gets(self) -> int:
        """Tiles read from memory."""

    @property
    def puts(self) -> int:
        """Tiles written to it."""

    @property
    def get_s(self) -> float:
        """Seconds of one get."""

    @property
    def put_s(self) -> float:
        """Seconds of one put."""

    @property
    def by_gload(self) -> bool:
        """Whether the moves are loads past the LDM."""

    @property
    def seconds(self) -> float:
        """Seconds of all moves."""


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
        """Return the parts of as many such operations one after the other."""
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


def hidden_s(moved: Iterable[Move], busy_s: float) -> float:
    """Return what double buffering hides of DMA behind `busy_s` seconds of other work.

    The first tile of each input and the last of the output have nothing to hide behind, and the work on a tile cannot
    hide its own transfer: with as many steps as the tensor that moves most often, one step's share of the work is
    exposed.
    """
    moved = [t for t in moved if not t.by_gload]
    alone_s = sum(min(t.gets, 1) * t.get_s + min(t.puts, 1) * t.put_s for t in moved)
    steps = max((t.gets + t.puts for t in moved), default=0)
    if steps < 2:
        return 0.0
    return min(sum(t.seconds for t in moved) - alone_s, busy_s * (steps - 1) / steps)
