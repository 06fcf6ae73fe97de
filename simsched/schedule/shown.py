"""How a schedule is drawn, and written to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from simsched.errors import SimschedError
from simsched.later import later
from simsched.plugins import named

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.machine import Machine
    from simsched.plots import Explorer
    from simsched.schedule.schedule import Schedule


class Shown:
    """Pictures and files of a schedule: the base of `Schedule`."""

    def corunning(self) -> pd.DataFrame:
        """Return the running tasks at every start and finish; see `simsched.plots.corunning_events_frame`.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> events = ss.simulate(graph, "generic[cores=2]", "critical-path").corunning()
        >>> events[["time_s", "event", "tasks_running"]].values.tolist()[:3]
        [[0.0, 'start', 1], [0.0, 'start', 2], [1.0, 'finish', 2]]
        """
        return later("plots").corunning_events_frame(self)

    @overload
    def gantt(
        self, ax: Axes | None = None, *, backend: Literal["matplotlib"] = "matplotlib", **options: Any
    ) -> Axes: ...

    @overload
    def gantt(self, ax: None = None, *, backend: Literal["bokeh"], **options: Any) -> Explorer: ...

    def gantt(
        self, ax: Axes | None = None, *, backend: str = "matplotlib", **options: Any
    ) -> Axes | Explorer:
        """Draw the Gantt chart; see `simsched.plots.gantt`, and `explore` for the interactive one.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.
        backend : str
            `matplotlib`, or `bokeh` for the chart of `explore`, which needs no axes.
        **options
            As `simsched.plots.gantt`, or `explore`, takes them.

        Raises
        ------
        SimschedError
            If there is no such backend, or axes are given to bokeh.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ax = ss.simulate(graph, "generic[cores=2]", "critical-path").gantt(color="critical")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('time (s)', 'core')
        """
        if backend == "matplotlib":
            return later("plots").gantt(self, ax=ax, **options)
        if backend != "bokeh":
            raise SimschedError(f"backend={backend!r} is unknown; give matplotlib or bokeh")
        if ax is not None:
            raise SimschedError("ax= is of matplotlib; leave it out with backend='bokeh'")
        return self.explore(**options)

    def roofline(self, machine: str | Path | Machine | None = None, ax: Axes | None = None) -> Axes:
        """Draw the performance of ops below the machine's roofline; see `simsched.plots.roofline`.

        Parameters
        ----------
        machine, ax
            As in `simsched.plots.roofline`.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds="MatMul", flops=[8e9, 8e9], bytes_B=[1e9, 1e9])
        >>> ax = ss.simulate(graph, "generic[cores=2]", "fifo").roofline()
        >>> ax.get_ylabel()
        'GFLOP/s'
        """
        return later("plots").roofline(self, machine, ax=ax)

    def core_use(self, ax: Axes | None = None, value: str = "busy_share") -> Axes:
        """Draw the machine, its cores coloured by their use; see `simsched.plots.core_use`.

        Parameters
        ----------
        ax, value
            As in `simsched.plots.core_use`.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ax = ss.simulate(graph, "generic[cores=4]", "critical-path").core_use(value="tasks")
        >>> ax.get_title(loc="left").split(":")[0]
        'generic[cores=4]'
        """
        return later("plots").core_use(self, ax=ax, value=value)

    def explore(self, *others: Schedule, color: str = "kind") -> Explorer:
        """Return an interactive chart of this schedule and others below it; see `simsched.plots.explore`.

        Parameters
        ----------
        *others : Schedule
        color : str
            As in `simsched.plots.explore`.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> fifo, one = (ss.simulate(graph, "generic[cores=2]", policy) for policy in ("fifo", "sequential"))
        >>> chart = fifo.explore(one, color="wait reason")
        >>> len(chart.schedules)
        2
        """
        return later("plots").explore(self, *others, color=color)

    def to_chrome_trace(self, path: str | Path) -> None:
        """Write the schedule in Chrome's trace format, which Perfetto opens too; a name ending in .gz is compressed.

        Parameters
        ----------
        path : str or Path

        Examples
        --------
        >>> import json
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo")
        >>> with TemporaryDirectory() as folder:
        ...     schedule.to_chrome_trace(f"{folder}/run.json")
        ...     events = json.loads(Path(folder, "run.json").read_text())["traceEvents"]
        >>> sorted({event["name"] for event in events if event["ph"] == "X"})
        ['task 0', 'task 1']
        """
        named("writers", "chrome").write(self, Path(path))

    def to_perfetto(self, path: str | Path) -> None:
        """Write the schedule in Perfetto's own format, which `simsched.load` reads again.

        Parameters
        ----------
        path : str or Path

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo")
        >>> with TemporaryDirectory() as folder:
        ...     schedule.to_perfetto(f"{folder}/run.pftrace")
        ...     ss.load(f"{folder}/run.pftrace").n_tasks
        2
        """
        named("writers", "perfetto").write(self, Path(path))

    def save(self, path: str | Path) -> None:
        """Write the schedule to `path`, by its suffix.

        Tables: .parquet, .csv; pictures: .png, .svg, .pdf; a page: .html; Chrome traces: .json, .json.gz; and whatever
        `simsched list formats` lists for schedules.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        SimschedError
            If the suffix is none of these.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import pandas as pd
        >>> import simsched as ss
        >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo")
        >>> with TemporaryDirectory() as folder:
        ...     schedule.save(f"{folder}/run.csv")
        ...     pd.read_csv(f"{folder}/run.csv")["finish_s"].tolist()
        [1.0, 2.0]
        """
        from simsched.schedule.export import export

        export(cast("Schedule", self), Path(path))
