"""Tables of comparisons and predictions."""

import pytest

import simsched as ss
from simsched.errors import LayoutError, MachineError, SpecError

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])


def test_compare_by_hand():
    """Two cores: sequential 1 + 2 + 3 = 6 s; list scheduling 4 s = the critical path 0, 2."""
    frame = ss.compare(GRAPH, "generic[cores=2]", ["sequential", "critical-path"])
    assert frame["makespan_s"].tolist() == [6, 4]
    assert frame["speedup"].tolist() == [1, 1.5]
    assert frame["bound_s"].tolist() == [4, 4]
    assert frame["gap"].tolist() == [0.5, 0]
    assert frame["mean_corunning"].tolist() == [1, 1.5]
    assert frame["layout"].tolist() == ["1x1", "2x1"]
    assert (frame["binds"].iloc[1], frame["binds_share"].iloc[1]) == ("critical path", 1)


def test_compare_says_where_one_queue_serves_all():
    """Of 400 ready tasks of 1 µs on 64 cores, fifo's single queue takes most of the time, not the tasks' order."""
    graph = ss.TaskGraph.from_edges([1e-6] * 400)
    frame = ss.compare(graph, "knl-7250[cores=64]", ["fifo", "critical-path"], "64x1")
    assert frame["binds"].tolist() == ["dispatch", "dispatch"]
    assert (frame["binds_share"] > 0.5).all()


def test_speedup_is_over_sequential_even_if_it_is_not_asked_for():
    assert ss.compare(GRAPH, "generic[cores=2]", ["fifo"])["speedup"].tolist() == [1.5]


def test_compare_keeps_sequential_out_of_the_layout():
    frame = ss.compare(GRAPH, "generic[cores=4]", ["sequential", "fifo"], layout="2x2")
    assert frame["layout"].tolist() == ["1x1", "2x2"]


def test_predict_by_hand():
    """One core 6 s; from two cores on 4 s, the critical path."""
    frame = ss.predict(GRAPH, "generic", "critical-path", cores=[1, 2, 4])
    assert frame["makespan_s"].tolist() == [6, 4, 4]
    assert frame["area_s"].tolist() == [6, 3, 1.5]
    assert frame["critical_path_s"].tolist() == [4, 4, 4]
    assert frame["speedup"].tolist() == [1, 1.5, 1.5]
    assert frame["efficiency"].tolist() == [1, 0.75, 0.375]


def test_predict_with_wide_executors():
    frame = ss.predict(GRAPH, "knl-7250", "critical-path", cores=[34, 68], width=4)
    assert frame["layout"].tolist() == ["8x4", "17x4"]


def test_predict_corun_and_empty_graph():
    assert ss.predict(GRAPH, "generic", "corun", cores=[2])["makespan_s"].tolist() == [4]
    empty = ss.predict(ss.TaskGraph.from_edges([]), "generic", "fifo", cores=[1])
    assert empty["makespan_s"].tolist() == [0]


@pytest.mark.parametrize(
    ("cores", "error"), [([], MachineError), ([0], MachineError), ([2**21], MachineError)]
)
def test_impossible_core_counts(cores, error):
    with pytest.raises(error, match="cores"):
        ss.predict(GRAPH, "generic", "fifo", cores=cores)


def test_width_beyond_the_machine():
    with pytest.raises(LayoutError, match="needs 8 cores"):
        ss.predict(GRAPH, "generic", "fifo", cores=[4], width=8)


def test_nothing_to_compare():
    with pytest.raises(SpecError, match=r"policies is \[\]; expected at least one"):
        ss.compare(GRAPH, "generic", [])


