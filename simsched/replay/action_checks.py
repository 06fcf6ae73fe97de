"""Checks of a dynamic policy's actions, and errors that give a task's history."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NoReturn, Protocol

import numpy as np

from simsched.costs.loads import IDLE, Load, Loads, load_of, loads
from simsched.costs.task_costs import TaskCosts
from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr
from simsched.graph.taskgraph import Seconds
from simsched.parameters import is_whole
from simsched.policy import Problem, Start, View
from simsched.policy.bound import called
from simsched.policy.placement import take_idle
from simsched.replay.data import OnWay
from simsched.replay.fetching import Fetching
from simsched.text import counted


class State(View, Protocol):
    """The state of a replay: the policy's view, and the state of each task."""

    def became_ready_s(self, task: Any) -> float | None:
        """Return when a task became ready; None before."""

    def finished_s(self, task: int) -> float | None:
        """Return about when a task finished; None before."""

    def is_near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or on its way there."""

    def where(self, one: int) -> int:
        """Return whence an object is sent or read; -1 for nowhere."""

    def on_way(self, one: int, place: int) -> OnWay | None:
        """Return how far an object is on its way to a place; None where it is not."""

    def far(self, task: int, place: int) -> list[tuple[int, int]]:
        """Return the objects that a task would read from afar at a place, each with whence; none if sent."""

    def held_B(self, place: int) -> int:
        """Return the bytes taken at a place, where these are counted during the replay."""


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
            asked = counted(start.width, "core was asked for", "cores were asked for")
            asked = f"{asked}, {len(idle)} are idle: {self._story(task, state)}"
            raise self._impossible(start, asked, state)
        cores = tuple(sorted(map(int, start.cores)))
        if not cores and self._by_kind:
            able = self._able(task, idle)
            if start.width > len(able):
                kinds = (
                    f"{len(able)} of the idle ones are of kinds that can run it: {self._story(task, state)}"
                )
                raise self._impossible(start, f"{start.width} were asked for, {kinds}", state)
            cores = self._of_one_kind(int(start.width), able)
        if len(set(cores)) < len(cores):
            raise self._impossible(start, "a core is listed twice", state)
        if taken := [core for core in cores if not _has(idle, core)]:
            raise self._impossible(start, self._not_idle(taken[0], state), state)
        return Start(int(task), int(start.width), cores)

    def require_actions(self, actions: object) -> NoReturn:
        """Raise the error of a `decide()` that returns nothing to iterate over."""
        raise PolicyError(
            f"policy {self.spec}: decide() returned {actions!r}; it yields Start(task, width=...) actions, "
            "or returns a list of them"
        ) from None

    def ready_s(self, task: int, state: State) -> float:
        """Return when a ready task became ready, or raise an error with its state."""
        if (ready_s := state.became_ready_s(task)) is None:
            raise self._refused(f"when task {task} became ready: {self._known(task, state)}", state)
        return ready_s

    @cached_property
    def _by_kind(self) -> tuple[TaskCosts, ...]:
        """Costs on each kind of cores; none where all are alike."""
        kinds = self.problem.machine.kinds
        return tuple(map(self.problem.costs.of_kind, range(len(kinds.names)))) if kinds else ()

    @property
    def several_kinds(self) -> bool:
        """Whether cores are of several kinds, so that estimates are of teams rather than of widths."""
        return bool(self._by_kind)

    def _kinds_of(self, cores: Iterable[int]) -> list[int]:
        kind_of = self.problem.machine.kind_of
        return sorted({int(kind_of[core % len(kind_of)]) for core in cores})

    def _able(self, task: int, idle: Sequence[int]) -> Sequence[int]:
        """Return those of some cores that can run a task."""
        possible = [kind for kind, costs in enumerate(self._by_kind) if costs.one_core_s[task] < inf]
        if len(possible) == len(self._by_kind):
            return idle
        kind_of = self.problem.machine.kind_of
        return [core for core in idle if kind_of[core % len(kind_of)] in possible]

    def _of_one_kind(self, width: int, idle: Sequence[int]) -> tuple[int, ...]:
        """Return idle cores of the first kind that has as many; where none has, of several."""
        machine = self.problem.machine
        kind_of = machine.kind_of[np.array(idle) % machine.n_cores]
        of_kinds = [
            [core for core, kind in zip(idle, kind_of, strict=True) if kind == one]
            for one in np.unique(kind_of)
        ]
        found = next((cores for cores in of_kinds if len(cores) >= width), list(idle))
        return tuple(sorted(take_idle(found, width, machine.cores_per_tile, machine.n_cores)))

    def seconds(self, task: int, width: int, state: State, core: int | None = None) -> float:
        """Return the estimated seconds of a task on `width` cores, or raise an explaining error."""
        if width < 1 or not 0 <= task < self.problem.graph.n_tasks:
            why = "the least width is 1" if width < 1 else self._known(task, state)
            raise self._refused(f"for the seconds of task {task} on {counted(width, 'core')}: {why}", state)
        if core is not None:
            self._require_core(core, state)
        if core is None or not self._by_kind:
            return self.problem.costs.seconds_of(task, width)
        return self._by_kind[self._kinds_of([core])[0]].seconds_of(task, width)

    def estimate(self, task: int, width: int) -> tuple[float, Load]:
        """Return the estimated seconds of a task about to start, and its demand on shared resources."""
        costs, effects = self.problem.costs, self.problem.machine.effects
        return costs.seconds_of(task, width), load_of(costs, task, width, effects) if effects.any else IDLE

    def estimate_on(self, task: int, cores: Sequence[int]) -> tuple[float, Load]:
        """Return seconds and demand of a task on a team, which is as slow as its slowest kind of cores."""
        if not self._by_kind:
            return self.estimate(task, len(cores))
        effects, width = self.problem.machine.effects, len(cores)
        costs = max(
            (self._by_kind[kind] for kind in self._kinds_of(cores)),
            key=lambda one: one.seconds_of(task, width),
        )
        if costs.one_core_s[task] == inf:
            raise self._never(task, cores)
        return costs.seconds_of(task, width), load_of(costs, task, width, effects) if effects.any else IDLE

    def _never(self, task: int, cores: Sequence[int]) -> PolicyError:
        """Return the error of a task that was started on cores of a kind that cannot run it."""
        machine, graph = self.problem.machine, self.problem.graph
        core = next(core for core in cores if not self._able(task, [core]))
        kind = machine.kinds.names[machine.kind_of[core % machine.n_cores]] if machine.kinds else ""
        return PolicyError(
            f"policy {self.spec} started {called(graph, task)} on core {core}, of kind {kind}, which "
            f"cannot run it: view.seconds({task}, core={core}) is inf"
        )

    def missing(self, task: int, core: int, state: State) -> list[int]:
        """Return the objects that a task would have to wait for on a core, or read from afar there."""
        self._require_core(core, state)
        if not 0 <= task < self.problem.graph.n_tasks:
            raise self._refused(f"for the data of task {task}: {self._known(task, state)}", state)
        network, inputs = self.problem.machine.network, self._inputs
        if network is None or inputs is None:
            return []
        place = int(network.place_of[core % len(network.place_of)])
        return [one for one in inputs.neighbours(task).tolist() if not state.is_near(one, place)]

    def missing_B(self, task: int, core: int, state: State) -> float:
        """Return the bytes of a task's missing objects."""
        data = self.problem.graph.data
        found = self.missing(task, core, state)
        return 0.0 if data is None else float(np.nan_to_num(data.size_B[found]).sum())

    def fetch_s(self, task: int, core: int, state: State) -> float:
        """Return the seconds until all that a task reads would be at a core's place, if nothing else moved."""
        self.missing(task, core, state)
        data, network, inputs = self.problem.graph.data, self.problem.machine.network, self._inputs
        if data is None or network is None or inputs is None:
            return 0.0
        place = int(network.place_of[core % len(network.place_of)])
        ways = Fetching(data, network, share_links=self.problem.machine.effects.share_links)
        if network.ways.mode == "read":
            return ways.reading_s(place, state.far(task, place))
        return ways.sending_s(place, inputs.neighbours(task).tolist(), state)

    def free_B(self, core: int, state: State) -> float:
        """Return the bytes that a core's place can still hold."""
        self._require_core(core, state)
        if (network := self.problem.machine.network) is None:
            return inf
        place = int(network.place_of[core % len(network.place_of)])
        return float(network.size_B[place]) - state.held_B(place)

    @cached_property
    def _inputs(self) -> Csr | None:
        data = self.problem.graph.data
        return None if data is None else data.inputs(self.problem.graph.n_tasks)

    def _require_core(self, core: int, state: State) -> None:
        if not 0 <= core < self.problem.machine.n_threads:
            known = f"{self.problem.machine} has {self.problem.machine.n_threads}"
            raise self._refused(f"about core {core}, which does not exist: {known}", state)

    def estimates(self, width: int) -> tuple[Seconds, Loads | None]:
        """Return seconds and demand of all tasks; None for the demand where nothing is shared."""
        costs, effects = self.problem.costs, self.problem.machine.effects
        return costs.seconds(width), loads(costs, width, effects) if effects.any else None

    def stuck(self, state: State) -> PolicyError:
        """Return the error that names the tasks that the policy never started."""
        ready, idle = counted(len(state.ready), "ready task"), counted(len(state.idle_cores), "idle core")
        return PolicyError(
            f"policy {self.spec} started nothing at {state.now_s:.9g} s, with {ready}, {idle} and nothing running: "
            f"{self._story(state.ready[0], state)}"
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
            return f"{story} waits for {counted(len(left), 'predecessor')}"
        first = self._story(left[0], state, depth - 1)
        return f"{story} waits for {counted(len(left), 'predecessor')}, the first of them: {first}"


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
