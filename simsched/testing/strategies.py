"""Hypothesis strategies for task graphs, machines, runtime costs and layouts.

Durations come from a few round numbers as often as from the reals, so that ties and zeros are common.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.policy import Layout

KINDS = ("MatMul", "Conv", "add", "softmax", "view", "mine::custom")


def durations() -> st.SearchStrategy[float]:
    """Seconds of a task: often zero, often equal to another's."""
    return st.one_of(st.sampled_from([0.0, 1e-6, 0.1, 1.0, 1.0, 2.0]), st.floats(1e-9, 10.0))


@st.composite
def graphs(draw: st.DrawFn, max_tasks: int = 24, widths: int = 1) -> TaskGraph:
    """Random graphs: empty, disconnected, chains, dense; numbered in a random topological order.

    Parameters
    ----------
    max_tasks : int
        Most tasks.
    widths : int
        Most threads that a task was recorded with.
    """
    n = draw(st.integers(0, max_tasks))
    seconds = draw(st.lists(durations(), min_size=n, max_size=n))
    density = draw(st.sampled_from([0.0, 0.1, 0.3, 0.8]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    below = np.argwhere(np.triu(generator.random((n, n)) < density, 1))
    renamed = generator.permutation(n) if draw(st.booleans()) else np.arange(n)
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n, max_size=n))
    threads = draw(st.lists(st.integers(1, widths), min_size=n, max_size=n))
    moved = draw(st.lists(st.sampled_from([np.nan, 0.0, 1e6, 5e9, 1e11]), min_size=n, max_size=n))
    return TaskGraph.from_edges(
        seconds, renamed[below], kinds=kinds, widths=np.asarray(threads, np.int64), bytes_B=moved
    )


@st.composite
def runtimes(draw: st.DrawFn) -> RuntimeProfile:
    """Random software costs, often zero."""
    cost = st.sampled_from([0.0, 0.0, 1e-6, 0.01, 0.5])
    return RuntimeProfile(**{name: draw(cost) for name in RuntimeProfile.__dataclass_fields__})


@st.composite
def machines(draw: st.DrawFn, max_cores: int = 12) -> Machine:
    """Small machines with and without tiles, of one core up, that share their memory bandwidth or do not."""
    base: Any = draw(st.sampled_from(["generic", "knl-7250"]))
    cores = draw(st.integers(1, max_cores))
    if base == "knl-7250":
        cores += cores % 2
    if not draw(st.booleans()):
        return machine_of(f"{base}[cores={cores}]")
    bandwidth_Bps = draw(st.sampled_from([1e9, 7e9, 2e10, 1e12]))
    return machine_of(f"{base}[cores={cores},bandwidth_Bps={bandwidth_Bps},share_bandwidth=true]")


@st.composite
def layouts(draw: st.DrawFn, machine: Machine) -> Layout | None:
    """Layouts that fit a machine, and None for the default."""
    if draw(st.booleans()):
        return None
    executors = draw(st.integers(1, machine.n_cores))
    return Layout(executors, draw(st.integers(1, machine.n_cores // executors)))
