"""Machines that `dataclasses.replace` changed."""

import re
from dataclasses import replace

import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.machine.effects import Effects


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            lambda m: {"peak_flops": 2 * m.peak_flops, "core_flops": 2 * m.core_flops},
            "[cores.flop_per_cycle=128.0]",
        ),
        (lambda m: {"core_flops": m.core_flops / 2}, "[cores.sustained=0.4]"),
        (lambda m: {"memory": replace(m.memory, bandwidth_Bps=2e11)}, "[bandwidth_Bps=2e+11]"),
        (lambda m: {"runtime": replace(m.runtime, dispatch_s=1.0)}, "[runtime.dispatch=...]"),
        (lambda m: {"interconnect_share": 0.5}, "(interconnect_share), which"),
    ],
)
def test_variations_drop_nothing_that_was_replaced_in_silence(changes, says):
    xeon = ss.machine("xeon-8160x2")
    with pytest.raises(MachineError, match=re.escape(says)):
        replace(xeon, **changes(xeon)).varied({"cores": 24})


def test_replaced_effects_and_titles_are_kept_by_variations():
    xeon = ss.machine("xeon-8160x2")
    near = replace(xeon, title="mine", effects=replace(xeon.effects, remote_memory=False))
    half = near.varied({"cores": 24})
    assert (half.title, half.effects) == ("mine", near.effects)
    assert near.varied({"contention": False}).effects == Effects.all(False)
    assert near.varied({"share_tiles": False}).effects == replace(near.effects, share_tiles=False)


def test_cores_sustain_no_more_than_they_can_issue():
    xeon = ss.machine("xeon-8160x2")
    with pytest.raises(
        MachineError, match=r"sustains 1e\+12 FLOP/s, more than its peak of 2.24e\+11; raise that"
    ):
        replace(xeon, core_flops=1e12)
    assert replace(xeon, core_flops=xeon.peak_flops * 3.5 / 2.1).core_flops == pytest.approx(2.24e11)
