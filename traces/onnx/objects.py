"""Tensors of a model as data objects of its graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from simsched.traces.onnx.model import Node
from simsched.traces.onnx.proto import Tensor, tensor_bytes
from simsched.traces.shared.objects import Objects


def tensors(nodes: Sequence[Node], known: Mapping[str, Tensor]) -> Objects:
    """Return the tensors that nodes read and write; those that none of them writes are inputs.

    Parameters
    ----------
    nodes : sequence of Node
        In the order of the graph's tasks.
    known : mapping of str to Tensor
        Element types and shapes, as far as they are known.
    """
    found, number = Objects(), dict[str, int]()
    for task, node in enumerate(nodes):
        for name in dict.fromkeys((*node.inputs, *node.captured)):
            if name not in number:
                number[name] = found.add(_size_B(known.get(name)))
            found.read(number[name], task)
        for name in node.outputs:
            number[name] = found.add(_size_B(known.get(name)), task)
    return found


def _size_B(tensor: Tensor | None) -> float:
    if tensor is None or None in tensor.dims:
        return math.nan
    return float(tensor_bytes([tensor]))
