"""`RankPolicy`: policies that rank the tasks before the replay; their executors are fixed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, PolicyError, SpecError
from simsched.graph.adjacency import Csr
from simsched.machine import Machine
from simsched.policy.layout import Layout
from simsched.policy.placement import PLACEMENTS, PREFERENCES, executor_cores
from simsched.policy.policy import Discipline, Policy
from simsched.policy.problem import Problem
from simsched.policy.pushing import Pushing
from simsched.policy.shortcuts import Shortcuts

#: Of `oversubscribe`: running threads have equal shares of all cores.
FAIR = "fair"
#: Disciplines by which tasks go to executors by their seconds there, planned or not.
CHOOSING_KINDS = ("planned", "pushed", "affinity", "spoliation")
#: Threads of all executors, where they share cores: far beyond real ones, and arrays of them fit into memory.
MOST_THREADS = 1 << 26


@dataclass(frozen=True, kw_only=True)
class RankPolicy(Policy):
    """A static policy: subclass it and write `rank`.

    Its own parameters are given by name, so that the first of a subclass is the first.

    Parameters
    ----------
    placement : {"compact", "scatter", "dense"}
        Which cores the executors get; see `simsched.policy.placement.core_order`.
    prefer : {"lowest", "producer"}
        Which of several idle executors takes a task: the lowest-numbered one, or, if it is idle, the one that ran the
        task's predecessor that finished last.
    pinned : bool
        Whether threads stay on the cores of their executor; if not, the operating system moves some of them.
    oversubscribe : bool or "fair"
        Whether a layout may have more threads than the machine has in use. If so, threads pinned to one core take turns
        there, where tasks share cores; with "fair", all running threads have equal shares of all cores.

    Examples
    --------
    >>> class ShortestFirst(RankPolicy):
    ...     name = "shortest-first"
    ...
    ...     def rank(self, problem):
    ...         return problem.seconds
    """

    takes_layout = True

    placement: str = "compact"
    prefer: str = "lowest"
    pinned: bool = True
    oversubscribe: bool | str = field(default=False, metadata={"words": (FAIR,)})

    def __post_init__(self) -> None:
        known_words = {"placement": PLACEMENTS, "prefer": PREFERENCES, "oversubscribe": (False, True, FAIR)}
        for key, known in known_words.items():
            if getattr(self, key) not in known:
                name = self.name or type(self).__name__
                raise SpecError(
                    f"{name}[{key}={getattr(self, key)}]: expected one of {', '.join(map(str, known))}"
                )

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return one number per task: the ready task of the lowest starts first, ties go to the lower index.

        Parameters
        ----------
        problem : Problem
            The graph, the machine and the estimates.

        Returns
        -------
        array_like, shape (n,)

        Raises
        ------
        PolicyError
            If a subclass does not override this method.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> machine = ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
        >>> ss.policy("critical-path").rank(problem).tolist()
        [-4.0, -2.0, -3.0]
        """
        raise PolicyError(f"policy {self} has no rank(); write one that returns a number for each task")

    def rank_notes(self, problem: Problem) -> tuple[str, ...]:
        """Return notes on what tasks are ranked by, for the schedule; none by default.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
        >>> ss.policy("fifo").rank_notes(problem), ss.policy("dmdas").rank_notes(problem)
        ((), ('no priorities recorded: those of tasks are upward ranks',))
        """
        return ()

    @property
    def discipline(self) -> Discipline:
        """Order of ready tasks: by `rank`, or first or last come, first served.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.policy("critical-path").discipline, ss.policy("fifo").discipline
        ('rank', 'fifo')
        """
        return "rank"

    @property
    def pushing(self) -> Pushing:
        """Choice of the executor to which a ready task is pushed, where the discipline is "pushed".

        Examples
        --------
        >>> import simsched as ss
        >>> ss.policy("dm").pushing.alpha
        1.0
        """
        return Pushing()

    def shortcuts(self, problem: Problem) -> Shortcuts | None:
        """Return the shortcuts past the queue of the executors; None for none.

        Parameters
        ----------
        problem : Problem
            The graph, the machine and the estimates.

        Returns
        -------
        Shortcuts or None

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 1e-7], [(0, 1)]), ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
        >>> ss.policy("wavefront").shortcuts(problem) is None
        True
        >>> ss.policy("fifo[small_s=1e-06]").shortcuts(problem).inline.tolist()
        [False, True]
        """
        return None

    def most_threads(self, machine: Machine) -> int:
        """Return how many hardware threads executors can take without sharing one.

        Parameters
        ----------
        machine : Machine

        Returns
        -------
        int

        Examples
        --------
        >>> import simsched as ss
        >>> machine = ss.machine("knl-7250")
        >>> ss.policy("fifo").most_threads(machine), ss.policy("critical-path[reserved=4]").most_threads(machine)
        (68, 64)
        """
        return machine.n_threads

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return the layouts that fill the machine; with several ways in use, also those of only one way.

        Where cores are of several kinds, teams have cores of one: the layouts are those that fill the first kind or
        all, each with the machine's devices and without.

        Parameters
        ----------
        machine : Machine

        Returns
        -------
        tuple of Layout

        Examples
        --------
        >>> import simsched as ss
        >>> [str(layout) for layout in ss.policy("fifo").layouts(ss.machine("generic[cores=3]"))]
        ['1x3', '3x1']
        >>> [str(layout) for layout in ss.policy("fifo").layouts(ss.machine("core-i7-1370p"))]
        ['1x8', '2x6', '1x6', '3x4', '1x4', '4x3', '2x3', '7x2', '3x2', '14x1', '6x1']
        """
        most = self.most_threads(machine)
        if machine.kinds is not None:
            # A machine of nothing but devices has them as its cores.
            devices = int(machine.is_device.sum()) if self.pinned else 0
            found = Layout.of_kinds(machine.kinds.threads(machine.smt), devices) or (Layout(most, 1),)
            return tuple(one for one in found if one.cores <= most)
        found = Layout.filling(most)
        return (*found, *Layout.filling(most // machine.smt)) if machine.smt > 1 else found

    def suited(self, layout: Layout | None) -> Layout | None:
        """Return the layout, which executors of a policy that ranks can have; see `Policy.suited`.

        Examples
        --------
        >>> import simsched as ss
        >>> layout = ss.Layout(2, 36, devices=1)
        >>> ss.policy("fifo").suited(layout) == layout, ss.policy("corun").suited(layout)
        (True, None)
        """
        return layout

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return the layout's width for every task; see `Policy.team_widths`.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=4]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> ss.policy("fifo").team_widths(problem, 2).tolist()
        [2, 2]
        """
        return np.full(problem.graph.n_tasks, width)

    def checked_layout(self, machine: Machine, layout: Layout) -> Layout:
        """Return the layout to use, which is the given one.

        Parameters
        ----------
        machine : Machine
        layout : Layout

        Returns
        -------
        Layout

        Raises
        ------
        LayoutError
            If it needs more threads than the machine has in use, and oversubscribing was not asked for; more devices
            than it has; or more threads than any replay has.

        Examples
        --------
        >>> import simsched as ss
        >>> machine = ss.machine("generic[cores=4]")
        >>> str(ss.policy("fifo[oversubscribe=true]").checked_layout(machine, ss.Layout(8, 1)))
        '8x1'
        """
        devices = int(machine.is_device.sum())
        if layout.devices > (devices if self.pinned else 0):
            moved = "" if self.pinned else "; no operating system moves threads of one: use pinned=true"
            raise LayoutError(
                f"the layout {layout} has {layout.devices} devices; {machine} has {devices}{moved}"
            )
        apart = devices - layout.devices if layout.devices else 0
        if layout.cores > machine.n_threads - apart and not self.oversubscribe:
            more = f", {machine.smt_ways} hardware threads each" if machine.smt < machine.smt_ways else ""
            raise LayoutError(
                f"the layout {layout} needs {layout.cores} cores; {machine} has {machine.n_threads}{more} "
                "(smt=K in the machine's brackets uses more ways, oversubscribe=true in the policy's shares them)"
            )
        if layout.cores > MOST_THREADS:
            raise LayoutError(
                f"the layout {layout} has {layout.cores} threads; a replay has at most {MOST_THREADS}"
            )
        return layout

    def executors(self, machine: Machine, layout: Layout) -> Csr:
        """Return the cores of each executor.

        Parameters
        ----------
        machine : Machine
        layout : Layout

        Returns
        -------
        Csr
            Row i holds the hardware threads of executor i, ascending: the layout's executors, each of its width.

        Examples
        --------
        >>> import simsched as ss
        >>> teams = ss.policy("critical-path").executors(ss.machine("knl-7250"), ss.Layout(2, 3))
        >>> teams.neighbours(0).tolist(), teams.neighbours(1).tolist()
        ([0, 1, 2], [3, 4, 5])
        """
        return executor_cores(machine, layout, self.placement)
