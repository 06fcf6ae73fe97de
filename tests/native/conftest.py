"""What the tests of the compiled module give it: arguments that fit, to be changed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from simsched.native import find
from simsched.policy import Running, Start

I32, I64 = np.int32, np.int64
Arguments = dict[str, Any]

#: 0 -> 1, as rows.
GRAPH = (np.array([0, 1, 1], I64), np.array([1], I32))


class Bound:
    """The compiled module's replays, of plans made from arguments.

    Tables are tuples of their columns, shortcuts and what is shared mappings of their arguments.
    """

    KINDS: ClassVar = {
        "successors": "Csr", "predecessors": "Csr", "executors": "Csr", "teams": "Csr", "loads": "Loads",
        "shortcuts": "Shortcuts", "shared": "Sharing",
    }  # fmt: skip

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def held(self, name: str, value: Any) -> Any:
        """Return an argument as the module knows it."""
        if isinstance(value, dict):
            return getattr(self.module, self.KINDS[name])(**self.all(value))
        if isinstance(value, tuple) and name in self.KINDS:
            return getattr(self.module, self.KINDS[name])(*value)
        return value

    def all(self, given: Arguments) -> Arguments:
        """Return arguments as the module knows them."""
        return {name: self.held(name, value) for name, value in given.items()}

    def replay_list(self, given: Arguments, progress: object = None) -> tuple[Any, ...]:
        """Return what the replay of a `ListPlan` returns, whose data are near."""
        *found, sent, lost = self.module.replay_list(self.module.ListPlan(**self.all(given)), progress)
        assert sent is None
        assert not any(map(len, lost))
        return tuple(found)

    def replay_corun(self, given: Arguments) -> tuple[Any, ...]:
        """Return what the replay of a `CorunPlan` returns, whose data are near."""
        *found, sent = self.module.replay_corun(self.module.CorunPlan(**self.all(given)), None)
        assert sent is None
        return tuple(found)


@pytest.fixture(scope="session")
def native() -> ModuleType:
    """The compiled module."""
    module = find()
    if module is None:
        pytest.skip("installed without the compiled module")
    return module


@pytest.fixture(scope="session")
def bound(native: ModuleType) -> Bound:
    """Return its replays."""
    return Bound(native)


@pytest.fixture(scope="session")
def sharing() -> Arguments:
    """Return arguments of `Sharing`: everything, on two cores of one tile and of two domains."""
    return {
        "bandwidth": True, "tiles": True, "cores": True, "interconnect": True, "remote": True,
        "tile_of": [0, 0], "domain_of": [0, 1], "segment_of": [0, 1], "n_tiles": 1,
        "n_domains": 2, "n_segments": 2, "n_threads": 2,
        "compute": [1.0, 1.2], "waiting": [1.0, 1.5], "capacity_Bps": 4.0, "link_Bps": 2.0, "penalty": 1.5,
        "interconnect_share": 1.0,
        "tile_slowdowns": [1.0, 1.25, 1.25],
    }  # fmt: skip


@pytest.fixture(scope="session")
def loaded(sharing: Arguments) -> Arguments:
    """Return what is shared by two tasks, and their demand on it."""
    return {
        "loads": (np.array([0.5, 1.0]), np.array([0.5, 0.0]), np.array([1, 2], I64), np.ones(2)),
        "shared": sharing,
    }


@pytest.fixture(scope="session")
def listed() -> Arguments:
    """Return arguments of `ListPlan`: 0 -> 1, of 1 and 2 s, on one executor of one thread."""
    return {
        "successors": GRAPH, "seconds": np.array([1.0, 2.0]), "loads": None, "shared": None,
        "discipline": "rank", "position": np.array([0, 1], I32),
        "executors": (np.array([0, 1], I64), np.array([0], I32)), "displaced": np.empty(0, I32),
        "predecessors": None, "delay_s": 0.0, "per_poller_s": 0.0, "shortcuts": None,
    }  # fmt: skip


@pytest.fixture(scope="session")
def cuts() -> Arguments:
    """Return arguments of `Shortcuts`: 0 runs on a thread of its own, and 1 where 0 did."""
    return {
        "threads": np.array([0], I32), "single_threaded": np.array([True, False]), "inline": np.array([False, True]),
        "seconds": np.array([4.0, 8.0]), "loads": None,
        "predecessors": (np.array([0, 0, 1], I64), np.array([0], I32)), "buffered": False,
    }  # fmt: skip


@pytest.fixture(scope="session")
def corunning() -> Arguments:
    """Return arguments of `CorunPlan`: 0 -> 1, each of 1 s on two cores or 2 s on one."""
    return {
        "successors": GRAPH, "widths": np.array([2, 1, 2, 1], I32), "estimates": np.array([1.0, 2.0, 1.0, 2.0]),
        "seconds": np.array([1.0, 2.0, 1.0, 2.0]), "noise": np.empty(0), "serial": np.empty(0),
        "loads": None, "shared": None,
        "candidates": 2, "offered": 2, "max_running": 2, "cores": 2, "cores_per_tile": 1, "ways": 1,
        "corun": True, "dispatch_s": 0.0, "resize_s": 0.0, "resize_per_thread_s": 0.0,
    }  # fmt: skip


class Checks:
    """What knows each task's estimate: 1 s on any width, and nothing asked of what is shared."""

    def estimate(self, task: int, width: int) -> tuple[object, object]:
        """Return that of one task."""
        return 1.0, SimpleNamespace(memory_share=0.0, overhead_share=0.0, demand_Bps=0, core_share=1.0)

    def estimates(self, width: int) -> tuple[object, object]:
        """Return those of both tasks."""
        return np.ones(2), None

    def checked(self, action: object, view: object) -> object:
        """Return the action."""
        return action


@pytest.fixture(scope="session")
def viewed() -> Arguments:
    """Return arguments of `PolicyView`: two tasks on two cores, where deciding costs nothing."""
    return {
        "problem": None, "checks": Checks(), "running": Running, "n_tasks": 2, "cores": 2, "cores_per_tile": 1,
        "ways": 1, "delay_s": 0.0, "per_poller_s": 0.0, "resize_s": 0.0, "resize_per_thread_s": 0.0,
    }  # fmt: skip


@pytest.fixture
def asked(native: ModuleType, viewed: Arguments) -> Arguments:
    """Return arguments of `replay_policy`: 0 -> 1 on two cores, the first ready task first."""
    return {
        "successors": native.Csr(*GRAPH), "view": native.PolicyView(**viewed),
        "decide": lambda view: [Start(view.ready[0])], "start": Start,
        "factors": np.empty(0), "shared": None, "progress": None,
    }  # fmt: skip


@pytest.fixture(scope="session")
def offered(loaded: Arguments) -> Callable[[], Arguments]:
    """Return what is shared, and the demand of two candidates of each of two tasks on it."""
    return lambda: loaded | {"loads": tuple(np.repeat(column, 2) for column in loaded["loads"])}
