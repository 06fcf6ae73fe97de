"""The suite for machines: ours pass it, and it finds what is wrong with others."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched import native
from simsched.hwmodels.flat import Flat
from simsched.machine import Machine, Picture
from simsched.plugins import registered
from simsched.testing import check_machine, machines

#: A quarter of a Knights Landing shows every number, in a fraction of the time.
SMALL = {"knl-7250": "knl-7250[cores=16]", "knl-7210": "knl-7210[cores=16]"}
#: What a core group of another size is, is drawn and counted from the number of cores.
UNCOUNTED = dict.fromkeys(
    ("sw26010", "sw26010-pro"), ("structure.rows", "structure.columns", "structure.management")
)


@pytest.mark.parametrize("name", [name for name in registered("machines") if name != "host"])
def test_every_machine_passes(name):
    check_machine(SMALL.get(name, name), uncounted=UNCOUNTED.get(name, ()))


def test_numbers_that_count_for_nothing_are_named():
    named = r"change no result: structure\.rows, structure\.columns, structure\.management$"
    with pytest.raises(AssertionError, match=named):
        check_machine("sw26010")


@pytest.mark.parametrize(
    "ample",
    [
        "xeon-8160x2[memory.modes.ddr.link_bandwidth=150]",
        "knl-7250[cores=16,memory.modes.ddr.size=8192]",
    ],
)
def test_a_link_that_never_binds_and_a_large_memory_are_no_idle_numbers(ample):
    check_machine(ample)


@pytest.mark.parametrize("values", ["[1.0, 1.5]", "[1.0]"])
def test_a_file_with_several_numbers_at_a_place_passes(tmp_path, values):
    text = (Path(ss.__file__).parent / "hwmodels" / "generic.toml").read_text()
    more = f"compute_throughput = {{ value = {values}, unit = '', source = 'x', confidence = 'low' }}"
    ways = text.replace('value = 1,    unit = "thread', f'value = {values.count(".")}, unit = "thread')
    path = tmp_path / "mine.toml"
    path.write_text(ways.replace("[structure]", f"{more}\n\n[structure]"))
    check_machine(path)


def _to_itself(structure, core):
    return np.ones(structure.n_cores, np.int64)


def _one_way(structure, core):
    return np.arange(structure.n_cores, dtype=np.int64) * (core == 0)


def _detour(structure, core):
    """Return the square of the distance on a line: two steps are less than one of twice the length."""
    return (np.arange(structure.n_cores) - core) ** 2


def _boxes(change):
    true = Flat.picture
    return lambda structure: Picture(change(true(structure).boxes))


@pytest.mark.parametrize(
    ("part", "broken", "says"),
    [
        ("hops", _to_itself, "hops from a core to itself is 0"),
        ("hops", _one_way, r"hops from core 0 to 1 is 1, but 0 back"),
        ("hops", _detour, "by way of a third core"),
        ("hops", lambda structure, core: np.zeros(3, np.int64), "hops of a core has one number per core, 4"),
        ("transfer_s", lambda structure, core: np.full(4, -1.0), "transfer_s is from 0 up"),
        ("transfer_s", lambda structure, core: np.zeros(4, np.float32), "array of float64, not float32"),
        (
            "domain_of",
            property(lambda structure: np.full(4, 1, np.int32)),
            "domain_of has the numbers 0 to 1",
        ),
        ("domain_of", property(lambda structure: np.arange(4, dtype=np.int32)), "lies in two memory domains"),
        ("tile_of", property(lambda structure: np.int32([0, 1, 0, 1])), "numbered tile by tile"),
        ("tile_of", property(lambda structure: np.int32([0, 1, 1, 1])), "a tile is not whole"),
        ("picture", _boxes(lambda boxes: boxes[:-1]), "the picture has each core once"),
        ("picture", _boxes(lambda boxes: [replace(box, x=0.0) for box in boxes]), "two cores overlap"),
        ("resized", lambda structure, cores, true=Flat.resized: true(structure, 4), "it has 4 cores"),
    ],
)
def test_impossible_structures_are_found(monkeypatch, part, broken, says):
    machine = ss.machine("generic[cores=4,cores.per_tile=2]")
    monkeypatch.setattr(Flat, part, broken)
    with pytest.raises(AssertionError, match=says):
        check_machine(machine)


@pytest.mark.parametrize(
    ("reached_Bps", "says"),
    [
        (lambda cores: cores + 1.0, "no thread reaches 1 B/s"),
        (
            lambda cores: np.multiply(cores, np.subtract(5e9, np.multiply(cores, 1e9))),
            "a thread more than 3 makes them reach",
        ),
        (lambda cores: np.multiply(cores, 2e10), "one thread reaches more than a core has"),
        (lambda cores: np.multiply(cores, 1e10), "all threads reach more than the memory has"),
    ],
)
def test_impossible_bandwidths_are_found(monkeypatch, reached_Bps, says):
    machine = ss.machine("generic[cores=4,bandwidth_Bps=2e10]")
    reached = property(lambda machine: reached_Bps(np.arange(machine.n_threads + 1)))
    monkeypatch.setattr(Machine, "reach_Bps", reached)
    with pytest.raises(AssertionError, match=says):
        check_machine(machine)


def test_a_core_that_changes_with_their_number_is_found(monkeypatch):
    varied = Machine.varied

    def broken(machine, params):
        found = varied(machine, params)
        return replace(found, l2_B=1.0) if "cores" in params else found

    monkeypatch.setattr(Machine, "varied", broken)
    with pytest.raises(AssertionError, match="l2_B changes with the cores"):
        check_machine("generic[cores=4]")


def test_a_string_that_makes_another_machine_is_found():
    with pytest.raises(AssertionError, match="this string makes another machine"):
        check_machine(replace(ss.machine("generic[cores=4]"), title="mine"))


@pytest.mark.skipif(not native.find(), reason="needs both engines")
def test_engines_that_differ_are_found(monkeypatch):
    replayed = machines.replays

    def replays(machine, engine="auto"):
        if engine == "auto":
            yield from replayed(machine)
        yield ss.simulate(ss.TaskGraph.from_edges([1.0 + (engine == "native")]), machine, "fifo")

    monkeypatch.setattr(machines, "replays", replays)
    with pytest.raises(AssertionError, match="finish_s differs"):
        check_machine("generic")
