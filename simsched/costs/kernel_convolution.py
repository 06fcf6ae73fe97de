"""Convolutions: forward, gradient of the data, gradient of the weights.

    seconds = fork and join + max(FLOPs / (threads x rate x efficiency), traffic)

with an efficiency of the width of the output, of strides and of channels, and of how evenly the pieces fall on the
threads. See docs/measured.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

from simsched.costs.kernel_parameters import ConvolutionParameters, Parameters, parameters
from simsched.costs.kernel_team import Team
from simsched.errors import CostError

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

    Raises
    ------
    CostError
        If a number is impossible.
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

    def __post_init__(self) -> None:
        names = ("batch", "channels", "height", "width", "filters", "filter_height", "filter_width")
        if wrong := [name for name in names if getattr(self, name) < 1]:
            raise CostError(f"{wrong[0]} of a convolution is {getattr(self, wrong[0])}; expected at least 1")
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
        return 2.0 * outputs * self.channels * self.taps

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
        return 4.0 * self.filters * self.channels * self.taps

    def written_B(self, direction: Direction) -> float:
        """Return the bytes of the result of a direction."""
        return {"forward": self.output_B, "data": self.input_B, "weights": self.weights_B}[direction]

    @property
    def has_plain_data_gradient(self) -> bool:
        """Whether libraries only have a slow data gradient for it: strided, and larger than 1x1 or padded."""
        return max(self.stride) > 1 and (self.taps > 1 or max(self.padding) > 0)


def convolution_s(
    convolution: Convolution, team: Team, direction: Direction = "forward", params: Parameters | None = None
) -> float:
    """Return the seconds of one call.

    Parameters
    ----------
    convolution : Convolution
    team : Team
    direction : {"forward", "data", "weights"}
    params : Parameters, optional
        Those of a library when not given.
    """
    params = parameters() if params is None else params
    if direction not in ("forward", "data", "weights"):
        raise CostError(f"direction {direction!r} is none of forward, data, weights")
    own = params.convolution
    if direction == "data" and convolution.has_plain_data_gradient:
        team = team.limited(convolution.batch)
        rate = team.threads * team.core_flops * balance(convolution.batch, team.threads) * own.fallback
        return team.region_s(0) + convolution.flops / rate
    n_pieces = pieces(convolution, direction, own)
    team = team.limited(n_pieces)
    rate = team.threads * team.core_flops * balance(n_pieces, team.threads)
    compute_s = convolution.flops / rate * slowdown(convolution, direction, own)
    named_B = convolution.input_B + convolution.output_B + convolution.weights_B
    share = team.cached_share(named_B, params.stream) if params.software.resident else 0.0
    return team.region_s(0) + max(
        compute_s, team.traffic_s(named_B, named_B + convolution.written_B(direction), share)
    )


def pieces(convolution: Convolution, direction: Direction, own: ConvolutionParameters) -> int:
    """Return how many pieces a direction divides into: rows of blocks of channels; for weights, pairs of blocks."""
    outputs, inputs = ceil(convolution.filters / own.vector), ceil(convolution.channels / own.vector)
    if direction == "forward":
        return convolution.batch * outputs * convolution.out_height
    if direction == "data":
        return convolution.batch * inputs * convolution.height
    return convolution.batch * outputs * inputs


def balance(n_pieces: int, threads: int) -> float:
    """Return the share of the threads' time that equal pieces fill."""
    return n_pieces / (ceil(n_pieces / threads) * threads)


def slowdown(convolution: Convolution, direction: Direction, own: ConvolutionParameters) -> float:
    """Return the seconds of a thread at work over those at the machine's sustained rate."""
    strided = 1 + own.strided * (max(convolution.stride) > 1)
    if direction == "weights":
        return strided / own.weights_efficiency
    in_flight = min(1.0, convolution.out_width / own.accumulators)
    summed = convolution.channels if direction == "forward" else convolution.filters
    return (
        strided * (1 + own.channel_walk * summed / (1000 * convolution.taps)) / (own.efficiency * in_flight)
    )
