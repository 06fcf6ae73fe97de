"""What examples in docstrings need: compiled modules, or they are left out; no figures of examples before them."""

from __future__ import annotations

import gc
import sys

import pytest

# Rooms before their files: pytest, given one file alone, would put a plain module where a callable room, or a function
# of the file's name, belongs.
import simsched.exact
import simsched.execute
import simsched.machine
import simsched.panel
import simsched.plots
import simsched.policy
import simsched.report
import simsched.reproduce
import simsched.sweep  # noqa: F401 - imported for the order

# Tests, and collecting them, make many objects that live long; figures, which refer to themselves, are closed.
gc.set_threshold(50_000, 10, 5)

#: Calls that need the compiled modules.
COMPILED = (
    "ss.execute(",
    "ss.calibrate(",
    "ss.crosscheck(",
    "interleaved(",
    "thread_costs(",
    "check_engines(",
)


def pytest_collection_finish() -> None:
    """Keep what was loaded till here out of each later search for garbage: it is 500,000 objects, and stays.

    Hypothesis, at its first case, looks for who holds its generator of random numbers, and warns if nobody does; from
    Python 3.14 on, the holder is among these objects. So it has a case before.
    """
    if hypothesis := sys.modules.get("hypothesis"):
        hypothesis.given(hypothesis.strategies.none())(lambda _: None)()
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip an example that cannot run here."""
    if isinstance(item, pytest.DoctestItem):
        shown = "".join(example.source for example in item.dtest.examples)
        if any(call in shown for call in COMPILED):
            _need_compiled()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the figures of an example: matplotlib warns when 20 are open."""
    if isinstance(item, pytest.DoctestItem) and (pyplot := sys.modules.get("matplotlib.pyplot")):
        pyplot.close("all")


def _need_compiled() -> None:
    from simsched.errors import SimschedError
    from simsched.execute.kernels.module import module

    try:
        module()
    except SimschedError as error:
        pytest.skip(str(error))
