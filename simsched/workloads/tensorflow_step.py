"""`TensorFlowStep`: a training step as TensorFlow 1 runs it, with variables, groups, averages; its layers."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.workloads import tensorflow_ops as tf
from simsched.workloads.builder import Builder
from simsched.workloads.layers import Filters, Layers
from simsched.workloads.ops import add_n, bias_add, conv2d, cross_entropy, matmul, relu
from simsched.workloads.ops.convolution import Padding
from simsched.workloads.ops.elementwise import elementwise
from simsched.workloads.optimizers import Optimizer
from simsched.workloads.tensor import Node, Tensor
from simsched.workloads.tensorflow_ops import mean, multiply, renamed, squares_halved


class TensorFlowStep(Builder):
    """A builder of all ops that a run of TensorFlow's training op executes.

    As in the public Inception program (tensorflow/models, research/inception, one tower): variables and their reads; L2
    losses of weights; gradients in groups; averages of gradients over towers; RMSProp with its slots; moving averages
    of batches, without the bias of their beginning, of losses, and of all variables. Not in it: the input pipeline and
    summaries, which other runs execute, and what only depends on constants, which is folded before the step.

    Parameters
    ----------
    averages : bool
        Whether gradients are averaged over towers, and losses and variables followed by averages; the public ResNet
        program (research/resnet) does neither.
    """

    def __init__(self, *, averages: bool = True) -> None:
        super().__init__(training=True)
        self._averages = averages
        self._variables: dict[Tensor, Tensor] = {}
        self._averaged: list[Tensor] = []
        self._decays: list[Tensor] = []
        self._rate = self.input()
        self._groups: dict[str, list[Tensor]] = {"updates": [], "moving": [], "averages": []}

    def variable(self, *dims: int) -> Tensor:
        """Add a variable, and return the result of reading it."""
        made = self.op("VariableV2", [], dims, 0.0, bytes_B=0)
        read = renamed("Identity", made, *dims)
        self._variables[read] = made
        return read

    def parameter(self, *dims: int) -> Tensor:
        """Return the read of a new variable; `train` updates it."""
        read = self.variable(*dims)
        read.trained = True
        self.parameters.append((read, self._place))
        self._averaged.append(read)
        return read

    def decayed(self, weights: Tensor) -> Tensor:
        """Add the L2 loss of weights, and return them."""
        self._decays.append(multiply(squares_halved(weights), self.input()))
        return weights

    def moving_average(self, value: Tensor) -> None:
        """Add a variable that follows a value of the batches, without the bias of its first steps."""
        moving = self.variable(*value.dims)
        self._averaged.append(moving)
        biased, steps = self.variable(*value.dims), self.op("VariableV2", [], (), 0.0, bytes_B=0)
        change = elementwise("Mul", elementwise("Sub", biased, value), self.input())
        followed = self._assigned("AssignSub", self._variables[biased], change)
        counted = self._assigned("AssignAdd", steps, self.input())
        biased_now = renamed("Identity", biased, after=[followed, counted])
        steps_now = renamed("Identity", steps, after=[followed, counted])
        share = elementwise("Sub", self.input(), elementwise("Pow", self.input(), steps_now))
        change = elementwise("Sub", moving, elementwise("RealDiv", biased_now, share))
        self._groups["moving"].append(self._assigned("AssignSub", self._variables[moving], change))

    def _assigned(self, kind: str, variable: Tensor, value: Tensor) -> Tensor:
        return self.op(kind, [variable, value], variable.dims, variable.elements)

    def _follow(self, average: Tensor, value: Tensor, decay: Tensor) -> Tensor:
        """Add a step of a variable that follows a value."""
        change = elementwise("Mul", elementwise("Sub", average, value), decay)
        return self._assigned("AssignSub", self._variables[average], change)

    def minimise(self, losses: Sequence[Tensor], optimizer: str = "rmsprop") -> None:
        """Add the rest of the step, for losses of ()."""
        with self.within("train"):
            loss = total = add_n([*losses, *self._decays])
            if self._averages:
                followed = [self._follow(self.variable(), each, self.input()) for each in (*losses, total)]
                # The minimised loss waits for the averages of the losses.
                loss = renamed("Identity", total, after=[self._group(followed)])
            step = self.variable()
            self._rate = self._learning_rate(step) if self._averages else self.input()
        self.train([total], optimizer)
        with self.within("train"):
            if self._averages:
                self._average_variables(step)
            applied = self._group(self._groups["updates"])
            one = renamed("Identity", self.input(), after=[applied])
            counted = self._assigned("AssignAdd", self._variables[step], one)
            groups = [self._group(self._groups[name]) for name in ("averages", "moving")]
            self._group([counted, *groups, loss])

    def _learning_rate(self, step: Tensor) -> Tensor:
        """Exponential decay, in steps."""
        epochs = elementwise("RealDiv", step, self.input())
        decay = elementwise("Pow", self.input(), self.op("Floor", [epochs], (), 1.0))
        return elementwise("Mul", decay, self.input())

    def _average_variables(self, step: Tensor) -> None:
        # min(decay, (1 + steps) / (10 + steps))
        one_more, ten_more = (elementwise("AddV2", self.input(), step) for _ in range(2))
        ratio = elementwise("RealDiv", one_more, ten_more)
        decay = elementwise("Minimum", self.input(), ratio)
        for read in self._averaged:
            share = elementwise("Sub", self.input(), decay)
            self._groups["averages"].append(self._follow(self.variable(*read.dims), read, share))

    def _group(self, done: Sequence[Tensor]) -> Tensor:
        return self.op("NoOp", done, (), 0.0, bytes_B=0)

    def _handed_on(self, node: Node, gradients: list[Tensor | None]) -> list[Tensor | None]:
        """Return gradients that wait for all gradients of the same op, as TensorFlow ties them."""
        there = [gradient for gradient in gradients if gradient is not None]
        if len(there) < 2:
            return gradients
        group = self._group(there)
        return [
            renamed("Identity", gradient, after=[group]) if gradient is not None and x.trained else None
            for x, gradient in zip(node.inputs, gradients, strict=True)
        ]

    def _update(self, parameter: Tensor, gradient: Tensor, rule: Optimizer) -> Tensor:
        dims = parameter.dims
        if self._averages:
            # The mean over towers, of which there is one: a concatenation of one passes its operand on.
            gradient = mean(renamed("Identity", renamed("ExpandDims", gradient, 1, *dims)), *dims)
        slots = [self.op("VariableV2", [], dims, 0.0, bytes_B=0) for _ in range(rule.slots)]
        inputs = [self._variables[parameter], *slots, gradient, self._rate]
        updated = self.op(rule.kind, inputs, dims, rule.flops * parameter.elements)
        self._groups["updates"].append(updated)
        return updated


class TensorFlowLayers(Layers):
    """Layers with separate variables, weight decay, moments and moving averages.

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
        """Return a new convolution's outputs, normalised, and by default rectified."""
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
