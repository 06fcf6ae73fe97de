"""Compiled planners refuse what does not fit together, so that no index is ever out of range."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

I32 = np.int32


def platform(native: ModuleType, **changes: Any) -> Any:
    """Return 0 -> 1 on two executors of two kinds at two places, some arguments replaced."""
    fitting: dict[str, Any] = {
        "successors": native.Csr(np.array([0, 1, 1]), np.array([1], I32)), "order": np.array([0, 1], I32),
        "kind_seconds": np.ones(4), "kind_of": np.array([0, 1], I32), "place_of": np.array([0, 1], I32),
        "edge_bytes": np.ones(1), "latency_s": np.zeros(4), "s_per_B": np.array([0.0, 1.0, 1.0, 0.0]), "kinds": 2,
        "places": 2,
    }  # fmt: skip
    assert changes.keys() <= fitting.keys()
    return native.Platform(**fitting | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": np.array([0], I32)}, "order needs one entry a task"),
        ({"order": np.array([0, 2], I32)}, "task 2 is not one of 2"),
        ({"kind_seconds": np.ones(3)}, "kind_seconds needs one entry a task and kind"),
        ({"kind_seconds": np.array([1.0, 1.0, -1.0, 1.0])}, "zero or more, and finite"),
        ({"kind_of": np.empty(0, I32), "place_of": np.empty(0, I32)}, "a platform needs an executor"),
        ({"kind_of": np.array([0, 2], I32)}, "kind 2 is not one of 2"),
        ({"kind_of": np.array([0, -1], I32)}, "kind -1 is not one of 2"),
        ({"place_of": np.array([0], I32)}, "place_of needs one entry an executor"),
        ({"place_of": np.array([0, 2], I32)}, "place 2 is not one of 2"),
        ({"edge_bytes": np.ones(2)}, "edge_bytes needs one entry an edge"),
        ({"edge_bytes": np.array([np.nan])}, "zero or more, and finite"),
        ({"latency_s": np.zeros(3)}, "one entry a pair of places"),
        ({"kinds": 2**62, "kind_seconds": np.empty(0)}, "kinds and places are less than"),
    ],
    ids=str,
)
def test_platforms_that_do_not_fit(native: ModuleType, changes: dict[str, Any], message: str) -> None:
    wrong, none = platform(native, **changes), np.empty(0, I32)
    with pytest.raises(ValueError, match=message):
        native.plan_list(wrong, np.array([0, 1], I32), True, True, np.empty(0), none)
    with pytest.raises(ValueError, match=message):
        native.upward_levels(wrong, np.ones(2), np.ones(1))


@pytest.mark.parametrize(
    ("position", "extra", "pinned", "message"),
    [
        ([0], [], [], "position needs one entry a task"),
        ([0, 2], [], [], "position 2 is not one of 2"),
        ([1, 1], [], [], "two tasks have position 1"),
        ([0, 1], [0.0], [], "a column needs one entry a task and kind"),
        ([0, 1], [0.0, 0.0, 0.0, np.nan], [], "a number everywhere"),
        ([0, 1], [], [0], "pinned needs one entry a task"),
        ([0, 1], [], [0, 2], "an executor that is not there"),
    ],
    ids=str,
)
def test_rules_that_do_not_fit(
    native: ModuleType, position: list[int], extra: list[float], pinned: list[int], message: str
) -> None:
    if not (extra or pinned):
        with pytest.raises(ValueError, match=message):
            native.plan_groups(platform(native), np.array(position, I32))
    with pytest.raises(ValueError, match=message):
        native.plan_list(
            platform(native), np.array(position, I32), True, True, np.array(extra), np.array(pinned, I32)
        )


def test_levels_and_pairs_that_do_not_fit(native: ModuleType) -> None:
    fitting = platform(native)
    with pytest.raises(ValueError, match="seconds of each task, and of each edge"):
        native.downward_levels(fitting, np.ones(1), np.ones(1))
    with pytest.raises(ValueError, match="seconds of each task, and of each edge"):
        native.optimistic_costs(fitting, np.ones(2))
    with pytest.raises(ValueError, match="seconds of each task, and of each edge"):
        native.linear_clusters(fitting, np.ones(2), np.ones(2))
    for level, messages in ((np.ones(1), np.ones(1)), (np.ones(2), np.ones(2))):
        with pytest.raises(ValueError, match="a level of each task, and seconds of each edge"):
            native.plan_dynamic(fitting, level, messages)
    two = np.array([0, 1], I32)
    for rule, extra, columns, level, message in (
        ("least", np.zeros(4), two, np.zeros(1), "level needs one entry a task"),
        ("most", np.zeros(4), two, np.zeros(2), "least, level, greatest, sufferage or global, not most"),
        ("least", np.zeros(3), two, np.zeros(2), "as many entries for each task"),
        ("least", np.zeros(2), two, np.zeros(2), "column 1 of extra is not there"),
        ("least", np.zeros(4), two[:1], np.zeros(2), "column_of needs one entry an executor"),
        ("least", np.full(4, np.nan), two, np.zeros(2), "extra is a number everywhere"),
    ):
        with pytest.raises(ValueError, match=message):
            native.plan_pairs(fitting, rule, extra, columns, level, False)


@pytest.mark.parametrize(
    ("table", "most", "group", "message"),
    [
        (np.ones(3), [1, 1], [], "a table needs the seconds"),
        (np.empty(0), [1, 1], [], "a table needs the seconds"),
        (np.ones(2), [1], [], "most one entry a task"),
        (np.array([1.0, np.nan]), [1, 1], [], "zero or more, and finite"),
        (np.ones(2), [1, 2], [], "as wide as the table"),
        (np.ones(2), [1, 0], [], "as wide as the table"),
        (np.ones(2), [1, 1], [0], "group needs one entry a task"),
        (np.ones(2), [1, 1], [0, 2], "a group is a number"),
        (np.ones(2), [1, 1], [0, -1], "a group is a number"),
    ],
    ids=str,
)
def test_widths_that_do_not_fit(
    native: ModuleType, table: Any, most: list[int], group: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        native.critical_widths(
            platform(native), table, np.array(most, I32), 2, np.ones(1), np.array(group, I32)
        )
