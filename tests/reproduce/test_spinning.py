"""What threads that spin take from those that share a core with them."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.loads import Loads
from simsched.reproduce.concurrency_control.spinning import among_spinning

MACHINE = ss.machine("knl-7250")
#: Throughput of a core with two threads, in computing and in waiting for memory.
COMPUTE, MEMORY = 1.17, 1.48


def test_what_spinning_threads_take():
    """Code that computes, waits for memory, and waits for its own team; beyond four ways threads yield."""
    asked = Loads(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3, np.int64))
    assert among_spinning(asked, MACHINE, 1).tolist() == [1, 1, 1]
    assert among_spinning(asked, MACHINE, 2) == pytest.approx([2 / COMPUTE, 2 / MEMORY, 1])
    assert among_spinning(asked, MACHINE, 9).tolist() == among_spinning(asked, MACHINE, 4).tolist()
