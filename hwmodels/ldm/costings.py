"""Common operations and their costings by name, for who finds the planner through a machine's `[ldm]` table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.kernels import bias, convolution, elementwise, matmul, pooling
from simsched.hwmodels.ldm.nest import LoopNest
from simsched.hwmodels.ldm.plain_loops import Reading, no_reuse
from simsched.hwmodels.ldm.planning import plan, plan_by_doubling
from simsched.hwmodels.ldm.shared_tiles import register_communication

#: What finds tiles and the order of the tile loops.
Planner = Literal["search", "doubling"]

OPERATIONS: Mapping[str, Callable[..., LoopNest]] = {
    "convolution": convolution,
    "matmul": matmul,
    "pooling": pooling,
    "elementwise": elementwise,
    "bias": bias,
}


def costings(
    group: CoreGroup, copies: Reading = "directives", planner: Planner = "search"
) -> dict[str, Callable[[LoopNest], float]]:
    """Return the three costings by name: seconds of a nest on a core group.

    Parameters
    ----------
    group : CoreGroup
    copies : {"directives", "columns", "rows", "output-row", "run"}
        As in `no_reuse`.
    planner : {"search", "doubling"}
        Whether plans are those of least seconds, or swTVM's own.
    """
    planned = plan if planner == "search" else plan_by_doubling
    return {
        "planned": lambda nest: planned(nest, group).seconds,
        "no reuse": lambda nest: no_reuse(nest, group, copies).total_s,
        "register communication": lambda nest: register_communication(nest, group).total_s,
    }


def operation(kind: str, **sizes: int) -> LoopNest:
    """Return the nest of a common operation.

    Raises
    ------
    NestError
        If there is no such operation, or its sizes are impossible.
    """
    if kind not in OPERATIONS:
        raise NestError(f"no operation is called {kind!r}; there are {', '.join(OPERATIONS)}")
    return OPERATIONS[kind](**sizes)
