"""Plans of pairs by the compiled planner, which rates only what a placement changes, against all pairs in Python."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simsched.native import find
from simsched.policy import Platform
from simsched.policy.planning.pairing import Rule, _plan_in_python, plan_pairs
from simsched.testing import strategies as ours

from .planned import platform_of

pytestmark = pytest.mark.skipif(find() is None, reason="needs the compiled module")

#: Few values, so that many costs are equal, and some that only rounding makes equal.
SECONDS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 1e-17, 0.1, 0.2, 0.3, 1e16])


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    """Return a platform on which several executors may be of one kind and at one place."""
    graph = draw(ours.graphs(max_tasks=14))
    executors, kinds, places = (draw(st.integers(1, most)) for most in (7, 3, 3))
    count, edges = graph.n_tasks, len(graph.successors.indices)

    def column(values: st.SearchStrategy[float], *shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(values, min_size=size, max_size=size)), np.float64).reshape(shape)

    def of(most: int) -> np.ndarray:
        return np.array(
            draw(st.lists(st.integers(0, most - 1), min_size=executors, max_size=executors)), np.int32
        )

    apart = 1.0 - np.eye(places)
    return Platform(
        graph.successors, column(SECONDS, count, kinds), of(kinds), of(places), column(SECONDS, edges),
        apart * column(st.sampled_from([0.0, 1.0]), places, places),
        apart * column(st.sampled_from([0.0, 1.0, 0.1]), places, places),
    )  # fmt: skip


@settings(max_examples=100)
@given(platform=platforms(), rule=st.sampled_from(get_args(Rule)), batched=st.booleans(), data=st.data())
def test_what_is_rated_again_gives_the_plan_of_all_pairs(platform, rule, batched, data):
    n, executors = platform.successors.n, platform.n_executors
    own = data.draw(st.booleans())
    columns = np.arange(executors, dtype=np.int32) if own else platform.kind_of
    shape = (n, executors) if own else platform.kind_seconds.shape
    size = int(np.prod(shape))
    extra = np.array(data.draw(st.lists(SECONDS, min_size=size, max_size=size)), np.float64).reshape(shape)
    level = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)), np.float64)
    given_columns = columns if own else None
    found = plan_pairs(platform, rule, extra=extra, level=level, batched=batched, column_of=given_columns)
    wanted = _plan_in_python(platform, rule, extra, level, batched, columns)
    assert found.executor.tolist() == wanted.executor.tolist()
    assert found.order.tolist() == wanted.order.tolist()


@pytest.mark.parametrize(("rule", "kinds", "bytes_B"), list(product(get_args(Rule), (1, 3, 8), (0.0, 4.0))))
def test_many_tasks_that_are_ready_together(rule, kinds, bytes_B):
    """60 tasks wait for one of 8 each, on 8 executors: data arrive before all are busy, and after."""
    rng = np.random.default_rng(0)
    edges = [(int(rng.integers(8)), task, bytes_B * float(rng.random())) for task in range(8, 68)]
    seconds = rng.uniform(0.1, 1.0, (68, kinds)) * rng.choice([1.0, 1e-16, 1e3], (68, 1), p=[0.8, 0.1, 0.1])
    platform = platform_of(seconds, edges, processors=8)
    level = rng.integers(0, 3, 68).astype(np.float64)
    found = plan_pairs(platform, rule, extra=seconds, level=level)
    wanted = _plan_in_python(platform, rule, seconds, level, False, platform.kind_of)
    assert found.executor.tolist() == wanted.executor.tolist()
    assert found.order.tolist() == wanted.order.tolist()
