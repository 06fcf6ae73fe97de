"""Every test of the engines' rules runs on both of them."""

import pytest

import simsched as ss
from simsched import native

ENGINES = ["simpy", "native"] if native.find() else ["simpy"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def replay(engine):
    """Replay a graph given by seconds and edges; by default on two cores under critical-path."""

    def run(seconds, edges, policy="critical-path", machine="generic[cores=2]", **options):
        return ss.simulate(ss.TaskGraph.from_edges(seconds, edges), machine, policy, engine=engine, **options)

    return run
