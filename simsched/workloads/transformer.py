"""Transformer encoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.layers import Dense, LayerNorm
from simsched.workloads.ops import (
    add,
    add_n,
    bias_add,
    cross_entropy,
    gelu,
    matmul,
    multiply,
    permuted,
    relu,
    reshaped,
    softmax,
    transposed,
)
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, one_of, whole


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
        Whether each head has its own products: the output is then the sum of each head's result through its rows
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


@dataclass(frozen=True)
class Transformer(Workload):
    """Encoder of a transformer: attention and a feed-forward network, each with a residual and a layer norm.

    What goes in are embedded tokens; the embedding itself is not a part of it.

    Parameters
    ----------
    layers : int
        Layers.
    hidden, inner : int
        Features of a token, and units of the feed-forward network; 0 for four times the features.
    heads : int
        Heads of the attention; they divide the features.
    attention : {"batched", "apart"}
        Whether all heads share one product, or each has its own products that run side by side.
    norm : {"post", "pre"}
        Whether a layer norm follows a residual, or precedes its sublayer (then one more ends the encoder).
    activation : {"gelu", "relu"}
        Of the feed-forward network.
    tokens, batch : int
        Length of a sequence, and sequences of a step of training.
    classes : int
        Outputs of a dense layer on every token; 0 for none, the features are the logits.
    training : bool
        Whether a backward pass and a weight update follow the forward pass.

    References
    ----------
    Attention is all you need. NIPS 2017, Sec. 3.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("transformer", layers=1, training=False)
    <TaskGraph 'transformer[layers=1,training=false]': 25 tasks, 25 edges>
    """

    name = "transformer"

    layers: int = whole(6)
    hidden: int = whole(512)
    inner: int = whole(0, least=0)
    heads: int = whole(8)
    attention: str = one_of("batched", "apart")
    norm: str = one_of("post", "pre")
    activation: str = one_of("gelu", "relu")
    tokens: int = whole(128)
    batch: int = whole(16)
    classes: int = whole(0, least=0)
    training: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % self.heads:
            raise self.refused("heads", f"a divisor of hidden, {self.hidden}")

    def graph(self) -> TaskGraph:
        """Return the task graph."""
        net = Builder(self.training)
        x = net.input(self.batch * self.tokens, self.hidden)
        for layer in range(self.layers):
            with net.within(f"layer{layer}"):
                x = self._layer(net, x)
        if self.norm == "pre":
            x = LayerNorm(net, "norm", self.hidden)(x)
        if self.classes:
            x = Dense(net, "head", self.hidden, self.classes)(x)
        if self.training:
            net.train([cross_entropy(x)])
        return net.graph(str(self))

    def _layer(self, net: Builder, x: Tensor) -> Tensor:
        attention = Attention(net, "attention", self.hidden, self.heads, self.attention == "apart")
        x = self._residual(net, "attention_norm", x, lambda y: attention(y, self.tokens))
        widen = Dense(net, "inner", self.hidden, self.inner or 4 * self.hidden)
        narrow = Dense(net, "outer", self.inner or 4 * self.hidden, self.hidden)
        activate = gelu if self.activation == "gelu" else relu
        return self._residual(net, "feed_forward_norm", x, lambda y: narrow(activate(widen(y))))

    def _residual(self, net: Builder, scope: str, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        norm = LayerNorm(net, scope, self.hidden)
        return norm(add(x, block(x))) if self.norm == "post" else add(x, block(norm(x)))
