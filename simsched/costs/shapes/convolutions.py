"""Convolutions by the shapes of their operands, in the order and layout of each framework.

TensorFlow has images of NHWC and filters of HWIO, PyTorch and ONNX have NCHW and OIHW; what does not fit one is tried
in the other. Strides and padding come from the attributes of the shape, the output among the operands, the FLOPs or the
bytes, in this order; else the output is assumed to be as large as the images, with a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels.convolution import Convolution, Direction
from simsched.costs.shapes.parts import ELEMENT_B, Convolved
from simsched.graph.shapes import numel

if TYPE_CHECKING:
    from simsched.costs.shapes.kinds import Seen

Dims = tuple[int, ...]
Sides = tuple[int, int]
Parts = tuple["list[Convolved] | None", str]

Window = tuple[Sides, Sides]

#: Unknown height and width.
NO_SIDES = (0, 0)

#: Share by which FLOPs may differ from those of a reading of the shapes, as where a bias is counted.
NEAR = 0.02

#: Strides and paddings that are tried where only FLOPs or bytes are known.
STRIDES, PADDINGS = (1, 2, 3, 4), 4

#: Most positions of a filter derived from FLOPs.
MOST_TAPS = 4096

#: Most by which the sides of images are longer than those of the output.
LARGEST_RATIO = 64.0

#: Longest side of a filter where shapes alone do not distinguish filters from images.
LONGEST_FILTER = 11

UNKNOWN = "convolutions of unknown stride and padding are taken to keep the size of their images"
NO_FILTER = "gradients of filters of unknown size are taken for 3x3"


@dataclass(frozen=True)
class _Operands:
    """Operands of a convolution: images, filters, output, without their order and layout.

    Parameters
    ----------
    batch, channels, filters, groups : int
    image, taps, output : (int, int)
        Height and width of the images, the filters and the output; zeros where unknown.
    """

    batch: int
    channels: int
    filters: int
    groups: int
    image: Sides
    taps: Sides
    output: Sides = NO_SIDES


def convolution(seen: Seen) -> Parts:
    """Return a convolution or its gradients, and the assumptions made."""
    if seen.attributes.get("transposed", (0,)) != (0,):
        return transposed_convolution(seen)
    operands = _operands(seen)
    found, guessed = (None, "") if operands is None else _completed(operands, seen)
    if found is None:
        return None, ""
    return [Convolved(found, direction) for direction in _directions(found, seen)], guessed


def _directions(found: Convolution, seen: Seen) -> Sequence[Direction]:
    """Return the directions that an op computes; FLOPs of one show that its images need no gradient."""
    asked = seen.kernel.direction
    if asked != "both":
        return (asked,)  # type: ignore[return-value] # kinds.toml is checked: one of the directions
    return ("weights",) if seen.flops < 1.5 * found.flops else ("data", "weights")


def transposed_convolution(seen: Seen) -> Parts:
    """Return a transposed convolution: the data gradient of one whose output is its images.

    Its own data gradient is that one's forward pass.
    """
    tensors = [_flat(dims) for dims in seen.shape if len(dims) in (3, 4)]
    backward = seen.kernel.direction == "both" and len(tensors) > 2
    if backward:
        tensors = [*tensors[1:3], tensors[0]]
    if len(tensors) < 2 or min(map(min, tensors)) < 1 or tensors[0][1] != tensors[1][0]:
        return None, ""
    x, w = tensors[:2]
    groups = _groups(seen, 1)
    stride = _directions_of(seen, "stride", 1)
    made = (tensors[2][2], tensors[2][3]) if backward else (x[2] * stride[0], x[3] * stride[1])
    down, across = (
        max(0, _ceil_half((n - 1) * s + k - m)) for n, s, k, m in zip(x[2:], stride, w[2:], made, strict=True)
    )
    if x[1] % groups or any(m + 2 * p < k for m, p, k in zip(made, (down, across), w[2:], strict=True)):
        return None, ""
    whole = Convolution(
        x[0], w[1] * groups, *made, x[1], w[2], w[3], stride, (down, across), groups
    )  # fmt: skip
    directions: Sequence[Direction] = ("forward", "weights") if backward else ("data",)
    parts = [Convolved(whole, direction) for direction in directions]
    return parts, "" if "stride" in seen.attributes else UNKNOWN


def _operands(seen: Seen) -> _Operands | None:
    tensors = [_flat(dims) for dims in seen.shape if len(dims) in (3, 4)]
    if len(tensors) < 2 or any(min(dims) < 1 for dims in tensors):
        return None
    last = _has_channels_last(seen.kind)
    for channels_last in (last, not last):
        turned = [(dims[0], dims[3], dims[1], dims[2]) if channels_last else dims for dims in tensors]
        if (found := _matched(tensors, turned, channels_last, seen)) is not None:
            return found
    return None


def _flat(dims: Dims) -> Dims:
    """Return the shape of images or filters; one-dimensional ones get a second dimension of size 1."""
    return dims if len(dims) == 4 else (dims[0], dims[1], 1, dims[2])


def _has_channels_last(kind: str) -> bool:
    """Return whether a kind is TensorFlow's, by its spelling, or names its layout."""
    name = kind.rpartition("::")[2].rpartition(".")[2]
    return name.startswith(("Conv2D", "_FusedConv2D", "DepthwiseConv2d", "_Mkl")) or name.lower().startswith(
        "nhwc"
    )


