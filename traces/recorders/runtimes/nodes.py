"""The programs in ONNX: a node for each operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import SimschedError
from simsched.traces.recorders.running import library
from simsched.traces.recorders.runtimes.networks import HIDDEN, Network, Read

#: First versions with the operator Attention.
OPSET, IR_VERSION = 23, 11


@dataclass(frozen=True)
class _Node:
    """How a kind of operator is a node.

    Parameters
    ----------
    operator : str
    attributes : dict
    inputs : tuple of int, optional
        Which of what it reads is each input; -1 for none. All in order, if not given.
    outputs : tuple of str
        Endings of the names of its results.
    """

    operator: str
    attributes: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[int, ...] | None = None
    outputs: tuple[str, ...] = ("0",)


_PRODUCT = _Node("MatMul")
_MEAN = _Node("Mean")
#: Nodes by kind; ONNX has no factorisations and no triangular solves.
NODES = {
    "gemm": _Node("Gemm", {"alpha": -1.0, "transB": 1}, (1, 2, 0)),
    "cell": _Node("LSTM", {"hidden_size": HIDDEN}, (0, 3, 4, -1, -1, 1, 2), ("", "0", "1")),
    **{f"conv{side}": _Node("Conv", {"pads": 4 * [side // 2]}) for side in (1, 3, 5)},
    "pool": _Node("AveragePool", {"kernel_shape": [3, 3], "pads": 4 * [1], "count_include_pad": 1}),
    "concat": _Node("Concat", {"axis": 1}),
    "join": _Node("Concat", {"axis": 2}),
    "attend": _Node("Attention", {"q_num_heads": 1, "kv_num_heads": 1}),
    "norm": _Node("LayerNormalization"),
    "relu": _Node("Relu"),
    "project": _PRODUCT, "output": _PRODUCT, "feed": _PRODUCT,
    "add": _Node("Sum"), "sum": _Node("Sum"), "row": _MEAN, "edge": _MEAN,
}  # fmt: skip


def expressible(network: Network) -> bool:
    """Return whether ONNX has all operators of a program.

    Examples
    --------
    >>> from simsched.traces.recorders.runtimes.networks import cholesky, cnn
    >>> expressible(cnn()), expressible(cholesky())
    (True, False)
    """
    return set(network.program.kinds) <= NODES.keys()


def model(network: Network) -> tuple[bytes, dict[str, npt.NDArray[np.float32]]]:
    """Return a program as a model of ONNX, and its inputs; nodes are called `task[number]`.

    Raises
    ------
    SimschedError
        If the package onnx is missing, or ONNX has no operator for a kind.
    """
    onnx = library("onnx", "models are written with onnx", "onnx")
    if not expressible(network):
        absent = ", ".join(sorted(set(network.program.kinds) - NODES.keys()))
        raise SimschedError(f"ONNX has no operators for {absent}; take another program")
    arrays = {_name((-1, i)): value for i, value in enumerate(network.values())}
    if "cell" in network.program.kinds:
        arrays = {key: _of_cell(value) for key, value in arrays.items()}
    weights = {_name((-1, i)) for i, one in enumerate(network.given) if one.weights}
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    inputs = {key: value for key, value in arrays.items() if key not in weights}
    graph = helper.make_graph(
        [_node(helper, network, task) for task in range(len(network.reads))],
        "program",
        [helper.make_tensor_value_info(key, kind, value.shape) for key, value in inputs.items()],
        [helper.make_tensor_value_info(key, kind, None) for key in _unread(network)],
        [onnx.numpy_helper.from_array(arrays[key], key) for key in sorted(weights)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    # Outputs need shapes.
    text: bytes = onnx.shape_inference.infer_shapes(made).SerializeToString()
    return text, inputs


def _name(read: Read) -> str:
    return f"given {read[1]}" if read[0] < 0 else f"task {read[0]} result {read[1]}"


def _of_cell(value: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return an array as LSTM takes it: of one time step or direction; gates are input, output, forget, cell."""
    if len(value) == 4 * HIDDEN:
        value = value.reshape(4, HIDDEN, -1)[[0, 3, 1, 2]].reshape(value.shape)
    return value[None]


def _node(helper: Any, network: Network, task: int) -> Any:
    node, read = NODES[network.program.kinds[task]], [_name(one) for one in network.reads[task]]
    inputs = read if node.inputs is None else ["" if i < 0 else read[i] for i in node.inputs]
    outputs = [result and _name((task, int(result))) for result in node.outputs]
    return helper.make_node(node.operator, inputs, outputs, name=f"task[{task}]", **node.attributes)


def _unread(network: Network) -> list[str]:
    """Return the results that no operator reads."""
    read = {task for reads in network.reads for task, _ in reads}
    return [_name((task, 0)) for task in range(len(network.reads)) if task not in read]
