"""The SimPy engine's run in which tasks slow each other down: completions are timed again when rates change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simsched.replay.bandwidth import Bandwidth, stretched
from simsched.replay.run import Run

if TYPE_CHECKING:
    from simsched.replay.decision import Decision
    from simsched.replay.plan import Plan
    from simsched.replay.run import Chooser


@dataclass(slots=True)
class _Running:
    """A running task: when it will finish as things stand, and how often that has changed."""

    finish_s: float
    memory_share: float
    demand_Bps: int
    version: int = 0


class SharingRun(Run):
    """A run on a machine whose memory bandwidth is shared."""

    def __init__(self, plan: Plan, chooser: Chooser, progress: Callable[[int], object] | None) -> None:
        super().__init__(plan, chooser, progress)
        self.memory = Bandwidth(plan.problem.machine.bandwidth_Bps)
        self.running: dict[int, _Running] = {}
        self.due = False  # something happened at this instant that is not settled yet

    def launch(self, decision: Decision) -> None:
        """Time the completion of a task that starts now."""
        delay = decision.seconds * self.memory.stretch(decision.memory_share)
        running = _Running(self.env.now + delay, decision.memory_share, decision.demand_Bps)
        self.running[decision.task] = running
        self.memory.demand_Bps += decision.demand_Bps
        self.time(decision.task, running, delay)

    def time(self, task: int, running: _Running, delay: float) -> None:
        """Let a running task finish after `delay`, whatever was timed before."""
        running.version += 1
        self.env.timeout(delay, (task, running.version)).callbacks.append(self.on_timed)

    def on_timed(self, event: Any) -> None:
        """A task finished, unless it was timed again since."""
        task, version = event.value
        running = self.running.get(task)
        if running is not None and running.version == version:
            self.memory.demand_Bps -= self.running.pop(task).demand_Bps
            self.done.append(task)
            self.due = True
        if self.due and self.env.peek() > self.env.now:
            self.settle()

    def on_dispatched(self, event: Any) -> None:
        """The dispatcher has handed a task over."""
        self.due = True
        super().on_dispatched(event)

    def settle(self) -> None:
        """Handle the instant, then time again what the memory holds up."""
        self.due = False
        super().settle()
        self.retime()

    def retime(self) -> None:
        """Stretch or shorten what is left of the running tasks, where the pressure on the memory has changed."""
        before = self.memory.update()
        if before is None:
            return
        now = self.env.now
        for task, running in self.running.items():
            if running.memory_share:
                factor = self.memory.stretch(running.memory_share) / stretched(running.memory_share, before)
                delay = (running.finish_s - now) * factor
                running.finish_s = now + delay
                self.time(task, running, delay)

    def open(self) -> None:
        """Start the first tasks."""
        super().open()
        self.retime()