def _matched(tensors: list[Dims], images: list[Dims], last: bool, seen: Seen) -> _Operands | None:
    """Return the operands in the order of the kind, else in any that fits."""
    asked = seen.kernel.direction
    if asked == "forward":
        return _with_filter(images[0], tensors[1], last, seen)
    if asked == "both":
        if len(tensors) > 2:
            return _with_all(images[0], images[1], tensors[2], last, seen)
        return _with_filter(images[0], tensors[1], last, seen)
    if len(tensors) > 2:
        # In TensorFlow's order, with a shape in place of its size, else in any order.
        orders = [(2, 0, 1), (2, 1, 0), *permutations(range(3))]
        found = (_with_all(images[dy], images[x], tensors[w], last, seen) for dy, x, w in orders)
        return next((one for one in found if one is not None), None)
    return (_data if asked == "data" else _weights)(tensors, images, last, seen)


def _data(tensors: list[Dims], images: list[Dims], last: bool, seen: Seen) -> _Operands | None:
    """Return filters and the gradient of the output; or images and filters: by FLOPs, else the first."""
    first, second = tensors[:2]
    in_order = _with_output(images[1], first, last, seen)
    if in_order is not None and seen.shape[0] == (4,):
        # TensorFlow's size of the images comes first.
        return in_order
    orders = (
        in_order,
        _with_output(images[0], second, last, seen),
        _with_filter(images[0], second, last, seen),
    )
    return _likeliest([found for found in orders if found is not None], seen)


def _weights(tensors: list[Dims], images: list[Dims], last: bool, seen: Seen) -> _Operands | None:
    """Return images and the gradient of the output; or images and filters, likewise."""
    x, dy = images[:2]
    groups = _groups(seen, 1)
    if last and "depthwise" in seen.kind.lower():
        groups = x[1]
    if x[0] == dy[0] and x[1] % groups == 0 and dy[1] % groups == 0:
        made = _Operands(
            x[0],
            x[1],
            dy[1],
            groups,
            (x[2], x[3]),
            _directions_of(seen, "window", 1) if "window" in seen.attributes else NO_SIDES,
            (dy[2], dy[3]),
        )
        made = _with_taps(made, seen)[0] if made.taps == NO_SIDES else made
        if not seen.flops > 0 or _agrees(made, seen.flops):
            return made
    return _with_filter(x, tensors[1], last, seen)


def _likeliest(found: list[_Operands], seen: Seen) -> _Operands | None:
    """Return the operands that fit the FLOPs, with the shortest filter; of equals the first."""
    known = [one for one in found if seen.flops > 0 and _agrees(one, seen.flops)]
    # Images and filters confused with each other have the same FLOPs, but longer sides of the filter.
    return min(known or found, key=lambda one: math.prod(one.taps), default=None)


def _agrees(found: _Operands, flops: float) -> bool:
    """Return whether the FLOPs fit the operands, with some stride and padding."""
    outputs = _outputs(found, flops)
    if found.output != NO_SIDES:
        return abs(math.prod(found.output) / outputs - 1) < NEAR
    numbers = _windows(found.image, found.taps)[1]
    return bool((np.abs(numbers - outputs) < NEAR * outputs).any())


def _tells_taps(seen: Seen) -> bool:
    """Return whether the filter of a gradient follows from the operands, the attributes, or the FLOPs."""
    return (
        seen.flops > 0 or "window" in seen.attributes or sum(len(dims) in (3, 4) for dims in seen.shape) > 2
    )


def _with_all(dy: Dims, x: Dims, w: Dims, last: bool, seen: Seen) -> _Operands | None:
    found = _with_filter(x, w, last, seen)
    if found is None or dy[0] != x[0] or dy[1] != found.filters:
        return None
    if any(out > size + 2 * taps for out, size, taps in zip(dy[2:], x[2:], found.taps, strict=True)):
        return None
    return replace(found, output=(dy[2], dy[3]))


