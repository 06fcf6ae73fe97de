"""A Dask cluster of processes, and policies that end whoever replays them."""

import sys

import pytest

from simsched.graph import TaskGraph
from simsched.testing.daemons import Daemons

LETHAL = '''
import os
from dataclasses import dataclass
import simsched as ss
from simsched.policy import Policy, RankPolicy, Start


@dataclass(frozen=True)
class Lethal(RankPolicy):
    """Ends the process that replays one of its seeds."""

    name = "lethal"
    seeds: tuple = (13,)

    def rank(self, problem):
        if problem.seed in self.seeds:
            os._exit(70)
        return problem.generator().random(problem.graph.n_tasks)


@dataclass(frozen=True)
class Decides(Policy):
    """Is asked at each step."""

    name = "decides"

    def decide(self, view):
        if view.ready and view.idle_cores:
            yield Start(view.ready[0])


def slow():
    """Return a sweep of some seconds."""
    edges = [(i, i + 50) for i in range(6950)]
    graph = ss.TaskGraph.from_edges([1.0 + i % 7 for i in range(7000)], edges)
    return ss.Sweep([graph], ["generic[cores=2]"], ["fifo[order=random]"], seeds=range(60), engine="simpy")


def lethal():
    """Return a sweep of which three points are lethal."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)])
    policy = Lethal(seeds=(13, 200, 300))
    return ss.Sweep([graph], ["generic[cores=2]"], [policy], seeds=range(400))
'''


@pytest.fixture
def lethal(tmp_path, monkeypatch):
    """A folder, on the path, with the module `lethal`."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "lethal.py").write_text(LETHAL)
    monkeypatch.syspath_prepend(folder)
    sys.modules.pop("lethal", None)
    return folder


@pytest.fixture
def daemons(tmp_path, lethal):
    """A scheduler and two workers, which know the module `lethal`."""
    pytest.importorskip("distributed")
    folder = tmp_path / "daemons"
    folder.mkdir()
    with Daemons(folder, str(lethal)) as found:
        found.start()
        yield found


@pytest.fixture
def client(daemons):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(daemons.address, timeout=30) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def graph():
    return TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)], kinds=["A", "B", "A", "B"])
