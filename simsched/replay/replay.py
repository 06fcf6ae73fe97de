"""One replay by the SimPy engine: its state, and the handlers of its events."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

import numpy as np
import simpy

from simsched.errors import CostError, EngineError
from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.replay.data_state import DataState
from simsched.replay.decision import Decision
from simsched.replay.plan import Plan

PROGRESS_EVERY = 4096
BEYOND_NUMBERS = (
    "the times grow beyond all numbers; check the durations, the software costs and the bandwidth"
)


class Chooser(Protocol):
    """Decision maker of a run: a list of ranks, or a policy."""

    def released(self, tasks: list[int], now_s: float) -> None:
        """Record tasks that became ready at one instant, ascending."""

    def finished(self, task: int) -> None:
        """Record a completion."""

    def next(self, now_s: float) -> Decision | None:
        """Return the next decision, or None to wait for the next completion."""

    def own(self, now_s: float) -> Decision | None:
        """Return the next task that an executor starts by itself, past the dispatcher; None for none."""
        return None

    def arrived(self, decision: Decision) -> None:
        """Record that a held task is in its executor's buffer."""
        raise EngineError(f"task {decision.task} was held, and nobody holds it; this is a bug in simsched")

    def stuck(self) -> Exception:
        """Return the error that explains why nothing runs although tasks are left."""

    def teams(self, team: Index, task: Index) -> tuple[Csr, Index]:
        """Return the cores of every team used, and the row of each run's team, from its decision and its task."""

    def alone(self, teams: Csr, team: Index, executor: Index) -> Seconds:
        """Return each task's undisturbed seconds on its team and executor."""

    def sees(self, data: DataState) -> None:
        """Let a policy see where objects are."""
        return

    def began(self, task: int, now_s: float) -> None:
        """Record that a task starts, where data move."""
        return

    def computes(self, task: int, now_s: float) -> None:
        """Record that a task begins to compute, in replays that can abort it."""
        return

    def aborts(self, abort: Callable[[int], None]) -> None:
        """Let a policy abort the run of a task that computes; its next decision is to start that task anew."""
        return