def _with_filter(x: Dims, w: Dims, last: bool, seen: Seen) -> _Operands | None:
    """Return images and filters whose channels fit."""
    channels = x[1]
    taps, each, filters = ((w[0], w[1]), w[2], w[3]) if last else ((w[2], w[3]), w[1], w[0])
    if last and "depthwise" in seen.kind.lower():
        return (
            _Operands(x[0], channels, w[2] * w[3], channels, (x[2], x[3]), taps) if w[2] == channels else None
        )
    if channels % each or filters % (channels // each):
        return None
    groups = channels // each
    if groups != _groups(seen, groups):
        return None
    return _Operands(x[0], channels, filters, groups, (x[2], x[3]), taps)


def _with_output(dy: Dims, w: Dims, last: bool, seen: Seen) -> _Operands | None:
    """Return filters and the gradient of the output, whose channels are the filters."""
    groups = _groups(seen, 1)
    taps, each, filters = ((w[0], w[1]), w[2], w[3]) if last else ((w[2], w[3]), w[1], w[0])
    if last and "depthwise" in seen.kind.lower():
        each, filters, groups = 1, w[2] * w[3], w[2]
    if filters != dy[1] or max(taps) > max(LONGEST_FILTER, *dy[2:]) or filters % groups:
        return None
    return _Operands(dy[0], each * groups, filters, groups, NO_SIDES, taps, (dy[2], dy[3]))


def _completed(operands: _Operands, seen: Seen) -> tuple[Convolution | None, str]:
    """Return the convolution with its strides and padding, and the assumptions made."""
    guessed = ""
    if seen.kernel.direction == "weights" and operands.output != NO_SIDES and not _tells_taps(seen):
        guessed = NO_FILTER
    if operands.image == NO_SIDES:
        operands, guessed = _with_image(operands, seen)
    operands = _undilated(operands, seen)
    window = _given_window(operands, seen) or _of_output(operands)
    if window is None:
        window = _of_flops(operands, seen) or _of_bytes(operands, seen)
    if window is None:
        guessed, window = UNKNOWN, ((1, 1), _same(operands.taps))
    stride, padding = window
    if any(n + 2 * p < k for n, p, k in zip(operands.image, padding, operands.taps, strict=True)):
        return None, ""
    made = Convolution(
        operands.batch, operands.channels, *operands.image, operands.filters, *operands.taps,
        stride, padding, operands.groups,
    )  # fmt: skip
    return made, guessed


def _with_taps(operands: _Operands, seen: Seen) -> tuple[_Operands, str]:
    """Return the operands with the filter derived from the FLOPs: one from images to output, else 3x3."""
    each = 2.0 * operands.batch * math.prod(operands.output) * operands.filters
    each *= operands.channels / operands.groups
    number = round(seen.flops / each) if seen.flops > 0 else 0
    if not 1 <= number <= MOST_TAPS:
        return replace(operands, taps=(3, 3)), NO_FILTER
    sides = sorted(
        ((high, number // high) for high in range(1, number + 1) if number % high == 0),
        key=lambda side: abs(side[0] - side[1]),
    )
    for taps in sides:
        if any(places == operands.output for _, _, places in _windows(operands.image, taps)[0]):
            return replace(operands, taps=taps), ""
    return replace(operands, taps=sides[0]), ""


def _with_image(operands: _Operands, seen: Seen) -> tuple[_Operands, str]:
    """Return the operands with the images derived from stride or bytes, else as large as the output."""
    each = operands.batch * operands.channels * math.prod(operands.output)
    left_B = seen.bytes_B - ELEMENT_B * sum(map(numel, seen.shape))
    ratio = math.sqrt(left_B / (ELEMENT_B * each)) if left_B > 0 else math.nan
    high, wide = operands.output
    if 0.9 <= ratio <= LARGEST_RATIO:
        return replace(operands, image=(max(round(high * ratio), 1), max(round(wide * ratio), 1))), ""
    if "stride" in seen.attributes:
        stride = _directions_of(seen, "stride", 1)
        return replace(operands, image=(high * stride[0], wide * stride[1])), ""
    return replace(operands, image=operands.output), UNKNOWN


def _undilated(operands: _Operands, seen: Seen) -> _Operands:
    """Return operands whose filters have no gaps, with as many outputs: on images smaller by the gaps."""
    gaps = [d - 1 for d in _directions_of(seen, "dilation", 1)]
    if max(gaps) < 1 or operands.image == NO_SIDES:
        return operands
    high, wide = (
        max(n - gap * (k - 1), 1) for n, k, gap in zip(operands.image, operands.taps, gaps, strict=True)
    )
    return replace(operands, image=(high, wide))


def _groups(seen: Seen, otherwise: int) -> int:
    return max(seen.attributes.get("groups", (otherwise,))[0], 1)


def _given_window(operands: _Operands, seen: Seen) -> Window | None:
    """Return stride and padding given by the attributes; padding as on both sides."""
    if not {"stride", "padding"} & seen.attributes.keys():
        return None
    stride, given = _directions_of(seen, "stride", 1), seen.attributes.get("padding")
    if given is None:
        return stride, _same(operands.taps)
    if len(given) == 2 * _rank(seen):
        given = tuple(map(sum, zip(given[: len(given) // 2], given[len(given) // 2 :], strict=True)))
        given = tuple(_ceil_half(both) if max(stride) > 1 else both // 2 for both in given)
    return stride, _sides(given, seen, 0)


def _rank(seen: Seen) -> int:
    """Return the number of directions in which a window slides."""
    return max(len(dims) for dims in seen.shape) - 2


def _directions_of(seen: Seen, name: str, otherwise: int) -> Sides:
    """Return an attribute as one number for height and one for width."""
    return _sides(seen.attributes.get(name, (otherwise,)), seen, otherwise)


def _sides(values: Sequence[int], seen: Seen, otherwise: int) -> Sides:
    """Return one number for all directions, or one per direction; one-dimensional images have no height."""
    down, across = max(values[0], otherwise), max(values[-1], otherwise)
    return (otherwise, across) if _rank(seen) == 1 else (down, across)


def _same(taps: tuple[int, int]) -> tuple[int, int]:
    return (taps[0] - 1) // 2, (taps[1] - 1) // 2


def _of_output(operands: _Operands) -> Window | None:
    """Return the window that makes the output of the images."""
    if operands.output == NO_SIDES:
        return None
    for stride, padding, places in _windows(operands.image, operands.taps)[0]:
        if places == operands.output:
            return stride, padding
    # Directions may differ.
    sides = [_side(*side) for side in zip(operands.image, operands.taps, operands.output, strict=True)]
    return (sides[0][0], sides[1][0]), (sides[0][1], sides[1][1])


def _side(size: int, taps: int, out: int) -> tuple[int, int]:
    """Return stride and padding of one direction that yield, or nearly yield, an output."""
    stride = max(round(size / out), 1)
    return stride, max(_ceil_half((out - 1) * stride + taps - size), 0)


def _outputs(operands: _Operands, flops: float) -> float:
    """Return the positions of the output of an image, by the FLOPs."""
    each = 2.0 * operands.batch * operands.filters * (operands.channels / operands.groups)
    return flops / (each * math.prod(operands.taps))


def _of_flops(operands: _Operands, seen: Seen) -> Window | None:
    if not seen.flops > 0 or NO_SIDES in (operands.image, operands.taps):
        return None
    return _of_number(operands, _outputs(operands, seen.flops))


def _of_bytes(operands: _Operands, seen: Seen) -> Window | None:
    """Return the window whose output accounts for the bytes that the known operands do not."""
    left_B = seen.bytes_B - ELEMENT_B * sum(map(numel, seen.shape))
    if not left_B > 0 or seen.kernel.direction != "forward":
        return None
    return _of_number(operands, left_B / (ELEMENT_B * operands.batch * operands.filters))


def _of_number(operands: _Operands, outputs: float) -> Window | None:
    """Return the window whose number of outputs is nearest; of equals the likeliest."""
    every, numbers = _windows(operands.image, operands.taps)
    if not every or not outputs > 0.5:
        return None
    errors = np.round(np.abs(numbers - outputs) / outputs, 4)
    best = int(errors.argmin())
    return every[best][:2] if errors[best] < NEAR else None


def _ceil_half(number: int) -> int:
    return -(-number // 2)


@lru_cache(maxsize=1 << 12)
def _windows(
    image: Sides, taps: Sides
) -> tuple[tuple[tuple[Sides, Sides, Sides], ...], npt.NDArray[np.float64]]:
    """Return strides, paddings and their outputs, the likeliest first, and the number of those outputs."""
    every = tuple(_candidates(image, taps))
    return every, np.array([math.prod(map(float, places)) for _, _, places in every])


def _candidates(image: Sides, taps: Sides) -> Iterator[tuple[Sides, Sides, Sides]]:
    paddings = dict.fromkeys([_same(taps), (0, 0), *((p, p) for p in range(1, PADDINGS))])
    paddings |= dict.fromkeys((p, q) for p in range(taps[0]) for q in range(taps[1]) if max(p, q) < PADDINGS)
    for stride in STRIDES:
        for padding in paddings:
            places = tuple(
                (n + 2 * p - k) // stride + 1 for n, p, k in zip(image, padding, taps, strict=True)
            )
            if min(places) > 0:
                yield (stride, stride), padding, (places[0], places[1])
