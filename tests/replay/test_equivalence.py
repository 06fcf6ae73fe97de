"""Both engines give the same schedule: the same order, the same cores, the same times to the bit."""

import dataclasses

import pytest

from simsched import native
from simsched.testing import check_engines

if native.find():

    def test_engines_are_equivalent():
        """Five hundred cases here; `benchmarks/equivalence.py` runs as many as one likes."""
        check_engines(examples=500)


def test_the_check_catches_a_difference(monkeypatch):
    from simsched.replay import native_engine, simpy_engine

    def late(plan, progress=None):
        schedule = simpy_engine.replay(plan, progress)
        return dataclasses.replace(schedule, finish_s=schedule.finish_s + 1e-12)

    monkeypatch.setattr(native_engine, "replay", late)
    with pytest.raises(AssertionError, match="finish_s"):
        check_engines(examples=20)
