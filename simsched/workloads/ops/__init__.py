"""Ops of networks: each adds a task to the network of its operands, and knows its gradient."""

from simsched.workloads.ops.convolution import conv2d
from simsched.workloads.ops.elementwise import (
    add,
    bias_add,
    multiply,
    relu,
    sigmoid,
    subtract,
    tanh,
)
from simsched.workloads.ops.loss import cross_entropy
from simsched.workloads.ops.pooling import average_pool, max_pool
from simsched.workloads.ops.product import matmul
from simsched.workloads.ops.views import chunks, reshaped, transposed

__all__ = [
    "add",
    "average_pool",
    "bias_add",
    "chunks",
    "conv2d",
    "cross_entropy",
    "matmul",
    "max_pool",
    "multiply",
    "relu",
    "reshaped",
    "sigmoid",
    "subtract",
    "tanh",
    "transposed",
]
