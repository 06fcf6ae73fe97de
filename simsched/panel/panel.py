"""`panel`: what if, by hand: controls next to a picture that is simulated again at every change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from simsched.costs import CostModel
from simsched.costs.own_machine import machine_for
from simsched.defaults import POLICY
from simsched.errors import SimschedError, require
from simsched.explain import explain
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.panel.controls import FEW_TASKS, Controls, Known, Setting, first_setting
from simsched.panel.numbers import advice, details, headline, not_found, refused, searching
from simsched.plots.interactive.explorer import ExchangedChart, page_px
from simsched.policy import Layout, Policy
from simsched.policy.layout import BEST
from simsched.replay import simulate
from simsched.replay.advice import advised
from simsched.schedule import Schedule, bounds
from simsched.schedule.one_core import one_core


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """The result of the search is no longer needed."""


class BackgroundSearch(Thread):
    """A thread that searches for a schedule.

    Parameters
    ----------
    find : callable
        Returns the schedule; takes a function to call periodically, as `progress` of `simsched.simulate`.
    found, failed : callable
        Called in this thread with the search and the schedule, or the error; not after `stop`, but for one that is
        just being called.
    """

    def __init__(
        self,
        find: Callable[[Callable[[int], object]], Schedule],
        found: Callable[[BackgroundSearch, Schedule], object],
        failed: Callable[[BackgroundSearch, Exception], object],
    ) -> None:
        super().__init__(name="simsched panel", daemon=True)
        self._find, self._found, self._failed = find, found, failed
        self._stopped = False

    def stop(self) -> None:
        """End it soon; its result is dropped."""
        self._stopped = True

    def run(self) -> None:
        """Search for the schedule, and hand it over."""
        try:
            schedule = self._find(self._go_on)
            self._go_on(0)
        except _Stopped:
            return
        except Exception as error:  # a user's own policy may raise anything
            self._failed(self, error)
        else:
            self._found(self, schedule)

    def _go_on(self, _: int) -> None:
        if self._stopped:
            raise _Stopped


class Panel:
    """Controls, and the resulting schedule; made by `panel`. A notebook shows it.

    Attributes
    ----------
    schedule : Schedule
        The schedule shown.
    base : Schedule
        The schedule to compare with: the first one, or the one at the last press of the button.
    widget : ipywidgets.Widget
        The whole widget, for use in other layouts.

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
        self._lock = RLock()
        self._search: BackgroundSearch | None = None
        self.schedule = self.base = self._replayed(first)
        self._before: Schedule | None = None
        self._controls = Controls(graphs, first, known.first_machine, self._changed)
        self._controls.offer(known.first_machine, known.first_policy)
        self._controls.base.on_click(lambda _: self._compare())
        self._chart = ExchangedChart(self.schedule)
        self._headline, self._advice, self._details, self._wrong, self._messenger = (
            w.HTML() for _ in range(5)
        )
        self._frame = w.HTML(self._chart.frame(), layout={"width": "100%", "margin": "0"})
        self._frame.add_class("simsched-chart")
        texts = w.VBox(
            [self._headline, self._advice, self._wrong, self._details],
            layout={"flex": "1 1 24em", "min_width": "0"},
        )
        above = w.HBox([self._controls.box(), texts], layout={"flex_flow": "row wrap"})
        self.widget = w.VBox([above, self._frame, self._messenger])
        self._show()
        self._improve()

    def wait(self) -> None:
        """Wait until replays have found the best layout, or advice on a given one.

        Of graphs of up to 4,000 tasks there is nothing to wait for.

        Examples
        --------
        >>> import simsched as ss
        >>> panel = ss.panel(ss.TaskGraph.from_edges([1.0] * 3), "generic[cores=2]", "fifo")
        >>> panel.wait()
        >>> panel.schedule.makespan_s
        2.0
        """
        search = self._search
        if search is not None and search.is_alive():
            search.join()

    def _replayed(self, setting: Setting) -> Schedule:
        """Return the immediate answer: of a large graph with the given layout, or that of the estimate."""
        quick = setting.asked == BEST and self._graphs[setting.graph].n_tasks > FEW_TASKS
        return self._simulated(setting, None if quick else setting.asked)

    def _simulated(
        self, setting: Setting, layout: str | None, progress: Callable[[int], object] | None = None
    ) -> Schedule:
        return simulate(
            self._graphs[setting.graph], self._known.varied(setting), self._known.policy(setting.policy), layout,
            self._costs, self._runtime, seed=self._seed, progress=progress,
        )  # fmt: skip

    def _improve(self) -> None:
        """Find the best layout, or its savings; for a large graph in the background."""
        setting, schedule = self._said, self.schedule
        if self._search is not None:
            self._search.stop()
        few = schedule.graph.n_tasks <= FEW_TASKS
        if setting.asked is None or (setting.asked == BEST and few):
            self._search = None
            return

        def find(progress: Callable[[int], object]) -> Schedule:
            best = setting.asked == BEST
            return self._simulated(setting, BEST, progress) if best else advised(schedule, progress)

        self._search = BackgroundSearch(find, self._found, self._failed)
        if few:
            self._search.run()
        else:
            self._advice.value = searching()
            self._search.start()

    def _found(self, search: BackgroundSearch, schedule: Schedule) -> None:
        """Show a better answer to the same question."""
        with self._lock:
            before = self.schedule
            if search is not self._search or schedule is before:
                self._advice.value = "" if search is self._search else self._advice.value
                return
            self.base = schedule if self.base is before else self.base
            self.schedule, self._why = schedule, explain(schedule)
            if schedule.layout != before.layout:
                self._draw()
            self._tell()

    def _failed(self, search: BackgroundSearch, error: Exception) -> None:
        with self._lock:
            if search is self._search:
                self._advice.value = not_found(_in_words(error))

    def _changed(self) -> None:
        """Simulate the setting of the controls; if it is impossible, show why and change nothing else."""
        with self._lock:
            before = self.schedule
            try:
                self.schedule = self._followed()
            except Exception as error:  # a user's own policy may raise anything
                self._wrong.value = refused(_in_words(error))
                return
            self._before = before if before.graph is self.schedule.graph else None
            self._show()
            self._improve()

    def _followed(self) -> Schedule:
        """Return the schedule of the controls; another machine sets cores and switches to its own."""
        said = self._controls.read()
        if said.machine != self._said.machine:
            self._controls.follow(self._known.machine(said.machine))
            said = self._controls.read()
        self._controls.offer(self._known.varied(said), self._known.policy(said.policy))
        self._said = said
        schedule = self._replayed(said)
        self._controls.settle(schedule.require_machine())
        if schedule.graph is not self.base.graph:
            self.base = schedule
        return schedule

    def _compare(self) -> None:
        with self._lock:
            self.base, self._before = self.schedule, None
            self._draw()
            self._wrong.value, self._headline.value = "", headline(self.schedule, self.base, None)

    def _show(self) -> None:
        """Send the picture first, as it takes longest to appear."""
        self._why = explain(self.schedule)
        self._draw()
        self._tell()

    def _draw(self) -> None:
        self._frame.layout.height = f"{page_px(self.schedule)}px"
        self._messenger.value = self._chart.messenger(self._why, self.base)

    def _tell(self) -> None:
        schedule, why = self.schedule, self._why
        self._wrong.value = ""
        self._headline.value = headline(schedule, self.base, self._before)
        self._advice.value = advice(schedule)
        given = schedule.graph, schedule.require_machine(), self._costs, self._runtime
        self._details.value = details(why, bounds(*given), one_core(*given))

    def __repr__(self) -> str:
        return f"<Panel: {self.schedule!r}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and for views where it does not run, the current schedule as a card."""
        return {"text/html": self.schedule._repr_html_(), **self.widget._repr_mimebundle_(**options)}


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, SimschedError) else f"{type(error).__name__}: {error}"


