"""What tests of kernels share: odd sizes, teams of 1 to 4, every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from simsched.errors import SimschedError

Floats = npt.NDArray[np.float32]


def _libraries() -> list[str]:
    """Return what stands before the names of convolutions: nothing, and oneDNN where it is built in."""
    from simsched.execute.kernels.module import module

    try:
        return ["", "onednn_"] if module().onednn_version() else [""]
    except SimschedError:
        return []


@pytest.fixture(params=_libraries())
def library(request: pytest.FixtureRequest) -> Any:
    """What stands before the names of convolutions."""
    return request.param


def _sets() -> list[str]:
    from simsched.execute.kernels.module import module

    try:
        return list(module().instruction_sets())
    except SimschedError:
        return []


@pytest.fixture(params=_sets())
def isa(request: pytest.FixtureRequest) -> Any:
    """An instruction set of this machine."""
    return request.param


@pytest.fixture(params=(1, 2, 3, 4))
def width(request: pytest.FixtureRequest) -> Any:
    """Threads of a team."""
    return request.param


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    """Runs a kernel on arrays."""
    return _run


def _run(
    native: Any, name: str, sizes: list[int], inputs: list[Floats], width: int, isa: str = "auto"
) -> Floats:
    kernel = native.kernel(name, sizes, isa)
    assert kernel.inputs == [x.size for x in inputs]
    # What a part does not write, or writes beyond its end, shows.
    whole = np.full(kernel.output + 64, np.nan, np.float32)
    kernel.apply([np.ascontiguousarray(x).ravel() for x in inputs], whole[:-64], width)
    assert np.isnan(whole[-64:]).all()
    return whole[:-64]


@pytest.fixture(scope="session")
def floats() -> Callable[..., Any]:
    """Makes arrays."""
    return _floats


def _floats(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


@pytest.fixture(scope="session")
def close() -> Callable[..., Any]:
    """Compares what a kernel wrote."""
    return _close


def _close(found: Floats, expected: npt.NDArray[Any], tolerance: float = 2e-5) -> None:
    assert found.shape == (expected.size,)
    np.testing.assert_allclose(found, expected.ravel(), rtol=tolerance, atol=tolerance)
