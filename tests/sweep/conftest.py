"""A Dask cluster of processes, and policies that end whoever replays them."""

import sys

import pytest

from simsched.graph import TaskGraph
from simsched.testing.daemons import Daemons

LETHAL = '''
import os
import time
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True)
class Gated(RankPolicy):
    """Takes its time for the first seeds, and with the others waits for a file."""

    name = "gated"

    def rank(self, problem):
        if problem.seed < 40:
            time.sleep(0.1)
        else:
            end = time.monotonic() + 120
            while not Path(os.environ["GATE"]).exists() and time.monotonic() < end:
                time.sleep(0.01)
        return problem.generator().random(problem.graph.n_tasks)


def slow():
    """Return a sweep of which a third is not done before there is a file."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)])
    return ss.Sweep([graph], ["generic[cores=2]"], [Gated], seeds=range(60))


def lethal():
    """Return a sweep of which three points are lethal."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)])
    policy = Lethal(seeds=(13, 200, 300))
    return ss.Sweep([graph], ["generic[cores=2]"], [policy], seeds=range(400))
'''


@pytest.fixture
def gate(tmp_path, monkeypatch):
    """The file that the last points of `slow` wait for, however fast the machine is and however late this process."""
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    return tmp_path / "gate"


@pytest.fixture
def lethal(tmp_path, monkeypatch, gate):
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
