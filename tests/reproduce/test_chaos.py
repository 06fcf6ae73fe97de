"""CHAOS: the closed form to the printed digits, layers and teams by hand, strategies on a few images."""

import numpy as np
import pytest

import simsched as ss
from simsched.reproduce.chaos.system import Chaos, PerformanceModel
from simsched.reproduce.chaos.team import MACHINE, Image, Team, layers
from simsched.reproduce.chaos.training import Training, chaos, image_s

PAPER = Chaos.published()
NETWORKS = ("small", "medium", "large")
VARIANTS = ("chaos", "hybrid", "averaged", "delayed", "hogwild")


def team(threads, network="small", waiting="weights"):
    return Team(network, Image.of(PAPER, network), threads, waiting)


@pytest.fixture(scope="module")
def made():
    return ss.reproduce("chaos", tables=["Table 8", "Table 9", "Fig. 5, 8", "Table 6"])


def test_closed_form_to_the_printed_digits(made):
    rows = [row for row in made.rows if row.table == "Table 8" and row.paper is not None]
    assert len(rows) == 8
    assert all(row.as_printed for row in rows)


def test_closed_form_by_hand():
    """Small, 480 threads: 12.12 s of preparation, 147 s and 243 s: of computation and of waiting."""
    once = (1e9 + 4 * 60000 + 2 * 10000 + 10 * 70) * 15 / 1.238e9
    computed = (582e3 * 60000 + 58e3 * 70000) * 70 / 480 * 2 * 15 / 1.238e9
    waited = 2.78e-2 * 70 * 60000 / 480
    model = PerformanceModel(PAPER, ss.machine(MACHINE))
    assert model.predicted_s("small", 480) == pytest.approx(once + computed + waited, rel=1e-12)
    assert [model.cpi(threads) for threads in (1, 61, 122, 123, 183, 240, 244, 3840)] == [
        1,
        1,
        1,
        1.5,
        1.5,
        2,
        2,
        2,
    ]


def test_table_9_is_linear_in_images_times_epochs(made):
    prepared_min = 1e9 * 15 / 1.238e9 / 60
    rows = [row for row in made.rows if row.table == "Table 9"]
    assert len(rows) == 24
    minutes = {tuple(row.case.values())[1:]: row.simulated - prepared_min for row in rows}
    few, many = (60000, 10000), (240000, 40000)
    for threads in (240, 480):
        assert minutes[threads, many, 140] == pytest.approx(minutes[threads, few, 560], rel=1e-3)
        assert minutes[threads, many, 560] == pytest.approx(16 * minutes[threads, few, 140], rel=1e-3)


def test_errors_of_the_simulated_workers(made):
    """Nothing is fitted to these: bars of the project, 15 % of ratios and 30 % of times in the median."""
    numbers = made.summary()
    assert (numbers["ratio_rows"], numbers["time_rows"], numbers["seen_time_rows"]) == (9 + 4, 5, 8)
    assert numbers["ratio_median"] < 0.15
    assert numbers["time_median"] < 0.3
    assert numbers["signs_agree"] == numbers["signs"] == 13
    assert all(claim.holds for claim in made.claims)
    speedups = made.pivot("Fig. 5, 8", "speed-up over one thread")
    assert (speedups["1"] == 1).all()


def published(table, name):
    (quantity,) = (one for one in PAPER.quantities if (one.table, one.name) == (table, name))
    return {case.get("threads"): (paper, decimals) for case, paper, decimals, _ in quantity.asked() if paper}


def test_published_speedups_of_trainings_are_those_of_the_published_hours():
    hours = {threads: hours for threads, (hours, _) in published("Fig. 5, 8", "time").items()}
    xeon = published("Fig. 7", "time of the sequential Xeon E5")[None][0]
    for before, of in (
        (hours[1], published("Fig. 5, 8", "speed-up over one thread")),
        (xeon, published("Fig. 7", "speed-up over the sequential Xeon E5")),
    ):
        assert list(of) == [15, 30, 60, 244]
        for threads, (speedup, decimals) in of.items():
            assert speedup == round(before / hours[threads], decimals)


@pytest.mark.parametrize("network", NETWORKS)
def test_layers_have_the_printed_weights(network):
    rows = PAPER.inputs["networks"][network]
    found = layers(PAPER, network)
    for before, row, layer in zip(rows, rows[1:], found, strict=False):
        if layer.connected:
            # The last pool of the large network is printed with a side of 2, and its weights need 3.
            side = 3 if (network, layer.kind) == ("large", "full") else before[2]
            assert layer.inputs == before[1] * side**2
            assert layer.weights == row[1] * (layer.inputs + 1) == layer.forward_ops
        elif layer.kind == "conv":
            assert layer.weights == row[1] * (before[1] * row[3] ** 2 + 1)
            assert layer.forward_ops == layer.weights * row[2] ** 2
        else:
            assert layer.weights == 0
    assert found[0].backward_ops == found[0].forward_ops
    image = Image.of(PAPER, network)
    assert sum(image.forward_s) == pytest.approx(float(PAPER.inputs["measured"]["fprop_s"][network]))
    assert [s for _, s in image.backwards()] == list(reversed(image.backward_s))


