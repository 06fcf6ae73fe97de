"""What the tests of graphs share: when two graphs are the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simsched.graph import DataObjects, TaskGraph

NUMBERS = ("durations_s", "widths", "flops", "bytes_B")
TEXTS = ("kinds", "shapes", "scopes")


def _assert_columns(one: TaskGraph, other: TaskGraph) -> None:
    for csr in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(one.successors, csr), getattr(other.successors, csr))
    for column in NUMBERS:
        ours, theirs = getattr(one, column), getattr(other, column)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes(), column
    for column in TEXTS:
        assert getattr(one, column).to_list() == getattr(other, column).to_list()
    assert (one.names is None) == (other.names is None)
    if one.names is not None and other.names is not None:
        assert one.names.to_list() == other.names.to_list()
    assert one.name == other.name
    assert (one.seconds_by_kind is None) == (other.seconds_by_kind is None)
    if one.seconds_by_kind is not None and other.seconds_by_kind is not None:
        np.testing.assert_array_equal(one.seconds_by_kind, other.seconds_by_kind)
    assert_data(one.data, other.data)


def assert_data(one: DataObjects | None, other: DataObjects | None) -> None:
    """Assert that both are the same objects; none are the same as no data."""
    assert (one is None or not one.n) == (other is None or not other.n)
    if one is not None and other is not None and one.n:
        np.testing.assert_array_equal(one.size_B, other.size_B)
        np.testing.assert_array_equal(one.producer, other.producer)
        for csr in ("indptr", "indices"):
            np.testing.assert_array_equal(getattr(one.readers, csr), getattr(other.readers, csr))


def _assert_all(one: TaskGraph, other: TaskGraph) -> None:
    _assert_columns(one, other)
    assert [getattr(one, c).labels for c in TEXTS] == [getattr(other, c).labels for c in TEXTS]
    assert one.recorded_on == other.recorded_on
    assert one.report == other.report
    assert (one.recording is None) == (other.recording is None)
    if one.recording is not None and other.recording is not None:
        for field in ("start_s", "finish_s", "lanes"):
            assert getattr(one.recording, field).tobytes() == getattr(other.recording, field).tobytes()
        assert one.recording.lane_names == other.recording.lane_names


@pytest.fixture(scope="session")
def assert_columns() -> Callable[[TaskGraph, TaskGraph], None]:
    """Assert that edges, columns and names are equal bit by bit."""
    return _assert_columns


@pytest.fixture(scope="session")
def assert_same() -> Callable[[TaskGraph, TaskGraph], None]:
    """Assert that everything is equal bit by bit."""
    return _assert_all
