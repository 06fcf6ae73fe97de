"""A replay in which tasks slow each other down, or are aborted: completions are timed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

from simsched.machine import Effects, Machine
from simsched.replay.contention import Bandwidth, Contention
from simsched.replay.decision import Decision
from simsched.replay.plan import Plan
from simsched.replay.replay import Chooser, Replay


class Sharing(Protocol):
    """A model of what running tasks share."""

    def begin(self, decision: Decision) -> float:
        """Note a task that starts; return its slow-down until the update of this instant."""

    def abort(self, task: int) -> None:
        """Remove a task that starts anew later."""

    def end(self, task: int) -> None:
        """Remove a finished task."""

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Record the readers of a finished task's data; called in ascending order, after all ends."""

    def update(self) -> Iterable[tuple[int, float]]:
        """Return the running tasks whose slowdown has changed, and the factor on their remaining time."""


class Alone(Sharing):
    """Nothing is shared."""

    def begin(self, decision: Decision) -> float:
        """Return that the task is not slowed down."""
        return 1.0

    def abort(self, task: int) -> None:
        """Do nothing."""

    def end(self, task: int) -> None:
        """Do nothing."""

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Do nothing."""

    def update(self) -> Iterable[tuple[int, float]]:
        """Return that nothing has changed."""
        return ()


def _shared_by_tasks(machine: Machine) -> Sharing:
    """Return the simplest model of what tasks share on a machine."""
    if not machine.effects.any:
        return Alone()
    return Bandwidth(machine.domain_Bps) if _only_bandwidth(machine) else Contention(machine)


def _only_bandwidth(machine: Machine) -> bool:
    """Return whether tasks share nothing but one memory's bandwidth, for which a simpler model suffices."""
    one = machine.n_domains == 1 and machine.memory.cluster_bandwidth_Bps == inf
    # What moves on links is beside what running tasks share.
    return one and replace(machine.effects, share_links=False) == Effects(share_bandwidth=True)


@dataclass(slots=True)
class _Running:
    """A running task: its expected finish, and the number of the event that stands for it."""

    finish_s: float
    event: int = 0


class SharingReplay(Replay):
    """A replay on a machine where running tasks share something, or of a policy that aborts them."""

    def __init__(self, plan: Plan, chooser: Chooser, progress: Callable[[int], object] | None) -> None:
        super().__init__(plan, chooser, progress)
        self.sharing = _shared_by_tasks(plan.problem.machine)
        self.running: dict[int, _Running] = {}
        self.n_timed = 0
        chooser.aborts(self.abort)

    def launch(self, decision: Decision) -> None:
        """Time the completion of a task that starts now."""
        delay = decision.seconds * self.sharing.begin(decision)
        running = _Running(self.env.now + delay)
        self.running[decision.task] = running
        self.time(decision.task, running, delay)
        self.chooser.computes(decision.task, self.env.now)

    def time(self, task: int, running: _Running, delay: float) -> None:
        """Let a running task finish after `delay`, whatever was timed before."""
        self.n_timed += 1
        running.event = self.n_timed
        self.env.timeout(delay, (task, running.event)).callbacks.append(self._on_timed)

    def abort(self, task: int) -> None:
        """Abort the run of a task that computes."""
        start_s = self.start_s[task]
        placed_s, begun_s = (start_s, start_s) if self.data is None else self.data.moments(task)
        self.lost.append((task, self.executor[task], (start_s, self.env.now, placed_s, begun_s)))
        self.order.remove(task)
        del self.running[task]
        self.sharing.abort(task)
        if self.data is not None:
            self.data.aborted(task)

    def _on_timed(self, event: Any) -> None:
        """Note that a task finished, unless it was timed again or aborted since."""
        task, number = event.value
        running = self.running.get(task)
        if running is not None and running.event == number:
            del self.running[task]
            self.sharing.end(task)
            self.done.append(task)
            self.due = True
        self.settle_once()

    def complete(self, done: list[int]) -> None:
        """Free the teams of finished tasks, and leave their data where they ran."""
        for task in done:
            self.sharing.feed(task, self.after[self.starts[task] : self.starts[task + 1]])
        super().complete(done)

    def retime(self) -> None:
        """Rescale the remaining time of the running tasks, too."""
        super().retime()
        now = self.env.now
        for task, factor in self.sharing.update():
            running = self.running[task]
            delay = (running.finish_s - now) * factor
            running.finish_s = now + delay
            self.time(task, running, delay)
