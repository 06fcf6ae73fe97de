"""Planned operations in a replay: a task on all CPEs of a core group takes its plan's seconds."""

import pytest

import simsched as ss
from simsched.hwmodels.ldm import convolution, core_group, matmul, plan


def test_planned_tasks_on_core_groups(engine):
    """Four convolutions, one a group, then a product: their seconds, and four dispatches after the first."""
    sw26010 = ss.machine("sw26010")
    group = core_group(sw26010)
    nests = [convolution(channels=64, filters=64, size=28, kernel=3, padding=1)] * 4 + [matmul(1, 1000, 4096)]
    seconds = [plan(nest, group).seconds for nest in nests]
    kinds = ["Conv"] * 4 + ["Gemm"]
    graph = ss.TaskGraph.from_edges(seconds, [(i, 4) for i in range(4)], kinds=kinds, widths=64)
    schedule = ss.simulate(graph, sw26010, "critical-path", layout="4x64", engine=engine)
    assert (schedule.finish_s - schedule.start_s).tolist() == pytest.approx(seconds, rel=1e-12)
    assert [schedule.cores(task)[0] // 64 for task in range(4)] == [0, 1, 2, 3]
    assert schedule.makespan_s == pytest.approx(
        seconds[0] + seconds[4] + 4 * sw26010.runtime.dispatch_s, rel=1e-9
    )
