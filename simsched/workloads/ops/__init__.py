"""Ops of networks: each adds a task to the network of its operands, and knows its gradient."""

from simsched.workloads.ops.activations import gelu, leaky_relu, relu, sigmoid, tanh
from simsched.workloads.ops.convolution import conv2d, conv2d_transpose
from simsched.workloads.ops.elementwise import (
    add,
    add_n,
    bias_add,
    divide,
    floor_mod,
    less,
    multiply,
    negative,
    subtract,
    where,
)
from simsched.workloads.ops.joining import concat
from simsched.workloads.ops.loss import cross_entropy, sigmoid_cross_entropy
from simsched.workloads.ops.movement import permuted
from simsched.workloads.ops.normalisation import batch_norm, local_response_norm
from simsched.workloads.ops.pooling import average_pool, max_pool
from simsched.workloads.ops.product import matmul
from simsched.workloads.ops.regularisation import dropout
from simsched.workloads.ops.rows import layer_norm, softmax
from simsched.workloads.ops.views import chunks, reshaped, transposed

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
