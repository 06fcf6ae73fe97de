"""Checks of a policy's answers, the same for both engines and for real runs."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np

from simsched.errors import LayoutError, PolicyError
from simsched.graph.adjacency import Csr, Index
from simsched.machine import Machine
from simsched.policy import CandidateRule, Layout, Policy, Problem, RankPolicy, Shortcuts
from simsched.policy.bound import called, require_bound, require_executors, serves
from simsched.policy.planned_policy import Assignment, PlannedPolicy
from simsched.policy.policy import Discipline, Queue


def queue_of(policy: Policy) -> Queue:
    """Return the queue by which a policy's decisions are charged, or raise `PolicyError`."""
    _one_of(policy, "queue", get_args(Queue))
    return policy.queue


def remarks_of(policy: Policy) -> tuple[str, ...]:
    """Return a policy's remarks on its schedules, or raise `PolicyError`."""
    found = policy.remarks
    if not isinstance(found, tuple) or not all(isinstance(one, str) for one in found):
        raise PolicyError(f"policy {policy}: its remarks are {found!r}; expected a tuple of strings")
    return found


def layouts_of(policy: Policy, machine: Machine) -> tuple[Layout, ...]:
    """Return the layouts to choose from for a policy, each once; none for a policy that needs none.

    Raises
    ------
    LayoutError
        If one does not fit the machine.
    PolicyError
        If the policy's answer is not layouts.
    """
    found = policy.layouts(machine)
    if not isinstance(found, tuple) or not all(isinstance(layout, Layout) for layout in found):
        raise PolicyError(f"policy {policy}: its layouts are {found!r}; expected a tuple of Layout")
    if isinstance(policy, RankPolicy):
        if not found:
            raise PolicyError(f"policy {policy}: it names no layouts for {machine}; expected at least one")
        # Where all have teams of several kinds of cores, teams of one core are left.
        fitting = [layout for layout in found if is_of_one_kind(policy, machine, layout)]
        fitting = fitting or [replace(layout, width=1) for layout in found]
        found = tuple(checked_layout(policy, machine, layout) for layout in fitting)
    return tuple(dict.fromkeys(found))


def usable_layouts(policy: Policy, problem: Problem) -> tuple[Layout, ...]:
    """Return the layouts to choose from for a policy that have an executor for each task of a problem.

    Raises
    ------
    LayoutError
        If there are layouts, and none has.
    """
    found = layouts_of(policy, problem.machine)
    usable = tuple(one for one in found if serves(policy, problem.graph, problem.machine, one))
    if found and not usable and isinstance(policy, RankPolicy):
        executors_of(policy, replace(problem, layout=found[-1]))  # raises the error that says what is missing
    return usable


def checked_layout(policy: Policy, machine: Machine, layout: str | Layout | tuple[int, int]) -> Layout:
    """Return the layout given to a policy.

    Raises
    ------
    LayoutError
        If the policy takes none, or it does not fit the machine.
    PolicyError
        If the policy's answer is not a layout.
    """
    wanted = Layout.parse(layout)
    if not policy.takes_layout:
        raise LayoutError(f"policy {policy} chooses its own widths and cores; give it no layout")
    if not isinstance(policy, RankPolicy):
        if wanted.devices:
            raise LayoutError(
                f"policy {policy} decides while it runs, and takes devices as it takes cores; give it no {wanted}"
            )
        return wanted
    if not isinstance(found := policy.checked_layout(machine, wanted), Layout):
        raise PolicyError(f"policy {policy}: its layout is {found!r}; expected a Layout")
    if not is_of_one_kind(policy, machine, found):
        raise LayoutError(
            f"the layout {found} has teams of several kinds of cores of {machine}; narrower ones have not"
        )
    return found


def is_of_one_kind(policy: Policy, machine: Machine, layout: Layout) -> bool:
    """Return whether each team of a layout has cores of one kind, and a device has none beside it."""
    if machine.kinds is None or layout.width == 1 or not isinstance(policy, RankPolicy):
        return True
    teams = policy.executors(machine, layout)
    cores, sizes = teams.indices % machine.n_cores, teams.degrees()
    kinds = machine.kind_of[cores]
    alike = kinds == np.repeat(kinds[teams.indptr[:-1]], sizes)
    return bool((alike & ~(machine.is_device[cores] & np.repeat(sizes > 1, sizes))).all())


