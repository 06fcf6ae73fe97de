"""Seconds of matrix products, and of convolutions: forward, gradient of the data, gradient of the weights.

    seconds = fork and join + max(FLOPs / (threads x rate x efficiency), traffic)

with an efficiency of the width of the output, of strides, channels and positions of the filter, and of how evenly the
pieces fall on the threads. See docs/measured.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

from simsched.costs.kernels.library import ConvolutionParameters, Parameters, parameters
from simsched.costs.kernels.team import Team, Work, team_s
from simsched.errors import CostError


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4, params: Parameters | None = None) -> float:
    """Return the seconds of C = A B with C of m x n and inner dimension k.

    The region's fork, join and barriers; the matrices once through memory (packing them reads them wherever they are);
    and the operations, on whole vectors of rows, by as many threads as the output has blocks for.

    Parameters
    ----------
    m, n, k : int
        Rows (contiguous in memory, as in BLAS), columns, inner dimension.
    team : Team
    element_B : {4, 8}
        Bytes of an element: FP32 or FP64.
    params : Parameters, optional
        Those of the default library when not given.

    Raises
    ------
    CostError
        On a size below 1, or elements of another size.

    Examples
    --------
    >>> import simsched as ss
    >>> f"{gemm_s(512, 512, 512, Team(ss.machine('knl-7250'), 16)) * 1e6:.0f} us"
    '281 us'
    """
    if min(m, n, k) < 1:
        raise CostError(f"a matrix product of {m} x {n} x {k}; every size must be at least 1")
    if element_B not in (4, 8):
        raise CostError(f"elements of {element_B} bytes; expected 4 (FP32) or 8 (FP64)")
    params = parameters() if params is None else params
    return team_s(gemm_work(m, n, k, params, element_B), team)


def gemm_work(
    m: int, n: int, k: int, params: Parameters, element_B: int = 4, columns: int | None = None
) -> Work:
    """Return the work of C = A B, C of m x n and inner dimension k.

    Parameters
    ----------
    m, n, k : int
    params : Parameters
    element_B : {4, 8}
    columns : int, optional
        Columns that are computed, with those that fill a block; n when not given.
    """
    own, library = params.gemm, params.library
    vector = own.vector * 4 / element_B
    padded = vector * ceil(m / vector) * (n if columns is None else columns)
    return Work(
        ceil(m / library.gemm_rows) * ceil(n / library.gemm_columns),
        2.0 * padded * k / library.product_rate * element_B / 4,
        float(element_B) * (m * k + k * n + m * n),
        float(element_B) * (m * k + k * n + 2 * m * n),
        barriers=own.inner_barriers,
    )


Direction = Literal["forward", "data", "weights"]


@dataclass(frozen=True)
class Convolution:
    """A convolution of FP32 images, NCHW.

    Parameters
    ----------
    batch, channels, height, width : int
        Images, their channels and size.
    filters, filter_height, filter_width : int
        Output channels, and the size of a filter.
    stride, padding : (int, int)
        Vertical and horizontal.
    groups : int
        Parts of the channels and filters that do not see each other.

    Raises
    ------
    CostError
        If a number is impossible.

    Examples
    --------
    >>> convolution = Convolution(32, 64, 56, 56, filters=64, filter_height=3, filter_width=3, padding=(1, 1))
    >>> convolution.out_height, convolution.flops
    (56, 7398752256.0)
    """

    batch: int
    channels: int
    height: int
    width: int
    filters: int
    filter_height: int
    filter_width: int
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    groups: int = 1

    def __post_init__(self) -> None:
        names = ("batch", "channels", "height", "width", "filters", "filter_height", "filter_width")
        if wrong := [name for name in names if getattr(self, name) < 1]:
            raise CostError(f"{wrong[0]} of a convolution is {getattr(self, wrong[0])}; expected at least 1")
        if self.groups < 1 or self.channels % self.groups or self.filters % self.groups:
            raise CostError(
                f"{self.groups} groups do not divide {self.channels} channels and {self.filters} filters"
            )
        if min(self.stride) < 1 or min(self.padding) < 0:
            raise CostError(f"stride {self.stride} must be at least 1, and padding {self.padding} at least 0")
        if self.out_height < 1 or self.out_width < 1:
            raise CostError(
                f"a filter of {self.filter_height}x{self.filter_width} does not fit into {self.height}x{self.width} "
                f"with padding {self.padding}"
            )

    @property
    def out_height(self) -> int:
        """Rows of the output."""
        return (self.height + 2 * self.padding[0] - self.filter_height) // self.stride[0] + 1

    @property
    def out_width(self) -> int:
        """Columns of the output."""
        return (self.width + 2 * self.padding[1] - self.filter_width) // self.stride[1] + 1

    @property
    def taps(self) -> int:
        """Positions of a filter."""
        return self.filter_height * self.filter_width

    @property
    def flops(self) -> float:
        """Floating-point operations of each direction."""
        outputs = self.batch * self.filters * self.out_height * self.out_width
        return 2.0 * outputs * (self.channels // self.groups) * self.taps

    @property
    def input_B(self) -> float:
        """Bytes of the input."""
        return 4.0 * self.batch * self.channels * self.height * self.width

    @property
    def output_B(self) -> float:
        """Bytes of the output."""
        return 4.0 * self.batch * self.filters * self.out_height * self.out_width

    @property
    def weights_B(self) -> float:
        """Bytes of the filters."""
        return 4.0 * self.filters * (self.channels // self.groups) * self.taps

    def written_B(self, direction: Direction) -> float:
        """Return the bytes of the result of a direction."""
        return {"forward": self.output_B, "data": self.input_B, "weights": self.weights_B}[direction]

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is convolved separately."""
        return self.groups > 1 and self.groups == self.channels

    @property
    def has_plain_data_gradient(self) -> bool:
        """Whether old libraries only have a slow data gradient for it: strided, and larger than 1x1 or padded."""
        return max(self.stride) > 1 and (self.taps > 1 or max(self.padding) > 0)

    @property
    def is_product(self) -> bool:
        """Whether its images are a matrix's rows as they lie: filters are 1x1, or as large as an image; no padding."""
        whole = (self.filter_height, self.filter_width) == (self.height, self.width)
        return max(self.padding) == 0 and (whole or (self.taps == 1 and max(self.stride) == 1))


