"""Seconds by kind and shape on CPEs, as other machines' kernels tell them."""

import pytest

import simsched as ss
from simsched.costs.kernels import Convolution, Team
from simsched.errors import CostError
from simsched.hwmodels.ldm import convolution, elementwise, matmul, plan, register_communication
from simsched.hwmodels.ldm.by_shape import convolution_s, elementwise_s, gemm_s

SUNWAY = ss.machine("sw26010")
CONV = Convolution(batch=256, channels=64, height=8, width=8, filters=64, filter_height=3, filter_width=3)


def test_a_whole_group_runs_hand_written_code(group):
    team = Team(SUNWAY, 64)
    assert gemm_s(256, 128, 512, team) == register_communication(matmul(256, 128, 512), group).total_s
    nest = convolution(channels=64, filters=64, size=8, kernel=3, batch=256)
    assert convolution_s(CONV, team) == register_communication(nest, group).total_s
    assert elementwise_s(10**6, team) == register_communication(elementwise(10**6, 2), group).total_s


def test_several_groups_divide_rows_and_images():
    one, four = Team(SUNWAY, 64), Team(SUNWAY, 256)
    assert gemm_s(1024, 128, 512, four) == gemm_s(256, 128, 512, one)
    half = Convolution(batch=128, channels=64, height=8, width=8, filters=64, filter_height=3, filter_width=3)
    assert convolution_s(CONV, Team(SUNWAY, 128)) == convolution_s(half, one)


def test_fewer_cpes_run_a_plan_of_hand_ordered_code():
    fewer = ss.machine("sw26010[ldm.cpes=16,ldm.compiled_share=0.69]").tables["ldm"].core_group()
    assert gemm_s(64, 64, 64, Team(SUNWAY, 16)) == plan(matmul(64, 64, 64), fewer).seconds
    assert gemm_s(64, 64, 64, Team(SUNWAY, 31)) == gemm_s(64, 64, 64, Team(SUNWAY, 16))
    assert gemm_s(64, 64, 64, Team(SUNWAY, 1)) > gemm_s(64, 64, 64, Team(SUNWAY, 16))


@pytest.mark.parametrize("kind", ["MatMul", "Conv", "Add", "aten::bmm"])
def test_no_team_gains_more_than_its_cores(kind):
    """All teams run hand-ordered code: a group was eight times as fast as 64 CPEs with loops of a compiler."""
    found = costs([kind], [SHAPES[kind]])
    one_s = found.seconds(1)[0]
    for width in (2, 16, 64, 256):
        assert width * found.seconds(width)[0] > 0.99 * one_s


def test_gradients_and_what_is_refused():
    team = Team(SUNWAY, 64)
    assert convolution_s(CONV, team, "weights") == convolution_s(CONV, team)
    with pytest.raises(CostError, match="'sideways' is none of"):
        convolution_s(CONV, team, "sideways")
    slanted = Convolution(1, 1, 8, 8, 1, 3, 3, stride=(1, 2))
    with pytest.raises(CostError, match="one stride and one padding both ways"):
        convolution_s(slanted, team)
    with pytest.raises(CostError, match=r"no \[ldm\] table"):
        gemm_s(8, 8, 8, Team(ss.machine("knl-7250"), 4))


SHAPES = {
    "MatMul": "256x512;512x512",
    "Conv": "128x64x8x8;64x64x3x3;stride=1;padding=1",
    "Add": "1000x100;1000x100",
    "aten::bmm": "8x64x64;8x64x64",
}


def costs(kinds, shapes, **options):
    graph = ss.TaskGraph.from_edges([float("nan")] * len(kinds), kinds=kinds, shapes=shapes)
    return ss.CostModel(**options).on(graph, SUNWAY)


@pytest.mark.parametrize("width", [1, 8, 32, 64, 256])
def test_the_default_is_what_is_planned(width):
    """Plans of narrow teams that computation bounds are known to 1 %."""
    found = costs(list(SHAPES), list(SHAPES.values())).seconds(width)
    team = Team(SUNWAY, width)
    conv = Convolution(128, 64, 8, 8, 64, 3, 3, padding=(1, 1))
    expected = [gemm_s(256, 512, 512, team), convolution_s(conv, team), elementwise_s(100_000, team)]
    products = 2 if width == 256 else 8
    expected.append(products * gemm_s(64, 64, 64, Team(SUNWAY, min(width, 64))))
    assert found == pytest.approx(expected, rel=0.01)


def test_notes_say_so_and_a_library_that_is_named_replaces_it():
    planned, named = costs(["MatMul"], ["64x64;64x64"]), costs(["MatMul"], ["64x64;64x64"], library="onednn")
    assert "a plan of the machine's local memories" in planned.notes[0]
    assert "1 task takes what onednn takes for their kinds and shapes (as chosen)" in named.notes
    assert planned.seconds(64)[0] != named.seconds(64)[0]


def test_what_cannot_be_planned_takes_what_a_library_takes():
    shape = "8x64x8x8;64x64x3x3;stride=1x2;padding=1"
    assert costs(["Conv"], [shape]).seconds(64) == costs(["Conv"], [shape], library="onednn").seconds(64)


def test_gradients_take_as_long_as_the_forward_pass_each():
    shape = "16x64x8x8;16x64x8x8;64x64x3x3;stride=1;padding=1"
    both, one = costs(["aten::convolution_backward", "Conv"], [shape, shape.partition(";")[2]]).seconds(64)
    assert both == 2 * one


def test_groups_of_a_convolution_are_planned_one_after_the_other(group):
    grouped = Convolution(8, 64, 8, 8, 64, 3, 3, padding=(1, 1), groups=4)
    nest = convolution(channels=64, filters=64, size=8, kernel=3, padding=1, batch=8, groups=4)
    assert convolution_s(grouped, Team(SUNWAY, 64)) == register_communication(nest, group).total_s
