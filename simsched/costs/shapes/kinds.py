"""Work by kind and shape: of matrix products, walks over arrays and convolutions whose shapes can be read."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from simsched.costs.curves import default_curves, normalised, plain
from simsched.costs.kernels.library import Parameters
from simsched.costs.kernels.team import Work
from simsched.costs.shapes.convolutions import convolution, transposed_convolution
from simsched.costs.shapes.parts import Convolved, Part, Product, Walk, ways
from simsched.graph.shapes import Attributes, Shape, numel, parse_attributes, parse_shape, times


@dataclass(frozen=True)
class Kernel:
    """Rule by which a kind's shapes become work; one entry of `kinds.toml`.

    Parameters
    ----------
    rule : str
        "product", "convolution", "transposed_convolution", "stream", "gather", "update" or "attention".
    direction : str
        Of convolutions: "forward", "data", "weights" or "both"; of attention: "forward" or "both", all gradients.
    writes : str
        Of streams, the output: "broadcast" (as NumPy has it), "largest" (as the largest input), "all" (as all inputs
        together), "window" (the largest by the stride), "none" (much less than the input), or the first operand, which
        is not read: "into" (where others follow) or "fill".
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
    """

    kind: str
    kernel: Kernel
    shape: Shape
    attributes: Attributes
    flops: float
    bytes_B: float


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
    """

    parts: Sequence[Part]
    more: float
    ways: list[list[Work]]
    guessed: str = ""


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
    parts, more, guessed = _parts_of(kind, shape, flops, bytes_B)
    if parts is None:
        return None
    found = ways(parts, params)
    if more != 1:
        found = [[_times(work, more) for work in works] for works in found]
    return Read(parts, more, found, guessed)


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
    parts, more, _ = _parts_of(kind, shape, flops, bytes_B)
    if parts is None:
        return math.nan
    return more * sum(part.columns_B for part in parts if isinstance(part, Convolved))


def _parts_of(
    kind: str, shape: str, flops: float, bytes_B: float
) -> tuple[Sequence[Part] | None, float, str]:
    """Return the parts of an op, how much more work it does than its shapes show, and the assumptions made."""
    kernel = kernel_of(kind)
    if kernel is None or not shape:
        return None, 1.0, ""
    operands, attributes, more = _parsed(shape)
    seen = Seen(kind, kernel, operands, attributes, flops / more, bytes_B / more)
    if kernel.rule == "convolution":
        parts, guessed = convolution(seen)
        return parts, more, guessed
    if kernel.rule == "transposed_convolution":
        parts, guessed = transposed_convolution(seen)
        return parts, more, guessed
    return _RULES[kernel.rule](seen), more, ""


@lru_cache(maxsize=1 << 12)
def _parsed(shape: str) -> tuple[Shape, Attributes, float]:
    """Return operands, attributes, and the work over that of the operands."""
    attributes = parse_attributes(shape)
    return parse_shape(shape), attributes, float(times(attributes))


def _times(work: Work, more: float) -> Work:
    return work._replace(flops=more * work.flops, named_B=more * work.named_B, moved_B=more * work.moved_B)


@lru_cache(maxsize=1 << 12)
def kernel_of(kind: str) -> Kernel | None:
    """Return the conversion of a kind's shapes to work; None for unknown kinds.

    Examples
    --------
    >>> kernel_of("aten::convolution_backward").direction, kernel_of("Relu").rule, kernel_of("mine")
    ('both', 'stream', None)
    """
    kinds, families = _table()
    name = plain(kind)
    if (found := kinds.get(name) or kinds.get(normalised(kind))) is not None:
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


Dims = tuple[int, ...]


def product(seen: Seen) -> list[Product] | None:
    """Return a product; None where the operands do not form one."""
    operands = [dims for dims in seen.shape if dims]
    if seen.kernel.bias_first and len(operands) > 2:
        operands = operands[1:]
    found = None if len(operands) < 2 else _product(operands[0], operands[1], seen)
    return None if found is None else [found]


def _product(a: Dims, b: Dims, seen: Seen) -> Product | None:
    """Return the product that the operands allow, with the nearest FLOPs; of equals the likeliest."""
    every = list(_readings(a, b, seen.kernel.weights_transposed))
    if not seen.flops > 0:
        return next(iter(every), None)
    return min(every, key=lambda one: abs(one.flops - seen.flops), default=None)