def convolution_s(
    convolution: Convolution,
    team: Team,
    direction: Direction = "forward",
    params: Parameters | None = None,
    *,
    resident: bool = True,
) -> float:
    """Return the seconds of one call.

    Parameters
    ----------
    convolution : Convolution
    team : Team
    direction : {"forward", "data", "weights"}
    params : Parameters, optional
        Those of the default library when not given.
    resident : bool
        Whether data stay in the caches from call to call, where they fit.

    Examples
    --------
    >>> import simsched as ss
    >>> convolution = Convolution(32, 64, 56, 56, filters=64, filter_height=3, filter_width=3, padding=(1, 1))
    >>> team = Team(ss.machine("knl-7250"), 16)
    >>> [f"{convolution_s(convolution, team, direction) * 1e3:.1f} ms" for direction in ("forward", "weights")]
    ['6.4 ms', '8.3 ms']
    """
    params = parameters() if params is None else params
    work = convolution_work(convolution, direction, params)
    limited = team.limited(int(min(work.pieces, team.threads)))
    share = limited.cached_share(work.named_B, params.stream) if resident and work.named_B else 0.0
    return team_s(work, team, share)


def convolution_work(convolution: Convolution, direction: Direction, params: Parameters) -> Work:
    """Return the work of one call.

    Raises
    ------
    CostError
        If there is no such direction.
    """
    if direction not in ("forward", "data", "weights"):
        raise CostError(f"direction {direction!r} is none of forward, data, weights")
    own, library = params.convolution, params.library
    rate, plain = library.convolution_rate, library.direct_only and convolution.has_plain_data_gradient
    flops = convolution.flops / rate
    if direction == "data" and plain and not convolution.is_depthwise:
        # One product per image, each of whose results is added to the gradient at its place.
        outputs = convolution.batch * convolution.out_height * convolution.out_width
        added = float(outputs) * convolution.channels * convolution.taps
        return Work(convolution.batch, flops + own.scatter * added / rate, 0.0, 0.0)
    named_B = convolution.input_B + convolution.output_B + convolution.weights_B
    return Work(
        pieces(convolution, direction, params),
        flops * slowdown(convolution, direction, params),
        named_B,
        named_B + convolution.written_B(direction),
        overlaps=True,
    )


