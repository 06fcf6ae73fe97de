"""Examples that need the compiled modules are left out where these are missing, as the tests of them are."""

from __future__ import annotations

import pytest

#: Calls that need the compiled modules.
COMPILED = (
    "ss.execute(",
    "ss.calibrate(",
    "ss.crosscheck(",
    "interleaved(",
    "thread_costs(",
    "check_engines(",
)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip an example that cannot run here."""
    if isinstance(item, pytest.DoctestItem):
        shown = "".join(example.source for example in item.dtest.examples)
        if any(call in shown for call in COMPILED):
            _need_compiled()


def _need_compiled() -> None:
    from simsched.errors import EngineError
    from simsched.execute.module import module

    try:
        module()
    except EngineError as error:
        pytest.skip(str(error))