def panel(
    graph: TaskGraph | Sequence[TaskGraph],
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    seed: int = 0,
) -> Panel:
    """Return a panel for notebooks: change machine, cores, policy, layout or effects by hand, see the result.

    Every change replays the graph and redraws the interactive chart of `explore`, next to makespan, bounds,
    efficiency, use of the cores' time and the change against the base. An impossible setting shows the reason, and
    the last schedule stays.

    Parameters
    ----------
    graph : TaskGraph, or sequence of TaskGraph
        The graph to run; of several, one is chosen.
    machine, policy
        The initial values, as in `simsched.simulate`.
    layout : str, Layout or pair of int, optional
        The initial layout. When not given, the best one is found by replays, for each setting. For a graph of over
        4,000 tasks that of an estimate is shown until then. For a given one the panel shows what the best would save.
    costs, runtime, seed
        As in `simsched.simulate`, for all replays.

    Returns
    -------
    Panel
        A notebook shows it. Its `schedule` is the one in sight.

    Raises
    ------
    SimschedError
        If the initial setting is impossible, or there is no graph.
    MissingExtraError
        If ipywidgets or bokeh is not installed.

    Examples
    --------
    >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> by_hand = panel(graph, "generic[cores=2]", "fifo")
    >>> by_hand.schedule.makespan_s
    4.0
    """
    require("ipywidgets", "notebook", "a panel")
    require("bokeh", "interactive", "a panel")
    graphs = [graph] if isinstance(graph, TaskGraph) else graph
    if not isinstance(graphs, Sequence) or not graphs or not all(isinstance(g, TaskGraph) for g in graphs):
        raise SimschedError(f"graph is {graph!r}; panel() needs a TaskGraph, or a list of one or more")
    known = Known(machine_for(graphs[0], machine), policy)
    return Panel(graphs, known, first_setting(known, layout), costs, runtime, seed)
