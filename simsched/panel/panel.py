"""`panel`: what if, by hand: controls beside a picture that is simulated again at every change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.defaults import MACHINE, POLICY
from simsched.errors import MissingExtraError, SimschedError
from simsched.graph import TaskGraph
from simsched.panel.controls import Controls
from simsched.panel.numbers import details, headline, refused
from simsched.panel.setting import Known, Setting, first_setting
from simsched.plots.interactive.exchange import ExchangedChart, page_px
from simsched.plots.interactive.pages import require_bokeh
from simsched.replay import simulate
from simsched.schedule import Schedule, bounds, explain
from simsched.schedule.bounds import on_one_core_s

if TYPE_CHECKING:
    from simsched.costs import CostModel
    from simsched.machine import Machine, RuntimeProfile
    from simsched.policy import Layout, Policy


class Panel:
    """Controls, and the schedule that they make; made by `panel`. A notebook shows it.

    Attributes
    ----------
    schedule : Schedule
        What is shown.
    base : Schedule
        What it is compared with: the first one, or the one at which somebody pressed the button.
    widget : ipywidgets.Widget
        All of it, to stand in a layout of one's own.

    Examples
    --------
    >>> by_hand = panel(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo")
    >>> by_hand.schedule is by_hand.base, type(by_hand.widget).__name__
    (True, 'VBox')
    """

    def __init__(
        self,
        graphs: Sequence[TaskGraph],
        known: Known,
        first: Setting,
        costs: CostModel | None,
        runtime: RuntimeProfile | None,
        seed: int,
    ) -> None:
        import ipywidgets as w

        self._graphs, self._known = graphs, known
        self._costs, self._runtime, self._seed = costs, runtime, seed
        self._said = first
        self.schedule = self.base = self._replayed(first)
        self._controls = Controls(graphs, first, known.first_machine, self._changed)
        self._controls.base.on_click(lambda _: self._compare())
        self._chart = ExchangedChart(self.schedule)
        self._headline, self._details, self._wrong, self._messenger = (w.HTML() for _ in range(4))
        self._frame = w.HTML(self._chart.frame(), layout={"width": "100%", "margin": "0"})
        self._frame.add_class("simsched-chart")
        told = w.VBox(
            [self._headline, self._wrong, self._details], layout={"flex": "1 1 24em", "min_width": "0"}
        )
        above = w.HBox([self._controls.box(), told], layout={"flex_flow": "row wrap"})
        self.widget = w.VBox([above, self._frame, self._messenger])
        self._show(None)

    def _replayed(self, setting: Setting) -> Schedule:
        machine = self._known.varied(setting)
        return simulate(
            self._graphs[setting.graph], machine, self._known.policy(setting.policy), setting.asked,
            self._costs, self._runtime, seed=self._seed,
        )  # fmt: skip

    def _changed(self) -> None:
        """Simulate what the controls say; where that is impossible, say why and leave all else as it is."""
        before = self.schedule
        try:
            self.schedule = self._followed()
        except SimschedError as error:
            self._wrong.value = refused(str(error))
        except Exception as error:  # a policy of the user's own may raise anything
            self._wrong.value = refused(f"{type(error).__name__}: {error}")
        else:
            self._show(before if before.graph is self.schedule.graph else None)

    def _followed(self) -> Schedule:
        """Return the schedule of what the controls say; another machine sets cores and switches to its own."""
        said = self._controls.read()
        if said.machine != self._said.machine:
            self._controls.follow(self._known.machine(said.machine))
            said = self._controls.read()
        if said.cores != self._said.cores:
            self._controls.offer(self._known.varied(said))
        self._said = said
        schedule = self._replayed(said)
        if schedule.graph is not self.base.graph:
            self.base = schedule
        return schedule

    def _compare(self) -> None:
        self.base = self.schedule
        self._show(None)

    def _show(self, before: Schedule | None) -> None:
        """Send the picture first: it is what takes longest to be seen."""
        schedule = self.schedule
        why = explain(schedule)
        self._frame.layout.height = f"{page_px(schedule)}px"
        self._messenger.value = self._chart.messenger(why, self.base)
        self._wrong.value = ""
        self._headline.value = headline(schedule, self.base, before)
        given = schedule.graph, schedule.require_machine(), self._costs, self._runtime
        self._details.value = details(why, bounds(*given), on_one_core_s(*given))

    def __repr__(self) -> str:
        return f"<Panel: {self.schedule!r}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and what is shown where it does not run: the schedule in sight, as a card."""
        return {"text/html": self.schedule._repr_html_(), **self.widget._repr_mimebundle_(**options)}


def panel(
    graph: TaskGraph | Sequence[TaskGraph],
    machine: str | Path | Machine = MACHINE,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    seed: int = 0,
) -> Panel:
    """Return a panel for notebooks: change machine, cores, policy, layout or effects by hand, and see what comes of it.

    Every change replays the graph and draws the interactive chart of `explore` anew, beside makespan, bounds,
    efficiency, where the cores' time went and the change against the base. A setting that is impossible says why, and
    the last schedule stays.

    Parameters
    ----------
    graph : TaskGraph, or sequence of TaskGraph
        What runs; of several, one is chosen.
    machine, policy
        What it begins with, as in `simsched.simulate`.
    layout : str, Layout or pair of int, optional
        What it begins with. When not given, one is found anew for each setting: the best one by replays, or by an
        estimate where a graph has over 4,000 tasks, so that a change takes no longer than 300 ms.
    costs, runtime, seed
        As in `simsched.simulate`, for all replays.

    Returns
    -------
    Panel
        A notebook shows it. Its `schedule` is the one in sight.

    Raises
    ------
    SimschedError
        If what it begins with is impossible, or there is no graph.
    MissingExtraError
        If ipywidgets or bokeh is not installed.

    Examples
    --------
    >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> by_hand = panel(graph, "generic[cores=2]", "fifo")
    >>> by_hand.schedule.makespan_s
    4.0
    """
    try:
        import ipywidgets  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("ipywidgets", "notebook", "a panel") from None
    require_bokeh("a panel")
    graphs = [graph] if isinstance(graph, TaskGraph) else graph
    if not isinstance(graphs, Sequence) or not graphs or not all(isinstance(g, TaskGraph) for g in graphs):
        raise SimschedError(f"graph is {graph!r}; panel() needs a TaskGraph, or a list of one or more")
    known = Known(machine, policy)
    first = first_setting(known, layout, max(each.n_tasks for each in graphs))
    return Panel(graphs, known, first, costs, runtime, seed)
