"""Kernels by kind and shape: what a task has to do, where its kind is known and its shapes can be read."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from simsched.costs.curves import default_curves, normalised, plain
from simsched.costs.shapes.convolutions import convolution, transposed_convolution
from simsched.costs.shapes.parts import Part, ways
from simsched.costs.shapes.products import product
from simsched.costs.shapes.streams import attention, gather, stream
from simsched.graph.shapes import Attributes, Shape, parse_attributes, parse_shape, times

if TYPE_CHECKING:
    from simsched.costs.kernels.library import Parameters
    from simsched.costs.kernels.work import Work


@dataclass(frozen=True)
class Kernel:
    """How a kind's shapes become work; one entry of `kinds.toml`.

    Parameters
    ----------
    rule : str
        "product", "convolution", "transposed_convolution", "stream", "gather" or "attention".
    direction : str
        Of convolutions: "forward", "data", "weights" or "both".
    writes : str
        Of streams, the output: "broadcast" (as NumPy has it), "largest" (as the largest input), "all" (as all inputs
        together), "window" (the largest by the stride) or "none" (much less than what is read).
    passes : float
        How often the largest input comes from memory.
    flops : float
        Operations an element, as many as take as long in vectors.
    bias_first : bool
        Of products: whether the bias is the first operand.
    weights_transposed : bool
        Of products: whether the second operand has its columns first.
    """

    rule: str
    direction: str = "forward"
    writes: str = "largest"
    passes: float = 1.0
    flops: float = 1.0
    bias_first: bool = False
    weights_transposed: bool = False


@dataclass(frozen=True)
class Seen:
    """What is known of a task.

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

    @property
    def bias_first(self) -> bool:
        """Whether the bias is the first operand."""
        return self.kernel.bias_first

    @property
    def weights_transposed(self) -> bool:
        """Whether the second operand has its columns first."""
        return self.kernel.weights_transposed


@dataclass(frozen=True)
class Read:
    """The work of a task.

    Parameters
    ----------
    parts : list of Part
        What it consists of.
    more : float
        How many times as much work as they say.
    ways : list of list of Work
        Ways of doing it, each a sequence of parallel regions; the quickest counts.
    guessed : str
        What was assumed, as neither shapes nor FLOPs nor bytes tell it; empty for nothing.
    """

    parts: Sequence[Part]
    more: float
    ways: list[list[Work]]
    guessed: str = ""


Rule = Callable[[Seen], "Sequence[Part] | None"]
_RULES: Mapping[str, Rule] = {"product": product, "stream": stream, "gather": gather, "attention": attention}


def work_of(kind: str, shape: str, flops: float, bytes_B: float, params: Parameters) -> Read | None:
    """Return what a task has to do; None where its kind is unknown or its shapes are not those of the kind.

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
    kernel = kernel_of(kind)
    if kernel is None or not shape:
        return None
    operands, attributes, more = _parsed(shape)
    seen = Seen(kind, kernel, operands, attributes, flops / more, bytes_B / more)
    if kernel.rule == "convolution":
        return _read(more, params, *convolution(seen))
    if kernel.rule == "transposed_convolution":
        return _read(more, params, *transposed_convolution(seen))
    return _read(more, params, _RULES[kernel.rule](seen))


@lru_cache(maxsize=1 << 12)
def _parsed(shape: str) -> tuple[Shape, Attributes, float]:
    """Return operands, attributes, and the work over that of the operands."""
    attributes = parse_attributes(shape)
    return parse_shape(shape), attributes, float(times(attributes))


def _read(more: float, params: Parameters, parts: Sequence[Part] | None, guessed: str = "") -> Read | None:
    """Return the parts of an op that does more work than its shapes say, and ways of doing it."""
    if parts is None:
        return None
    found = ways(parts, params)
    if more != 1:
        found = [[_times(work, more) for work in works] for works in found]
    return Read(parts, more, found, guessed)


def _times(work: Work, more: float) -> Work:
    return work._replace(flops=more * work.flops, named_B=more * work.named_B, moved_B=more * work.moved_B)


@lru_cache(maxsize=1 << 12)
def kernel_of(kind: str) -> Kernel | None:
    """Return how a kind's shapes become work; None for unknown kinds.

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
