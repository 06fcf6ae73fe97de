"""Matrix products by shape in place of cost curves."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.kernels import Team, gemm_s, parameters
from simsched.errors import CostError
from simsched.reproduce.kernel_seconds import KernelSeconds

MACHINE = ss.machine("knl-7250")
FORWARD, GRADIENT = "64x512;512x512", "512x64;64x512"


def costs(shapes, kinds="MatMul", library="tensorflow-1.9"):
    n = len(shapes)
    graph = ss.TaskGraph.from_edges(
        [np.nan] * n, kinds=kinds, shapes=shapes, flops=[33.6e6] * n, bytes_B=[1.4e6] * n
    )
    return graph, ss.CostModel(measured=KernelSeconds(library), library="tensorflow-1.9").on(graph, MACHINE)


def test_products_take_what_the_kernel_model_says():
    """64 x 512 has 8 blocks of 64 x 64, 512 x 512 has 64: one saturates at 8 threads, the other at 64."""
    _, found = costs([FORWARD, GRADIENT])
    params = parameters("tensorflow-1.9")
    for width in (1, 4, 8, 64):
        expected = [
            gemm_s(512, 64, 512, Team(MACHINE, width), params=params),
            gemm_s(512, 512, 64, Team(MACHINE, width), params=params),
        ]
        np.testing.assert_allclose(found.seconds(width), expected, rtol=1e-12)
    assert found.seconds(64)[0] == found.seconds(8)[0]
    assert found.seconds(64)[1] < 0.5 * found.seconds(8)[1]
    assert "2 matrix products of 2 shapes" in " ".join(found.notes)


def test_vectors_lie_along_the_rows_of_a_framework():
    """An output of 1 x 512 is 32 vectors, one of 512 x 1 is 512 with one number each."""
    flat, tall = (costs([shape])[1].seconds(1)[0] for shape in ("1x512;512x512", "512x512;512x1"))
    team, params = Team(MACHINE, 1), parameters("tensorflow-1.9")
    assert flat == pytest.approx(gemm_s(512, 1, 512, team, params=params), rel=1e-12)
    assert tall == pytest.approx(gemm_s(1, 512, 512, team, params=params), rel=1e-12)
    assert tall > 2 * flat


def test_a_product_too_small_to_gain_runs_on_one_thread():
    _, found = costs(["16x16;16x16"])
    assert found.seconds(64)[0] == found.seconds(1)[0]


def test_libraries_divide_further():
    _, framework = costs([FORWARD])
    _, library = costs([FORWARD], library="mkl")
    assert library.seconds(64)[0] < framework.seconds(64)[0]


@pytest.mark.parametrize(
    ("shape", "kind"),
    [("", "MatMul"), ("8x64x512;512x512", "MatMul"), ("64x5;6x7", "MatMul"), (FORWARD, "Mul")],
)
def test_what_is_no_product_of_two_matrices_keeps_its_curve(shape, kind):
    graph, found = costs([shape], kind)
    assert (
        found.seconds(8).tolist()
        == ss.CostModel(library="tensorflow-1.9").on(graph, MACHINE).seconds(8).tolist()
    )


def test_unknown_library():
    with pytest.raises(CostError, match="library 'mine'"):
        costs([FORWARD], library="mine")
