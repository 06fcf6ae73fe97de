"""Which engine replays, why, and what one of them cannot do."""

import numpy as np
import pytest

import simsched as ss
from simsched import native
from simsched.errors import EngineError
from simsched.policy import CandidateRule
from simsched.replay import native_engine, simpy_engine
from simsched.replay.engines import LIMITS, MISSING, TOO_MANY_BYTES

GRAPH = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], bytes_B=[2e18] * 3)
#: Eight executors on four cores, each of which may ask for all of 10^18 B/s: more than 64 bits count.
TOO_MUCH = {
    "graph": GRAPH,
    "machine": "generic[cores=4,core_bandwidth_Bps=1e18,bandwidth_Bps=1e18,share_bandwidth=true]",
    "policy": "fifo[oversubscribe=true]",
    "layout": "8x1",
}


class OneByOne(ss.Policy):
    """One task at a time, in Python."""

    def decide(self, view):
        return [ss.Start(view.ready[0])] if view.ready and not view.running else []


class LastFirst(CandidateRule):
    """A rule that decides otherwise than the one both engines know."""

    def decide(self, view):
        return [ss.Start(view.ready[-1])] if view.ready and not view.running else []


class Polled(CandidateRule):
    """The rule itself, from a shared queue."""

    queue = "shared"


def rule(cls):
    class Ruled(ss.Policy):
        queue = cls.queue

        def prepared(self, problem):
            one = np.ones((problem.graph.n_tasks, 1), np.int32)
            return cls(one, problem.costs.seconds(1)[:, None], max_running=2)

    return Ruled


def why(**asked):
    schedule = ss.simulate(**asked)
    return schedule.engine, schedule.inputs.engine_why


def test_what_is_asked_for_is_taken(engine):
    assert why(graph=GRAPH, machine="generic", policy="fifo", engine=engine) == (engine, "asked for")


if native.find():

    @pytest.mark.parametrize(
        ("policy", "because"),
        [
            ("fifo", "runs this policy without Python"),
            ("corun", "runs this policy without Python"),
            ("kind-widths", "it calls the policy's own decide()"),
            (OneByOne, "it calls the policy's own decide()"),
            (rule(LastFirst), "it calls the policy's own decide()"),
        ],
    )
    def test_auto_takes_the_compiled_engine_and_says_why(policy, because):
        engine, said = why(graph=GRAPH, machine="generic", policy=policy)
        assert (engine, said.startswith("the compiled engine is installed"), said.endswith(because)) == (
            "native", True, True,
        )  # fmt: skip

    def test_more_bytes_than_the_compiled_engine_counts_go_to_the_other():
        """Two at a time would fill the memory: three tasks of 1 s alone take 3 s each."""
        assert ss.simulate(**TOO_MUCH, engine="simpy").finish_s.tolist() == [3, 3, 3]
        assert why(**TOO_MUCH) == ("simpy", f"the compiled engine cannot {TOO_MANY_BYTES.what}")
        with pytest.raises(EngineError, match=r"cannot count bandwidth .* use engine='simpy' or 'auto'"):
            ss.simulate(**TOO_MUCH, engine="native")

    def test_the_limit_is_where_the_compiled_engine_refuses(monkeypatch):
        """The list here and the check in C++ say the same: without this one, that one raises."""
        monkeypatch.setattr("simsched.replay.engines.MOST_BPS", 2**70)
        with pytest.raises(ValueError, match="2\\^62 bytes a second"):
            ss.simulate(**TOO_MUCH, engine="native")


def test_auto_says_that_the_compiled_engine_is_missing(monkeypatch):
    monkeypatch.setattr("simsched.replay.engines.core", lambda: None)
    assert why(graph=GRAPH, machine="generic", policy="fifo") == (
        "simpy", f"the compiled engine cannot {MISSING.what}",
    )  # fmt: skip


@pytest.mark.parametrize(("cls", "starts"), [(LastFirst, [4, 1, 0]), (Polled, [1.75, 3.25, 7.25])])
@pytest.mark.rule("Shared queue")
def test_a_subclass_of_a_rule_decides_as_it_says(replay, cls, starts):
    """Tasks of 4, 3 and 1 s. The last first, one at a time: 2 at 0, 1 at 1, 0 at 4 s.

    From a shared queue, a pop takes 1 s and 0.25 s a core that idles beside. The longest, 0, with three of them, starts
    at 1.75 s, 1 with two at 3.25 s. 0 is done at 5.75 s; the pop of 2, with two, ends at 7.25 s.
    """
    runtime = ss.RuntimeProfile(pop_s=1.0, pop_per_poller_s=0.25) if cls is Polled else ss.RuntimeProfile()
    schedule = replay([4, 3, 1], [], rule(cls), "generic[cores=4]", runtime=runtime)
    assert schedule.start_s.tolist() == starts


def test_the_list_names_engines_that_there_are():
    modules = {"simpy": simpy_engine, "native": native_engine}
    assert {limit.engine for limit in LIMITS} == set(modules)
