"""Tasks become kernels, those of one kind, shape and size the same one; what has none is told."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.execute.kernels.work import Work

pytestmark = pytest.mark.usefixtures("native")


def test_what_neither_computes_nor_moves_takes_no_time() -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0] * 2, kinds=["Identity", "relu"], shapes=["", "4"], flops=[0.0, 4.0], bytes_B=[0.0, 32.0]
    )
    assert Work.of(graph).notes == ("kernels: 1 spin, 1 relu",)


def test_unknown_kinds_are_told_from_what_does_nothing() -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0] * 3, kinds="mystery", flops=[0.0, 1.0, np.nan], bytes_B=[0.0, 0.0, 0.0]
    )
    assert Work.of(graph).notes[1].startswith("2 tasks have no kernel")


def test_tasks_of_other_bytes_have_other_kernels() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, kinds=["Slice"] * 3, shapes=["4x10"] * 3, flops=[0.0] * 3, bytes_B=[96.0, 160.0, 96.0]
    )
    first, second, third = Work.of(graph).kernel_of
    assert first == third != second


def test_tasks_of_one_shape_and_other_flops_run_other_kernels() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3,
        kinds="Conv",
        shapes="2x3x32x32;8x3x3x3",
        flops=[2.0 * 2 * 8 * 3 * 9 * outputs for outputs in (32 * 32, 16 * 16, 32 * 32)],
    )
    work = Work.of(graph)
    outputs = [work.kernels[kernel].output for kernel in work.kernel_of]
    assert outputs == [2 * 8 * 32 * 32, 2 * 8 * 16 * 16, 2 * 8 * 32 * 32]


def test_kernels_that_do_something_else_are_named() -> None:
    graph = ss.TaskGraph.from_edges([1.0] * 4, kinds=["Cos", "sin", "aten::where", "Cos"], shapes="8")
    assert Work.of(graph).notes[1:] == (
        "3 tasks run a kernel that does something else and costs about the same: Cos as sine (2), "
        "aten::where as multiply (1)",
    )


def test_tasks_to_copy_unknown_bytes_are_said_to_spin() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, kinds=["memory", "mystery", "memory"], bytes_B=[np.nan, 4.0, 800.0]
    )
    notes = Work.of(graph, unknown="memory").notes
    assert notes[0] == "kernels: 2 spin, 1 memory"
    assert notes[2].startswith("2 of the tasks that copy bytes spin for their estimated seconds")


def test_tasks_of_one_kind_and_shape_share_a_kernel() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 5, kinds=["add", "add", "Add", "add", "relu"], shapes=["4;4", "4;4", "4;4", "5;5", "4"]
    )
    work = Work.of(graph)
    assert work.kernel_of[0] == work.kernel_of[1] == work.kernel_of[2]
    assert len(work.kernels) == 3
    assert work.notes == ("kernels: 4 add, 1 relu",)


def test_shapes_beyond_all_memory_are_unknown() -> None:
    graph = ss.TaskGraph.from_edges(
        [1e-6] * 3,
        kinds=["mm", "relu", "relu"],
        shapes=["2000000x1000000;1000000x1000000", "0x4", "99999999999"],
    )
    assert (Work.of(graph).kernel_of == -1).all()
