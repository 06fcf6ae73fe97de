"""`Sources`: where the error of a prediction comes from, found by replays with parts exchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simsched.execute.crosscheck.overlap import Floats, alone_s
from simsched.machine import Effects
from simsched.policy import policy as policy_of
from simsched.replay import simulate
from simsched.replay.simulate import effective_runtime

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.costs import CostModel
    from simsched.execute.run.execution import Execution
    from simsched.machine import RuntimeProfile
    from simsched.schedule import Schedule


@dataclass(frozen=True)
class Sources:
    """Predicted less measured makespan, by where it comes from; the three add up to it.

    Parameters
    ----------
    kernels_s : float
        What the model's seconds of tasks alone change beside those of the real run's tasks alone.
    interference_s : float
        What the replay adds for tasks running beside others, less what that added in the real run.
    dispatch_s : float
        What is left when every task takes what it took in the real run: decisions, and their order.
    told_apart : float
        Of the core-seconds of tasks that overlapped others in the real run, the share of ops that were also measured
        alone; the interference of the others counts as kernel times. NaN where no tasks overlapped.
    """

    kernels_s: float
    interference_s: float
    dispatch_s: float
    told_apart: float

    @property
    def error_s(self) -> float:
        """Predicted less measured makespan."""
        return self.kernels_s + self.interference_s + self.dispatch_s


def sources(execution: Execution, simulated: Schedule, costs: CostModel, runtime: RuntimeProfile) -> Sources:
    """Return where the error of a prediction comes from.

    With P the predicted and M the median measured makespan, and R(x) that of a replay under the same policy, with the
    same estimates to decide by, nothing shared and x the seconds of each task:

        kernels      = R(model alone) - R(real alone)
        interference = (P - R(model alone)) - (R(real) - R(real alone))
        dispatch     = R(real) - M

    "real" are the seconds of the run nearest to the median; "alone" is without overlap: for the model what it says
    before anything is shared, for the real run as `alone_s` defines it.

    Parameters
    ----------
    execution : Execution
        What was measured.
    simulated : Schedule
        What was predicted, with its machine.
    costs, runtime
        What it was predicted from.
    """
    measured = execution.schedule
    again = _Replay(simulated, costs, runtime)
    own_s, told_apart = alone_s(execution)
    predicted_alone_s = again.makespan_s(simulated.alone_s, simulated.widths)
    real_alone_s = again.makespan_s(own_s, measured.widths)
    real_s = again.makespan_s(measured.finish_s - measured.start_s, measured.widths)
    return Sources(
        kernels_s=predicted_alone_s - real_alone_s,
        interference_s=(simulated.makespan_s - predicted_alone_s) - (real_s - real_alone_s),
        dispatch_s=real_s - execution.median_s,
        told_apart=told_apart,
    )


@dataclass(frozen=True, eq=False)
class _Replay:
    """The replay of a prediction, nothing shared, to be done again with other seconds."""

    simulated: Schedule
    costs: CostModel
    runtime: RuntimeProfile

    def makespan_s(self, seconds: Floats, widths: npt.NDArray[np.int32]) -> float:
        """Return the makespan where each task takes the seconds given for its width.

        On another width it takes as much more or less as the model says. A task that takes no time in the model
        takes none.
        """
        simulated = self.simulated
        machine = replace(simulated.require_machine(), effects=Effects())
        software = effective_runtime(self.runtime, policy_of(simulated.policy))
        estimates = self.costs.on(simulated.graph, machine, software).seconds(widths)
        factors = np.ones(len(seconds))
        np.divide(seconds, estimates, out=factors, where=estimates > 0)
        return simulate(
            simulated.graph, machine, simulated.policy, simulated.layout or None, self.costs, self.runtime,
            seed=simulated.seed, factors=factors,
        ).makespan_s  # fmt: skip