class Replay:
    """State of one replay."""

    def __init__(self, plan: Plan, chooser: Chooser, progress: Callable[[int], object] | None) -> None:
        graph = plan.problem.graph
        n = graph.n_tasks
        self.env = simpy.Environment(initial_time=0.0)
        self.chooser = chooser
        self.progress = progress
        self.starts = graph.successors.indptr.tolist()
        self.after = graph.successors.indices.tolist()
        self.waiting = np.bincount(graph.successors.indices, minlength=n).tolist()
        self.done: list[int] = []
        self.n_done = 0
        self.n_reported = 0
        self.busy = False  # the dispatcher, with a pending decision
        self.ready_s = [0.0] * n
        self.start_s = [0.0] * n
        self.finish_s = [0.0] * n
        self.team = [0] * n
        self.executor = [0] * n
        self.order: list[int] = []
        self.lost: list[
            tuple[int, int, tuple[float, ...]]
        ] = []  # aborted runs: task, executor, moments of `Runs`
        self.data = None if plan.data is None else DataState(plan.data, self._time_message)
        if self.data is not None:
            chooser.sees(self.data)
        self.reading: set[int] = set()  # tasks that have started and do not compute yet
        self.messages: list[int] = []  # of which something happens at this instant
        self.due = False  # something happened at this instant that is not settled yet

    def go(self) -> None:
        """Run to the end."""
        self.open()
        self.env.run()
        if self.env.now == inf:
            raise CostError(BEYOND_NUMBERS)
        if self.n_done < len(self.waiting):
            if self.data is not None and (error := self.data.stuck()) is not None:
                raise error
            raise self.chooser.stuck()
        self.report()

    def open(self) -> None:
        """Start the first tasks."""
        self.chooser.released([task for task, count in enumerate(self.waiting) if not count], 0.0)
        if self.data is not None:
            self.data.open()
            self._begin_waiting()
        self.decide()
        self.take_room()
        self.retime()

    def report(self) -> None:
        """Report the tasks finished since the last report."""
        if self.progress is not None:
            self.progress(self.n_done - self.n_reported)
        self.n_reported = self.n_done

    def _on_finish(self, event: Any) -> None:
        """Note that a task finished."""
        self.done.append(event.value)
        self.due = True
        self.settle_once()

    def settle_once(self) -> None:
        """Settle the instant after the last of its events."""
        if self.due and self.env.peek() > self.env.now:
            self.due = False
            self.settle()

    def _on_dispatched(self, event: Any) -> None:
        """Note that the dispatcher has handed a task over."""
        self.busy = False
        self._deliver(event.value)
        self.due = True
        self.settle_once()

    def _time_message(self, delay: float, message: tuple[int, int]) -> None:
        """Let something happen to a message after `delay`."""
        self.env.timeout(delay, message).callbacks.append(self._on_message)

    def _on_message(self, event: Any) -> None:
        """Note that a message moves or arrives, unless it was timed again since."""
        number, version = event.value
        if self.data is not None and self.data.mail.is_due(number, version):
            self.messages.append(number)
            self.due = True
        self.settle_once()

    def settle(self) -> None:
        """Handle completions, then messages, ascending; start waiting tasks and executors' own ones; then decide."""
        if self.done:
            done = sorted(self.done)
            self.done.clear()
            self.complete(done)
        self._begin_waiting()
        while (decision := self.chooser.own(self.env.now)) is not None:
            self.place(decision)
        if not self.busy:
            self.decide()
        self.take_room()
        self.retime()

    def _begin_waiting(self) -> None:
        """Start the tasks for which all that they waited for has arrived by now."""
        if self.data is not None:
            waiting = self.data.settle(self.messages, self.env.now)
            self.messages.clear()
            for decision in waiting:
                if decision.task in self.reading:
                    self.reading.remove(decision.task)
                    self.launch(decision)
                else:
                    self.begin(decision)

    def take_room(self) -> None:
        """Start the tasks that waited for room that decisions have made."""
        if self.data is not None and self.data.has_room():
            self._begin_waiting()

    def retime(self) -> None:
        """Reschedule everything that has become slower or faster."""
        if self.data is not None:
            self.data.mail.update(self.env.now)

    def complete(self, done: list[int]) -> None:
        """Free the teams of finished tasks and release their successors."""
        now = self.env.now
        released: list[int] = []
        waiting, starts, after = self.waiting, self.starts, self.after
        for task in done:
            self.finish_s[task] = now
            self.chooser.finished(task)
            if self.data is not None:
                self.data.finished(task, now)
            for follower in after[starts[task] : starts[task + 1]]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    released.append(follower)
        if released:
            released.sort()
            for task in released:
                self.ready_s[task] = now
            self.chooser.released(released, now)
        self.n_done += len(done)
        if self.n_done - self.n_reported >= PROGRESS_EVERY:
            self.report()

    def decide(self) -> None:
        """Start tasks until the chooser starts no more, or the dispatcher is busy."""
        while (decision := self.chooser.next(self.env.now)) is not None:
            if decision.delay_s:
                self.busy = True
                self.env.timeout(decision.delay_s, decision).callbacks.append(self._on_dispatched)
                return
            self._deliver(decision)

    def _deliver(self, decision: Decision) -> None:
        """Hand a dispatched task over."""
        if decision.held:
            self.chooser.arrived(decision)
        else:
            self.place(decision)

    def place(self, decision: Decision) -> None:
        """Start a task now, or when what it waits for is there."""
        if self.data is None or self.data.placed(decision, self.env.now):
            self.begin(decision)

    def begin(self, decision: Decision) -> None:
        """Start a task now."""
        task = decision.task
        self.start_s[task] = self.env.now
        self.team[task] = decision.team
        self.executor[task] = decision.executor
        self.order.append(task)
        if self.data is not None:
            self.chooser.began(task, self.env.now)
        if self.data is None or self.data.computes(decision, self.env.now):
            self.launch(decision)
        else:
            self.reading.add(task)

    def launch(self, decision: Decision) -> None:
        """Time the completion of a task that starts now."""
        self.env.timeout(decision.seconds, decision.task).callbacks.append(self._on_finish)
