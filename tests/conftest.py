"""What all tests share: both engines; random cases that are the same in each run, and without deadlines."""

import pytest
from hypothesis import settings

import simsched as ss
from simsched import native

# A slow moment of a shared machine is no failure; the goals for speed live in benchmarks/. What fails once fails
# again: `--hypothesis-profile=explore` draws other cases each time, and more.
settings.register_profile("explore", settings.default, deadline=None, derandomize=False)
settings.register_profile(
    "simsched", settings.get_profile("explore"), derandomize=True, database=None, max_examples=10
)
settings.load_profile("simsched")

ENGINES = ["simpy", "native"] if native.find() else ["simpy"]


#: What takes longest, the longest first.
FIRST = ("test_the_site_builds", "test_random_kills_of_everything", "reproduce/test_concurrency_control.py")


def pytest_collection_modifyitems(items):
    """Begin with what takes longest, so that it is not what all wait for in the end."""
    items.sort(key=lambda item: next((n for n, part in enumerate(FIRST) if part in item.nodeid), len(FIRST)))


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def replay(engine):
    """Replay a graph given by seconds and edges; by default on two cores under critical-path."""

    def run(seconds, edges, policy="critical-path", machine="generic[cores=2]", bytes_B=None, **options):
        graph = ss.TaskGraph.from_edges(seconds, edges, bytes_B=bytes_B)
        return ss.simulate(graph, machine, policy, engine=engine, **options)

    return run
