"""Possible machines: every uncertain number sampled within its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from simsched.costs.curve_ranges import sampled_between
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.replay.scenario import Scenario
from simsched.spec import parse_path
from simsched.study.uncertain import Parameter, Uncertain

#: Prefix of the source of a number between the brackets of a machine: it is given, hence exact.
GIVEN = "varied: "
#: Number of times that impossible numbers are moved.
TRIES = 10


@dataclass(frozen=True, eq=False)
class MachineNumbers:
    """The uncertain numbers of a machine, each within its 95 % interval (`simsched.machine.confidence`).

    Parameters
    ----------
    parameters : sequence of Parameter
        Those that were not given, with ends that are possible.
    """

    parameters: Sequence[Parameter]

    @classmethod
    def of(cls, machine: Machine) -> MachineNumbers:
        """Return the numbers of a machine; cached from the second call on."""
        return _numbers(machine)

    def sampled(self, machine: Machine, seed: int) -> Machine:
        """Return a machine of the same file, of any number of cores, with sampled numbers and same effects.

        The same numbers for the same seed. Where they are impossible together, all move towards those of the file.
        """
        z = np.random.default_rng([seed, 2]).standard_normal(len(self.parameters)).tolist()
        share = 1.0
        for _ in range(TRIES if self.parameters else 0):
            values = {one.name: _between(one, share * of) for one, of in zip(self.parameters, z, strict=True)}
            try:
                return replace(machine.varied(values), effects=machine.effects)
            except SimschedError:
                share /= 2
        return machine


@lru_cache(maxsize=64)
def _numbers(machine: Machine) -> MachineNumbers:
    given = {fact.key for fact in machine.facts if fact.source.startswith(GIVEN)}
    given |= parse_path(machine.spec).params.keys()
    uncertain = Uncertain(TaskGraph.from_edges([]), Scenario(machine))
    return MachineNumbers([one for one in uncertain.of_machine_together() if one.name not in given])


def _between(one: Parameter, z: float) -> float:
    return min(max(sampled_between(one.value, one.low, one.high, z), one.low), one.high)
