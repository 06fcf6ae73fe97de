"""Both engines give the same schedule: the same order, the same cores, the same times to the bit."""

import dataclasses

import pytest
from hypothesis import Phase, settings

from simsched import native
from simsched.testing import check_engines

if native.find():

    def test_engines_are_equivalent():
        """Forty cases here; `benchmarks/equivalence.py` runs as many as one likes."""
        check_engines(examples=40)


def test_the_check_catches_a_difference(monkeypatch):
    from simsched.replay import native_engine, simpy_engine

    def late(plan, progress=None):
        schedule = simpy_engine.replay(plan, progress)
        return dataclasses.replace(schedule, finish_s=schedule.finish_s + 1e-12)

    monkeypatch.setattr(native_engine, "replay", late)
    # The first case will do: finding the smallest takes half a minute.
    settings.register_profile("first", phases=[Phase.generate])
    settings.load_profile("first")
    try:
        with pytest.raises(AssertionError, match="finish_s"):
            check_engines(examples=20)
    finally:
        settings.load_profile("simsched")
