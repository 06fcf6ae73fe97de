"""Work by kind and shape: of matrix products, walks over arrays and convolutions whose shapes can be read."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from simsched.costs.curves import default_curves, normalised, plain
from simsched.costs.kernels.library import Parameters
from simsched.costs.kernels.team import Work
from simsched.costs.shapes.convolutions import convolution, transposed_convolution
from simsched.costs.shapes.parts import DOUBLE_B, ELEMENT_B, INDEX_B, Convolved, Part, Walk, ways
from simsched.costs.shapes.products import NEAR, attention, mean_B, product
from simsched.costs.shapes.recurrent import recurrent
from simsched.graph.shapes import (
    ELEMENTS,
    Attributes,
    Shape,
    numel,
    parse_attributes,
    parse_element,
    parse_shape,
    times,
)

#: Mean bytes of an element below which most have 2 or 1, and below which most have 1.
SMALL_B, TINY_B = 3.0, 1.5
#: Rules of kinds that move bytes and compute little.
OF_BYTES = ("stream", "gather", "update")


@dataclass(frozen=True)
class Kernel:
    """Rule by which a kind's shapes become work; one entry of `kinds.toml`.

    Parameters
    ----------
    rule : str
        "product", "convolution", "transposed_convolution", "stream", "gather", "update", "attention" or "recurrent".
    direction : str
        Of convolutions: "forward", "data", "weights" or "both"; of attention: "forward" or "both", all gradients.
    writes : str
        Of streams, the output: "broadcast" (as NumPy has it), "largest" (as the largest input), "all" (as all inputs
        together), "rest" (what the graph's bytes leave, else as all), "window" (the largest by the stride), "none"
        (much less than the input), or the first operand, which is not read: "into" (where others follow) or "fill".
    passes : float
        How often the largest input comes from memory.
    inference_flops : float
        Operations per element up to which the largest input comes but once: statistics are given.
    slots : int
        Of updates: arrays as large as the parameter that the optimizer keeps.
    flops : float
        Operations per element, as many as take as long in vectors.
    bias_first : bool
        Of products: whether the bias is the first operand.
    weights_transposed : bool
        Of products: whether the second operand has its columns first.
    picks : str
        Of gathers, what an index picks: "rows", "elements", or "parts", by coordinates that are the last dimension.
    """

    rule: str
    direction: str = "forward"
    writes: str = "largest"
    passes: float = 1.0
    inference_flops: float = 0.0
    slots: int = 0
    flops: float = 1.0
    bias_first: bool = False
    weights_transposed: bool = False
    picks: str = "rows"


@dataclass(frozen=True)
class Seen:
    """A task as a rule sees it.

    Parameters
    ----------
    kind : str
        As the graph spells it.
    kernel : Kernel
    shape : tuple of tuple of int
        Of its inputs.
    attributes : mapping of str to tuple of int
    flops, bytes_B : float
        NaN where unknown.
    element : str
        Type of its elements, a key of `ELEMENTS`; "" where it is not stated.
    """

    kind: str
    kernel: Kernel
    shape: Shape
    attributes: Attributes
    flops: float
    bytes_B: float
    element: str = ""


@dataclass(frozen=True)
class Read:
    """The work of a task.

    Parameters
    ----------
    parts : list of Part
        Its parts.
    more : float
        Factor on their work.
    ways : list of list of Work
        Ways of doing it, each a sequence of parallel regions; the quickest counts.
    guessed : str
        Assumption where neither shapes nor FLOPs nor bytes suffice; empty for none.
    element_B : float
        Mean bytes of an element of operands and results; those of FP32 unless the graph's bytes show others.
    element : str
        Type of the elements that it computes in, where cores may have another rate for them than for FP32; else "".
    assumed : bool
        Whether the type is assumed, as only bytes are known.
    """

    parts: Sequence[Part]
    more: float
    ways: list[list[Work]]
    guessed: str = ""
    element_B: float = ELEMENT_B
    element: str = ""
    assumed: bool = False


def work_of(kind: str, shape: str, flops: float, bytes_B: float, params: Parameters) -> Read | None:
    """Return the work of a task; None where its kind is unknown or its shapes do not fit the kind.

    Parameters
    ----------
    kind, shape : str
        As in `TaskGraph`.
    flops, bytes_B : float
        NaN where unknown.
    params : Parameters

    Examples
    --------
    >>> from simsched.costs.kernels.library import parameters
    >>> work_of("MatMul", "64x512;512x512", float("nan"), float("nan"), parameters()).ways[0][0].pieces
    32
    >>> work_of("MatMul", "64x512;3x3", float("nan"), float("nan"), parameters()) is None
    True
    """
    seen, more = _seen(kind, shape, flops, bytes_B)
    parts, guessed = _parts_of(seen)
    if seen is None or parts is None:
        return None
    found, element_B = ways(parts, params), _element_B(seen, parts)
    element, assumed = _element(seen, element_B)
    if more != 1 or element_B != ELEMENT_B:
        moved = more * element_B / ELEMENT_B
        done = more * (DOUBLE_B / ELEMENT_B if element == "fp64" else 1.0)
        found = [[_times(work, done, moved) for work in works] for works in found]
    return Read(parts, more, found, guessed, element_B, element, assumed)


def _element(seen: Seen, element_B: float) -> tuple[str, bool]:
    """Return the type of elements that an op computes in, "" for FP32, and whether it is assumed."""
    if seen.element in ("fp32", "fp64") or (seen.element and seen.kernel.rule not in OF_BYTES):
        return seen.element.replace("fp32", ""), False
    if is_double(element_B):
        return "fp64", False
    if seen.element or element_B >= SMALL_B:
        return "", False
    return ("bf16" if element_B >= TINY_B else "int8"), True


def is_double(element_B: float) -> bool:
    """Return whether elements of so many bytes are of FP64: a vector holds half as many.

    Examples
    --------
    >>> is_double(7.9), is_double(4.0)
    (True, False)
    """
    return abs(element_B / DOUBLE_B - 1) < NEAR


def columns_B(kind: str, shape: str, flops: float, bytes_B: float) -> float:
    """Return the bytes that a convolution lays out as columns for a matrix product.

    They are 0 for other kinds, and NaN for convolutions whose shapes cannot be read.

    Parameters
    ----------
    kind, shape : str
        As in `TaskGraph`.
    flops, bytes_B : float
        NaN where unknown.

    Examples
    --------
    >>> columns_B("Conv", "1x16x8x8;16x16x3x3", float("nan"), float("nan")) == 4 * 16 * 9 * 8 * 8
    True
    >>> columns_B("MatMul", "64x512;512x512", float("nan"), float("nan"))
    0.0
    """
    kernel = kernel_of(kind)
    if kernel is None or not kernel.rule.endswith("convolution"):
        return 0.0
    seen, more = _seen(kind, shape, flops, bytes_B)
    parts, _ = _parts_of(seen)
    if parts is None:
        return math.nan
    return more * sum(part.columns_B for part in parts if isinstance(part, Convolved))


def _seen(kind: str, shape: str, flops: float, bytes_B: float) -> tuple[Seen | None, float]:
    """Return an op as its rule sees it, None where it has none, and how much more work it does than its shapes show."""
    kernel = kernel_of(kind)
    if kernel is None or not shape:
        return None, 1.0
    operands, attributes, element, more = _parsed(shape)
    return Seen(kind, kernel, operands, attributes, flops / more, bytes_B / more, element), more


def _parts_of(seen: Seen | None) -> tuple[Sequence[Part] | None, str]:
    """Return the parts of an op, and the assumptions made."""
    if seen is None:
        return None, ""
    if seen.kernel.rule == "convolution":
        return convolution(seen)
    if seen.kernel.rule == "transposed_convolution":
        return transposed_convolution(seen)
    return _RULES[seen.kernel.rule](seen), ""


def _element_B(seen: Seen, parts: Sequence[Part]) -> float:
    """Return the mean bytes of an element of operands and results, by the graph's bytes; as of FP32 where near.

    Without bytes it is that of the type that is stated.

    Streams, gathers and updates follow the graph's bytes already; most of what a recurrent layer's parts make is no
    result of it.
    """
    if not seen.bytes_B > 0 or seen.kernel.rule == "recurrent":
        return ELEMENTS.get(seen.element, ELEMENT_B)
    if seen.kernel.rule in OF_BYTES:
        return ELEMENT_B
    made = [part.results for part in parts if not isinstance(part, Walk)]
    if seen.kernel.rule == "attention":
        made = list(map(numel, seen.shape[1:4])) if seen.kernel.direction == "both" else made[-1:]
    found = mean_B(seen, sum(made))
    return ELEMENT_B if abs(found / ELEMENT_B - 1) < NEAR else found


@lru_cache(maxsize=1 << 12)
def _parsed(shape: str) -> tuple[Shape, Attributes, str, float]:
    """Return operands, attributes, the type of elements, and the work over that of the operands."""
    attributes = parse_attributes(shape)
    return parse_shape(shape), attributes, parse_element(shape), float(times(attributes))


def _times(work: Work, more: float, moved: float) -> Work:
    return work._replace(flops=more * work.flops, named_B=moved * work.named_B, moved_B=moved * work.moved_B)


@lru_cache(maxsize=1 << 12)
def kernel_of(kind: str) -> Kernel | None:
    """Return the conversion of a kind's shapes to work; None for unknown kinds.

    Examples
    --------
    >>> kernel_of("aten::convolution_backward").direction, kernel_of("Relu").rule, kernel_of("mine")
    ('both', 'stream', None)
    """
    kinds, families = _table()
    if (found := kinds.get(kind) or kinds.get(plain(kind)) or kinds.get(normalised(kind))) is not None:
        return found
    curve = default_curves()[0].get(normalised(kind))
    return None if curve is None else families.get(curve.family)


@cache
def _table() -> tuple[dict[str, Kernel], dict[str, Kernel]]:
    table: dict[str, Any] = tomllib.loads((files(__package__) / "kinds.toml").read_text("utf-8"))
    kinds: dict[str, Kernel] = {}
    families: dict[str, Kernel] = {}
    for row in table["kernel"]:
        kernel = Kernel(**{key: value for key, value in row.items() if key not in ("kinds", "families")})
        kinds |= dict.fromkeys(row.get("kinds", ()), kernel)
        families |= dict.fromkeys(row.get("families", ()), kernel)
    return kinds, families


def stream(seen: Seen) -> list[Walk] | None:
    """Return an op that reads its inputs a number of times and writes its output once."""
    sizes = [numel(dims) for dims in seen.shape]
    largest, writes = max(sizes, default=0.0), seen.kernel.writes
    if largest < 1:
        return None
    overwrites = writes == "fill" or (writes == "into" and len(sizes) > 1)
    read = sum(sizes[1:] if overwrites else sizes)
    written = {
        "broadcast": _broadcast(seen),
        "largest": largest,
        "all": read,
        "rest": read,
        "window": _pooled(seen, largest),
        "none": 0.0,
        "into": sizes[0],
        "fill": sizes[0],
    }[writes]
    named_B, written_B, each_B = ELEMENT_B * (read + written), ELEMENT_B * written, ELEMENT_B
    if seen.bytes_B > 0:
        # The graph's bytes are more informative than the shapes.
        named_B, mean = seen.bytes_B, seen.bytes_B / (read + written)
        if writes != "rest" and (mean < ELEMENT_B * (1 - NEAR) or is_double(mean)):
            written_B, each_B = mean * written, mean
        else:
            # Of elements of FP32 there are results that the shapes do not show, or less of them.
            written_B = max(named_B - ELEMENT_B * read, 0.0)
    given = 0 < seen.flops <= seen.kernel.inference_flops * largest
    again_B = 0.0 if given else each_B * largest * (seen.kernel.passes - 1)
    return [Walk(max(largest, written_B / each_B), seen.kernel.flops, named_B + again_B, written_B)]


def update(seen: Seen) -> list[Walk] | None:
    """Return an optimizer's step, in place: a parameter (or several, as lists), its slots and its gradient."""
    sizes = [numel(dims) for dims in seen.shape if dims]
    elements = max(max(sizes, default=1.0), sum(sizes) / (2 + seen.kernel.slots))
    if elements < 1:
        return None
    named_B = seen.bytes_B if seen.bytes_B > 0 else ELEMENT_B * elements * (3 + 2 * seen.kernel.slots)
    return [Walk(elements, seen.kernel.flops, named_B, 0.0)]


def gather(seen: Seen) -> list[Walk] | None:
    """Return a copy of what the indices pick from the first operand, read and written once."""
    if len(seen.shape) < 2 or min(map(numel, seen.shape)) < 1:
        return None
    table, index = seen.shape[0], max(seen.shape[1:], key=numel)
    index_B = INDEX_B * numel(index)
    copied_B = ELEMENT_B * _picked(seen.kernel.picks, table, index)
    named_B = 2 * copied_B + index_B
    if seen.bytes_B > 0:
        named_B = seen.bytes_B
        copied_B = max(named_B - index_B, 0.0) / 2
    if math.isnan(named_B):
        return None
    return [Walk(max(copied_B / ELEMENT_B, 1.0), seen.kernel.flops, named_B, copied_B)]


def _picked(picks: str, table: tuple[int, ...], index: tuple[int, ...]) -> float:
    """Return the elements that indices pick; NaN where the shapes do not show them."""
    if picks == "elements":
        return numel(index)
    if picks == "parts":
        return numel(index[:-1]) * numel(table[index[-1] :]) if index else math.nan
    # Along which dimension of more than two is unknown.
    return numel(index) * table[1] if len(table) == 2 else math.nan


def _broadcast(seen: Seen) -> float:
    """Return the elements of the result of broadcast operands; of the largest where they do not broadcast."""
    rank = max(map(len, seen.shape))
    padded = [(1,) * (rank - len(dims)) + dims for dims in seen.shape]
    largest = max(map(numel, seen.shape))
    columns = list(zip(*padded, strict=True))
    if any(len({*sizes} - {1}) > 1 for sizes in columns):
        return largest
    return max(math.prod(float(max(sizes)) for sizes in columns), largest)


def _pooled(seen: Seen, largest: float) -> float:
    """Return the outputs of windows: by their stride where it is known, else by the common stride of 2."""
    stride = seen.attributes.get("stride", (2,))
    down, across = stride[0], stride[-1]
    return largest / max(down * across, 1)


_RULES: Mapping[str, Callable[[Seen], Sequence[Part] | None]] = {
    "product": product,
    "stream": stream,
    "gather": gather,
    "update": update,
    "attention": attention,
    "recurrent": lambda seen: recurrent(plain(seen.kind), seen.shape, seen.kernel.flops),
}
