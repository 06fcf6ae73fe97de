"""The referee behind dynamic policies: shows them the state, checks their actions, tells a task's story on errors."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.loads import IDLE, load_of
from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr, Index
from simsched.policy import Running, Start
from simsched.policy.placement import take_idle
from simsched.replay.decision import Decision
from simsched.replay.replay import Chooser

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.policy import Problem
    from simsched.replay.plan import DynamicPlan

#: What stands for the end of a policy's actions: `None` may be one of them, by mistake.
_NO_MORE = object()


class PolicyReferee(Chooser):
    """Decides by asking a policy; see `Chooser`. It also is the policy's `View`."""

    def __init__(self, plan: DynamicPlan) -> None:
        self._plan = plan
        self._now_s = 0.0
        self._ready: list[int] = []
        self._new: list[int] = []
        self._newly_ready: tuple[int, ...] = ()
        self._idle = list(range(plan.problem.machine.n_threads))
        self._running: dict[int, Running] = {}
        self._actions: Iterator[object] = iter(())
        self._lane_of: dict[int, int] = {}
        self._free_lanes: list[int] = []
        self._teams: dict[tuple[int, ...], int] = {}
        self._last_width = [0] * plan.problem.machine.n_threads
        self._finished_at: dict[int, float] = {}
        self._ready_at: dict[int, float] = {}

    # --- the policy's view ---

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return self._now_s

    @property
    def ready(self) -> Sequence[int]:
        """Tasks that can start, ascending."""
        return tuple(self._ready)

    @property
    def newly_ready(self) -> Sequence[int]:
        """Tasks that became ready since the policy was asked before, in that order."""
        return self._newly_ready

    @property
    def running(self) -> Sequence[Running]:
        """Tasks dispatched or running."""
        return tuple(self._running.values())

    @property
    def idle_cores(self) -> Sequence[int]:
        """Cores that no task holds, ascending."""
        return tuple(self._idle)

    @property
    def problem(self) -> Problem:
        """The graph, the machine and the estimates."""
        return self._plan.problem

    @property
    def levels(self) -> Seconds:
        """Longest accumulated estimate from each task to a sink."""
        return self.problem.levels

    def ready_s(self, task: int) -> float:
        """Return when a ready task became ready."""
        if (ready_s := self._ready_at.get(task)) is None:
            raise self._refused(f"when task {task} became ready: {self._known(task)}")
        return ready_s

    def seconds(self, task: int, width: int = 1) -> float:
        """Return the estimated seconds of a task on `width` cores."""
        if width < 1 or not 0 <= task < self.problem.graph.n_tasks:
            why = "the least width is 1" if width < 1 else self._known(task)
            raise self._refused(f"for the seconds of task {task} on {width} cores: {why}")
        return self.problem.costs.seconds_of(task, width)

    # --- the engine's chooser ---

    def released(self, tasks: list[int], now_s: float) -> None:
        """Add ready tasks."""
        self._new += tasks
        for task in tasks:
            insort(self._ready, task)
            self._ready_at[task] = now_s

    def finished(self, task: int) -> None:
        """Free the task's cores and lane."""
        running = self._running.pop(task)
        for core in running.cores:
            insort(self._idle, core)
        heappush(self._free_lanes, self._lane_of.pop(task))
        self._finished_at[task] = running.finish_s

    def next(self, now_s: float) -> Decision | None:
        """Return the next action of the policy, asking it again once it has no more."""
        self._now_s = now_s
        # Actions are taken one by one, so that a generator sees what its last action has changed.
        action: object = next(self._actions, _NO_MORE)
        if action is _NO_MORE and self._ready and self._idle:
            self._actions = self._ask()
            action = next(self._actions, _NO_MORE)
        return None if action is _NO_MORE else self._carried_out(action)

    def _ask(self) -> Iterator[object]:
        self._newly_ready, self._new = tuple(self._new), []
        actions = self._plan.policy.decide(self)
        try:
            return iter(actions if actions is not None else ())
        except TypeError:
            raise PolicyError(
                f"policy {self._plan.spec}: decide() returned {actions!r}; it returns Start(task, width=...) actions"
            ) from None

    def stuck(self) -> Exception:
        """Return the error that says which tasks the policy never started."""
        return PolicyError(
            f"policy {self._plan.spec} started nothing at {self._now_s:.9g} s, with {len(self._ready)} ready tasks, "
            f"{len(self._idle)} idle cores and nothing running: {self._story(self._ready[0])}"
        )

    def teams(self, team: Index) -> tuple[Csr, Index]:
        """Return every distinct team, in order of first use."""
        indptr = np.zeros(len(self._teams) + 1, np.int64)
        np.cumsum([len(cores) for cores in self._teams], out=indptr[1:])
        return Csr(indptr, np.fromiter(chain.from_iterable(self._teams), np.int32)), team

    def alone(self, widths: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Seconds:
        """Return each task's undisturbed seconds on its width."""
        return self.problem.costs.seconds(widths)

    # --- checking and carrying out ---

    def _carried_out(self, action: object) -> Decision:
        """Return the decision that an action becomes, and note its task as started and its cores as taken."""
        start = self._start(action)
        cores = self._checked(start)
        task, width, factors = int(start.task), len(cores), self._plan.factors
        estimate_s, resize_s = self.seconds(task, width), self._resize_s(cores)
        actual_s = estimate_s if factors is None else estimate_s * float(factors[task])
        self._take(task, cores)
        delay_s = self._delay_s()
        self._running[task] = Running(task, cores, self._now_s + delay_s + (estimate_s + resize_s))
        lane = heappop(self._free_lanes) if self._free_lanes else len(self._lane_of)
        self._lane_of[task] = lane
        effects = self.problem.machine.effects
        load = load_of(self.problem.costs, task, width, effects) if effects.any else IDLE
        team = self._teams.setdefault(cores, len(self._teams))
        return Decision(task, team, lane, actual_s + resize_s, delay_s, cores, load)

    def _take(self, task: int, cores: tuple[int, ...]) -> None:
        """Remove a task from the ready ones, and its cores from the idle ones."""
        del self._ready[bisect_left(self._ready, task)]
        taken = set(cores)
        self._idle = [core for core in self._idle if core not in taken]
        for core in cores:
            self._last_width[core] = len(cores)

    def _delay_s(self) -> float:
        """Return what the decision costs whose cores have just been taken."""
        runtime = self._plan.runtime
        if self._plan.policy.queue == "shared":
            return runtime.pop_s + runtime.pop_per_poller_s * len(self._idle)
        return runtime.choice_s

    def _resize_s(self, cores: tuple[int, ...]) -> float:
        """Return what the team pays because one of its cores last ran in a team of another size."""
        if not any(self._last_width[core] not in (0, len(cores)) for core in cores):
            return 0.0
        resize_s, per_thread_s = self._plan.runtime.resize_costs_s
        return resize_s + per_thread_s * len(cores)

    def _start(self, action: object) -> Start:
        """Return an action of whole numbers, with its cores as a tuple, or raise the error that says what it is not."""
        if isinstance(action, Start):
            start = action if isinstance(action.cores, tuple) else _with_tuple(action)
            if start is not None and all(map(_is_whole, (start.task, start.width, *start.cores))):
                return start
        raise PolicyError(
            f"policy {self._plan.spec} returned {action!r}; decide() returns Start(task, width=...) actions, "
            "of whole numbers"
        )

    def _checked(self, start: Start) -> tuple[int, ...]:
        """Return the cores of an action, or raise the error that says why it is impossible."""
        task = start.task
        place = bisect_left(self._ready, task)
        if place == len(self._ready) or self._ready[place] != task:
            raise self._impossible(start, f"it is not ready: {self._known(task)}")
        if not start.cores:
            if not 1 <= start.width <= len(self._idle):
                raise self._impossible(
                    start,
                    f"{start.width} cores were asked for, {len(self._idle)} are idle: {self._story(task)}",
                )
            machine = self.problem.machine
            return tuple(take_idle(self._idle, start.width, machine.cores_per_tile, machine.n_cores))
        cores = tuple(sorted(map(int, start.cores)))
        if len(set(cores)) < len(cores):
            raise self._impossible(start, "a core is listed twice")
        if taken := sorted(set(cores).difference(self._idle)):
            raise self._impossible(start, self._not_idle(taken[0]))
        return cores

    def _not_idle(self, core: int) -> str:
        for running in self._running.values():
            if core in running.cores:
                return f"core {core} is held: {self._story(running.task)}"
        return f"core {core} does not exist: {self.problem.machine} has {self.problem.machine.n_threads}"

    def _impossible(self, start: Start, why: str) -> PolicyError:
        return self._refused(f"for {start}: {why}")

    def _refused(self, what: str) -> PolicyError:
        """Return the error of what a policy asked for."""
        return PolicyError(f"policy {self._plan.spec} asked at {self._now_s:.9g} s {what}")

    def _known(self, task: int) -> str:
        """Return the story of what may be no task."""
        n = self.problem.graph.n_tasks
        return self._story(task) if 0 <= task < n else f"tasks are 0 to {n - 1}"

    def _story(self, task: int, depth: int = 2) -> str:
        """Return what happened to a task so far, and what it waits for, `depth` predecessors back."""
        graph = self.problem.graph
        story = f"task {task} ({graph.task_name(task)!r})"
        if task in self._running:
            running = self._running[task]
            return f"{story} was started on cores {list(running.cores)}, to finish about {running.finish_s:.9g} s"
        if task in self._finished_at:
            return f"{story} has finished, about {self._finished_at[task]:.9g} s"
        if task in self._ready_at:
            return f"{story} is ready since {self._ready_at[task]:.9g} s"
        before = graph.predecessors.neighbours(task).tolist()
        left = [other for other in before if other not in self._finished_at]
        if depth == 0:
            return f"{story} waits for {len(left)} predecessors"
        return f"{story} waits for {len(left)} predecessors, the first of them: {self._story(left[0], depth - 1)}"


def _with_tuple(start: Start) -> Start | None:
    """Return an action with a tuple of its cores, where they are an array or a generator; None if they cannot be."""
    try:
        cores = iter(start.cores)
    except TypeError:
        return None
    return Start(start.task, start.width, tuple(cores))


def _is_whole(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)
