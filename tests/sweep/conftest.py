"""A Dask cluster of processes, and policies that end whoever replays them."""

import sys

import pytest
from daemons import Daemons

from simsched.graph import TaskGraph

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


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder, on the path, with the module `lethal`, whose gate is a file beside it."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "lethal.py").write_text(LETHAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATE", str(folder / "gate"))
        patch.syspath_prepend(folder)
        yield folder
    sys.modules.pop("lethal", None)


@pytest.fixture
def gate(modules):
    """The file that the last points of `slow` wait for, however fast the machine is and however late this process."""
    file = modules / "gate"
    file.unlink(missing_ok=True)
    return file


@pytest.fixture
def lethal(modules, gate):
    """The folder with the module `lethal`, whose gate is shut."""
    return modules


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, modules):
    """A scheduler and two workers, which know the module `lethal`; tests kill them, and `daemons` starts them again."""
    pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        # A point is given up after two workers, not four: each takes seconds to start.
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
        daemons = Daemons(tmp_path_factory.mktemp("daemons"), str(modules))
    with daemons:
        yield daemons


@pytest.fixture
def daemons(cluster, gate):
    """A scheduler and two workers that live."""
    cluster.mend()
    return cluster


@pytest.fixture
def client(daemons):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(daemons.address, timeout=30) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def graph():
    return TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)], kinds=["A", "B", "A", "B"])
