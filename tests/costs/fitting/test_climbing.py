"""Hill climbing over curves of which every point is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.fitting import Calibration, Op, accuracy, climb_together, hill_climb, untried_errors
from simsched.costs.fitting.climbing import errors_together, most_steps, widest
from simsched.errors import CostError


def table(rows):
    return lambda op, width, sharing: rows[sharing][width - 1]


def test_by_hand():
    """1, 3, 5 threads take 9, 5, 6 s: it stops at 5; apart 1 and 3 are all there are. One thread is measured once."""
    calls = []

    def measure(op, width, sharing):
        calls.append((width, sharing))
        return {"shared": [9, 0, 5, 0, 6, 0, 1], "apart": [9, 0, 4]}[sharing][width - 1]

    found = hill_climb("op", measure, {"shared": 7, "apart": 3}, 2)
    assert found.tried == {"shared": {1: 9, 3: 5, 5: 6}, "apart": {1: 9, 3: 4}}
    assert found.best == (3, "apart", 4)
    assert found.steps == len(calls) == 4


def test_untried_counts_by_hand():
    """8 at 1, 4 at 5, 5 at 9, lines between: 7, 6, 5 where 7, 5, 5 are: 0, 1/5, 0; beyond: 5.25 where 7 is: 1/4."""
    climb = hill_climb("op", lambda o, w, s: {1: 8, 5: 4, 9: 5}[w], {"apart": 10}, 4)
    truth = {"apart": np.array([8, 7, 5, 5, 4, 4.25, 4.5, 4.75, 5, 7])}
    assert untried_errors(climb, truth).tolist() == pytest.approx([0, 0.2, 0, 0, 0, 0, 0.25])
    assert untried_errors(climb, truth, within=True).tolist() == pytest.approx([0, 0.2, 0, 0, 0, 0])
    assert accuracy([untried_errors(climb, truth)]) == pytest.approx(1 - 0.45 / 7)
    assert accuracy([]) == 1


def test_small_rises_can_be_ignored():
    measure = table({"apart": [4.0, 4.01, 3.0, 3.5]})
    assert hill_climb("op", measure, {"apart": 4}, 1).best[0] == 1
    assert hill_climb("op", measure, {"apart": 4}, 1, tolerance=0.01).best[0] == 3


def test_widest_of_machines():
    assert widest(ss.machine("knl-7250")) == {"shared": 68, "apart": 34}
    assert widest(ss.machine("generic[cores=3]")) == {"apart": 3}


@given(st.integers(1, 34).map(lambda tiles: 2 * tiles), st.sampled_from([1, 2, 4, 8, 16]), st.data())
def test_no_more_steps_than_the_paper_says(cores, step, data):
    """C / x x 2 wherever that is four or more; and the best of what was tried is found."""
    rows = {
        sharing: data.draw(st.lists(st.floats(0.1, 10), min_size=n, max_size=n))
        for sharing, n in (("shared", cores), ("apart", cores // 2))
    }
    rows["shared"][0] = rows["apart"][0]
    found = hill_climb("op", table(rows), {s: len(row) for s, row in rows.items()}, step)
    if cores >= 2 * step:
        assert found.steps <= most_steps(cores, step)
    assert found.best[2] == min(c for row in found.tried.values() for c in row.values())
    for sharing, row in found.tried.items():
        assert found.curve(sharing)(list(row)).tolist() == list(row.values())


@given(st.floats(0.01, 10), st.floats(0, 0.05), st.integers(2, 68))
def test_step_one_finds_the_optimum_of_convex_curves(work, slope, cores):
    seconds = [work / w + slope * w for w in range(1, cores + 1)]
    found = hill_climb("op", table({"apart": seconds}), {"apart": cores}, 1)
    assert found.best[2] == min(seconds)
    assert len(untried_errors(found, {"apart": np.array(seconds)}, within=True)) == 0


def test_what_was_climbed_is_a_calibration():
    climb = hill_climb("op", lambda o, w, s: 8 / w + w, {"shared": 8, "apart": 4}, 2)
    one = climb.measured(Op("mm", "8x8"))
    assert [p.width for p in one.of("shared")] == [1, 3, 5]
    assert [p.width for p in one.of("apart")] == [1, 3]
    assert len(Calibration.of([one], "hill climbing").fits()) == 2


@pytest.mark.parametrize(
    ("measure", "most", "step", "message"),
    [
        (lambda *_: 1.0, {"apart": 4}, 0, "steps of 0"),
        (lambda *_: 1.0, {"apart": 4}, 1.5, "steps of 1.5"),
        (lambda *_: 1.0, {}, 1, "up to {}"),
        (lambda *_: 1.0, {"apart": 0}, 1, "hill climbing"),
        (lambda *_: float("nan"), {"apart": 4}, 1, "gave nan seconds"),
        (lambda *_: 0.0, {"apart": 4}, 1, "gave 0.0 seconds"),
    ],
)
def test_what_cannot_be_climbed(measure, most, step, message):
    with pytest.raises(CostError, match=message):
        hill_climb("op", measure, most, step)


def test_no_ops_are_not_measured():
    assert climb_together([], lambda *_: pytest.fail("nothing was asked for"), {"apart": 4}, 1) == []


def test_ops_that_climb_together_stop_by_themselves():
    """Each count is run once, for those ops that still climb; each op finds what it finds alone."""
    rows = {"short": [1, 9, 2, 9, 3, 9, 4], "long": [9, 9, 5, 9, 4, 9, 6], "flat": [2, 9, 2, 9, 2, 9, 2]}
    ran = []

    def measure(ops, width, sharing):
        ran.append((list(ops), width))
        return [rows[op][width - 1] for op in ops]

    found = climb_together(list(rows), measure, {"apart": 7}, 2)
    assert ran == [
        (["short", "long", "flat"], 1),
        (["short", "long", "flat"], 3),
        (["long", "flat"], 5),
        (["long", "flat"], 7),
    ]
    for op, climb in zip(rows, found, strict=True):
        assert climb == hill_climb(op, lambda o, w, s: rows[o][w - 1], {"apart": 7}, 2)
    ran.clear()
    climb_together(["short"], measure, {"shared": 7, "apart": 7}, 2)
    assert [width for _, width in ran] == [1, 3, 3]


def test_errors_together_are_those_of_each_climb():
    """Climbs that end at different widths, under both ways to fill what was not tried."""
    generator = np.random.default_rng(0)
    rows = [{"shared": generator.random(17) + 0.1, "apart": generator.random(9) + 0.1} for _ in range(12)]
    climbs = [hill_climb(row, lambda op, w, s: op[s][w - 1], {"shared": 17, "apart": 9}, 2) for row in rows]
    assert len({tuple(climb.tried["shared"]) for climb in climbs}) > 1
    for method in ("linear", "pchip"):
        for within, found in enumerate(errors_together(climbs, rows, method)):
            pairs = zip(climbs, rows, strict=True)
            each = [untried_errors(climb, row, method, within=bool(within)) for climb, row in pairs]
            assert found.tolist() == np.concatenate(each).tolist()