def test_lists_are_lists():
    with pytest.raises(ss.SimschedError, match="expected a list of policies"):
        ss.compare(GRAPH, "generic", "fifo")
    with pytest.raises(ss.SimschedError, match="expected a list of policies"):
        ss.compare(GRAPH, "generic", ss.policy("fifo"))
    with pytest.raises(ss.SimschedError, match="expected a list of policies"):
        ss.replayed({"g": GRAPH}, "generic", ss.RankPolicy)
    assert len(ss.compare(GRAPH, "generic", (name for name in ("fifo", "corun")))) == 2
    with pytest.raises(MachineError, match="cores is 4"):
        ss.predict(GRAPH, "generic", "fifo", cores=4)


def test_the_distance_from_the_best_known_bound():
    """On 2 cores four of 1 s between two of 1 s: path 3, but 4 s at least; three of 2 s: area 3, optimum 4."""
    pytest.importorskip("ortools")
    fork = ss.TaskGraph.from_edges([1.0] * 6, [(0, i) for i in range(1, 5)] + [(i, 5) for i in range(1, 5)])
    alone = ss.CostModel(default=ss.Curve(1.0))
    for graph, bound, seconds, name in (
        (fork, "quick", 3, "critical path"),
        (fork, "thorough", 4, "fernandez bussell"),
        (ss.TaskGraph.from_edges([2.0, 2.0, 2.0]), "thorough", 3, "area"),
        (ss.TaskGraph.from_edges([2.0, 2.0, 2.0]), "optimum", 4, "proven"),
    ):
        frame = ss.compare(graph, "generic[cores=2]", ["fifo", "sequential"], costs=alone, bound=bound)
        assert frame["bound_s"].tolist() == [seconds] * 2
        assert frame["bound_from"].tolist() == [name] * 2
        assert frame["gap"].tolist() == pytest.approx((frame["makespan_s"] / seconds - 1).tolist())


def test_a_bound_that_is_not():
    with pytest.raises(SpecError, match="bound is 'best'; expected one of quick, thorough, optimum"):
        ss.compare(GRAPH, "generic[cores=2]", ["fifo"], bound="best")


def test_a_plan_for_the_given_layout_alone_is_compared() -> None:
    """The search for a layout that is faster, which is only advice, finds none that the plan is for."""

    class Split(ss.PlannedPolicy):
        name = "split"

        def plan(self, platform: object, seed: int) -> ss.Assignment:
            return ss.Assignment([0, 0, 1], [0, 1, 2])

    graph = ss.TaskGraph.from_edges([1.0] * 3, [(0, 1), (0, 2)], edge_bytes=1e9)
    machine = "generic[cores=2,data=sent,link_Bps=1e8]"
    assert ss.compare(graph, machine, [Split, "heft"], layout="2x1").frame.makespan_s.tolist() == [12.0, 3.0]
    assert ss.predict(graph, machine, Split, [2], width=1).frame.makespan_s.tolist() == [12.0]


def test_policies_of_one_name_are_told_apart(tmp_path):
    class Mine(ss.Policy):
        name = "fifo"

        def decide(self, view):
            yield from map(ss.Start, view.ready[: len(view.idle_cores)])

    found = ss.compare(GRAPH, "generic[cores=2]", ["fifo", Mine, "sequential"])
    other = Mine.__qualname__
    assert found["policy"].tolist() == ["fifo (Fifo)", f"fifo ({other})", "sequential"]
    runs = ss.verdicts(GRAPH, "generic[cores=2]", ["fifo", Mine], seeds=range(2))
    assert runs[["policy", "other"]].values.tolist() == [["fifo (Fifo)", f"fifo ({other})"]]
    found = ss.report(GRAPH, "generic[cores=2]", ["fifo", Mine]).findings
    assert [run.name for run in found.runs] == ["fifo (Fifo)", f"fifo ({other})"]
    assert not found.left_out
    sweep = ss.Sweep([GRAPH], ["generic[cores=2]"], ["fifo", Mine, Mine()])
    assert sweep.run(tmp_path)["policy"].tolist() == ["fifo (Fifo)", f"fifo ({other})", f"fifo ({other})"]
    assert ss.compare(GRAPH, "generic[cores=2]", ["fifo", "fifo"])["policy"].tolist() == ["fifo"]
