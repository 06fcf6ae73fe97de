"""`Policy`: the choice of the next ready task to start, its width, and its cores.

There are two kinds. A `RankPolicy` is static: before the replay it returns one number for each task, and its executors
are fixed, so that the engines run it without calling back. Any other `Policy` is dynamic: its `decide` sees a read-only
view and returns `Start` actions. Both are frozen dataclasses whose fields are the parameters, so that `str(policy)` is
the spec that makes the same policy again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, fields
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import PolicyError, SpecError
from simsched.machine import Machine, RuntimeProfile
from simsched.plugins import named
from simsched.policy.layout import BEST, Best, Layout
from simsched.policy.problem import Problem, View
from simsched.spec import Scalar, Spec, made, parse

#: Most characters that an array among a policy's parameters has in its spec, as a list.
SHOWN = 40


def _spec_of(policy: Policy) -> Spec:
    """Return the spec of a policy; a larger array appears as a digest only, which makes no policy again.

    Examples
    --------
    >>> import simsched as ss
    >>> _spec_of(ss.policy("fifo[order=lifo,small_s=0.0]"))
    Spec(name='fifo', params={'order': 'lifo'})
    """
    values = {f.name: getattr(policy, f.name) for f in fields(policy) if not _is_default(policy, f)}
    shown = {key: _told(value) for key, value in (values | _set_by_hand(policy)).items()}
    return Spec(policy.name or type(policy).__name__, shown)


def _is_default(policy: Policy, parameter: Field[object]) -> bool:
    value: Any = getattr(policy, parameter.name)
    default: Any = parameter.default
    if parameter.default_factory is not MISSING:
        default = parameter.default_factory()
    if _is_array(value) or _is_array(default):
        return bool(np.array_equal(value, default))
    return bool(value == default)


def _set_by_hand(policy: Policy) -> dict[str, Scalar]:
    """Return the numbers and words kept by a class with its own `__init__`, which identify it in tables."""
    declared = {f.name for f in fields(policy)}
    return {
        key: value
        for key, value in vars(policy).items()
        if key not in declared
        and isinstance(value, Scalar)
        and not isinstance(getattr(type(policy), key, None), cached_property)
    }


def _told(value: Any) -> Any:
    """Return a parameter as shown in specs: of a larger array its type, its shape and a digest."""
    if not _is_array(value):
        return value
    array = np.asarray(value)
    if array.size < SHOWN and len(str(listed := array.tolist())) <= SHOWN:
        return listed
    content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    shape = "x".join(map(str, array.shape))
    return f"{array.dtype}:{shape}:{sha256(content).hexdigest()[:8]}"


def _is_array(value: object) -> bool:
    return hasattr(value, "__array__")


#: Groups of the literature's policies, by `Policy.family`.
FAMILIES = {
    "list": "list scheduling of one-core tasks, planned before the replay",
    "clustering": "clusters of tasks, planned before the replay",
    "moldable": "moldable tasks, planned before the replay",
    "runtimes": "runtime systems: as tasks become ready",
    "batch": "batch systems: rigid tasks, during the replay",
    "exact": "exact search, for small graphs",
}
#: Families whose policies are compared only where they are named, not among all: they refuse large graphs.
NAMED_ALONE = ("exact",)

Queue = Literal["central", "shared"]
Discipline = Literal["rank", "fifo", "lifo", "planned", "pushed", "affinity", "spoliation"]


@dataclass(frozen=True, slots=True)
class Start:
    """An action: start a ready task now.

    Parameters
    ----------
    task : int
        Index of the task.
    width : int
        Number of cores of its team; the engine takes idle ones, whole tiles first. Ignored if `cores` are given.
    cores : tuple of int
        The cores of its team; empty to leave the choice to the engine.

    Raises
    ------
    PolicyError
        If the width is below 1, and no cores are given.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.Start(task=3, width=4)
    Start(task=3, width=4, cores=())
    >>> ss.Start(task=3, cores=(0, 1))
    Start(task=3, width=1, cores=(0, 1))
    """

    task: int
    width: int = 1
    cores: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        # Any other mistake is found where it is known who made it.
        if isinstance(self.width, int) and self.width < 1 and not self.cores:
            raise PolicyError(f"Start({self.task}, width={self.width}): a team has 1 core or more")


@dataclass(frozen=True)
class Policy:
    """Base of all policies; subclass it and write `decide`.

    Attributes
    ----------
    name : str
        Name in tables and specs.
    family : str
        Of the literature's policies, what they belong to: a key of `FAMILIES`. Comparisons leave these out unless they
        are asked for.
    queue : {"central", "shared"}
        Scheduler (docs/semantics.md, rule 3): a central one that pays `dispatch_s` per start, or idle
        executors that poll one shared queue and pay `pop_s`, growing with the number of pollers.
    takes_layout : bool
        Whether the policy uses a layout; if not, giving it one is an error.
    layout_limits : bool
        Whether a layout of a policy with a `decide` limits concurrent tasks and the cores of each. Then layouts whose
        limits alone make them too long are not tried.
    any_core : bool
        Whether the policy takes all tasks to run on any core. It refuses graphs in which some cannot.

    Examples
    --------
    >>> class WidestFirst(Policy):
    ...     name = "widest-first"
    ...
    ...     def decide(self, view):
    ...         if view.ready and view.idle_cores:
    ...             yield Start(view.ready[0], width=len(view.idle_cores))
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    queue: ClassVar[Queue] = "central"
    takes_layout: ClassVar[bool] = False
    layout_limits: ClassVar[bool] = False
    any_core: ClassVar[bool] = False

    def decide(self, view: View) -> Iterable[Start]:
        """Return the tasks to start now, in order, or nothing to wait for the next completion.

        Called once all completions of an instant are handled, and again until it starts nothing more. It is not called
        while no task is ready or no core is idle.

        Parameters
        ----------
        view : View
            The replay at this instant.

        Returns
        -------
        iterable of Start

        Raises
        ------
        PolicyError
            If a subclass does not override this method.

        Examples
        --------
        >>> from dataclasses import dataclass
        >>> import simsched as ss
        >>> @dataclass(frozen=True)
        ... class Newest(ss.Policy):
        ...     name = "newest"
        ...
        ...     def decide(self, view):
        ...         newest_first = sorted(view.ready, key=view.ready_s, reverse=True)
        ...         return [ss.Start(task) for task in newest_first[: len(view.idle_cores)]]
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ss.simulate(graph, "generic[cores=1]", Newest).start_order.tolist()
        [0, 2, 1]
        """
        raise PolicyError(f"policy {self} has no decide(); write one, or make it a RankPolicy with a rank()")

    def suited(self, layout: Layout | None) -> Layout | None:
        """Return this policy's form of a layout given to several policies; None if it cannot use it.

        Parameters
        ----------
        layout : Layout or None

        Returns
        -------
        Layout or None

        Examples
        --------
        >>> import simsched as ss
        >>> layout = ss.Layout(4, 2)
        >>> ss.policy("critical-path").suited(layout) == layout, ss.policy("sequential").suited(layout)
        (True, None)
        """
        # One that decides while it runs has no executors: devices are cores to it.
        return layout if self.takes_layout and not (layout and layout.devices) else None

    def suited_or_best(self, layout: Layout | Best | None) -> Layout | Best:
        """Return the layout for a comparison: the one given to several policies if suited, else the best.

        Examples
        --------
        >>> import simsched as ss
        >>> str(ss.policy("fifo").suited_or_best(ss.Layout(4, 2))), ss.policy("fifo").suited_or_best(None)
        ('4x2', 'best')
        """
        suited = self.suited(layout) if isinstance(layout, Layout) else None
        return suited or BEST

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return the layouts to choose from where none is given; none where the policy needs no layout.

        Parameters
        ----------
        machine : Machine

        Returns
        -------
        tuple of Layout

        Examples
        --------
        >>> import simsched as ss
        >>> machine = ss.machine("generic[cores=4]")
        >>> [str(layout) for layout in ss.policy("fifo").layouts(machine)]
        ['1x4', '2x2', '4x1']
        >>> ss.policy("kind-widths").layouts(machine)
        ()
        """
        return ()

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return the width of each task's team under layouts of a width, for estimates of makespans.

        Parameters
        ----------
        problem : Problem
        width : int
            Cores of each executor, or the most of each task.

        Returns
        -------
        int64 array, shape (n,)
            Here: each task's fastest width up to the layout's.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=4]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> ss.policy("fifo").team_widths(problem, 4).tolist(), ss.policy("corun").team_widths(problem, 4).tolist()
        ([4, 4], [1, 1])
        """
        return np.minimum(problem.fastest_widths, width)

    def fitted(self, problem: Problem, runtime: RuntimeProfile) -> Policy:
        """Return the policy with unset parameters that depend on graph and machine filled in: itself.

        Parameters
        ----------
        problem : Problem
        runtime : RuntimeProfile

        Returns
        -------
        Policy

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["MatMul"] * 2), ss.machine("generic[cores=8]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> str(ss.policy("kind-widths").fitted(problem, machine.runtime))
        'kind-widths[widths=MatMul:4]'
        """
        return self

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for readers, in the `notes` of the policy's schedules, as are a prepared policy's; none by default.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.policy("fifo").remarks
        ()
        """
        return ()

    @property
    def planned_cores(self) -> npt.ArrayLike | None:
        """First core of each task's team, shape (n,), where a prepared policy plans all before the replay; else None.

        Objects are then sent there when they are written, rather than when a start is decided.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> ss.policy("cpa").prepared(problem).planned_cores, ss.policy("corun").prepared(problem).planned_cores
        ([1, 0], None)
        """
        return None

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy that decides in one replay: itself, or a new object prepared for the problem.

        The new object must have the same `queue`.

        Parameters
        ----------
        problem : Problem
            The graph, the machine and the estimates.

        Returns
        -------
        Policy

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), ss.machine("generic[cores=2]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
        >>> type(ss.policy("corun").prepared(problem)).__name__
        'CandidateRule'
        """
        return self

    def __str__(self) -> str:
        return str(_spec_of(self))


