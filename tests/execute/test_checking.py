"""Calibration and cross-check: whole graphs run, and the simulator is asked the same."""

from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Calibration
from simsched.errors import SimschedError
from simsched.execute import Case, Settings, calibrate, interleaved
from simsched.execute.calibrate import measuring
from simsched.execute.calibrate.calibrating import _gap_s, _seconds, calibration_cases
from simsched.execute.calibrate.kinds import graph_of_kinds
from simsched.execute.crosscheck.checking import _named, _suited, crosscheck
from simsched.execute.kernels.operators import sizes
from simsched.execute.run.execution import Execution, MeasuredRun
from simsched.execute.run.run import _order


def spinning(n=24):
    """Return independent tasks of two lengths that only wait, so that a busy machine hardly changes them."""
    seconds = np.where(np.arange(n) % 3 == 0, 4e-4, 1e-4)
    return ss.TaskGraph.from_edges(
        seconds, kinds=["long" if s > 2e-4 else "short" for s in seconds], name="spins"
    )


def test_every_width_is_measured():
    cases = calibration_cases([spinning(), spinning()], 3)
    assert [(str(case.policy), case.layout) for case in cases[:3]] == [
        ("fifo[order=random]", (3, 1)),
        ("fifo[order=random]", (1, 2)),
        ("fifo[order=random]", (1, 3)),
    ]
    assert len(cases) == 6


@pytest.mark.parametrize("kind", ["MatMul", "matmul", "gemm", "aten::mm"])
def test_kinds_are_measured_in_shapes_of_generated_graphs(kind):
    """Whatever they are called, tasks run the kernel of their kind, with the work of the shapes."""
    graph = graph_of_kinds([kind, "Conv2D", kind])
    mine = [task for task in range(graph.n_tasks) if graph.kinds[task] == kind]
    assert len(mine) == 5
    assert graph.n_tasks == 10
    assert np.all(np.diff(graph.flops[mine]) > 0)
    assert np.isfinite(graph.bytes_B).all()
    assert all(sizes(graph.kinds[task], graph.shapes[task], graph.flops[task], {}) for task in mine)


def test_a_kind_beside_graphs_and_kinds_that_are_unknown():
    model = calibrate([spinning(), "Tanh"], "host[cores=1]", repeats=1)
    assert [op.op.kind for op in model.calibration.ops] == ["long", "short", *["Tanh"] * 3]
    with pytest.raises(
        SimschedError, match=r"'Matmull' is no kind .*did you mean MatMul[?]\nKinds(.|\n)* Conv2D,"
    ):
        calibrate(["Tanh", "Matmull"])
    with pytest.raises(SimschedError, match=r"as ss[.]workload\('rnn'\) returns"):
        calibrate("rnn")


def test_after_the_limit_there_are_three_turns_and_no_more_pairs(monkeypatch):
    cases = [Case(spinning(4), "fifo", "1x1")]
    settings = Settings(machine="host[cores=1]", precision=1e-9)
    assert [len(run) for run in interleaved(cases, 9, settings, limit_s=0.0)] == [3]
    assert [len(run) for run in interleaved(cases, 2, settings, limit_s=0.0)] == [2]
    monkeypatch.setattr(measuring, "LIMIT_S", 0.0)
    found = calibrate(spinning(4), pairs=None).calibration
    point = found.ops[0].points[0]
    assert point.runs + point.dropped == 3 * 2
    assert found.pairs == ()


def test_spinning_tasks_are_found_to_spin(tmp_path):
    model = calibrate(spinning(), "host[cores=1]", repeats=5)
    table = model.calibration.points().set_index(["kind", "width"])["seconds"]
    # A spin is never shorter than asked for; how much longer depends on what else the machine does.
    assert table["long", 1] > 0.99 * 4e-4
    assert 0.99 * 1e-4 < table["short", 1] < table["long", 1]
    model.save(tmp_path / "host.json")
    again = Calibration.load(tmp_path / "host.json").cost_model()
    schedule = ss.simulate(
        spinning(), "host[cores=1]", "sequential", costs=again, runtime=ss.RuntimeProfile()
    )
    assert schedule.makespan_s == pytest.approx(8 * table["long", 1] + 16 * table["short", 1])