def pieces(convolution: Convolution, direction: Direction, params: Parameters) -> int:
    """Return the number of pieces of a direction: rows of blocks of channels; for weights, block pairs.

    Rows are cut where an image has few of them, unless the library has direct kernels only.
    """
    own = params.convolution
    outputs, inputs = (_blocks(convolution, of, own) for of in (convolution.filters, convolution.channels))
    if direction == "weights":
        pairs = 1 if convolution.is_depthwise else ceil(inputs / convolution.groups)
        return convolution.batch * outputs * pairs
    blocks, rows, width = (
        (outputs, convolution.out_height, convolution.out_width)
        if direction == "forward"
        else (inputs, convolution.height, convolution.width)
    )
    cut = 1 if params.library.direct_only else ceil(width / own.accumulators)
    return convolution.batch * blocks * max(rows, cut)


def _blocks(convolution: Convolution, channels: int, own: ConvolutionParameters) -> int:
    """Return the blocks of some channels, each within a group; depthwise channels are packed side by side."""
    groups = 1 if convolution.is_depthwise else convolution.groups
    return groups * ceil(channels // groups / own.vector)


def slowdown(convolution: Convolution, direction: Direction, params: Parameters) -> float:
    """Return the seconds of a working thread over those at the machine's sustained rate."""
    own = params.convolution
    strided = 1 + (own.weights_strided if direction == "weights" else own.strided) * (
        max(convolution.stride) > 1
    )
    grouped = _grouped(convolution, own)
    if direction == "weights":
        outputs = convolution.out_height * convolution.out_width
        few = own.weights_blocks * (own.vector / convolution.channels + own.vector / convolution.filters)
        walk = own.weights_walk / (convolution.taps * outputs)
        return grouped * strided * (1 + walk + few) / own.weights_efficiency
    summed = (convolution.channels if direction == "forward" else convolution.filters) // convolution.groups
    walk = own.channel_walk * summed / (1000 * convolution.taps)
    wide = grouped * strided * (1 + walk)
    direct = wide / (own.efficiency * _in_flight(convolution.out_width, convolution, direction, params))
    if params.library.direct_only:
        return direct
    return min(direct, max(wide / own.efficiency, grouped * _as_product(convolution, direction, params)))


def _in_flight(positions: int, convolution: Convolution, direction: Direction, params: Parameters) -> float:
    """Return the share of the outputs needed in flight that positions of several blocks of results make."""
    own, results = params.convolution, convolution.filters if direction == "forward" else convolution.channels
    each = results if convolution.is_depthwise else results // convolution.groups
    blocks = 1 if params.library.direct_only else min(own.blocks, ceil(each / own.vector))
    return min(1.0, positions * blocks / own.accumulators)


def _as_product(convolution: Convolution, direction: Direction, params: Parameters) -> float:
    """Return the slowdown of a matrix product of columns, those of an image, that are copied first or added after.

    Images that are a matrix's rows as they lie are one product, without copies.
    """
    outputs = convolution.out_height * convolution.out_width
    if convolution.is_product:
        return 1 / _in_flight(convolution.batch * outputs, convolution, direction, params)
    copied = params.convolution.copy / (2 * (convolution.filters // convolution.groups))
    return (1 + copied) / _in_flight(outputs, convolution, direction, params)


def _grouped(convolution: Convolution, own: ConvolutionParameters) -> float:
    """Return the slowdown of groups: those narrower than a vector leave lanes of it empty."""
    if convolution.groups == 1:
        return 1.0
    if convolution.is_depthwise:
        return 1 / own.depthwise
    each = convolution.filters // convolution.groups
    return own.vector * ceil(each / own.vector) / each
