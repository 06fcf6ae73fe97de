"""Batches of points: large enough for a negligible overhead, small enough to share them evenly."""

from collections.abc import Sequence

#: Seconds that a batch should take.
TARGET_S = 0.2
#: Most points of a batch; of those that take no time at all.
MOST = 1000


class Batches:
    """Points to do, handed out in order; the time per point is learned from finished ones.

    Parameters
    ----------
    points : sequence of int
    takers : int
        Number of concurrent takers of batches.
    """

    def __init__(self, points: Sequence[int], takers: int) -> None:
        self._left, self._takers = list(reversed(points)), takers
        self._mean_s = TARGET_S

    def __bool__(self) -> bool:
        return bool(self._left)

    def take(self) -> list[int]:
        """Return the next batch."""
        fitting = int(TARGET_S / self._mean_s) if self._mean_s > TARGET_S / MOST else MOST
        share = -(-len(self._left) // (2 * self._takers))
        count = max(min(fitting, share), 1)
        taken = self._left[: -count - 1 : -1]
        del self._left[-count:]
        return taken

    def put_back(self, points: Sequence[int]) -> None:
        """Take points back, to be handed out next."""
        self._left.extend(reversed(points))

    def learn(self, seconds: float, count: int) -> None:
        """Learn what some points took; the last ones count most."""
        if count:
            self._mean_s = (self._mean_s + seconds / count) / 2
