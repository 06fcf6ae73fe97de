"""The compiled core, where a compiler was there to build it.

Its stub is made by `python -m nanobind.stubgen -m simsched.native._core -o simsched/native/_core.pyi` and then
put into the house style by `ruff check --fix --unsafe-fixes` and `ruff format`; `Numbers` is written by hand, since
its slots have no types.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from simsched.errors import NativeMissingWarning
from simsched.native.building import how_to_get

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Core(Protocol):
    """What the compiled module offers."""

    def Sharing(self, **numbers: object) -> object:
        """See `simsched.replay.native_engine`."""
        ...

    def Shortcuts(self, **columns: object) -> object:
        """See `simsched.replay.native_engine`."""
        ...

    def longest_path(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        order: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """See `simsched.graph.longest_path.longest_path`."""
        ...

    def replay_list(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        seconds: npt.NDArray[np.float64],
        memory_share: npt.NDArray[np.float64],
        overhead_share: npt.NDArray[np.float64],
        demand_Bps: npt.NDArray[np.int64],
        shared: object | None,
        discipline: str,
        position: npt.NDArray[np.int32],
        executors_indptr: npt.NDArray[np.int64],
        executors_indices: npt.NDArray[np.int32],
        strays: npt.NDArray[np.int32],
        before_indptr: npt.NDArray[np.int64],
        before_indices: npt.NDArray[np.int32],
        delay_s: float,
        per_poller_s: float,
        shortcuts: object | None,
        progress: object,
    ) -> tuple[Any, ...]:
        """See `simsched.replay.native_engine`."""
        ...

    def replay_corun(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        widths: npt.NDArray[np.int32],
        estimates: npt.NDArray[np.float64],
        seconds: npt.NDArray[np.float64],
        noise: npt.NDArray[np.float64],
        serial: npt.NDArray[np.float64],
        memory_share: npt.NDArray[np.float64],
        overhead_share: npt.NDArray[np.float64],
        demand_Bps: npt.NDArray[np.int64],
        shared: object | None,
        candidates: int,
        offered: int,
        most: int,
        cores: int,
        cores_per_tile: int,
        ways: int,
        beside: bool,
        dispatch_s: float,
        resize_s: float,
        resize_per_thread_s: float,
        progress: object,
    ) -> tuple[Any, ...]:
        """See `simsched.replay.native_engine`."""
        ...

    def PolicyView(self, **numbers: object) -> Any:
        """See `simsched.replay.native_engine`."""
        ...

    def replay_policy(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        view: object,
        decide: object,
        start: object,
        factors: npt.NDArray[np.float64],
        shared: object | None,
        progress: object,
    ) -> tuple[Any, ...]:
        """See `simsched.replay.native_engine`."""
        ...

    def excess_seconds(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        start_order: npt.NDArray[np.int32],
        start_s: npt.NDArray[np.float64],
        finish_s: npt.NDArray[np.float64],
        teams_indptr: npt.NDArray[np.int64],
        teams_indices: npt.NDArray[np.int32],
        team: npt.NDArray[np.int32],
        memory_share: npt.NDArray[np.float64],
        overhead_share: npt.NDArray[np.float64],
        demand_Bps: npt.NDArray[np.int64],
        watched: npt.NDArray[np.bool_],
        shared: object,
    ) -> npt.NDArray[np.float64]:
        """See `simsched.explain.causes`."""
        ...


@cache
def core() -> Core | None:
    """Return the compiled module, or None with one warning that says how to get it."""
    try:
        return _imported()
    except ModuleNotFoundError:
        problem = "the compiled module is missing"
    except ImportError as error:
        problem = f"the compiled module does not load ({error})"
    said = f"{problem}, so everything runs in Python, more slowly; {how_to_get()}"
    warnings.warn(said, NativeMissingWarning, stacklevel=3)
    return None


def find() -> Core | None:
    """Return the compiled module, or None, silently."""
    try:
        return _imported()
    except ImportError:
        return None


def _imported() -> Core:
    # By name, because `from simsched.native import _core` calls a missing module and a broken one the same.
    return cast(Core, import_module("simsched.native._core"))
