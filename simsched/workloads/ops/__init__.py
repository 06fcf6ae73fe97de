"""Ops of networks: each adds a task to the network of its operands, and has a gradient."""

from simsched.workloads.ops.convolution import average_pool, conv2d, conv2d_transpose, max_pool
from simsched.workloads.ops.elementwise import (
    add,
    add_n,
    bias_add,
    divide,
    dropout,
    floor_mod,
    less,
    multiply,
    negative,
    subtract,
    where,
)
from simsched.workloads.ops.loss import cross_entropy, sigmoid_cross_entropy
from simsched.workloads.ops.normalisation import (
    batch_norm,
    gelu,
    layer_norm,
    leaky_relu,
    local_response_norm,
    relu,
    sigmoid,
    softmax,
    tanh,
)
from simsched.workloads.ops.product import matmul
from simsched.workloads.ops.views import chunks, concat, permuted, reshaped, transposed

__all__ = [
    "add",
    "add_n",
    "average_pool",
    "batch_norm",
    "bias_add",
    "chunks",
    "concat",
    "conv2d",
    "conv2d_transpose",
    "cross_entropy",
    "divide",
    "dropout",
    "floor_mod",
    "gelu",
    "layer_norm",
    "leaky_relu",
    "less",
    "local_response_norm",
    "matmul",
    "max_pool",
    "multiply",
    "negative",
    "permuted",
    "relu",
    "reshaped",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax",
    "subtract",
    "tanh",
    "transposed",
    "where",
]
