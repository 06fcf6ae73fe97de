"""Layers and cells of recurrent networks: a product with all inputs at once, and one with the state at each step."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.costs.shapes.parts import ELEMENT_B, Part, Product, Walk
from simsched.graph.shapes import Shape

#: Steps of a layer, at most: each is a sequence of parallel regions of its own.
MOST_STEPS = 10_000
#: Matrices of weights in one, by the beginning of the kind.
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def recurrent(kind: str, shape: Shape, gate_flops: float) -> list[Part] | None:
    """Return the parts of a layer or cell; None where the operands do not form one.

    Parameters
    ----------
    kind : str
        Without namespace: "lstm", "gru_cell", ...
    shape : tuple of tuple of int
        ONNX: inputs (steps, batch, features), weights (directions, gates x hidden, features) and (directions, gates x
        hidden, hidden). PyTorch: inputs of a layer or (batch, features), one or two states, then for each layer and
        direction weights (gates x hidden, features) and (gates x hidden, hidden).
    gate_flops : float
        Operations per element of the gates.

    Examples
    --------
    >>> onnx = ((20, 64, 512), (1, 2048, 512), (1, 2048, 512), (1, 4096))
    >>> parts = recurrent("lstm", onnx, 20.0)
    >>> parts[0], parts[1], len(parts)
    (Product(batch=1, m=1280, n=2048, k=512), Product(batch=1, m=64, n=2048, k=512), 41)
    >>> cell = ((64, 512), (64, 256), (768, 512), (768, 256), (768,), (768,))
    >>> [part.flops for part in recurrent("gru_cell", cell, 20.0)[:2]] == [2 * 64 * 768 * 512, 2 * 64 * 768 * 256]
    True
    """
    gates = next((n for name, n in GATES.items() if kind.startswith(name)), 0)
    found = _weights(shape, gates)
    if not found or min(*shape[0], *(n for pair in found for dims in pair for n in dims)) < 1:
        return None
    steps, batch = _size(shape)
    if steps > MOST_STEPS:
        return None
    parts: list[Part] = []
    for of_inputs, of_state in found:
        values, kept = float(batch) * of_state[0], float(batch) * of_state[1]
        gate = Walk(values, gate_flops, ELEMENT_B * (values + 3 * kept), ELEMENT_B * 2 * kept)
        parts.append(Product(1, steps * batch, *of_inputs))
        parts += [Product(1, batch, *of_state), gate] * steps
    return parts


def _weights(shape: Shape, gates: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the weights of the inputs and of the state, for each layer and direction; none where they do not fit."""
    matrices = [(dims[0], dims[1]) for dims in shape[3 if gates == 4 else 2 :] if len(dims) == 2]
    pairs = list(zip(matrices[::2], matrices[1::2], strict=False))
    if not (pairs and len(matrices) % 2 == 0 and _fit(pairs, gates)):
        stacked = [dims for dims in shape[1:3] if len(dims) == 3]
        if len(stacked) < 2 or stacked[0][0] != stacked[1][0]:
            return []
        pairs = [((stacked[0][1], stacked[0][2]), (stacked[1][1], stacked[1][2]))] * stacked[0][0]
    return pairs if 2 <= len(shape[0]) <= 3 and _fit(pairs, gates) else []


def _fit(pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]], gates: int) -> bool:
    return all(of_inputs[0] == of_state[0] == gates * of_state[1] for of_inputs, of_state in pairs)


def _size(shape: Shape) -> tuple[int, int]:
    """Return steps and batch; PyTorch's inputs may have either first, and its states tell which."""
    inputs, second = shape[:2]
    if len(inputs) < 3:
        return 1, inputs[0]
    if len(second) == 3 and second[1] == inputs[0] != inputs[1]:
        return inputs[1], inputs[0]
    return inputs[0], inputs[1]