def measured(starts, finishes):
    """Return an execution of two independent tasks on one executor that ran at the given times, a row a run."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["a", "b"])
    made = ss.simulate(graph, "generic[cores=1]", "sequential", runtime=ss.RuntimeProfile())
    return Execution(
        tuple(
            MeasuredRun(
                replace(made, start_s=np.array(start), finish_s=np.array(finish)),
                0.0,
                0,
                np.nan,
                (1.0,),
                (1.0,),
            )
            for start, finish in zip(starts, finishes, strict=True)
        )
    )


def test_seconds_add_up_to_the_median_work_of_a_run():
    execution = measured(
        [[0.0, 1.5], [0.0, 2.5], [0.0, 2.5]],
        [[1.0, 3.5], [2.0, 3.5], [2.0, 3.5]],
    )  # fmt: skip
    np.testing.assert_allclose(execution.median_tasks_s, [2.0, 1.0])
    np.testing.assert_allclose(_seconds(execution), [2.0, 1.0])
    late = measured([[0.0, 1.0], [0.0, 3.0], [0.0, 1.0]], [[1.0, 3.0], [3.0, 4.0], [1.0, 2.0]])
    np.testing.assert_allclose(late.median_tasks_s, [1.0, 1.0])
    np.testing.assert_allclose(_seconds(late), [1.5, 1.5])  # runs work for 3, 4 and 2 seconds


def test_a_start_costs_the_mean_gap_of_the_median_run():
    execution = measured(
        [[0.0, 1.5], [0.0, 1.25], [0.0, 3.0]],
        [[1.0, 2.0], [1.0, 2.0], [1.0, 4.0]],
    )  # fmt: skip
    assert _gap_s([execution]) == 0.5
    assert _gap_s([]) is None


def test_measured_beside_simulated(tmp_path):
    check = crosscheck(
        {"spins | of | mine": spinning()},
        ["critical-path", "sequential"],
        ["1x1"],
        3,
        machine="host[cores=1]",
    )
    table = check.table
    assert table["policy"].tolist() == ["critical-path", "sequential"]
    assert table["graph"].unique().tolist() == ["spins | of | mine"]
    assert (table[["measured_s", "predicted_s"]] > 0.99 * (8 * 4e-4 + 16 * 1e-4)).all(axis=None)
    np.testing.assert_allclose(table["predicted_s"] / table["measured_s"] - 1, table["error"])
    numbers = check.summary()
    assert numbers["cases"] + numbers["declined"] == 2
    if numbers["cases"]:
        assert numbers["median_error"] <= numbers["p90_error"] <= numbers["largest_error"]
    text = check.to_markdown(tmp_path / "check.md")
    assert (tmp_path / "check.md").read_text() == text
    assert r"| spins \| of \| mine | sequential | 1x1 |" in text


def test_layouts_that_mean_nothing_to_a_policy_are_left_out():
    assert [(p, str(layout)) for p, layout in _suited(["sequential", "fifo"], ["2x1", "1x2"])] == [
        ("sequential", "1x2"),
        ("fifo", "2x1"),
        ("fifo", "1x2"),
    ]
    assert _suited(["corun"], [None]) == _suited(["corun"], [""]) == [("corun", None)]


@pytest.mark.parametrize("graphs", [[], {}, [ss.TaskGraph.from_edges([])]])
def test_nothing_to_measure(graphs):
    with pytest.raises(SimschedError, match="nothing to check"):
        crosscheck(graphs)
    with pytest.raises(SimschedError, match="no tasks to calibrate on"):
        calibrate(list(graphs.values()) if isinstance(graphs, dict) else graphs)


def test_every_graph_of_a_list_has_a_name_of_its_own():
    graphs = [ss.TaskGraph.from_edges([1.0], name=name) for name in ("g", "g", "h")]
    assert list(_named(graphs)) == ["g 0", "g 1", "h"]
    another = ss.TaskGraph.from_edges([1.0], name="g 0")
    assert list(_named([*graphs[:2], another])) == ["g 0", "g 1", "g 0 2"]


def test_broken_bytes_in_the_name_of_a_file_are_spelled_out():
    graph = ss.TaskGraph.from_edges([1.0])
    assert list(_named({"a\udc80.json": graph})) == [r"a\udc80.json"]


def test_each_run_that_counts_follows_one_of_its_own_case():
    """Settling runs count for nothing, but happen."""
    ran = []
    cases = [Case(spinning(4), "fifo", "1x1"), Case(spinning(4), "critical-path", "1x1")]
    runs = interleaved(cases, 2, Settings(machine="host[cores=1]", warmup=0, settle_s=1e-9), ran.append)
    assert [len(run) for run in runs] == [2, 2]
    assert sum(ran) == 4
    with pytest.raises(SimschedError, match="settle_s is -1; expected seconds"):
        Settings(settle_s=-1)


def test_in_every_turn_another_case_comes_first():
    a, b = spinning(2), spinning(2)
    cases = [Case(graph, "fifo") for graph in (a, a, a, b)]
    assert [list(_order(cases, turn)) for turn in range(4)] == [
        [0, 1, 2, 3],
        [1, 2, 0, 3],
        [2, 0, 1, 3],
        [0, 1, 2, 3],
    ]