def test_slowdown_by_hand():
    """One thread a core is not slowed, two either; of four each has half; 240 leave four cores with three."""
    assert [team(threads).slowdown for threads in (1, 61, 122, 244, 240)] == pytest.approx(
        [1, 1, 1, 2, 240 / 122]
    )
    assert team(480).machine.n_cores == 120
    assert team(3840).slowdown == 2


def test_waiting_of_an_image_is_what_was_measured():
    every = [team(240, "large", waiting) for waiting in ("weights", "layers", "none")]
    sums = [sum(each.waits_s(layer) for layer in each.image.layers) * each.slowdown for each in every]
    assert sums == pytest.approx([1.38e-1, 1.38e-1, 0])
    conv, pool = every[0].image.layers[0], every[0].image.layers[1]
    assert every[0].waits_s(conv) * every[0].slowdown == pytest.approx(1.38e-1 * 340 / 383160)
    assert [each.waits_s(pool) for each in every] == [0, 0, 0]


def test_one_worker_fetches_nothing_and_meets_nobody():
    assert team(1).fetches_s(1600) == team(1).meets_s() == 0
    assert team(2).fetches_s(1600) == pytest.approx(100 * 201.9e-9)


def test_workers_take_the_next_image():
    """Five images on two workers: three rounds."""
    each = Training(PAPER, "small", 2, waiting="none")
    assert each.replay(each.trained(5)).makespan_s == pytest.approx(3 * image_s(each.team))


def test_delayed_updates_follow_each_other():
    each = Training(PAPER, "medium", 3, "delayed")
    run = each.replay(each.trained(7))
    starts, ends = run.start_s[1::2], run.finish_s[1::2]
    assert (starts[1:] >= ends[:-1]).all()
    assert (run.start_s[6::2] >= ends[:4]).all()


def test_averaged_rounds_by_hand():
    """Seven images, two workers, batches of two: 4 and 3 images, so two rounds of two, each with an average."""
    each = Training(PAPER, "small", 2, "averaged", batch=2)
    graph = each.trained(7)
    assert graph.n_tasks == 6
    average_s = 2 * each.team.fetches_s(6405) + 2 * each.team.meets_s()
    assert each.replay(graph).makespan_s == pytest.approx(4 * image_s(each.team) + 2 * average_s)


def test_hybrid_rounds_by_hand():
    """Three images on two workers: two rounds of three stages, two meetings in each."""
    each = Training(PAPER, "small", 2, "hybrid", waiting="none")
    graph = each.trained(3)
    assert graph.n_tasks == 2 * (3 * 2 + 2)
    passing_s = 2 * each.team.fetches_s(2 * 90)
    expected = 2 * (image_s(each.team) + passing_s + 2 * each.team.meets_s())
    assert each.replay(graph).makespan_s == pytest.approx(expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_lone_worker_needs_the_same_under_every_strategy(variant):
    """No one to wait for: all within the time of its own writes."""
    each = Training(PAPER, "small", 1, variant)
    assert each.replay(each.trained(20)).makespan_s == pytest.approx(20 * image_s(each.team), rel=2e-3)


def test_epochs_repeat():
    """Two epochs with a pause between them take twice what one takes, which is what a training multiplies by."""
    each = Training(PAPER, "small", 100)
    one = chaos(each.team, 1050)
    edges = [(i, 1050) for i in range(1050)] + [(1050, 1051 + i) for i in range(1050)]
    two = ss.TaskGraph.from_edges(np.concatenate([one.durations_s, [0.0], one.durations_s]), edges)
    assert each.replay(two).makespan_s == pytest.approx(2 * each.replay(one).makespan_s, rel=1e-12)


def test_layers_do_not_depend_on_how_many_images_are_simulated():
    each = Training(PAPER, "medium", 240)
    assert each.layer_s("conv backward", 16) == pytest.approx(each.layer_s("conv backward", 64), rel=0.02)


def test_choices_change_the_workers_alone():
    """With as much waiting for each layer the small network's two convolutions wait for half of it, not for a fifth."""
    plain, even = (
        ss.reproduce(f"chaos{choice}", tables=["Table 8", "Table 6"]) for choice in ("", "[waiting=layers]")
    )
    pairs = [(a, b) for a, b in zip(plain.rows, even.rows, strict=True) if a.case["network"] == "small"]
    assert len(pairs) == 4 + 14
    for one, other in pairs:
        if one.case.get("layer") == "conv backward":
            assert other.simulated < 0.97 * one.simulated
        else:
            assert other.simulated == pytest.approx(one.simulated, rel=0.01)
    with pytest.raises(ss.SimschedError, match=r"chaos\[variant='both'\]: expected one of chaos, hybrid"):
        ss.reproduce("chaos", variant="both")
