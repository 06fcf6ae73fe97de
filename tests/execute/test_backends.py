"""Convolutions on the BLAS, and on oneDNN where it is built in."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import EngineError
from simsched.execute.kernels.work import Work

GRAPH = ss.TaskGraph.from_edges(
    [1e-3] * 4,
    [(0, 1), (0, 2), (1, 3)],
    kinds=["Conv", "relu", "aten::convolution_backward", "mm"],
    shapes=["4x3x20x20;24x3x3x3", "4x24x20x20", "4x24x20x20;4x3x20x20;24x3x3x3", "8x8;8x8"],
)


def test_convolutions_alone_change_their_backend(native: Any) -> None:
    if not native.onednn_version():
        with pytest.raises(EngineError, match="pip install onednn-cpu-gomp onednn-devel-cpu-gomp"):
            ss.execute(GRAPH, "fifo", "1x1", backend="onednn")
        return
    layout = "1x2" if len(os.sched_getaffinity(0)) > 1 else "1x1"
    measured = ss.execute(GRAPH, "fifo", layout, repeats=3, backend="onednn")
    assert measured.notes[0] == "kernels: 1 onednn_convolution, 1 relu, 1 onednn_convolution_both, 1 gemm"
    assert measured.notes[1].endswith(native.onednn_version())


def test_the_blas_is_what_runs_where_nothing_is_said(native: Any) -> None:
    assert native.onednn_version() == "" or native.onednn_version().startswith("oneDNN 3.")
    assert Work.of(GRAPH).notes == ("kernels: 1 convolution, 1 relu, 1 convolution_both, 1 gemm",)


def test_sizes_are_checked_whatever_the_backend(native: Any) -> None:
    names = [name for name in native.kernel_names() if name.endswith("convolution")]
    assert "convolution" in names
    for name in names:
        with pytest.raises(ValueError, match="does not fit"):
            native.kernel(name, [1, 1, 2, 2, 1, 3, 3, 1, 1, 0, 0, 1, 0])
        kernel = native.kernel(name, [1, 2, 5, 5, 3, 3, 3, 1, 1, 1, 1, 1, 1])
        assert (kernel.inputs, kernel.output) == ([50, 54, 3], 75)
        out = np.empty(75, np.float32)
        kernel.apply([np.zeros(50, np.float32), np.ones(54, np.float32), np.full(3, 2, np.float32)], out)
        assert (out == 2).all()
