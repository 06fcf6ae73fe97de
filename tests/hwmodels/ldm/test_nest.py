"""Loop nests: index expressions, constructors, and what is refused."""

import pickle

import numpy as np
import pytest

from simsched.errors import SimschedError
from simsched.hwmodels.ldm import Access, LoopNest, NestError, bias, convolution, elementwise, matmul, pooling
from simsched.hwmodels.ldm.affine import parse


def nest(index="i", loops=None, **options):
    return LoopNest(
        "example", loops or {"i": 8, "j": 4}, (Access("X", (index,)),), Access("Y", ("i",)), **options
    )


@pytest.mark.parametrize(
    ("text", "terms", "offset"),
    [
        ("i", {"i": 1}, 0),
        ("oh*stride+kh-1", {"oh": 4, "kh": 1}, -1),
        ("2*(i-3)+i", {"i": 3}, -6),
        ("-i", {"i": -1}, 0),
        ("7", {}, 7),
        ("i-i", {}, 0),
    ],
)
def test_index_expressions(text, terms, offset):
    read = parse(text, {"stride": 4})
    assert (dict(read.terms), read.offset) == (terms, offset)


@pytest.mark.parametrize(
    "text", ["i*j", "i//2", "i%2", "f(i)", "i**2", "X[i]", "1.5*i", "i if j else 0", "i*(j+1)", "True"]
)
def test_an_index_that_is_not_affine_is_refused(text):
    with pytest.raises(NestError, match="not affine"):
        nest(text)


@pytest.mark.parametrize("text", ["", "i+", "i j", "\0"])
def test_an_index_that_is_no_expression_is_refused(text):
    with pytest.raises(NestError, match="cannot be read"):
        nest(text)


def test_unknown_loops_are_refused():
    with pytest.raises(NestError, match=r"'k\+1' of X uses \['k'\]; the loops are \['i', 'j'\]"):
        nest("k+1")
    with pytest.raises(NestError, match=r"reductions \['r'\]"):
        nest(reductions=frozenset({"r"}))


@pytest.mark.parametrize("index", [0, None, "-" * 100_000 + "i"])
def test_an_index_that_is_no_short_text_is_refused(index):
    with pytest.raises(NestError, match="not a text of at most"):
        nest(index)


def test_nests_can_be_sent_to_other_processes():
    conv = convolution(channels=3, filters=8, size=9, kernel=3)
    assert pickle.loads(pickle.dumps(conv)) == conv  # noqa: S301 - our own bytes


def test_extents_may_come_from_arrays():
    assert matmul(*np.array([2, 3, 4])) == matmul(2, 3, 4)


@pytest.mark.parametrize("extent", [0, -3, 2.5, True, "8", None])
def test_extents_are_whole_numbers_from_one(extent):
    with pytest.raises(NestError, match="extent"):
        nest(loops={"i": extent, "j": 4})


def test_other_impossible_nests_are_refused():
    with pytest.raises(NestError, match="no loops"):
        LoopNest("empty", {}, (), Access("Y", ("0",)))
    with pytest.raises(NestError, match="share a name"):
        LoopNest("twice", {"i": 2}, (Access("Y", ("i",)),), Access("Y", ("i",)))
    with pytest.raises(NestError, match="cannot be reductions"):
        nest(reductions=frozenset({"i"}))
    with pytest.raises(NestError, match="no dimension"):
        LoopNest("scalar", {"i": 2}, (), Access("Y", ()))
    with pytest.raises(NestError, match="shape"):
        LoopNest("shapes", {"i": 2}, (Access("X", ("i",), (2, 2)),), Access("Y", ("i",)))
    with pytest.raises(NestError, match="element_B"):
        nest(element_B=0)
    with pytest.raises(NestError, match="flops"):
        nest(flops=float("nan"))
    assert issubclass(NestError, SimschedError)


def test_flops_of_the_constructors():
    assert matmul(2, 3, 5).total_flops == 2 * 2 * 3 * 5
    conv = convolution(channels=3, filters=96, size=227, kernel=11, stride=4, batch=2)
    assert conv.loops["oh"] == conv.loops["ow"] == 55
    assert conv.total_flops == 2 * 2 * 96 * 55 * 55 * 3 * 11 * 11
    assert pooling(channels=4, size=8, window=2).total_flops == 4 * 4 * 4 * 2 * 2
    assert pooling("avg", channels=4, size=7, window=3, stride=2).loops["oh"] == 3
    assert elementwise(100, operands=2).total_flops == 100
    assert len(elementwise(100, operands=2).inputs) == 2
    assert bias(3, 16, batch=2).total_flops == 2 * 3 * 16


def test_halo_of_a_tile_of_a_convolution():
    conv = convolution(channels=3, filters=96, size=227, kernel=11, stride=4)
    tiles = dict.fromkeys(conv.loops, 1) | {"oh": 6, "ow": 55, "kh": 11, "kw": 11}
    assert conv.inputs[0].spans(tiles) == (1, 1, (6 - 1) * 4 + 11, 227)


def test_padding_is_not_stored():
    conv = convolution(channels=1, filters=1, size=13, kernel=3, padding=1)
    assert conv.inputs[0].spans(conv.loops) == (1, 1, 13, 13)


def test_sizes_that_make_no_output_are_refused():
    with pytest.raises(NestError, match="does not fit"):
        convolution(channels=1, filters=1, size=2, kernel=3)
    with pytest.raises(NestError, match="at least"):
        convolution(channels=1, filters=1, size=8, kernel=3, stride=0)
    with pytest.raises(NestError, match="'median'"):
        pooling("median", channels=1, size=8, window=2)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"layout": "nchw"}, "layout 'nchw' is unknown; give NCHW or HWCN"),
        ({"size": (8, 8, 8)}, "nor a pair of height and width"),
        ({"size": "8"}, "'8': sizes, windows, strides and paddings are whole numbers"),
        ({"stride": 1.0}, "1.0: sizes"),
        ({"element_B": "4"}, "element_B is '4'"),
    ],
)
def test_convolutions_that_cannot_be(changed, says):
    sizes = {"channels": 3, "filters": 2, "size": 8, "kernel": 3}
    with pytest.raises(NestError, match=says):
        convolution(**{**sizes, **changed})


def test_sizes_may_be_of_numpy():
    sizes = {"channels": 3, "filters": 2, "size": 8, "kernel": (3, 1)}
    assert convolution(**{**sizes, "size": np.int64(8)}) == convolution(**sizes)


def test_operands_below_zero():
    with pytest.raises(NestError, match="-1 operands"):
        elementwise(10, operands=-1)
