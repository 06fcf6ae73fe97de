"""What the next run loses: medians over recordings, other programs moved, by hand."""

from __future__ import annotations

from math import expm1, log1p, sqrt

import pytest

from simsched.learning.hosts import UNKNOWN, expected, slice_s
from simsched.learning.rows import Run


def run(program: str, threads: int, log: float, known: float = 1.0) -> Run:
    return Run(program, threads, 1, 0, 1.0, expm1(log), 1e-3, known)


def test_without_recordings_nothing_is_known() -> None:
    assert expected([], "a", 2) == (0.0, UNKNOWN)
    assert expected([run("b", 1, 0.5, known=0.1)], "a", 1) == (0.0, UNKNOWN), "it does not show interruptions"


def test_other_programs_are_moved_by_half_of_the_difference_in_proportion_to_the_threads() -> None:
    """On one thread a lost 0.4 more than b: on two, where 0.8 more is expected, it loses 0.4 more than b did there."""
    share, _ = expected([run("a", 1, 0.5), run("b", 1, 0.1), run("b", 2, 0.6)], "a", 2)
    assert log1p(share) == pytest.approx(0.6 + 0.4)


def test_programs_that_were_recorded_on_a_like_host_count_more() -> None:
    """A and b found the host quiet on one thread, c and d did not: two of them weigh less than b."""
    runs = [run("a", 1, 0.0), run("b", 1, 0.0), run("b", 2, 0.5)]
    busy = [run(name, count, log) for name in "cd" for count, log in ((1, 0.9), (2, 1.9))]
    share, sigma = expected(runs + busy, "a", 2)
    assert log1p(share) == pytest.approx(0.5)
    assert sigma < 0.5, (
        "what happened on the busy host does not make a prediction for the quiet one uncertain"
    )


def test_own_recordings_count_more_the_more_they_are() -> None:
    """Weights 3, 1 and 1 at 0.2, 0.7 and 0.9: half of the weight is reached at 0.2. Two of them weigh 5."""
    runs = [run("a", 2, 0.2), run("b", 2, 0.7), run("c", 2, 0.9)]
    assert log1p(expected(runs, "a", 2)[0]) == pytest.approx(0.2)
    assert log1p(expected(runs, "new", 2)[0]) == pytest.approx(0.7)
    many = [*runs, run("d", 2, 0.8), run("e", 2, 0.8)]
    assert log1p(expected(many, "a", 2)[0]) == pytest.approx(0.7), "weights 3, 1, 1, 1 and 1"
    assert log1p(expected([*many, run("a", 2, 0.2)], "a", 2)[0]) == pytest.approx(0.2), (
        "weights 5, 1, 1, 1 and 1"
    )


def test_slices_are_those_of_as_many_threads() -> None:
    runs = [Run("a", threads, 1, 0, 1.0, 0.5, threads * 4e-3) for threads in (1, 2)]
    assert [slice_s(runs, threads) for threads in (1, 2, 8)] == [4e-3, 8e-3, 8e-3]
    assert slice_s([run("a", 1, 0.0)], 1) == 0.0, "nothing was lost"


def test_fewer_threads_lose_in_proportion_and_more_as_much() -> None:
    runs = [run("a", 4, 0.8)]
    assert [log1p(expected(runs, "a", threads)[0]) for threads in (1, 2, 8)] == pytest.approx([0.2, 0.4, 0.8])


def test_a_host_that_lost_little_in_many_recordings_is_not_taken_to_lose_a_multiple() -> None:
    """It was: of 168 recordings that lost 2 %, eight threads after two ended 18 times as late."""
    runs = [run("a", 2, 0.01)] * 100
    assert expected(runs, "a", 2)[1] == pytest.approx(UNKNOWN / 10)
    assert expected(runs, "a", 8)[1] == pytest.approx(3 * (0.01 + UNKNOWN / 10))
    assert expected([run("a", 2, 0.8)] * 100, "a", 8)[1] == pytest.approx(3 * UNKNOWN)


def test_uncertainty_is_the_scatter_and_grows_beyond_the_recorded_threads() -> None:
    runs = [run("a", 2, 0.1), run("a", 2, 0.3)]
    assert expected(runs, "a", 2)[1] == pytest.approx(sqrt((0.1**2 + 0.1**2 + UNKNOWN**2) / 2))
    assert [expected(runs, "a", threads)[1] for threads in (4, 8)] == pytest.approx(
        [2 * UNKNOWN, 3 * UNKNOWN]
    )
