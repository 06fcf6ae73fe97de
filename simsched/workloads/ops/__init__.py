"""Ops of networks: each adds a task to the network of its operands, and knows its gradient."""

from simsched.workloads.ops.convolution import conv2d
from simsched.workloads.ops.elementwise import (
    add,
    add_n,
    bias_add,
    divide,
    floor_mod,
    gelu,
    less,
    multiply,
    negative,
    relu,
    sigmoid,
    subtract,
    tanh,
    where,
)
from simsched.workloads.ops.loss import cross_entropy
from simsched.workloads.ops.movement import permuted
from simsched.workloads.ops.pooling import average_pool, max_pool
from simsched.workloads.ops.product import matmul
from simsched.workloads.ops.rows import layer_norm, softmax
from simsched.workloads.ops.views import chunks, reshaped, transposed

__all__ = [
    "add",
    "add_n",
    "average_pool",
    "bias_add",
    "chunks",
    "conv2d",
    "cross_entropy",
    "divide",
    "floor_mod",
    "gelu",
    "layer_norm",
    "less",
    "matmul",
    "max_pool",
    "multiply",
    "negative",
    "permuted",
    "relu",
    "reshaped",
    "sigmoid",
    "softmax",
    "subtract",
    "tanh",
    "transposed",
    "where",
]
