"""Seconds of a kind of operation of a shape on core groups, with the signatures of `simsched.costs.kernels`.

Examples
--------
>>> import simsched as ss
>>> from simsched.costs.kernels import Team
>>> from simsched.hwmodels.ldm.by_shape import gemm_s
>>> machine = ss.machine("sw26010")
>>> gemm_s(256, 4096, 4096, Team(machine, 64)) < gemm_s(256, 4096, 4096, Team(machine, 16))
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import ceil
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels import Convolution, Team
from simsched.costs.shapes.parts import Convolved, Part, Product
from simsched.errors import CostError
from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.kernels import bias, convolution, elementwise, matmul, pooling
from simsched.hwmodels.ldm.nest import LoopNest
from simsched.hwmodels.ldm.plain_loops import Reading, no_reuse
from simsched.hwmodels.ldm.planning import plan, plan_by_doubling
from simsched.hwmodels.ldm.shared_tiles import register_communication
from simsched.machine import Machine

#: Search for tiles and the order of the tile loops.
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


#: Lock: threads that request the same plans wait for them instead of making them twice.
_PLANNING = Lock()
#: Arrays of the walk that represents an op of many inputs, or of next to no output.
MOST_ARRAYS = 8


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4) -> float:
    """Return the seconds of a product of m x k and k x n.

    Core groups run hand-written code (`register_communication`), rows divided among them; fewer CPEs run the same code
    on the largest power of two of them, see `widths_s`.

    Parameters
    ----------
    m, n, k : int
    team : simsched.costs.kernels.Team
        Its threads are CPEs.
    element_B : int

    Raises
    ------
    CostError
        If the machine has no `[ldm]` table.
    """
    return _team_s(lambda groups: matmul(ceil(m / groups), n, k, element_B), team)


def convolution_s(conv: Convolution, team: Team, direction: str = "forward") -> float:
    """Return the seconds of a convolution, as `gemm_s`: images are divided among core groups.

    Gradients do the operations of the forward pass and are taken as long as it; that was not compared with
    measurements.

    Parameters
    ----------
    conv : simsched.costs.kernels.Convolution
    team : simsched.costs.kernels.Team
    direction : {"forward", "data", "weights"}

    Raises
    ------
    CostError
        If there is no such direction, or strides or paddings differ between height and width.
    """
    if direction not in ("forward", "data", "weights"):
        raise CostError(f"direction {direction!r} is none of forward, data, weights")
    return _team_s(lambda groups: _convolution(conv, ceil(conv.batch / groups)), team)


def _convolution(conv: Convolution, images: int) -> LoopNest:
    if len(set(conv.stride)) > 1 or len(set(conv.padding)) > 1:
        raise CostError(
            f"stride {conv.stride}, padding {conv.padding}: plans are for one stride and one padding both ways"
        )
    return convolution(
        batch=images,
        channels=conv.channels,
        filters=conv.filters,
        size=(conv.height, conv.width),
        kernel=(conv.filter_height, conv.filter_width),
        stride=conv.stride[0],
        padding=conv.padding[0],
        groups=conv.groups,
    )


def elementwise_s(elements: int, team: Team, arrays: int = 3) -> float:
    """Return the seconds of an element-wise operation, as `gemm_s`; one of the arrays is written."""
    return _team_s(lambda groups: elementwise(ceil(elements / groups), operands=arrays - 1), team)


def _team_s(nest_of: Callable[[int], LoopNest], team: Team) -> float:
    table: Any = team.machine.tables.get("ldm")
    if table is None:
        raise CostError(f"{team.machine} has no [ldm] table, so no local memories to plan; take sw26010")
    row = _by_width(
        lambda groups, group: register_communication(nest_of(groups), group).total_s,
        table.core_group(),
        team.threads,
    )
    return float(row[-1])


def widths_s(part: Part, machine: Machine) -> npt.NDArray[np.float64]:
    """Return the seconds of a part of an op on teams of 0, 1, ... CPEs of a machine.

    Whole core groups, and 1, 2, 4, ... CPEs, run `register_communication`; teams between take what fewer CPEs take. Of
    fewer CPEs than a group's nobody has published anything, so they stay between two bounds: they are never faster
    than the group, nor do they take longer than its work shared out evenly. More groups never take longer than fewer.

    Parameters
    ----------
    part : simsched.costs.shapes.parts.Part
    machine : Machine
        With an `[ldm]` table.

    Returns
    -------
    float64 array, shape (threads of the machine + 1,)
        Column 0 is zero.

    Raises
    ------
    CostError
        If strides or paddings differ between height and width.
    """
    if isinstance(part, Convolved):
        # Gradients do the operations of the forward pass.
        part = part._replace(direction="forward")
    with _PLANNING:
        return _row(part, machine.tables["ldm"].core_group(), machine.n_threads)


@lru_cache(maxsize=1 << 12)
def _row(part: Part, group: CoreGroup, most: int) -> npt.NDArray[np.float64]:
    def seconds(groups: int, own: CoreGroup) -> float:
        return _repeats(part, groups) * register_communication(_nest(part, groups), own).total_s

    return _by_width(seconds, group, most)


def _by_width(
    seconds: Callable[[int, CoreGroup], float], group: CoreGroup, most: int
) -> npt.NDArray[np.float64]:
    """Return the seconds on 0, 1, ... `most` CPEs, from those of one group's part among so many groups."""
    whole_s = seconds(1, group)
    narrow = [1 << i for i in range(group.cpes.bit_length()) if 1 << i < min(group.cpes, most + 1)]
    found = {cpes: _fewer_s(seconds, group, cpes, whole_s) for cpes in narrow}
    for groups in range(1, most // group.cpes + 1):
        found[groups * group.cpes] = whole_s if groups == 1 else seconds(groups, group)
    row = np.zeros(most + 1)
    for here, beyond in pairwise([*found, most + 1]):
        row[here:beyond] = found[here]
    row[1:] = np.minimum.accumulate(row[1:])
    row.setflags(write=False)
    return row


def _fewer_s(
    seconds: Callable[[int, CoreGroup], float], group: CoreGroup, cpes: int, whole_s: float
) -> float:
    """Return the seconds on fewer CPEs than a group's, with the group's tiles where they fit."""
    part = replace(group.part(cpes), stated=group.stated or group)
    evenly_s = whole_s * group.cpes / cpes
    try:
        return min(max(seconds(1, part), whole_s), evenly_s)
    except NestError:
        return evenly_s


def _repeats(part: Part, groups: int) -> int:
    """Return how often a core group runs the nest: for each of its products of a batch."""
    return ceil(part.batch / groups) if isinstance(part, Product) else 1


def _nest(part: Part, groups: int) -> LoopNest:
    """Return the part of the core group with the most, once."""
    if isinstance(part, Convolved):
        return _convolution(part.convolution, ceil(part.convolution.batch / groups))
    if isinstance(part, Product):
        return matmul(ceil(part.m / groups) if part.batch == 1 else part.m, part.n, part.k)
    # A walk is an element-wise op that moves the same bytes: one of each element is written.
    arrays = MOST_ARRAYS
    if part.written_B > 0:
        arrays = min(max(round(part.named_B / part.written_B), 2), MOST_ARRAYS)
    elements = max(ceil(part.named_B / (4 * arrays * groups)), 1)
    return elementwise(elements, operands=arrays - 1, flops=part.flops * part.elements / (elements * groups))
