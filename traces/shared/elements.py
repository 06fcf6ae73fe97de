"""Types of elements that products compute in, from the types of their operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simsched.costs.shapes.kinds import OF_BYTES, kernel_of
from simsched.graph.shapes import ELEMENTS


def element_of(kind: str, operands: Iterable[tuple[str, int]], names: Mapping[str, str]) -> str:
    """Return the type of elements that a product or convolution computes in, where it is narrower than FP32.

    Parameters
    ----------
    kind : str
        As the graph spells it.
    operands : iterable of (str, int)
        Type and number of dimensions of each. Those of fewer than two (biases, scales) do not matter.
    names : mapping of str to str
        Types, keys of `ELEMENTS`, by what a format calls them; others (masks, indices) do not matter.

    Returns
    -------
    str
        The widest; "" where one is FP32 or wider, or of other kinds.

    Examples
    --------
    >>> names = {"half": "fp16", "char": "int8", "float": "fp32"}
    >>> [element_of("MatMul", [("half", 2), (other, 2)], names) for other in ("half", "char", "float")]
    ['fp16', 'fp16', '']
    >>> element_of("Add", [("half", 2), ("half", 2)], names)
    ''
    """
    kernel = kernel_of(kind)
    if kernel is None or kernel.rule in OF_BYTES:
        return ""
    found = [names[of] for of, rank in operands if rank >= 2 and of in names]
    widest = max(found, key=lambda one: ELEMENTS[one], default="")
    return widest if ELEMENTS.get(widest, 4.0) < ELEMENTS["fp32"] else ""
