"""Real runs of task graphs on this machine, under the policies of the simulator."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from simsched.execute.checked import CrossCheck
from simsched.execute.checking import crosscheck
from simsched.execute.costs_of_threads import thread_costs
from simsched.execute.execution import Execution
from simsched.execute.gaps import Gaps
from simsched.execute.measuring import calibrate
from simsched.execute.prepared import Settings
from simsched.execute.recorded import RecordedReplay, replay_recorded
from simsched.execute.run import Case, execute, interleaved

__all__ = [
    "Case",
    "CrossCheck",
    "Execution",
    "Gaps",
    "RecordedReplay",
    "Settings",
    "calibrate",
    "crosscheck",
    "execute",
    "interleaved",
    "replay_recorded",
    "thread_costs",
]


class _Room(ModuleType):
    """`simsched.execute` is this room and, called, the function of its name: `ss.execute(graph, "fifo")`."""

    def __call__(self, *arguments: Any, **options: Any) -> Execution:
        """See `simsched.execute.execute`."""
        return execute(*arguments, **options)


sys.modules[__name__].__class__ = _Room
