"""The core group that the tests plan for."""

import pytest

import simsched as ss
from simsched.hwmodels.ldm import core_group


@pytest.fixture(scope="session")
def group():
    return core_group(ss.machine("sw26010"))
