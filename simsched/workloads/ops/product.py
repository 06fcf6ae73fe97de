"""Matrix products. Shapes are those of the operands as multiplied: a transposed one is written so."""

from __future__ import annotations

from simsched.errors import GraphError
from simsched.workloads.ops.views import transposed
from simsched.workloads.tensor import Tensor


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return a b of (..., m, k) and (..., k, n): `MatMul`, or `BatchMatMulV2` with leading axes.

    Parameters
    ----------
    a : Tensor, shape (..., m, k)
    b : Tensor, shape (..., k, n)

    Returns
    -------
    Tensor, shape (..., m, n)

    Raises
    ------
    GraphError
        If the shapes do not match.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import matmul
    >>> net = Builder()
    >>> y = matmul(net.input(64, 20), net.parameter(20, 10))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64, 10), ['MatMul'], [25600.0])
    """
    if len(a.dims) < 2 or a.dims[:-2] != b.dims[:-2] or a.dims[-1] != b.dims[-2]:
        raise GraphError(f"a product of {a.dims} and {b.dims}; the inner sizes and those in front must agree")
    dims = (*a.dims[:-1], b.dims[-1])
    kind = "MatMul" if len(a.dims) == 2 else "BatchMatMulV2"
    return a.net.op(
        kind,
        [a, b],
        dims,
        2.0 * a.elements * b.dims[-1],
        lambda dy: (
            matmul(dy, transposed(b)) if a.trained else None,
            matmul(transposed(a), dy) if b.trained else None,
        ),
    )
