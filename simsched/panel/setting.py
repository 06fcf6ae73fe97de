"""`Setting`: the case to simulate, as set by the controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simsched.machine import Machine, machine as machine_of
from simsched.machine.effects import NAMES
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.policy.layout import BEST
from simsched.spec import Scalar

#: In place of a layout: the one that `simulate` estimates.
ESTIMATE = "estimate"
#: Tasks up to which replays find the best layout well within the 300 ms that a change may take; for more they continue
#: while the estimate's is shown.
FEW_TASKS = 4_000


@dataclass(frozen=True)
class Setting:
    """Values of the controls.

    Parameters
    ----------
    graph : int
        Place among the graphs of the panel.
    machine, policy : str
        Specs, or what an object calls itself.
    cores : int
        Cores of the machine.
    data : {"none", "sent", "read"}
        How data move.
    effects : mapping of str to bool
        Switches of `Effects`.
    layout : str
        Executors x cores; "best", or empty, for the one that replays find; "estimate" for one without replays.
    """

    graph: int
    machine: str
    cores: int
    data: str
    effects: Mapping[str, bool]
    policy: str
    layout: str

    @property
    def asked(self) -> str | None:
        """The layout in the form of `simsched.simulate`."""
        return None if self.layout == ESTIMATE else self.layout or BEST


class Known:
    """Machines and policies by name: those given as objects, and all those with a spec.

    Parameters
    ----------
    machine, policy
        As `simsched.simulate` takes them.
    """

    def __init__(self, machine: str | Path | Machine, policy: str | Policy | type[Policy]) -> None:
        self.first_machine, self.first_policy = machine_of(machine), policy_of(policy)
        self._last = self.first_machine.spec, self.first_machine

    def machine(self, called: str) -> Machine:
        """Return a machine by name, without the changes of the controls; a file is read when it is chosen."""
        if called != self._last[0]:
            first = called == self.first_machine.spec
            self._last = called, self.first_machine if first else machine_of(called)
        return self._last[1]

    def varied(self, setting: Setting) -> Machine:
        """Return the machine of a setting."""
        plain = self.machine(setting.machine)
        params: dict[str, Scalar] = {
            name: on for name, on in setting.effects.items() if on != getattr(plain.effects, name)
        }
        if setting.cores != plain.n_cores:
            params["cores"] = setting.cores
        if setting.data != way_of(plain):
            params["data"] = setting.data
        return plain.varied(params) if params else plain

    def policy(self, called: str) -> Policy:
        """Return a policy."""
        return self.first_policy if called == str(self.first_policy) else policy_of(called)


def first_setting(known: Known, layout: str | Layout | tuple[int, int] | None) -> Setting:
    """Return the setting that a panel begins with."""
    machine = known.first_machine
    effects = {name: getattr(machine.effects, name) for name in NAMES}
    written = BEST if layout is None else str(Layout.wanted(layout))
    return Setting(
        0, machine.spec, machine.n_cores, way_of(machine), effects, str(known.first_policy), written
    )


def way_of(machine: Machine) -> str:
    """Return how data move on a machine: "none", "sent" or "read"."""
    return "none" if machine.data is None else machine.data.mode
