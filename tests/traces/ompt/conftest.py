"""Logs of OMPT callbacks, written event by event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simsched.graph import TaskGraph
from simsched.traces.ompt.reader import OMPT


class Log:
    """Lines of a file; each event comes 10 ns behind the one before."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hand.jsonl"
        self.lines: list[dict[str, Any]] = []
        self.ns = 1000

    def add(self, ev: str, tid: int = 0, **values: Any) -> Log:
        self.ns += 10
        self.lines.append({"ev": ev, **values, "tid": tid, "ns": self.ns})
        return self

    def create(
        self, task: int, parent: int, *, flags: int = 4, deps: list[Any] | None = None, tid: int = 0
    ) -> Log:
        self.add(
            "create",
            tid,
            task=task,
            parent=parent,
            flags=flags,
            has_dep=int(deps is not None),
            codeptr=f"0x{task}",
        )
        if deps is not None:
            self.lines.append({"ev": "depend", "task": task, "deps": deps})
        return self

    def sched(self, prior: int, status: int, after: int, tid: int = 0) -> Log:
        return self.add("sched", tid, prior=prior, status=status, next=after)

    def run(self, *tasks: int, under: int = 0, tid: int = 0) -> Log:
        """Run tasks for 10 ns each, one after the other."""
        for task in tasks:
            self.sched(under, 7, task, tid).sched(task, 1, under, tid)
        return self

    def sync(self, kind: int, scope: str, task: int, tid: int = 0, ev: str = "sync") -> Log:
        return self.add(ev, tid, kind=kind, scope=scope, parallel=1, task=task)

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)

    def read(self, **options: Any) -> TaskGraph:
        self.path.write_text(self.text())
        return OMPT.read(self.path, **options)

    def named_edges(self) -> list[tuple[str, str]]:
        """Return the edges between tasks by their ids and parts, of joins by what they are."""
        graph = self.read()
        names = [graph.task_name(i).removeprefix(f"{graph.kinds[i]} ") for i in range(graph.n_tasks)]
        names = [graph.kinds[i] if name.startswith("at ") else name for i, name in enumerate(names)]
        sources = graph.successors.sources().tolist()
        return [(names[a], names[b]) for a, b in zip(sources, graph.successors.indices.tolist(), strict=True)]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)