def planned_of(policy: RankPolicy, problem: Problem, executors: Csr) -> Assignment | None:
    """Return where a planned policy runs each task; None for other policies.

    Raises
    ------
    PolicyError
        If the plan is not an executor per task and an order of all tasks in which each comes after those before it.
    """
    if not isinstance(policy, PlannedPolicy) or policy.discipline != "planned":
        return None
    n, found = problem.graph.n_tasks, policy.plan(problem.platform(executors), problem.seed)
    if not isinstance(found, Assignment):
        raise PolicyError(f"policy {policy}: plan() returned {found!r}; expected an Assignment")
    executor, order = np.asarray(found.executor), np.asarray(found.order)
    if executor.shape != (n,) or order.shape != (n,) or {executor.dtype.kind, order.dtype.kind} - {"i", "u"}:
        raise PolicyError(
            f"policy {policy}: its plan has executors {executor.dtype} of shape {executor.shape}, and an order "
            f"{order.dtype} of shape {order.shape}; expected {n} whole numbers of each"
        )
    if n and not (executor.min() >= 0 and executor.max() < executors.n):
        raise PolicyError(
            f"policy {policy}: its plan names executors {_range(executor)}; there are {executors.n}, from 0"
        )
    on = problem.machine.kind_of[executors.indices[executors.indptr[:-1]][executor] % problem.machine.n_cores]
    if (never := np.isinf(problem.seconds_by_kind[np.arange(n), on])).any():
        task = int(never.argmax())
        raise PolicyError(
            f"policy {policy}: its plan has {called(problem.graph, task)} on executor {executor[task]}"
            ", whose kind of cores cannot run it: its seconds there are inf"
        )
    place = np.full(n, -1, np.int64)
    if n and order.min() >= 0 and order.max() < n:
        place[order] = np.arange(n)
    after = problem.graph.successors
    if (place < 0).any() or (place[after.sources()] >= place[after.indices]).any():
        raise PolicyError(
            f"policy {policy}: the order of its plan is not one of all tasks, each after those before it"
        )
    return Assignment(executor.astype(np.int32), order.astype(np.int32), found.notes)


def prepared_of(policy: Policy, problem: Problem) -> Policy:
    """Return the policy that decides one replay of a problem, or raise `PolicyError`."""
    require_bound(policy, problem)
    found = policy.prepared(problem)
    if not isinstance(found, Policy) or isinstance(found, RankPolicy):
        raise PolicyError(
            f"policy {policy}: prepared() returned {found!r}; expected a Policy that is asked, with a decide()"
        )
    if isinstance(found, CandidateRule):
        found.checked(problem)
    if found.queue != queue_of(policy):
        raise PolicyError(
            f"policy {policy}: its queue is {policy.queue!r}, but prepared() returned a policy with the queue "
            f"{found.queue!r}; give both the same queue"
        )
    return found


def planned_cores_of(prepared: Policy, problem: Problem) -> Index | None:
    """Return the first core of each task's team where a dynamic policy plans them, or raise `PolicyError`."""
    if (found := prepared.planned_cores) is None:
        return None
    n, threads = problem.graph.n_tasks, problem.machine.n_threads
    try:
        cores = np.asarray(found)
    except ValueError:
        cores = np.empty(0, np.object_)
    exist = not n or (cores.dtype.kind in "iu" and cores.min() >= 0 and cores.max() < threads)
    if cores.shape != (n,) or not exist:
        raise PolicyError(
            f"policy {prepared}: its planned cores are {found!r}; expected {n} whole numbers from 0 to {threads - 1}"
        )
    return cores.astype(np.int32)


def discipline_of(policy: RankPolicy) -> Discipline:
    """Return the discipline of a static policy, or raise `PolicyError`."""
    _one_of(policy, "discipline", get_args(Discipline))
    return policy.discipline


def require_static(policy: RankPolicy) -> None:
    """Raise `PolicyError` if a static policy overrides methods of dynamic ones."""
    for unasked in ("prepared", "decide"):
        if getattr(type(policy), unasked) is not getattr(Policy, unasked):
            raise PolicyError(
                f"policy {policy} is a RankPolicy and has {unasked}(), which nothing calls: rank() says all before the "
                "replay; subclass Policy for one that is asked while it runs"
            )


def executors_of(policy: RankPolicy, problem: Problem) -> Csr:
    """Return the hardware threads of each executor of a problem's layout, or raise `PolicyError`."""
    assert problem.layout is not None  # noqa: S101 - narrows the type: static policies always have a layout
    layout, machine = problem.layout, problem.machine
    teams = policy.executors(machine, layout)
    if not isinstance(teams, Csr):
        raise PolicyError(f"policy {policy}: executors() returned {teams!r}; expected a Csr")
    widths = np.repeat([layout.width, 1], [layout.executors, layout.devices])
    if not np.array_equal(teams.degrees(), widths):
        raise PolicyError(
            f"policy {policy}: executors() returned {teams.n} executors of {_range(teams.degrees())} threads; "
            f"the layout is {layout}"
        )
    threads = teams.indices
    if threads.dtype.kind not in "iu" or threads.min() < 0 or threads.max() >= machine.n_threads:
        raise PolicyError(
            f"policy {policy}: executors() returned threads {_range(threads)}; those of {machine} are 0 to "
            f"{machine.n_threads - 1}"
        )
    found = Csr(teams.indptr.astype(np.int64, copy=False), np.ascontiguousarray(threads, np.int32))
    require_executors(problem.graph, machine, layout, found)
    return found


def shortcuts_of(policy: RankPolicy, problem: Problem) -> Shortcuts | None:
    """Return the shortcuts past the queue of a problem's executors, or raise `PolicyError`."""
    if (found := policy.shortcuts(problem)) is None:
        return None
    if not isinstance(found, Shortcuts):
        raise PolicyError(f"policy {policy}: shortcuts() returned {found!r}; expected Shortcuts, or None")
    return found.checked(problem.graph.n_tasks, problem.machine.n_threads, policy)


def _one_of(policy: Policy, what: str, known: tuple[str, ...]) -> None:
    if (given := getattr(policy, what)) not in known:
        raise PolicyError(f"policy {policy}: its {what} is {given!r}; expected one of {', '.join(known)}")


def _range(numbers: np.ndarray[tuple[int], np.dtype[np.integer]]) -> str:
    return f"{numbers.min()} to {numbers.max()}" if len(numbers) else "no"