def policy(source: str | Policy | type[Policy]) -> Policy:
    """Return a policy.

    Parameters
    ----------
    source : str, Policy or class of Policy
        A spec (`critical-path`, `corun[candidates=3]`), a policy, or a class whose parameters all have defaults.

    Returns
    -------
    Policy

    Raises
    ------
    SpecError
        If no policy has that name, or it has no such parameter or value.

    Examples
    --------
    >>> str(policy("corun[candidates=5]"))
    'corun[candidates=5]'
    """
    if isinstance(source, Policy):
        return source
    if isinstance(source, type) and issubclass(source, Policy):
        return made(source, "policy", Spec(source.name or source.__name__))
    if not isinstance(source, str):
        raise SpecError(f"{source!r} is not a policy; give a name, a Policy or a subclass of Policy")
    try:
        spec = parse(source)
        cls: type[Policy] = named("policies", spec.name)
    except SpecError as error:
        name = source.partition("[")[0]
        own = "; a policy of your own is named here once it is registered: docs/howto/own_package.md"
        raise SpecError(f"{error}{own if ':' in name or '.py' in name else ''}") from None
    return made(cls, "policy", spec)


def policies(sources: Iterable[str | Policy | type[Policy]]) -> list[Policy]:
    """Return some policies, at least one; raise `SpecError` for a single one in place of a list."""
    if isinstance(sources, str | Policy | type) or not isinstance(sources, Iterable):
        raise SpecError(f"policies is {sources!r}; expected a list of policies, as in [{sources!r}]")
    found = [policy(source) for source in sources]
    if not found:
        raise SpecError(f"policies is {sources!r}; expected at least one, as in ['fifo', 'critical-path']")
    return found
