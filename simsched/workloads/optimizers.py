"""Optimizers: the op that updates a parameter from its gradient."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.errors import GraphError


@dataclass(frozen=True)
class Optimizer:
    """Update of a parameter by an optimizer.

    Parameters
    ----------
    kind : str
        The op.
    slots : int
        Arrays as large as the parameter that it keeps from step to step.
    flops : float
        Operations for each element of the parameter.
    """

    kind: str
    slots: int
    flops: float


#: By name. A learning rate is one factor; divisions and roots count like additions.
OPTIMIZERS = {
    "sgd": Optimizer("ApplyGradientDescent", 0, 2.0),
    "momentum": Optimizer("ApplyMomentum", 1, 4.0),
    "rmsprop": Optimizer("ApplyRMSProp", 2, 10.0),
    "adam": Optimizer("ApplyAdam", 2, 12.0),
}


def optimizer_of(name: str) -> Optimizer:
    """Return an optimizer.

    Raises
    ------
    GraphError
        If there is none of that name.
    """
    if name not in OPTIMIZERS:
        raise GraphError(f"no optimizer is called {name!r:.60}; there are {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name]
