"""What the tests of real runs share."""

from __future__ import annotations

from typing import Any

import pytest

from simsched.errors import EngineError
from simsched.execute.module import module


@pytest.fixture(scope="session")
def native() -> Any:
    """The compiled module of real runs."""
    try:
        return module()
    except EngineError as error:
        pytest.skip(str(error))