def _readings(a: Dims, b: Dims, transposed: bool) -> Iterator[Product]:
    if len(a) == 1:
        a = (1, *a)
    if len(b) == 1:
        b = (1, *b) if transposed else (*b, 1)
    if min(*a, *b) < 1:
        return
    rows, inner = math.prod(a[:-1]), a[-1]
    if len(b) == 2:
        orders = [(b[0], b[1]), (b[1], b[0])]
        for k, n in reversed(orders) if transposed else orders:
            if k == inner:
                yield Product(1, rows, n, k)
            if len(a) == 2 and k == a[0]:
                yield Product(1, a[1], n, k)
        return
    if len(a) == 2:
        a = (1, *a)
    batch = max(math.prod(a[:-2]), math.prod(b[:-2]))
    for k, n in ((b[-2], b[-1]), (b[-1], b[-2])):
        for m, mine in ((a[-2], a[-1]), (a[-1], a[-2])):
            if k == mine:
                yield Product(batch, m, n, k)


#: Bytes of an element, FP32, and of an index.
ELEMENT_B, INDEX_B = 4.0, 8.0


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
        "window": _pooled(seen, largest),
        "none": 0.0,
        "into": sizes[0],
        "fill": sizes[0],
    }[writes]
    named_B = ELEMENT_B * (read + written)
    if seen.bytes_B > 0:
        # The graph's bytes are more informative than the shapes.
        named_B = seen.bytes_B
        written = max(named_B / ELEMENT_B - read, 0.0)
    given = 0 < seen.flops <= seen.kernel.inference_flops * largest
    again_B = 0.0 if given else ELEMENT_B * largest * (seen.kernel.passes - 1)
    return [Walk(max(largest, written), seen.kernel.flops, named_B + again_B, ELEMENT_B * written)]


def update(seen: Seen) -> list[Walk] | None:
    """Return an optimizer's step, in place: a parameter (or several, as lists), its slots and its gradient."""
    sizes = [numel(dims) for dims in seen.shape if dims]
    elements = max(max(sizes, default=1.0), sum(sizes) / (2 + seen.kernel.slots))
    if elements < 1:
        return None
    named_B = seen.bytes_B if seen.bytes_B > 0 else ELEMENT_B * elements * (3 + 2 * seen.kernel.slots)
    return [Walk(elements, seen.kernel.flops, named_B, 0.0)]


def gather(seen: Seen) -> list[Walk] | None:
    """Return a copy of rows of a table: for each index, a row is read and written."""
    tables = [dims for dims in seen.shape if len(dims) == 2]
    if not tables or len(seen.shape) < 2:
        return None
    table = max(tables, key=numel)
    others = list(seen.shape)
    others.remove(table)
    rows = max(map(numel, others))
    copied_B = ELEMENT_B * rows * table[1]
    if rows * table[1] < 1:
        return None
    return [Walk(rows * table[1], seen.kernel.flops, 2 * copied_B + INDEX_B * rows, copied_B)]


def attention(seen: Seen) -> list[Part] | None:
    """Return the parts of softmax(Q K') V: two products and the softmax between them.

    For the gradients, whose first operand is that of the result, the scores are computed once more; each product has
    two gradients, and so has the softmax.
    """
    both = seen.kernel.direction == "both"
    operands = seen.shape[both:][:3]
    if len(operands) < 3 or any(len(dims) < 2 or min(dims) < 1 for dims in operands):
        return None
    query, key, value = operands
    heads = seen.attributes.get("heads", (1,))[0]
    if query[-1] != key[-1] or key[-2] != value[-2] or heads < 1 or query[-1] % heads or value[-1] % heads:
        return None
    batch, queries, keys = math.prod(query[:-2]) * heads, query[-2], key[-2]
    features, of_values = query[-1] // heads, value[-1] // heads
    scores = float(batch) * queries * keys
    of_scores: list[Part] = [
        Product(batch, queries, keys, features),
        Walk(scores, seen.kernel.flops, 2 * ELEMENT_B * scores, ELEMENT_B * scores),
    ]
    if not both:
        return [*of_scores, Product(batch, queries, of_values, keys)]
    return [
        *of_scores,
        Product(batch, keys, of_values, queries),
        Product(batch, queries, keys, of_values),
        Walk(scores, 1.0, 3 * ELEMENT_B * scores, ELEMENT_B * scores),
        Product(batch, queries, features, keys),
        Product(batch, keys, features, queries),
    ]


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
}
