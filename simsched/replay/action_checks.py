"""Checks of a dynamic policy's actions, and errors that give a task's history."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from simsched.costs.loads import IDLE, Load, Loads, load_of, loads
from simsched.errors import PolicyError
from simsched.parameters import is_whole
from simsched.policy import Start
from simsched.policy.view import View

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.policy import Problem


class State(View, Protocol):
    """The state of a replay: the policy's view, and the state of each task."""

    def became_ready_s(self, task: Any) -> float | None:
        """Return when a task became ready; None before."""
        ...

    def finished_s(self, task: int) -> float | None:
        """Return about when a task finished; None before."""
        ...


@dataclass(frozen=True, eq=False)
class ActionChecks:
    """Checks of the actions of one replay, and the estimates that carrying them out takes.

    Parameters
    ----------
    problem : Problem
    spec : str
        Spec of the policy, for the messages.
    """

    problem: Problem
    spec: str

    def checked(self, action: object, state: State) -> Start:
        """Return an action in plain whole numbers, its cores ascending, or raise an explaining error."""
        start = self._start(action)
        task = start.task
        if not _has(state.ready, task):
            raise self._impossible(start, f"it is not ready: {self._known(task, state)}", state)
        idle = state.idle_cores
        if not start.cores and not 1 <= start.width <= len(idle):
            asked = f"{start.width} cores were asked for, {len(idle)} are idle: {self._story(task, state)}"
            raise self._impossible(start, asked, state)
        cores = tuple(sorted(map(int, start.cores)))
        if len(set(cores)) < len(cores):
            raise self._impossible(start, "a core is listed twice", state)
        if taken := [core for core in cores if not _has(idle, core)]:
            raise self._impossible(start, self._not_idle(taken[0], state), state)
        return Start(int(task), int(start.width), cores)

    def require_actions(self, actions: object) -> NoReturn:
        """Raise the error of a `decide()` that returns nothing to iterate over."""
        raise PolicyError(
            f"policy {self.spec}: decide() returned {actions!r}; it returns Start(task, width=...) actions"
        ) from None

    def ready_s(self, task: int, state: State) -> float:
        """Return when a ready task became ready, or raise an error with its state."""
        if (ready_s := state.became_ready_s(task)) is None:
            raise self._refused(f"when task {task} became ready: {self._known(task, state)}", state)
        return ready_s

    def seconds(self, task: int, width: int, state: State) -> float:
        """Return the estimated seconds of a task on `width` cores, or raise an explaining error."""
        if width < 1 or not 0 <= task < self.problem.graph.n_tasks:
            why = "the least width is 1" if width < 1 else self._known(task, state)
            raise self._refused(f"for the seconds of task {task} on {width} cores: {why}", state)
        return self.problem.costs.seconds_of(task, width)

    def estimate(self, task: int, width: int) -> tuple[float, Load]:
        """Return the estimated seconds of a task about to start, and its demand on shared resources."""
        costs, effects = self.problem.costs, self.problem.machine.effects
        return costs.seconds_of(task, width), load_of(costs, task, width, effects) if effects.any else IDLE

    def estimates(self, width: int) -> tuple[Seconds, Loads | None]:
        """Return the same of all tasks; None for the loads where nothing is shared."""
        costs, effects = self.problem.costs, self.problem.machine.effects
        return costs.seconds(width), loads(costs, width, effects) if effects.any else None

    def stuck(self, state: State) -> PolicyError:
        """Return the error that names the tasks that the policy never started."""
        return PolicyError(
            f"policy {self.spec} started nothing at {state.now_s:.9g} s, with {len(state.ready)} ready tasks, "
            f"{len(state.idle_cores)} idle cores and nothing running: {self._story(state.ready[0], state)}"
        )

    def _start(self, action: object) -> Start:
        """Return an action of whole numbers, with its cores as a tuple, or raise an explaining error."""
        if isinstance(action, Start):
            start = action if isinstance(action.cores, tuple) else _with_tuple(action)
            if start is not None and all(map(is_whole, (start.task, start.width, *start.cores))):
                return start
        raise PolicyError(
            f"policy {self.spec} returned {action!r}; decide() returns Start(task, width=...) actions, "
            "of whole numbers"
        )

    def _not_idle(self, core: int, state: State) -> str:
        for running in state.running:
            if core in running.cores:
                return f"core {core} is held: {self._story(running.task, state)}"
        return f"core {core} does not exist: {self.problem.machine} has {self.problem.machine.n_threads}"

    def _impossible(self, start: Start, why: str, state: State) -> PolicyError:
        return self._refused(f"for {start}: {why}", state)

    def _refused(self, what: str, state: State) -> PolicyError:
        """Return the error of an action of a policy."""
        return PolicyError(f"policy {self.spec} asked at {state.now_s:.9g} s {what}")

    def _known(self, task: int, state: State) -> str:
        """Return the history of an index that may be no task."""
        n = self.problem.graph.n_tasks
        return self._story(task, state) if 0 <= task < n else f"tasks are 0 to {n - 1}"

    def _story(self, task: int, state: State, depth: int = 2) -> str:
        """Return the history of a task, and what it waits for, `depth` predecessors back."""
        graph = self.problem.graph
        story = f"task {task} ({graph.task_name(task)!r})"
        for running in state.running:
            if running.task == task:
                return f"{story} was started on cores {list(running.cores)}, to finish about {running.finish_s:.9g} s"
        if (finished_s := state.finished_s(task)) is not None:
            return f"{story} has finished, about {finished_s:.9g} s"
        if (ready_s := state.became_ready_s(task)) is not None:
            return f"{story} is ready since {ready_s:.9g} s"
        before = graph.predecessors.neighbours(task).tolist()
        left = [other for other in before if state.finished_s(other) is None]
        if depth == 0:
            return f"{story} waits for {len(left)} predecessors"
        first = self._story(left[0], state, depth - 1)
        return f"{story} waits for {len(left)} predecessors, the first of them: {first}"


def _has(ascending: Any, number: int) -> bool:
    place = bisect_left(ascending, number)
    return bool(place < len(ascending) and ascending[place] == number)


def _with_tuple(start: Start) -> Start | None:
    """Return an action with its cores (an array or a generator) as a tuple; None if that fails."""
    try:
        cores = iter(start.cores)
    except TypeError:
        return None
    return Start(start.task, start.width, tuple(cores))
