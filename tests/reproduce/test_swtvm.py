"""swTVM: layers against their networks, the three costings, orderings, choices."""

import pytest

import simsched as ss
from simsched.errors import MachineError, SpecError
from simsched.hwmodels.ldm import convolution, core_group, no_reuse, plan_by_doubling, register_communication
from simsched.hwmodels.ldm.by_shape import operation
from simsched.reproduce.swtvm.system import OVER_NO_REUSE, SwTvm, drawn

PAPER = SwTvm.published()


@pytest.fixture(scope="module")
def made():
    return ss.reproduce("swtvm")


@pytest.mark.parametrize(
    ("network", "parameters"), [("alexnet", {"towers": "one"}), ("alexnet", {"towers": "two"}), ("vgg19", {})]
)
def test_layers_do_the_work_of_the_network(network, parameters):
    """With those that a figure shows once as often as they occur, they have the FLOPs of the network's ops."""
    graph = ss.workload(network, size="swtvm", **parameters)
    ops = [kind in {"Conv2D", "MatMul"} for kind in graph.kinds]
    done = [
        layer.occurs * nest.total_flops
        for layer in drawn(PAPER, network, **parameters).values()
        for nest in layer.nests(operation)
    ]
    assert sum(done) == pytest.approx(graph.flops[ops].sum())


def test_windows_are_the_published_ones():
    """AlexNet's paper: filters of 11, 5 and 3, the first at a stride of 4, the others as wide as their input."""
    sizes = [layer.parts[0] for layer in drawn(PAPER, "alexnet").values() if not layer.connected]
    assert [(one["kernel"], one["stride"], one["padding"]) for one in sizes] == [
        (11, 4, 0), (5, 1, 2), (3, 1, 1), (3, 1, 1), (3, 1, 1),
    ]  # fmt: skip


def test_a_layer_is_what_the_planner_says(made):
    group = core_group(ss.machine("sw26010"))
    nest = convolution(channels=256, filters=384, size=13, kernel=3, padding=1)
    expected = (
        plan_by_doubling(nest, group).seconds,
        no_reuse(nest, group).total_s,
        register_communication(nest, group).total_s,
    )
    times = made.pivot("Fig. 5", "time").loc[("conv3",)].to_numpy().ravel()
    assert times.tolist() == pytest.approx([1e3 * seconds for seconds in expected])


def test_rows(made):
    assert len(made.rows) == (8 + 12) * 5 + 4 + 2
    means = made.frame("Fig. 5", f"mean {OVER_NO_REUSE}")
    each = made.frame("Fig. 5", OVER_NO_REUSE)["simulated"]
    assert means["simulated"].tolist() == pytest.approx([each[:5].mean(), each[5:].mean()])
    assert means["paper"].tolist() == [8.32, 2.87]


def test_means_are_over_single_layers(made):
    """VGG-19 has 16 convolutions, of which its figure shows nine."""
    layers = drawn(PAPER, "vgg19")
    assert {name: layer.occurs for name, layer in layers.items() if layer.occurs > 1} == {
        "conv3_2,3,4": 3,
        "conv4_2,3,4": 3,
        "conv5": 4,
    }
    speedups = made.frame("Fig. 6", OVER_NO_REUSE)["simulated"][:9]
    weights = [1, 1, 1, 1, 1, 3, 1, 3, 4]
    mean = sum(weight * speedup for weight, speedup in zip(weights, speedups, strict=True)) / 16
    assert made.frame("Fig. 6", f"mean {OVER_NO_REUSE}")["simulated"][0] == pytest.approx(mean)


def test_what_is_an_input_is_said(made):
    assert "means (Sec. 6.2)" in made.to_markdown()


def test_what_holds_and_what_does_not(made):
    """What is not met is said: fc8 is slower than with register communication here, and conv4 gains most, not conv1."""
    assert [claim.holds for claim in made.claims] == [True, True, False, True, False]
    numbers = made.summary()
    assert (numbers["scored"], numbers["seen"], numbers["claims"]) == (0, 5, 0)
    assert numbers["seen_signs_agree"] == numbers["seen_signs"] == 5


def test_each_network_counts_once_in_the_means_of_both(made):
    fives, sixes = (made.frame(f"Fig. {n}", f"mean {OVER_NO_REUSE}")["simulated"] for n in (5, 6))
    assert made.frame("Abstract")["simulated"].tolist() == pytest.approx(((fives + sixes) / 2).tolist())


def test_two_towers_follow_each_other(made):
    """Three layers see half of their input then; the other two are as much work, in two parts."""
    parted = ss.reproduce("swtvm[towers=two]", tables=["Fig. 5"])
    whole, halves = (one.pivot("Fig. 5", "time")["planned"].to_list() for one in (made, parted))
    for layer in (1, 3, 4):
        assert halves[layer] == pytest.approx(whole[layer] / 2, rel=0.1)
    assert halves[2] == pytest.approx(whole[2], rel=0.1)
    assert halves[5:] == whole[5:]


def test_least_seconds_are_no_more_than_those_of_fewest_transfers(made):
    searched = ss.reproduce("swtvm[planner=search]").frame("Fig. 6", OVER_NO_REUSE)["simulated"]
    doubled = made.frame("Fig. 6", OVER_NO_REUSE)["simulated"]
    assert (searched >= doubled).all()
    assert (searched > 2 * doubled).any()


def test_choices_reach_the_costings(made):
    """Copying less at once takes longer; a batch padded to 32 instead of 128 makes register communication win."""
    more = ss.reproduce("swtvm[copies=run]", tables=["Fig. 5"]).pivot("Fig. 5", "time")
    assert (more["no reuse"][:5] > made.pivot("Fig. 5", "time")["no reuse"][:5]).all()
    exchanged = ss.reproduce("swtvm[machine=sw26010[ldm.gemm_m=32,ldm.gemm_n=128]]", tables=["Fig. 5"])
    assert str(exchanged.system) == "swtvm[machine=sw26010[ldm.gemm_m=32,ldm.gemm_n=128]]"
    assert [claim.holds for claim in exchanged.claims] == [True, True, False, True, False]


def test_weights_by_output_leave_openacc_nothing_to_transpose(made):
    by_output = ss.reproduce("swtvm[weights=nk]", tables=["Fig. 5"])
    mean, default = (
        one.frame("Fig. 5", f"mean {OVER_NO_REUSE}")["simulated"][1] for one in (by_output, made)
    )
    assert mean < 1 < default
    assert not by_output.claims[0].holds


def test_impossible_choices():
    with pytest.raises(
        SpecError, match=r"swtvm\[copies='all'\]: expected one of directives, columns, rows, output-row, run"
    ):
        ss.reproduce("swtvm", copies="all")
    with pytest.raises(MachineError, match=r"knl-7250 has no \[ldm\] table"):
        ss.reproduce("swtvm", machine="knl-7250")
