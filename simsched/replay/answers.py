"""What a static policy answered, checked: both engines take it as arrays that fit, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr
from simsched.policy.policy import Discipline, Queue
from simsched.policy.shortcuts import Shortcuts

if TYPE_CHECKING:
    from simsched.policy import Policy, Problem, RankPolicy


def check_queue(policy: Policy) -> None:
    """Raise `PolicyError` unless a policy's queue is one that decisions can be charged by."""
    _one_of(policy, "queue", get_args(Queue))


def discipline_of(policy: RankPolicy) -> Discipline:
    """Return the discipline of a static policy, or raise `PolicyError`."""
    _one_of(policy, "discipline", get_args(Discipline))
    return policy.discipline


def executors_of(policy: RankPolicy, problem: Problem) -> Csr:
    """Return the hardware threads of each executor of a problem's layout, or raise `PolicyError`."""
    assert problem.layout is not None  # noqa: S101 - narrows the type: static policies always have a layout
    layout, machine = problem.layout, problem.machine
    teams = policy.executors(machine, layout)
    if not isinstance(teams, Csr):
        raise PolicyError(f"policy {policy}: executors() returned {teams!r}; expected a Csr")
    if teams.n != layout.executors or (teams.degrees() != layout.width).any():
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
    return Csr(teams.indptr.astype(np.int64, copy=False), np.ascontiguousarray(threads, np.int32))


def shortcuts_of(policy: RankPolicy, problem: Problem) -> Shortcuts | None:
    """Return what runs past the queue of a problem's executors, or raise `PolicyError`."""
    found = policy.shortcuts(problem)
    if found is None:
        return None
    if not isinstance(found, Shortcuts):
        raise PolicyError(f"policy {policy}: shortcuts() returned {found!r}; expected Shortcuts, or None")
    return found.checked(problem.graph.n_tasks, problem.machine.n_threads, policy)


def _one_of(policy: Policy, what: str, known: tuple[str, ...]) -> None:
    if (given := getattr(policy, what)) not in known:
        raise PolicyError(f"policy {policy}: its {what} is {given!r}; expected one of {', '.join(known)}")


def _range(numbers: np.ndarray[tuple[int], np.dtype[np.integer]]) -> str:
    return f"{numbers.min()} to {numbers.max()}" if len(numbers) else "no"
