"""The referee of dynamic policies: shows them the state, and carries out their actions."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain

import numpy as np

from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.policy import Problem, Running
from simsched.policy.placement import take_idle
from simsched.replay.action_checks import ActionChecks
from simsched.replay.data import OnWay
from simsched.replay.data_state import DataState
from simsched.replay.decision import Decision
from simsched.replay.plan import DynamicPlan
from simsched.replay.replay import Chooser

#: Marker of the end of a policy's actions: `None` may be one of them, by mistake.
_NO_MORE = object()


class PolicyReferee(Chooser):
    """Decides by calling a policy; see `Chooser`. It also is the policy's `View`."""

    def __init__(self, plan: DynamicPlan) -> None:
        self._plan = plan
        self._checks = ActionChecks(plan.problem, plan.spec)
        self._now_s = 0.0
        self._ready: list[int] = []
        self._shown_ready: tuple[int, ...] | None = None
        self._new: list[int] = []
        self._newly_ready: tuple[int, ...] = ()
        self._ended: list[int] = []
        self._newly_finished: tuple[int, ...] = ()
        self._idle = list(range(plan.problem.machine.n_threads))
        self._shown_idle: tuple[int, ...] | None = None
        self._running: dict[int, Running] = {}
        self._actions: Iterator[object] = iter(())
        self._lane_of: dict[int, int] = {}
        self._free_lanes: list[int] = []
        self._teams: dict[tuple[int, ...], int] = {}
        self._last_width = [0] * plan.problem.machine.n_threads
        self._finished_at: dict[int, float] = {}
        self._ready_at: dict[int, float] = {}
        self._data: DataState | None = None

    # --- the policy's view ---

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return self._now_s

    @property
    def ready(self) -> Sequence[int]:
        """Tasks that can start, ascending."""
        if self._shown_ready is None:
            self._shown_ready = tuple(self._ready)
        return self._shown_ready

    @property
    def newly_ready(self) -> Sequence[int]:
        """Tasks that became ready since the previous call of the policy, in that order."""
        return self._newly_ready

    @property
    def newly_finished(self) -> Sequence[int]:
        """Tasks that finished since the previous call of the policy, in that order."""
        return self._newly_finished

    @property
    def running(self) -> Sequence[Running]:
        """Tasks dispatched or running."""
        return tuple(self._running.values())

    @property
    def idle_cores(self) -> Sequence[int]:
        """Cores that no task holds, ascending."""
        if self._shown_idle is None:
            self._shown_idle = tuple(self._idle)
        return self._shown_idle

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
        return self._checks.ready_s(task, self)

    def seconds(self, task: int, width: int = 1, core: int | None = None) -> float:
        """Return the estimated seconds of a task on `width` cores, of the kind of a core if one is given."""
        return self._checks.seconds(task, width, self, core)

    def missing_B(self, task: int, core: int) -> float:
        """Return the bytes that a task reads and that are not at a core's place, nor on their way there."""
        return self._checks.missing_B(task, core, self)

    def fetch_s(self, task: int, core: int) -> float:
        """Return the seconds until all that a task reads would be at a core's place, if nothing else moved."""
        return self._checks.fetch_s(task, core, self)

    def free_B(self, core: int) -> float:
        """Return the bytes that a core's place can still hold."""
        return self._checks.free_B(core, self)

    def is_near(self, one: int, place: int) -> bool:
        """Return whether an object is at a place, or on its way there."""
        return self._data is None or self._data.is_near(one, place)

    def where(self, one: int) -> int:
        """Return whence an object is sent or read; -1 for nowhere."""
        return -1 if self._data is None else self._data.where(one)

    def on_way(self, one: int, place: int) -> OnWay | None:
        """Return how far an object is on its way to a place; None where it is not."""
        return None if self._data is None else self._data.on_way(one, place)

    def far(self, task: int, place: int) -> list[tuple[int, int]]:
        """Return the objects that a task would read from afar at a place, each with whence."""
        return [] if self._data is None else self._data.far(task, place)

    def held_B(self, place: int) -> int:
        """Return the bytes taken at a place, where these are counted."""
        return 0 if self._data is None else self._data.held_B(place)

    def became_ready_s(self, task: int) -> float | None:
        """Return when a task became ready; None before."""
        return self._ready_at.get(task)

    def finished_s(self, task: int) -> float | None:
        """Return about when a task finished; None before."""
        return self._finished_at.get(task)

    # --- the engine's chooser ---

    def sees(self, data: DataState) -> None:
        """Let the policy see where objects are."""
        self._data = data

    def released(self, tasks: list[int], now_s: float) -> None:
        """Add ready tasks."""
        self._new += tasks
        self._shown_ready = None
        for task in tasks:
            insort(self._ready, task)
            self._ready_at[task] = now_s

    def finished(self, task: int) -> None:
        """Free the task's cores and lane."""
        running, self._shown_idle = self._running.pop(task), None
        for core in running.cores:
            insort(self._idle, core)
        heappush(self._free_lanes, self._lane_of.pop(task))
        self._finished_at[task] = running.finish_s
        self._ended.append(task)

    def next(self, now_s: float) -> Decision | None:
        """Return the next action of the policy, calling it again once it has no more."""
        self._now_s = now_s
        # Actions are taken one by one, so that a generator sees the effect of its last action.
        action: object = next(self._actions, _NO_MORE)
        if action is _NO_MORE and self._ready and self._idle:
            self._actions = self._ask()
            action = next(self._actions, _NO_MORE)
        return None if action is _NO_MORE else self._carried_out(action)

    def _ask(self) -> Iterator[object]:
        self._newly_ready, self._new = tuple(self._new), []
        self._newly_finished, self._ended = tuple(self._ended), []
        actions = self._plan.policy.decide(self)
        try:
            return iter(actions if actions is not None else ())
        except TypeError:
            self._checks.require_actions(actions)

    def stuck(self) -> Exception:
        """Return the error that names the tasks that the policy never started."""
        return self._checks.stuck(self)

    def teams(self, team: Index, task: Index) -> tuple[Csr, Index]:
        """Return every distinct team, in order of first use."""
        indptr = np.zeros(len(self._teams) + 1, np.int64)
        np.cumsum([len(cores) for cores in self._teams], out=indptr[1:])
        return Csr(indptr, np.fromiter(chain.from_iterable(self._teams), np.int32)), team

    def alone(self, teams: Csr, team: Index, executor: Index) -> Seconds:
        """Return each task's undisturbed seconds on its team."""
        return self.problem.costs.on_teams(teams, team, self.problem.machine.kind_of)

    # --- carrying out ---

    def _carried_out(self, action: object) -> Decision:
        """Return the decision for an action, and mark its task as started and its cores as taken."""
        start, machine = self._checks.checked(action, self), self.problem.machine
        cores = start.cores or tuple(
            take_idle(self._idle, start.width, machine.cores_per_tile, machine.n_cores)
        )
        task, factors = start.task, self._plan.factors
        (estimate_s, load), resize_s = self._checks.estimate_on(task, cores), self._resize_s(cores)
        actual_s = estimate_s if factors is None else estimate_s * float(factors[task])
        self._take(task, cores)
        delay_s = self._plan.dispatch_s + self._plan.per_poller_s * len(self._idle)
        self._running[task] = Running(task, cores, self._now_s + delay_s + (estimate_s + resize_s))
        lane = heappop(self._free_lanes) if self._free_lanes else len(self._lane_of)
        self._lane_of[task] = lane
        team = self._teams.setdefault(cores, len(self._teams))
        return Decision(task, team, lane, actual_s + resize_s, delay_s, cores, load)

    def _take(self, task: int, cores: tuple[int, ...]) -> None:
        """Remove a task from the ready ones, and its cores from the idle ones."""
        self._shown_ready = self._shown_idle = None
        del self._ready[bisect_left(self._ready, task)]
        taken = set(cores)
        self._idle = [core for core in self._idle if core not in taken]
        for core in cores:
            self._last_width[core] = len(cores)

    def _resize_s(self, cores: tuple[int, ...]) -> float:
        """Return the cost of resizing a team one of whose cores last ran in a team of another size."""
        if not any(self._last_width[core] not in (0, len(cores)) for core in cores):
            return 0.0
        resize_s, per_thread_s = self._plan.runtime.resize_costs_s
        return resize_s + per_thread_s * len(cores)
