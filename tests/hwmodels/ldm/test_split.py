"""Work of the CPEs: the high dimension of the output, fused, never a reduction."""

from simsched.hwmodels.ldm import Access, LoopNest, convolution, matmul
from simsched.hwmodels.ldm.nest import split


def test_a_high_dimension_with_enough_pieces_is_split_alone():
    shares = split(matmul(128, 10, 7), 64)
    assert (shares.fused, shares.cpes, shares.pieces) == (("m",), 64, 128)
    assert dict(shares.part.loops) == {"m": 2, "n": 10, "k": 7}


def test_dimensions_are_fused_until_there_are_enough_pieces():
    shares = split(convolution(channels=3, filters=24, size=10, kernel=3, batch=2), 64)
    assert shares.fused == ("n", "oc", "oh")
    assert shares.pieces == 2 * 24 * 8
    assert [shares.part.loops[loop] for loop in shares.fused] == [1, 1, 6]


def test_imbalance_is_counted():
    shares = split(convolution(channels=3, filters=96, size=227, kernel=11, stride=4), 64)
    assert shares.part.loops["oc"] == 2
    assert shares.cpes == 48
    shares = split(matmul(65, 1, 9), 64)
    assert (shares.cpes, shares.part.loops["m"]) == (33, 2)


def test_reductions_are_never_split():
    dot = LoopNest(
        "dot", {"i": 1000}, (Access("X", ("i",)), Access("Z", ("i",))), Access("Y", ("0",)), frozenset({"i"})
    )
    shares = split(dot, 64)
    assert (shares.cpes, dict(shares.part.loops)) == (1, {"i": 1000})
    shares = split(matmul(2, 3, 1000), 64)
    assert (shares.cpes, shares.part.loops["k"]) == (6, 1000)


def test_parts_keep_the_shape_in_memory():
    part = split(matmul(1, 4096, 32), 64).part
    assert part.loops["n"] == 64
    assert part.inputs[1].shape == (32, 4096)
