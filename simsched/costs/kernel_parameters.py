"""Parameters of the kernel model, read from `kernels.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.errors import CostError


@dataclass(frozen=True)
class Software:
    """How software divides an op over its threads.

    Parameters
    ----------
    name : str
        `library` or `framework`.
    resident : bool
        Whether data stay in the caches from call to call, where they fit.
    gemm_rows, gemm_columns : float
        Least block of a matrix product's output that a thread takes.
    elementwise_block : float
        Least number of elements that a thread takes.
    """

    name: str
    resident: bool
    gemm_rows: float
    gemm_columns: float
    elementwise_block: float


@dataclass(frozen=True)
class StreamParameters:
    """What streams need beyond the machine.

    Parameters
    ----------
    reuse_falloff : float
        p in (C/W)^p, the share of a cyclic working set W that is still found in caches of size C < W.
    team_creation : float
        Factor on the machine's creation of a team.
    """

    reuse_falloff: float
    team_creation: float


@dataclass(frozen=True)
class GemmParameters:
    """Parameters of matrix products.

    Parameters
    ----------
    vector : float
        FP32 elements of a vector register.
    inner_barriers : float
        Barriers inside a call.
    """

    vector: float
    inner_barriers: float


@dataclass(frozen=True)
class ConvolutionParameters:
    """Parameters of convolutions.

    Parameters
    ----------
    vector : float
        Channels of a block.
    accumulators : float
        Outputs of a row that must be in flight for the full rate.
    efficiency, weights_efficiency : float
        Rate of forward passes and data gradients, and of weights gradients, over that of matrix products.
    channel_walk : float
        Share by which 1,000 channels summed over a 1x1 filter slow the former.
    strided : float
        Share by which strides slow all.
    fallback : float
        Rate of a thread where data gradients fall back on one image a thread, over that of matrix products.
    """

    vector: float
    accumulators: float
    efficiency: float
    weights_efficiency: float
    channel_walk: float
    strided: float
    fallback: float


@dataclass(frozen=True)
class LoopParameters:
    """Parameters of plain loops, in cycles of the scalar clock.

    Parameters
    ----------
    latency : float
        Of an element where each waits for the sum before.
    throughput : float
        Of an element where it need not wait.
    start : float
        To start and end an inner loop.
    """

    latency: float
    throughput: float
    start: float


@dataclass(frozen=True)
class Parameters:
    """All parameters of the kernel model, with one way of dividing ops."""

    software: Software
    stream: StreamParameters
    gemm: GemmParameters
    convolution: ConvolutionParameters
    loop: LoopParameters


def parameters(software: str = "library") -> Parameters:
    """Return the parameters of `kernels.toml`.

    Parameters
    ----------
    software : {"library", "framework"}
        Whether a library is called in a loop or an op runs inside a framework.

    Raises
    ------
    CostError
        If there is no such software.
    """
    table = _table()
    if software not in table["software"]:
        raise CostError(f"software {software!r} is none of {', '.join(table['software'])}")
    return Parameters(
        Software(name=software, **_values(table["software"][software])),
        StreamParameters(**_values(table["stream"])),
        GemmParameters(**_values(table["gemm"])),
        ConvolutionParameters(**_values(table["convolution"])),
        LoopParameters(**_values(table["loop"])),
    )


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "kernels.toml").read_text("utf-8"))


def _values(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: row["value"] if isinstance(row, dict) else row for key, row in table.items() if key != "title"
    }
