"""Real runs of task graphs on this machine, under the policies of the simulator."""

from __future__ import annotations

from simsched.execute.checked import CrossCheck
from simsched.execute.checking import crosscheck
from simsched.execute.costs_of_threads import thread_costs
from simsched.execute.execution import Execution
from simsched.execute.gaps import Gaps
from simsched.execute.measuring import calibrate
from simsched.execute.prepared import Settings
from simsched.execute.recorded import RecordedReplay, replay_recorded
from simsched.execute.run import Case, execute, interleaved
from simsched.rooms import make_callable

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

make_callable(__name__, execute)
