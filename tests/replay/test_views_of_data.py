"""What policies that decide during the replay see of data and of kinds of cores, on both engines."""

from __future__ import annotations

from math import inf
from typing import ClassVar

import numpy as np
import pytest

import simsched as ss
from simsched.errors import PolicyError

MACHINE = "generic[cores=2,link_Bps=2.0,link_latency_s=0.5,data=sent]"
FORK = [(0, 1), (0, 2)]


class Recording(ss.Policy):
    """Each ready task on the first idle core, or where its data are; what it saw is kept."""

    name = "recording"
    look = staticmethod(lambda view, task, core: None)
    seen: tuple[object, ...] = ()

    def decide(self, view):
        """Return starts, as long as tasks are ready and cores idle."""
        for task in list(view.ready):
            if view.idle_cores:
                core = min(view.idle_cores, key=lambda core: view.fetch_s(task, core))
                type(self).seen += tuple(self.look(view, task, core) for core in range(2))
                yield ss.Start(task, cores=(core,))


def run(engine, look, machine=MACHINE, seconds=(1, 1, 1), **options):
    policy = type("Recording", (Recording,), {"look": staticmethod(look), "seen": ()})
    graph = ss.TaskGraph.from_edges(list(seconds), FORK, edge_bytes=[4, 6])
    schedule = ss.simulate(graph, machine, policy, engine=engine, runtime=ss.RuntimeProfile(), **options)
    return schedule, policy.seen


@pytest.mark.rule("Information")
def test_policies_see_bytes_to_fetch_and_their_seconds(engine):
    """0 runs on core 0; of 1, 4 bytes are missing on core 1, which take 0.5 + 4/2 s; then 2 has to go there."""
    schedule, seen = run(
        engine, lambda view, task, core: (task, view.missing_B(task, core), view.fetch_s(task, core))
    )
    assert seen == ((0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 4, 2.5), (2, 0, 0), (2, 6, 3.5))
    assert schedule.start_s.tolist() == [0, 1, 4.5]


class Fetches(ss.Policy):
    """0, 1 and 2 write, 3 fetches what 2 wrote to the place where 4 starts, when 5 has ended."""

    name = "fetches"
    cores = (0, 2, 1, 4, 5, 3)
    seen: ClassVar[list[tuple[float, float]]] = []

    def decide(self, view):
        """Return all that can start, 4 last."""
        for task in view.ready:
            if task != 4:
                yield ss.Start(task, cores=(self.cores[task],))
            elif all(running.task != 5 for running in view.running):
                self.seen.append((view.now_s, view.fetch_s(4, 5)))
                yield ss.Start(4, cores=(5,))


@pytest.mark.rule("Information")
@pytest.mark.parametrize("at_s", [1.2, 1.9, 9.0])
@pytest.mark.parametrize("home", ["everywhere", "host"])
@pytest.mark.parametrize(
    ("machine", "bytes_B"),
    [
        ("generic[cores=6,cores.per_tile=2,data=sent", 1),
        ("generic[cores=6,cores.per_tile=2,data=sent,share_links=true", 1),
        ("generic[cores=6,cores.per_tile=2,data=sent,route=host", 1),
        ("generic[cores=6,cores.per_tile=2,data=sent,route=host,share_links=true", 1),
        ("generic[cores=6,cores.per_tile=2,data=read", 1),
        ("knl-7250[cores=6,data=sent,hop_Bps=3e5,hop_latency_s=0.1,share_links=true", 2e5),
        ("knl-7250[cores=6,data=read,share_links=false", 1e5),
    ],
)
def test_a_task_waits_as_long_as_policies_see_if_nothing_else_moves(engine, machine, bytes_B, home, at_s):
    """Also for what is on its way; with an L2 of 1 MB, what a task reads pushes out what it reads after that."""
    sizes = {
        "edge_bytes": np.array([6, 4, 2, 2]) * bytes_B,
        "input_bytes": np.array([0, 0, 0, 0, 3, 0]) * bytes_B,
    }
    edges = [(0, 4), (1, 4), (2, 3), (2, 4)]
    graph = ss.TaskGraph.from_edges([1, 1, 1, 1, 1, at_s], edges, edge_objects=[0, 1, 2, 2], **sizes)
    machine = ss.machine(f"{machine},places=tile,home={home},link_Bps={bytes_B},link_latency_s=0.5]")
    Fetches.seen.clear()
    schedule = ss.simulate(graph, machine, Fetches, runtime=ss.RuntimeProfile(), engine=engine)
    ((now_s, fetch_s),) = Fetches.seen
    assert now_s == schedule.messages.placed_s[4] == at_s
    assert fetch_s == pytest.approx(schedule.begun_s[4] - now_s, rel=1e-12)


