"""Self-attention with several heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.workloads.layers import Dense
from simsched.workloads.ops import add_n, bias_add, matmul, multiply, permuted, reshaped, softmax, transposed

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder
    from simsched.workloads.tensor import Tensor


class Attention:
    """Queries, keys and values of all heads, softmax(q k' / sqrt(features of a head)) v, and the output's product.

    Parameters
    ----------
    net : Builder
    scope : str
        Name of the layer.
    hidden, heads : int
        Features of a token, and heads.
    apart : bool
        Whether each head has products of its own: the output is then the sum of what each head gives through its rows
        of the output's matrix, which is the same as one product of all heads together.
    """

    def __init__(self, net: Builder, scope: str, hidden: int, heads: int, apart: bool) -> None:
        self._net, self._scope = net, scope
        groups, size = (heads, hidden // heads) if apart else (1, hidden)
        self._heads_of_group = heads // groups
        with net.within(scope):
            self._groups = [
                _Projections(net, f"head{i}" if apart else "heads", hidden, size) for i in range(groups)
            ]
            self._bias = net.parameter(hidden)

    def __call__(self, x: Tensor, tokens: int) -> Tensor:
        """Return the features of (batch x tokens, hidden) after attention within each sequence."""
        with self._net.within(self._scope):
            return bias_add(
                add_n([group(x, tokens, self._heads_of_group) for group in self._groups]), self._bias
            )


class _Projections:
    """Queries, keys, values and the rows of the output's matrix of one head, or of all."""

    def __init__(self, net: Builder, scope: str, hidden: int, size: int) -> None:
        self._net, self._scope = net, scope
        with net.within(scope):
            self._query, self._key, self._value = (
                Dense(net, name, hidden, size) for name in ("query", "key", "value")
            )
            with net.within("output"):
                self._output = net.parameter(size, hidden)

    def __call__(self, x: Tensor, tokens: int, heads: int) -> Tensor:
        with self._net.within(self._scope):
            query, key, value = (
                _split(project(x), tokens, heads) for project in (self._query, self._key, self._value)
            )
            scores = multiply(matmul(query, transposed(key)), self._net.input())
            attended = _joined(matmul(softmax(scores), value), heads)
            with self._net.within("output"):
                return matmul(attended, self._output)


def _split(x: Tensor, tokens: int, heads: int) -> Tensor:
    """Return (batch, heads, tokens, features of a head) of (batch x tokens, features); one head has no axis."""
    rows, size = x.dims
    if heads == 1:
        return reshaped(x, rows // tokens, tokens, size)
    return permuted(reshaped(x, rows // tokens, tokens, heads, size // heads), 0, 2, 1, 3)


def _joined(x: Tensor, heads: int) -> Tensor:
    """Undo `_split`."""
    x = x if heads == 1 else permuted(x, 0, 2, 1, 3)
    features = x.dims[-1] * heads
    return reshaped(x, x.elements // features, features)
