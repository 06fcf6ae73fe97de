"""Runs that nothing of normal priority interrupts."""

from __future__ import annotations

import os

from simsched.errors import SimschedError


def be_realtime() -> None:
    """Give this process, and the threads that it starts, the lowest priority of SCHED_FIFO.

    Raises
    ------
    SimschedError
        If the host does not allow it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError) as error:
        raise SimschedError(f"--realtime needs CAP_SYS_NICE on Linux: {error}") from None
