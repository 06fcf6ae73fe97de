"""A policy whose replays take at least some time on every machine, in a module that workers import."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simsched.policy import RankPolicy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from simsched.policy import Problem


@dataclass(frozen=True)
class Paced(RankPolicy):
    """Waits, then ranks tasks at random.

    Parameters
    ----------
    pause_s : float
        Seconds to wait in each replay.
    """

    name = "paced"
    pause_s: float = 0.03

    def rank(self, problem: Problem) -> npt.NDArray[np.float64]:
        """Return numbers of the problem's seed."""
        time.sleep(self.pause_s)
        return problem.generator().random(problem.graph.n_tasks)