@pytest.mark.rule("Information")
def test_messages_share_links_after_their_latencies(engine):
    """Three of 4 B at 1 B/s into one core: 4 s side by side, 12 where they share; latencies of 0.5 s pass at once."""
    graph = ss.TaskGraph.from_edges([1.0, 1, 1, 1], [(0, 3), (1, 3), (2, 3)], edge_bytes=4)
    seen = []

    class Apart(ss.Policy):
        name = "apart"

        def decide(self, view):
            for task in view.ready:
                seen.append(view.fetch_s(task, 3))
                yield ss.Start(task, cores=(task,))

    machine = "generic[cores=4,data=sent,link_Bps=1,link_latency_s=0.5]"
    shared = machine.replace("data", "share_links=true,data")
    for given in (machine, shared, shared.replace("sent", "read")):
        ss.simulate(graph, given, Apart, engine=engine)
    assert seen[3::4] == [4.5, 12.5, 13.5]


@pytest.mark.rule("Information")
def test_objects_on_their_way_and_inputs_are_not_missing(engine):
    inputs = ss.TaskGraph.from_edges([1, 1], input_bytes=[4, 4])
    seen = []

    class Both(ss.Policy):
        name = "both"

        def decide(self, view):
            seen.append([view.missing_B(task, 0) for task in view.ready])
            return [ss.Start(view.ready[0], cores=(view.idle_cores[0],))] if view.idle_cores else []

    ss.simulate(inputs, MACHINE, Both, engine=engine)
    assert seen[0] == [0, 0]
    seen.clear()
    ss.simulate(inputs, MACHINE.replace("sent]", "sent,home=host]"), Both, engine=engine)
    assert seen[0] == [4, 4]


@pytest.mark.rule("Information")
@pytest.mark.parametrize(("limit", "free_B"), [("note", 10), ("wait", 0)])
def test_policies_see_free_memory(engine, limit, free_B):
    """0 has written 10 bytes on core 0, where 1 runs; none are free there while 2's object is."""
    machine = MACHINE.replace("data", "place_B=10.0,data")
    _, seen = run(engine, lambda view, task, core: view.free_B(core), machine, memory_limit=limit)
    assert seen[:2] == (10, 10)
    assert seen[2] == free_B
    _, unlimited = run(engine, lambda view, task, core: view.free_B(core))
    assert set(unlimited) == {inf}


@pytest.mark.rule("Kinds of cores")
def test_policies_see_seconds_by_kind_and_teams_run_on_one(engine):
    """0 takes 4 s on core 0 and 2 s on core 1; without cores, a team is of the first kind with as many."""
    machine = "generic[cores=2,kinds=each]"
    _, seen = run(engine, lambda view, task, core: view.seconds(task, core=core), machine, [[4, 2]] * 3)
    assert seen[:2] == (4, 2)
    graph = ss.TaskGraph.from_edges([[4, 2], [3, 5]])

    class Widths(ss.Policy):
        name = "widths"
        width = 1

        def decide(self, view):
            if view.ready and len(view.idle_cores) >= self.width:
                yield ss.Start(view.ready[0], width=self.width)

    one = ss.simulate(graph, machine, Widths, engine=engine)
    assert [one.cores(task).tolist() for task in (0, 1)] == [[0], [1]]
    assert one.finish_s.tolist() == [4, 5]
    assert one.alone_s.tolist() == [4, 5]
    both = ss.simulate(graph, machine, type("Both", (Widths,), {"width": 2, "name": "both"}), engine=engine)
    costs = ss.CostModel().on(graph, ss.machine(machine))
    slowest = [max(costs.of_kind(kind).seconds_of(task, 2) for kind in (0, 1)) for task in (0, 1)]
    assert both.alone_s.tolist() == slowest


@pytest.mark.rule("Kinds of cores")
def test_corunning_on_kinds_is_the_same_on_both_engines(engine):
    graph = ss.TaskGraph.from_edges([[4, 2], [3, 5], [1, 1]], FORK, edge_bytes=[4, 6])
    schedule = ss.simulate(graph, MACHINE.replace("link", "kinds=each,link", 1), "corun", engine=engine)
    other = ss.simulate(graph, MACHINE.replace("link", "kinds=each,link", 1), "corun", engine="simpy")
    assert schedule.finish_s.tolist() == other.finish_s.tolist()


@pytest.mark.parametrize(
    ("look", "says"),
    [
        (lambda view, task, core: view.free_B(99), "does not exist"),
        (lambda view, task, core: view.fetch_s(task, -1), "does not exist"),
        (lambda view, task, core: view.seconds(task, core=99), "does not exist"),
        (lambda view, task, core: view.missing_B(7, 0), "tasks are 0 to 2"),
        (lambda view, task, core: view.seconds(-1, core=0), "tasks are 0 to 2"),
        (lambda view, task, core: view.seconds(task, 0, core=0), "the least width is 1"),
    ],
)
@pytest.mark.parametrize("machine", [MACHINE, MACHINE.replace("link", "kinds=each,link", 1)])
def test_cores_and_tasks_that_do_not_exist(engine, look, says, machine):
    with pytest.raises(PolicyError, match=says):
        run(engine, look, machine, [[4, 2]] * 3 if "each" in machine else (1, 1, 1))
