"""Libraries: how software divides ops over threads, and its kernels' rates, read from `kernels.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.machine import Machine

#: The default library.
DEFAULT = "onednn"


@dataclass(frozen=True)
class Library:
    """A library: its division of an op over threads, and the rates it sustains.

    Parameters
    ----------
    name : str
        One of those in `kernels.toml`.
    gemm_rows, gemm_columns : float
        Least block of a matrix product's output that a thread takes.
    elementwise_block : float
        Least number of elements that a thread takes.
    product_rate, convolution_rate : float
        Rates of its matrix products and of its convolutions over those of the kernel model.
    direct_only : bool
        Whether its convolutions are those of 2017: direct kernels that compute one block of filters of one row, and
        data gradients of strided filters one image a thread.
    by_shape : bool
        Whether the kernel model times its ops; else its cost curves do.
    curves : mapping of str to mapping of str to float
        Numbers of its own cost curves by family, where they differ from those of `curves.toml`.
    """

    name: str
    gemm_rows: float
    gemm_columns: float
    elementwise_block: float
    product_rate: float
    convolution_rate: float
    direct_only: bool
    by_shape: bool = True
    curves: Mapping[str, Mapping[str, float]] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class StreamParameters:
    """Parameters of streams beyond those of the machine.

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
        Outputs of a block of channels that must be in flight for the full rate.
    blocks : float
        Blocks of channels whose outputs a kernel has in flight, at most, unless the library has `direct_only`.
    copy : float
        Operations in whose time an element is copied to the columns of a matrix product, or added from them.
    efficiency, weights_efficiency : float
        Rate of forward passes and data gradients, and of weights gradients, over that of matrix products.
    channel_walk : float
        Share by which 1,000 channels summed over a 1x1 filter slow the former.
    strided, weights_strided : float
        Share by which strides slow the former, and weights gradients.
    weights_walk : float
        Products of a filter's position with an image in whose time a weights gradient loads and stores its sums.
    weights_blocks : float
        Share by which a weights gradient of one block of channels in and out is slower than one of many.
    scatter : float
        Operations in whose time a data gradient that falls back on one image per thread adds a number to its result.
    depthwise : float
        Rate of depthwise convolutions, over that of others.
    """

    vector: float
    accumulators: float
    blocks: float
    copy: float
    efficiency: float
    weights_efficiency: float
    channel_walk: float
    strided: float
    weights_strided: float
    weights_walk: float
    weights_blocks: float
    scatter: float
    depthwise: float


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
    """All parameters of the kernel model, with one library's way of dividing ops.

    Examples
    --------
    >>> parameters().gemm
    GemmParameters(vector=16, inner_barriers=2)
    """

    library: Library
    stream: StreamParameters
    gemm: GemmParameters
    convolution: ConvolutionParameters
    loop: LoopParameters


@cache
def parameters(library: str = DEFAULT) -> Parameters:
    """Return the parameters of the kernel model with a library.

    Parameters
    ----------
    library : str
        One of `libraries()`.

    Raises
    ------
    CostError
        If there is no such library.

    Examples
    --------
    >>> parameters("tensorflow-1.9").library.gemm_rows, parameters().library.name
    (64, 'onednn')
    """
    table = _table()
    if library not in table["library"]:
        near = get_close_matches(str(library), table["library"], 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise CostError(f"library {library!r}: {meant}there are {', '.join(table['library'])}")
    return Parameters(
        Library(name=library, **_values(table["library"][library])),
        StreamParameters(**_values(table["stream"])),
        GemmParameters(**_values(table["gemm"])),
        ConvolutionParameters(**_values(table["convolution"])),
        LoopParameters(**_values(table["loop"])),
    )


def libraries() -> Mapping[str, str]:
    """Return the known libraries by name, each with its title.

    Examples
    --------
    >>> list(libraries())
    ['onednn', 'mkl', 'libxsmm', 'eigen', 'graphi', 'plain', 'tensorflow-1.9']
    """
    return {name: row["title"] for name, row in _table()["library"].items()}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "kernels.toml").read_text("utf-8"))


def _values(table: dict[str, Any]) -> dict[str, Any]:
    return {key: _value(row) for key, row in table.items() if key != "title"}


def _value(row: Any) -> Any:
    """Return the number of a row; of a table of rows, the numbers."""
    if not isinstance(row, dict):
        return row
    return row["value"] if "value" in row else {key: _value(inner) for key, inner in row.items()}


@dataclass(frozen=True)
class LibraryChoice:
    """The library that runs a graph on a machine: its parameters, who named it, and whether anyone did."""

    params: Parameters
    named_by: str
    by_default: bool = False

    @classmethod
    def of(cls, given: str | None, graph: TaskGraph, machine: Machine) -> LibraryChoice:
        """Return the user's choice, else the graph's, else that of the machine's file.

        Raises
        ------
        CostError
            If there is no such library.
        """
        why = graph.report.facts.get("library_why")
        named = (
            (given, "as chosen"),
            (graph.report.facts.get("library"), "as the graph says" + (f": {why}" if why else "")),
            (
                machine.content.get("library"),
                f"as the file of {machine.content.get('name', 'the machine')} says",
            ),
        )
        for name, by in named:
            if name:
                return cls(parameters(str(name)), by)
        return cls(parameters(DEFAULT), "by default; library= or --library names another", by_default=True)
