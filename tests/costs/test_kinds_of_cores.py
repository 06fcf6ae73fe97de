"""Kinds of cores that move other numbers of bytes: what they take from memory, calculated by hand."""

from pathlib import Path

import numpy as np
import pytest

import simsched as ss

GENERIC = Path(__file__).parents[2] / "hwmodels/generic.toml"
#: Four cores of a kind that moves 80 GB/s and twelve of one that moves 10, on a memory of 160 GB/s.
KINDS = """
[kinds]
names = ["P", "E"]
cores = { value = [4, 12], unit = "core", source = "assumed", confidence = "low" }
core_bandwidth = { value = [80, 10], unit = "GB/s", source = "assumed", confidence = "low" }
"""


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    path = tmp_path / "mixed.toml"
    path.write_text(GENERIC.read_text("utf-8").replace('name = "generic"', 'name = "mixed"') + KINDS, "utf-8")
    return str(path)


def makespan_s(machine: str, bytes_B: list[float], layout: str, engine: str) -> float:
    n = len(bytes_B)
    graph = ss.TaskGraph.from_edges([np.nan] * n, [], kinds="Add", flops=[1.0] * n, bytes_B=bytes_B)
    return ss.simulate(graph, machine, "fifo", layout=layout, engine=engine).makespan_s


@pytest.mark.parametrize("engine", ["native", "simpy"])
def test_cores_of_a_fast_kind_move_no_more_than_the_memory(mixed, engine):
    assert makespan_s(mixed, [80e9] * 4, "16x1", engine) == pytest.approx(1.0)
    shared = makespan_s(f"{mixed}[contention=true]", [80e9] * 4, "16x1", engine)
    assert shared == pytest.approx(4 * 80 / 160)


@pytest.mark.parametrize("engine", ["native", "simpy"])
def test_a_slow_kind_beside_a_fast_one_waits_for_memory_all_the_time(mixed, engine):
    """Four cores at 80 GB/s and twelve at 10 ask for 440 of 160: all are slower by that ratio."""
    shared = makespan_s(f"{mixed}[contention=true]", [80e9] * 4 + [10e9] * 12, "16x1", engine)
    assert shared == pytest.approx(440 / 160)


def test_a_team_reaches_what_its_kind_of_cores_does(mixed):
    """Two cores of 80 GB/s: more than twice 10, less than the memory's 160."""
    found = makespan_s(mixed, [80e9], "2x2", "native")
    assert 80 / 160 < found < 80 / 100
    assert makespan_s(mixed, [80e9], "1x4", "native") < found


def test_one_core_moves_no_more_than_its_memory(mixed):
    assert makespan_s(f"{mixed}[bandwidth_Bps=4e10]", [80e9], "16x1", "native") == pytest.approx(80 / 40)
