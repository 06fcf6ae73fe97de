"""Layers with batch normalisation as TensorFlow 1 runs them in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.workloads import tensorflow_ops as tf
from simsched.workloads.inception_layers import Filters, Layers
from simsched.workloads.ops import bias_add, conv2d, cross_entropy, matmul, relu

if TYPE_CHECKING:
    from simsched.workloads.ops.windows import Padding
    from simsched.workloads.tensor import Tensor
    from simsched.workloads.tensorflow_step import TensorFlowStep


class TensorFlowLayers(Layers):
    """Layers with variables, weight decay, moments and moving averages apart.

    Parameters
    ----------
    step : TensorFlowStep
        The step that ops are added to.
    scaled : bool
        Whether batch normalisation scales, too.
    """

    def __init__(self, step: TensorFlowStep, *, scaled: bool = False) -> None:
        super().__init__(step)
        self._step, self._scaled = step, scaled

    def convolution(
        self,
        x: Tensor,
        scope: str,
        filters: Filters,
        stride: int = 1,
        padding: Padding = "same",
        *,
        rectified: bool = True,
    ) -> Tensor:
        """Return a new convolution's outputs, normalised, and rectified unless told otherwise."""
        high, wide, outputs = filters
        step = self._step
        with step.within(scope):
            y = conv2d(x, step.decayed(step.parameter(high, wide, x.dims[-1], outputs)), stride, padding)
            shift = step.parameter(outputs)
            scale = step.parameter(outputs) if self._scaled else None
            average, variance = tf.batch_moments(y)
            step.moving_average(average)
            step.moving_average(variance)
            y = tf.batch_normalised(y, average, variance, shift, scale)
            return relu(y) if rectified else y

    def added(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the rectified sum of two tensors."""
        return relu(tf.add(x, y))

    def dense(self, x: Tensor, scope: str, outputs: int) -> Tensor:
        """Return a new dense layer's outputs."""
        step = self._step
        with step.within(scope):
            weights = step.decayed(step.parameter(x.dims[1], outputs))
            return bias_add(matmul(x, weights), step.parameter(outputs))

    def loss(self, logits: Tensor) -> Tensor:
        """Return the mean cross-entropy of a batch, weighted."""
        with self.net.within("loss"):
            return tf.multiply(tf.mean(cross_entropy(logits)), self.net.input())
