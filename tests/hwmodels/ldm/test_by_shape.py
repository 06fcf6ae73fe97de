"""Seconds by kind and shape on CPEs, as other machines' kernels tell them."""

from dataclasses import replace

import pytest

import simsched as ss
from simsched.costs.kernels import Convolution, Team
from simsched.errors import CostError
from simsched.hwmodels.ldm import convolution, elementwise, matmul, register_communication
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


def test_fewer_cpes_run_the_code_of_a_group(group):
    fewer = replace(group.part(16), stated=group)
    nest = matmul(256, 512, 512)
    assert gemm_s(256, 512, 512, Team(SUNWAY, 16)) == register_communication(nest, fewer).total_s
    assert gemm_s(256, 512, 512, Team(SUNWAY, 31)) == gemm_s(256, 512, 512, Team(SUNWAY, 16))
    # One CPE would hold tiles so small that it took 200 times as long: it takes 64.
    assert gemm_s(256, 512, 512, Team(SUNWAY, 1)) == 64 * gemm_s(256, 512, 512, Team(SUNWAY, 64))


@pytest.mark.parametrize("kind", ["MatMul", "Conv", "Add", "aten::bmm"])
def test_no_team_gains_more_than_its_cores_up_to_a_group(kind):
    found = costs([kind], [SHAPES[kind]])
    whole_s = found.seconds(64)[0]
    for width in (1, 2, 16, 63):
        assert whole_s <= found.seconds(width)[0] <= 64 / (1 << (width.bit_length() - 1)) * whole_s * 1.0001


@pytest.mark.parametrize("name", ["sw26010", "sw26010-pro"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("Conv", "32x64x56x56;64x64x3x3;stride=1;padding=1"),
        ("Conv", "128x256x14x14;256x256x3x3;stride=1;padding=1"),
        ("MatMul", "8x512;512x512"),
        ("Add", "100x100;100x100"),
    ],
)
def test_more_cpes_never_take_longer(name, kind, shape):
    """64 CPEs took up to five times as long as 32, which ran a plan of hand-ordered code that nobody has."""
    graph = ss.TaskGraph.from_edges([float("nan")], kinds=[kind], shapes=[shape])
    found = ss.CostModel().on(graph, ss.machine(name))
    seconds = [float(found.seconds(width)[0]) for width in range(1, 257)]
    assert seconds == sorted(seconds, reverse=True)


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
    found = costs(list(SHAPES), list(SHAPES.values())).seconds(width)
    team = Team(SUNWAY, width)
    conv = Convolution(128, 64, 8, 8, 64, 3, 3, padding=(1, 1))
    expected = [gemm_s(256, 512, 512, team), convolution_s(conv, team), elementwise_s(100_000, team)]
    products = 2 if width == 256 else 8
    expected.append(products * gemm_s(64, 64, 64, Team(SUNWAY, min(width, 64))))
    assert found == pytest.approx(expected)


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
