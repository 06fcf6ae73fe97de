"""Losses."""

from __future__ import annotations

from simsched.workloads.ops.elementwise import multiply
from simsched.workloads.ops.views import reshaped
from simsched.workloads.tensor import Tensor


def cross_entropy(logits: Tensor) -> Tensor:
    """Return the cross-entropy of softmax and labels of each sample: logits of (n, classes), losses of (n,).

    As in TensorFlow, the op also gives the gradient of the logits, which the backward pass multiplies by that of the
    losses.

    Parameters
    ----------
    logits : Tensor, shape (n, classes)

    Returns
    -------
    Tensor, shape (n,)

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import cross_entropy
    >>> net = Builder()
    >>> y = cross_entropy(net.input(64, 10))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((64,), ['SparseSoftmaxCrossEntropyWithLogits'], [3840.0])
    """
    net, (n, _) = logits.net, logits.dims
    # maximum, subtract, exp, sum, divide, and the label's share
    losses = net.op(
        "SparseSoftmaxCrossEntropyWithLogits",
        [logits, net.input(n)],
        (n,),
        6.0 * logits.elements,
        lambda dy: (multiply(towards_logits, reshaped(dy, n, 1)), None),
    )
    towards_logits = net.also(losses, *logits.dims)
    return losses


def sigmoid_cross_entropy(logits: Tensor) -> Tensor:
    """Return the mean cross-entropy of sigmoid and given labels: logits of any shape, a loss of ().

    As TensorFlow composes it: `max(x, 0) - x z + log(1 + exp(-|x|))`, in one task with its mean.

    Parameters
    ----------
    logits : Tensor

    Returns
    -------
    Tensor, shape ()

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import sigmoid_cross_entropy
    >>> net = Builder()
    >>> y = sigmoid_cross_entropy(net.input(64, 10))
    >>> y.dims, net.graph("net").kinds.to_list(), net.graph("net").flops.tolist()
    ((), ['SigmoidCrossEntropyWithLogits'], [5760.0])
    """
    net, labels = logits.net, logits.net.input(*logits.dims)
    # sigmoid(x) - z, scaled
    return net.op(
        "SigmoidCrossEntropyWithLogits",
        [logits, labels],
        (),
        9.0 * logits.elements,
        lambda dy: (
            net.op(
                "SigmoidCrossEntropyWithLogitsGrad", [logits, labels, dy], logits.dims, 3.0 * logits.elements
            ),
            None,
        ),
    )
