"""The CPUs of the machine's hardware threads."""

import os

import pytest

import simsched as ss
from simsched.errors import LayoutError
from simsched.execute.run.threads import cpus_of


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads are pinned on Linux alone")
def test_every_hardware_thread_is_a_cpu_of_its_own():
    machine = ss.machine("host")
    cpus = cpus_of(machine)
    assert len(cpus) == len(set(cpus)) == machine.n_threads
    assert set(cpus) <= os.sched_getaffinity(0)


def test_another_machine_is_refused():
    with pytest.raises(LayoutError, match="knl-7250 has 68 cores; graphs really run on this system"):
        cpus_of(ss.machine("knl-7250"))
