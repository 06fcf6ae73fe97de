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


def test_fewer_cpes_run_a_plan():
    fewer = ss.machine("sw26010[ldm.cpes=16]").tables["ldm"].core_group()
    assert gemm_s(64, 64, 64, Team(SUNWAY, 16)) == plan(matmul(64, 64, 64), fewer).seconds
    assert gemm_s(64, 64, 64, Team(SUNWAY, 31)) == gemm_s(64, 64, 64, Team(SUNWAY, 16))
    assert gemm_s(64, 64, 64, Team(SUNWAY, 1)) > gemm_s(64, 64, 64, Team(SUNWAY, 16))


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
