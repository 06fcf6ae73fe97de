"""Real runs of task graphs on this machine, under the policies of the simulator."""

from __future__ import annotations

from simsched.execute.calibrate.measuring import calibrate, thread_costs
from simsched.execute.crosscheck.checked import CrossCheck
from simsched.execute.crosscheck.checking import crosscheck
from simsched.execute.measure.measured import Measured
from simsched.execute.measure.measuring import measure
from simsched.execute.recorded.gaps import Gaps
from simsched.execute.recorded.recorded import RecordedReplay, replay_recorded
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import Settings
from simsched.execute.run.run import Case, execute, interleaved
from simsched.rooms import make_callable

__all__ = [
    "Case",
    "CrossCheck",
    "Execution",
    "Gaps",
    "Measured",
    "RecordedReplay",
    "Settings",
    "calibrate",
    "crosscheck",
    "execute",
    "interleaved",
    "measure",
    "replay_recorded",
    "thread_costs",
]

make_callable(__name__, execute)
