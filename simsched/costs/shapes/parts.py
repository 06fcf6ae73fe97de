"""Parts of an op: products, convolutions and walks, of which a library or a planner computes the seconds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from simsched.costs.kernels.convolution import Convolution, Direction, convolution_work, gemm_work
from simsched.costs.kernels.library import Parameters
from simsched.costs.kernels.team import Work

#: Bytes of an element of FP32 and of FP64, and of an index.
ELEMENT_B, DOUBLE_B, INDEX_B = 4.0, 8.0, 8.0

#: Tasks that differ in FLOPs alone are often the same convolution.
_convolved = lru_cache(maxsize=1 << 12)(convolution_work)


class Product(NamedTuple):
    """Matrix products of one size: C = A B with C of m x n and inner dimension k, `batch` times."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def flops(self) -> float:
        """Operations; a multiply-add is two."""
        return 2.0 * self.batch * self.m * self.n * self.k

    @property
    def results(self) -> float:
        """Elements of the result."""
        return float(self.batch) * self.m * self.n

    def works(self, params: Parameters) -> list[Work]:
        """Return the work with rows of the output contiguous, and with columns: libraries pack along either."""
        return [self._work(m, n, params) for m, n in ((self.n, self.m), (self.m, self.n))]

    def _work(self, m: int, n: int, params: Parameters) -> Work:
        vector = int(params.gemm.vector)
        # Less than a vector of columns is broadcast; more columns are computed in whole vectors, too.
        one = gemm_work(m, n, self.k, params, columns=n if n <= vector else vector * ceil(n / vector))
        return one._replace(
            pieces=one.pieces * self.batch,
            flops=one.flops * self.batch,
            named_B=one.named_B * self.batch,
            moved_B=one.moved_B * self.batch,
        )


class Convolved(NamedTuple):
    """One direction of a convolution."""

    convolution: Convolution
    direction: Direction

    def works(self, params: Parameters) -> list[Work]:
        """Return the work, the only way of doing it."""
        return [_convolved(self.convolution, self.direction, params)]

    @property
    def results(self) -> float:
        """Elements of the result."""
        return self.convolution.written_B(self.direction) / ELEMENT_B

    @property
    def columns_B(self) -> float:
        """Bytes of the images laid out as columns for a matrix product; 0 where they are such columns themselves."""
        one = self.convolution
        taps = one.filter_height * one.filter_width
        if taps == 1 and one.stride == (1, 1) and one.padding == (0, 0):
            return 0.0
        return ELEMENT_B * one.batch * one.channels * taps * one.out_height * one.out_width


class Walk(NamedTuple):
    """A walk over arrays, as of element-wise ops.

    Parameters
    ----------
    elements : float
        Of the largest array.
    flops : float
        Operations per element, as many as take as long in vectors.
    named_B, written_B : float
        Bytes read and written, and those of them that are written.
    """

    elements: float
    flops: float
    named_B: float
    written_B: float

    def works(self, params: Parameters) -> list[Work]:
        """Return the work, the only way of doing it."""
        return [
            Work(
                ceil(self.elements / params.library.elementwise_block),
                self.elements * self.flops,
                self.named_B,
                self.named_B + self.written_B,
                barriers=1,
                uneven=True,
            )
        ]


#: Parts of an op, in sequence.
Part = Product | Convolved | Walk


def ways(parts: Sequence[Part], params: Parameters) -> list[list[Work]]:
    """Return the ways of doing parts in sequence; products all along the same side.

    Examples
    --------
    >>> from simsched.costs.kernels.library import parameters
    >>> found = ways([Product(1, 64, 512, 512), Walk(4096.0, 1.0, 8.0, 4.0)], parameters())
    >>> [[work.pieces for work in way] for way in found]
    [[32, 2], [32, 2]]
    """
    each = [part.works(params) for part in parts]
    return [[works[i % len(works)] for works in each] for i in range(max(map(len, each)))]
