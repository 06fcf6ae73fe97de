"""Executions of the tasks of a program, by kind, shape and width; which of them were interrupted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import log

import numpy as np
import numpy.typing as npt

from simsched.graph.taskgraph import Seconds
from simsched.learning.observed import Observed, TaskKey

#: From the median absolute deviation to a normal distribution's standard deviation.
TO_SIGMA = 1.4826
#: A task longer than its group's median by more than so many deviations, and by `LEAST`, was interrupted.
DEVIATIONS = 3.0
#: Logarithm of the least such ratio: less may be chance.
LEAST = log(1.4)
#: Executions from which a group's scatter is known.
ENOUGH = 8
SHORTEST_S = 1e-9

Group = tuple[str, str, str, int]


@dataclass(frozen=True, eq=False)
class Samples:
    """Executions of one program's tasks of one kind, shape and width, from all recordings.

    Parameters
    ----------
    seconds_s, company : list of float
    recordings : list of int
        Which recording each is of.
    keys : list of TaskKey
    elsewhere : dict
        What recordings on other widths tell of a task: the logarithm of its seconds, and of the most that it may take.
    """

    seconds_s: list[float] = field(default_factory=list)
    company: list[float] = field(default_factory=list)
    recordings: list[int] = field(default_factory=list)
    keys: list[TaskKey] = field(default_factory=list)
    elsewhere: dict[TaskKey, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def logs(self) -> npt.NDArray[np.float64]:
        """Logarithms of the seconds."""
        return np.log(np.maximum(self.seconds_s, SHORTEST_S))

    @cached_property
    def least(self) -> dict[TaskKey, float]:
        """The least of these of each task."""
        least: dict[TaskKey, float] = {}
        for key, value in zip(self.keys, self.logs.tolist(), strict=True):
            least[key] = min(value, least.get(key, np.inf))
        return least

    @cached_property
    def undisturbed(self) -> npt.NDArray[np.bool_]:
        """Which executions were not interrupted.

        A long one shows against its group where that is large, and against the same task in other recordings, of the
        same width or of another.
        """
        if len(self.logs) >= ENOUGH:
            middle, scatter = middle_of(self.logs)
            limit = middle + max(DEVIATIONS * scatter, LEAST)
        else:
            limit = float(self.logs.min()) + 2 * LEAST
        nothing = (0.0, np.inf)
        most = {
            key: min(own + 2 * LEAST, self.elsewhere.get(key, nothing)[1]) for key, own in self.least.items()
        }
        return np.asarray(self.logs <= np.minimum(limit, [most[key] for key in self.keys]))

    def of_company(self, factor: float) -> Seconds:
        """Return the seconds of each execution without the slow-down by other tasks, given its factor."""
        return np.array(self.seconds_s) * (1.0 - np.array(self.company) * (1.0 - 1.0 / factor))


def middle_of(logs: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the median, and the scatter around it as a standard deviation."""
    middle = float(np.median(logs))
    return middle, TO_SIGMA * float(np.median(np.abs(logs - middle)))


def grouped(runs: Sequence[Observed]) -> dict[Group, Samples]:
    """Return the executions of all recordings by program, kind, shape and width."""
    groups: dict[Group, Samples] = defaultdict(Samples)
    for i, run in enumerate(runs):
        columns = (run.keys, run.seconds_s.tolist(), run.company.tolist(), run.widths.tolist())
        for key, seconds_s, company, width in zip(*columns, strict=True):
            group = groups[run.program, key[0], key[1], width]
            group.seconds_s.append(seconds_s)
            group.company.append(company)
            group.recordings.append(i)
            group.keys.append(key)
    _compare_widths(groups)
    return dict(groups)


def _compare_widths(groups: dict[Group, Samples]) -> None:
    """Set what the tasks of each group take on other widths tells of them, where programs have several widths.

    A task is expected to take as much more or less as its program's tasks do in the median. It may take longer by three
    scatters of that ratio and by 2 `LEAST`, and as long as one that more threads do not speed up, or speed up fully.
    """
    of_width: dict[tuple[str, int], dict[TaskKey, float]] = defaultdict(dict)
    for (program, _, _, width), samples in groups.items():
        of_width[program, width].update(samples.least)
    ratios: dict[tuple[str, int, int], tuple[float, float]] = {}
    for (program, width), (other, narrow) in permutations(of_width, 2):
        here, there = of_width[program, width], of_width[other, narrow]
        if program == other and len(both := here.keys() & there.keys()) >= ENOUGH:
            middle, scatter = middle_of(np.array([here[key] - there[key] for key in both]))
            usual = middle + max(DEVIATIONS * scatter, 2 * LEAST)
            ratios[program, width, narrow] = middle, max(usual, max(log(narrow / width), 0.0) + 2 * LEAST)
    for (program, width, narrow), (middle, most) in ratios.items():
        for (name, _, _, own), samples in groups.items():
            if (name, own) == (program, width):
                there = of_width[program, narrow]
                for key in samples.least.keys() & there.keys():
                    told = there[key] + middle, there[key] + most
                    samples.elsewhere[key] = min(told, samples.elsewhere.get(key, told))
