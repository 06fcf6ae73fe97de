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

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simsched.errors import CostError
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.kernels import convolution, elementwise, matmul
from simsched.hwmodels.ldm.nest import LoopNest
from simsched.hwmodels.ldm.planning import plan
from simsched.hwmodels.ldm.shared_tiles import register_communication

if TYPE_CHECKING:
    from simsched.costs.kernels import Convolution, Team


def gemm_s(m: int, n: int, k: int, team: Team, element_B: int = 4) -> float:
    """Return the seconds of a product of m x k and k x n.

    A team that fills core groups runs hand-written code (`register_communication`), its rows divided among the groups;
    a smaller one runs a plan for the largest power of two of CPEs that it has.

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
    if len(set(conv.stride)) > 1 or len(set(conv.padding)) > 1:
        raise CostError(
            f"stride {conv.stride}, padding {conv.padding}: plans are for one stride and one padding both ways"
        )
    nest = convolution(
        batch=_share(conv.batch, team),
        channels=conv.channels,
        filters=conv.filters,
        size=(conv.height, conv.width),
        kernel=(conv.filter_height, conv.filter_width),
        stride=conv.stride[0],
        padding=conv.padding[0],
    )
    return _seconds(nest, team)


def elementwise_s(elements: int, team: Team, arrays: int = 3) -> float:
    """Return the seconds of an element-wise operation, as `gemm_s`; of the arrays one is written."""
    return _seconds(elementwise(_share(elements, team), operands=arrays - 1), team)


def _parts(team: Team) -> tuple[int, CoreGroup]:
    """Return how many whole core groups a team fills, 0 for none, and the group or the part of it that works."""
    table: Any = team.machine.tables.get("ldm")
    if table is None:
        raise CostError(f"{team.machine} has no [ldm] table, so no local memories to plan; take sw26010")
    group: CoreGroup = table.core_group()
    if team.threads >= group.cpes:
        return team.threads // group.cpes, group
    cpes = 1 << (team.threads.bit_length() - 1)
    return 0, replace(group, cpes=cpes, mesh_columns=min(cpes, group.mesh_columns))


def _share(whole: int, team: Team) -> int:
    """Return what of rows, images or elements the core group with the most has."""
    groups, _ = _parts(team)
    return -(-whole // max(groups, 1))


def _seconds(nest: LoopNest, team: Team) -> float:
    groups, group = _parts(team)
    return register_communication(nest, group).total_s if groups else plan(nest, group).seconds
