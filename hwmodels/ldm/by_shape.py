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

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simsched.costs.kernels import Convolution, Team
from simsched.costs.shapes.parts import Convolved, Part, Product, Walk
from simsched.errors import CostError
from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.kernels import bias, convolution, elementwise, matmul, pooling
from simsched.hwmodels.ldm.nest import LoopNest, split
from simsched.hwmodels.ldm.plain_loops import Reading, no_reuse
from simsched.hwmodels.ldm.planning import plan, plan_by_doubling, planned
from simsched.hwmodels.ldm.shared_tiles import register_communication
from simsched.hwmodels.ldm.tiles import first_fit
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
#: Factor within which seconds count as equal.
NEAR = 1.01
#: Arrays of the walk that represents an op of many inputs, or of next to no output.
MOST_ARRAYS = 8


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4) -> float:
    """Return the seconds of a product of m x k and k x n.

    A team that fills core groups runs hand-written code (`register_communication`), its rows divided among the groups;
    a smaller one runs a plan of hand-ordered code for the largest power of two of CPEs that it has.

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
    return _seconds(matmul(_share(m, team), n, k, element_B), team)


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
    return _seconds(_convolution(conv, _share(conv.batch, team)), team)


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
    return _seconds(elementwise(_share(elements, team), operands=arrays - 1), team)


def _parts(team: Team) -> tuple[int, CoreGroup]:
    """Return the number of whole core groups in a team, 0 for none, and the group or its working part."""
    table: Any = team.machine.tables.get("ldm")
    if table is None:
        raise CostError(f"{team.machine} has no [ldm] table, so no local memories to plan; take sw26010")
    group: CoreGroup = table.core_group()
    if team.threads >= group.cpes:
        return team.threads // group.cpes, group
    return 0, _fewer(group, 1 << (team.threads.bit_length() - 1))


def _fewer(group: CoreGroup, cpes: int) -> CoreGroup:
    """Return a part of a group, whose plans are of hand-ordered code, as all else that the whole group runs."""
    return group.hand_ordered().part(cpes)


def _share(whole: int, team: Team) -> int:
    """Return the rows, images or elements of the core group with the most."""
    groups, _ = _parts(team)
    return -(-whole // max(groups, 1))


def _seconds(nest: LoopNest, team: Team) -> float:
    groups, group = _parts(team)
    return register_communication(nest, group).total_s if groups else plan(nest, group).seconds


def widths_s(part: Part, machine: Machine) -> npt.NDArray[np.float64]:
    """Return the seconds of a part of an op on teams of 0, 1, ... CPEs of a machine.

    Teams are planned for 1, 2, 4, ... CPEs, as far as that gains anything, and for whole core groups; a team between
    takes the plan of fewer. Where computation alone takes at least 99 % of a plan's seconds, narrower teams take what
    computation takes.

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
    seconds = np.zeros(most + 1)
    found = dict(_narrow(part, group, min(group.cpes, most + 1)))
    for cpes in range(group.cpes, most + 1, group.cpes):
        groups = cpes // group.cpes
        found[cpes] = _repeats(part, groups) * register_communication(_nest(part, groups), group).total_s
    for here, beyond in pairwise([*found, most + 1]):
        seconds[here:beyond] = found[here]
    seconds.setflags(write=False)
    return seconds


@lru_cache(maxsize=1 << 12)
def _narrow(part: Part, group: CoreGroup, end: int) -> dict[int, float]:
    """Return the seconds on 1, 2, 4, ... CPEs, fewer than `end`, which is at most a group's."""
    narrow = [1 << i for i in range(group.cpes.bit_length()) if 1 << i < end]
    return (_bound_by_memory if isinstance(part, Walk) else _bound_by_computation)(part, group, narrow)


def _bound_by_memory(part: Part, group: CoreGroup, narrow: Sequence[int]) -> dict[int, float]:
    """Return the seconds on fewer CPEs than a group's, until more of them get no more from memory."""
    found: dict[int, float] = {}
    for cpes in narrow:
        found[cpes] = _repeats(part, 1) * plan(_nest(part, 1), _fewer(group, cpes)).seconds
        if cpes > 1 and found[cpes] > found[cpes // 2] / NEAR:
            break
    return found


def _bound_by_computation(part: Part, group: CoreGroup, narrow: Sequence[int]) -> dict[int, float]:
    """Return the seconds on fewer CPEs than a group's, the widest first, as narrower ones wait less for memory."""
    nest, found, bound = _nest(part, 1), dict.fromkeys(narrow, 0.0), False
    for cpes in reversed(narrow):
        fewer = _fewer(group, cpes)
        seconds = fewer.compute_s(split(nest, cpes).part.total_flops) + fewer.spawn_join_s
        if not bound:
            limit_s, seconds = NEAR * seconds, _planned_s(nest, fewer, NEAR * seconds)
            bound = seconds <= limit_s
        found[cpes] = _repeats(part, 1) * seconds
    return found


def _planned_s(nest: LoopNest, group: CoreGroup, enough_s: float) -> float:
    """Return the seconds of the plan; of its first tiles where these are few enough."""
    seconds = min(_first_s(nest, group.buffered(double=twice)) for twice in {False, group.double_buffering})
    return seconds if seconds <= enough_s else plan(nest, group).seconds


def _first_s(nest: LoopNest, group: CoreGroup) -> float:
    part, twice = split(nest, group.cpes).part, group.double_buffering
    try:
        tiles = first_fit(part, group.ldm_B, preferred=group.preferred_elements, double_buffering=twice)
    except NestError:
        return np.inf
    return planned(nest, group, tiles).seconds


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
