"""Layout conversions that TensorFlow 1 adds to a network when MKL-DNN runs it."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.tensor import NO_TASK, Tensor

#: Element-wise kinds whose kernels are Eigen's, each after an `InputConversion`.
ELEMENTWISE = frozenset({"AddV2", "Maximum", "Mul", "SquaredDifference", "Sub"})
#: Kinds whose images come out in MKL-DNN's blocked layout.
BLOCKING = frozenset({"Conv2D", "Conv2DBackpropInput", "AvgPool", "AvgPoolGrad", "MaxPool", "MaxPoolGrad"})
#: Kinds whose output has the layout of their first operand.
FOLLOWING = frozenset(
    {"Identity", "Relu", "ReluGrad", "Reshape", "FusedBatchNormV3", "FusedBatchNormGradV3", "LRN", "LRNGrad"}
)
#: Kinds that the layout pass replaces by `_Mkl` ones, but for `AddN`, of which it does so only with two operands.
REWRITTEN = ELEMENTWISE | BLOCKING | FOLLOWING | {"AddN", "ConcatV2", "Conv2DBackpropFilter", "Softmax"}
#: The conversions.
CONVERSIONS = ("InputConversion", "ToTf")


class _Laid(Builder):
    """A network added op by op again, with conversions where layouts meet.

    As TensorFlow 1.9 has it (core/graph/mkl_layout_pass.cc, core/graph/mkl_tfconversion_pass.cc,
    core/kernels/mkl_input_conversion_op.cc): convolutions and pools make images in blocked layout, and rewritten kinds
    pass it on. Before an element-wise op of two operands of which one is blocked, the other one is converted, or the
    blocked one if the op broadcasts; before any op that is not rewritten, blocked operands are. Conversions that find
    nothing to convert are left out.
    """

    def __init__(self, net: Builder) -> None:
        super().__init__(net.training)
        self.parameters = net.parameters
        self._blocked: set[int] = set()
        places: dict[int, int] = {}
        columns = zip(
            net._kinds, net._inputs, net._flops, net._bytes, net._where, net._made_by(), strict=True
        )
        for task, (kind, inputs, flops, size_B, where, dims) in enumerate(columns):
            self._phase, self._place = where
            moved = [Tensor(self, x.dims, places.get(x.task, NO_TASK), trained=False) for x in inputs]
            moved, blocked = self._converted(kind, moved, dims)
            places[task] = self.op(kind, moved, dims, flops, bytes_B=size_B).task
            if blocked:
                self._blocked.add(places[task])

    def _converted(self, kind: str, inputs: list[Tensor], dims: tuple[int, ...]) -> tuple[list[Tensor], bool]:
        """Return an op's operands, converted where it needs that, and whether its output is blocked."""
        laid = [x.task in self._blocked and len(x.dims) == 4 for x in inputs]
        if kind in BLOCKING:
            return inputs, len(dims) == 4
        if kind == "NoOp" or not any(laid):
            return inputs, False
        if kind in ELEMENTWISE and len(inputs) == 2:
            same = inputs[0].dims == inputs[1].dims
            if not all(laid) or not same:
                wrong = [x for x, blocked in zip(inputs, laid, strict=True) if blocked != same]
                made = self._conversion("InputConversion", wrong, inputs)
                inputs = [Tensor(self, x.dims, made.task, trained=False) for x in inputs]
            return inputs, same
        if kind in FOLLOWING or kind == "ConcatV2" or (kind == "AddN" and len(inputs) == 2):
            return inputs, inputs[0].dims == dims or kind == "ConcatV2"
        if kind in REWRITTEN - {"AddN"}:
            return inputs, False
        return [
            self._conversion("ToTf", [x], [x]) if blocked else x
            for x, blocked in zip(inputs, laid, strict=True)
        ], False

    def _conversion(self, kind: str, wrong: Sequence[Tensor], inputs: Sequence[Tensor]) -> Tensor:
        """Add a conversion, which reads and writes tensors of the wrong layout."""
        return self.op(kind, inputs, wrong[0].dims, 0.0, bytes_B=2 * sum(x.size_B for x in wrong))


def with_conversions(net: Builder, name: str) -> TaskGraph:
    """Return the graph of a network as TensorFlow 1 runs it with MKL-DNN: with layout conversions of images.

    Parameters
    ----------
    net : Builder
    name : str

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.mkl_layout import with_conversions
    >>> from simsched.workloads.ops import conv2d, multiply, tanh
    >>> net = Builder()
    >>> y = multiply(tanh(conv2d(net.input(8, 32, 32, 3), net.parameter(3, 3, 3, 16))), net.input(16))
    >>> with_conversions(net, "net").kinds.to_list()
    ['Conv2D', 'ToTf', 'Tanh', 'Mul']
    """
    return _Laid(net).graph(name)
