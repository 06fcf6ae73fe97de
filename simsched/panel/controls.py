"""`Setting`, the case to simulate, and the controls of a panel that set it, as widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.graph import TaskGraph
from simsched.machine import Machine, machine as machine_of
from simsched.machine.effects import NAMES
from simsched.plots.canvas import plain
from simsched.plugins import registered
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
        if setting.data != _way_of(plain):
            params["data"] = setting.data
        return plain.varied(params) if params else plain

    def policy(self, called: str) -> Policy:
        """Return a policy."""
        return self.first_policy if called == str(self.first_policy) else policy_of(called)


def first_setting(known: Known, layout: str | Layout | tuple[int, int] | None) -> Setting:
    """Return the setting that a panel begins with."""
    machine = known.first_machine
    effects = {name: getattr(machine.effects, name) for name in NAMES}
    written = str(Layout.wanted(layout) or BEST)
    return Setting(
        0, machine.spec, machine.n_cores, _way_of(machine), effects, str(known.first_policy), written
    )


def _way_of(machine: Machine) -> str:
    """Return how data move on a machine: "none", "sent" or "read"."""
    return "none" if machine.data is None else machine.data.mode


#: Names of the switches of `Effects`.
SWITCHES = {
    "share_bandwidth": "memory bandwidth",
    "share_tiles": "tiles",
    "share_cores": "hardware threads",
    "share_interconnect": "interconnect",
    "remote_memory": "remote memory",
    "share_links": "links",
}
#: How data move, by what the panel calls it.
DATA = {"near everywhere": "none", "sent as messages": "sent", "read from afar": "read"}
#: Most cores that the slider gives, over those of the machine's file.
MOST = 2
WIDTH = "22em"


class Controls:
    """Widgets, and their values.

    Parameters
    ----------
    graphs : sequence of TaskGraph
    first : Setting
    machine : Machine
        That of the first setting.
    changed : callable
        Called without arguments after each change.
    """

    def __init__(
        self, graphs: Sequence[TaskGraph], first: Setting, machine: Machine, changed: Callable[[], object]
    ) -> None:
        import ipywidgets as w

        style = {"description_width": "5em"}

        def named(kind: Any, name: str, tip: str, **options: Any) -> Any:
            return kind(
                description=name,
                tooltip=tip,
                style=style,
                layout={"width": WIDTH, "margin": "2px"},
                **options,
            )

        choices = [(plain(graph.name or f"graph {place}"), place) for place, graph in enumerate(graphs)]
        self.graph = named(w.Dropdown, "graph", "What runs.", options=choices, value=first.graph)
        self.machine = named(
            w.Combobox, "machine", "A name, name[key=value,...], or the path of a machine file; Enter takes it.",
            options=list(registered("machines")), value=first.machine, continuous_update=False,
        )  # fmt: skip
        self.cores = named(w.IntSlider, "cores", "Cores of the machine.", min=1, max=2**20, value=first.cores)
        self.policy = named(
            w.Combobox, "policy", "A name, or name[key=value,...]; Enter takes it.",
            options=list(registered("policies")), value=first.policy, continuous_update=False,
        )  # fmt: skip
        self.layout = named(
            w.Combobox, "layout", "best, found by replays; estimate; or executors x cores, as in 8x8; Enter takes it.",
            value=first.layout, placeholder=BEST, continuous_update=False,
        )  # fmt: skip
        self.data = named(
            w.Dropdown, "data", "How tasks get what others wrote.", options=list(DATA.items()), value=first.data
        )  # fmt: skip
        self.effects = {name: _switch(SWITCHES[name], first.effects[name]) for name in NAMES}
        self.base = w.Button(
            description="compare with this",
            tooltip="Make this setting the base.",
            layout={"margin": "8px 2px"},
        )
        self._changed = changed
        self._following = False
        self.follow(machine)
        for widget in (
            self.graph,
            self.machine,
            self.cores,
            self.policy,
            self.layout,
            self.data,
            *self.effects.values(),
        ):
            widget.observe(self._said, "value")

    def read(self) -> Setting:
        """Return the values of the widgets."""
        return Setting(
            graph=self.graph.value,
            machine=self.machine.value.strip(),
            cores=self.cores.value,
            data=self.data.value,
            effects={name: box.value for name, box in self.effects.items()},
            policy=self.policy.value.strip(),
            layout=self.layout.value.strip(),
        )

    def follow(self, machine: Machine) -> None:
        """Set cores and switches to those of another machine, without notification."""
        self._following = True
        step = machine.cores_per_tile
        # In one step: a slider that gets its steps before its value would move the old value to one of them.
        with self.cores.hold_sync():
            self.cores.max = 2**20
            self.cores.min = self.cores.step = step
            self.cores.value, self.cores.max = machine.n_cores, MOST * machine.n_cores
        self.data.value = _way_of(machine)
        for name, box in self.effects.items():
            box.value = getattr(machine.effects, name)
        self._following = False

    def settle(self, machine: Machine) -> None:
        """Show the number of cores that a machine has, where tiles or kinds of cores cannot give the one asked for."""
        self._following = True
        self.cores.value = machine.n_cores
        self._following = False

    def offer(self, machine: Machine, policy: Policy) -> None:
        """Offer to find a layout, and the layouts that a policy chooses from on a machine."""
        options = (BEST, ESTIMATE, *map(str, policy.layouts(machine)))
        if options != self.layout.options:
            self.layout.options = options

    def box(self) -> Any:
        """Return all widgets, one below the other."""
        import ipywidgets as w

        said = w.HTML("<b>running tasks share</b>", layout={"margin": "4px 2px 0"})
        rows = [self.graph] if len(self.graph.options) > 1 else []
        rows += [
            self.machine,
            self.cores,
            self.policy,
            self.layout,
            self.data,
            said,
            *self.effects.values(),
            self.base,
        ]
        return w.VBox(rows, layout={"width": "24em", "flex": "0 0 auto"})

    def _said(self, _: object) -> None:
        if not self._following:
            self._changed()


def _switch(description: str, on: bool) -> Any:
    import ipywidgets as w

    return w.Checkbox(
        value=on, description=description, indent=False, layout={"width": "auto", "height": "22px"}
    )
