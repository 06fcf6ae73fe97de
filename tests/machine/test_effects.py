"""Effects are on unless they are switched off: in files of one's own, in brackets, in hwloc files; and what is said."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.machine import Effects
from simsched.machine.effects import NAMES

GENERIC = (Path(ss.__file__).parent / "hwmodels" / "generic.toml").read_text("utf-8")
SAMPLES = Path(__file__).parent / "samples"
#: 192 cores of 15 GB/s on a memory of 430 GB/s, without a table of effects.
OWN = (
    GENERIC[: GENERIC.index("# By definition nothing is shared")]
    .replace("by definition", "data sheet")
    .replace("value = 16, ", "value = 192, ")
    .replace("value = 10.0,", "value = 15.0,")
    .replace("value = 160.0,", "value = 430.0,")
)
#: Tasks that stream 1 GB each, in 1 GB / 15 GB/s = 0.0667 s alone.
BYTES_B = 192e9


@pytest.fixture
def own(tmp_path):
    """Write the own machine, with further tables, and return its path."""

    def write(tables="", text=OWN):
        path = tmp_path / "own.toml"
        path.write_text(text + tables)
        return path

    return write


def streaming(machine, engine="auto", seconds=np.nan):
    """Return the seconds of one streaming task on each core of a machine."""
    n = ss.machine(machine).n_cores
    graph = ss.TaskGraph.from_edges([seconds] * n, kinds="add", bytes_B=[BYTES_B / n] * n)
    return ss.simulate(graph, machine, "fifo", layout=f"{n}x1", engine=engine).makespan_s


@pytest.mark.rule("Switches", "Memory bandwidth")
def test_a_file_without_effects_shares_the_bandwidth_that_it_states(engine, own):
    """192 GB over 430 GB/s, 0.4465 s, whether the 0.0667 s of each task alone are estimated or recorded."""
    machine = own()
    assert ss.machine(machine).effects == Effects.all()
    assert streaming(machine, engine) == pytest.approx(BYTES_B / 430e9, rel=1e-3)
    assert streaming(machine, engine, seconds=1 / 15) == pytest.approx(BYTES_B / 430e9, rel=1e-6)
    assert not ss.machine(machine).notes


@pytest.mark.rule("Switches")
def test_a_table_switches_single_effects_off(engine, own):
    """Only what the table switches off: the tasks take 0.0667 s, beside each other as alone."""
    machine = own("[effects]\nshare_bandwidth = false\n")
    assert ss.machine(machine).effects == replace(Effects.all(), share_bandwidth=False)
    assert streaming(machine, engine, seconds=1 / 15) == pytest.approx(1 / 15, rel=1e-9)


@pytest.mark.rule("Switches")
@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ("", 0.1),
        (",bandwidth_Bps=4.3e11", BYTES_B / 430e9),
        (",core_bandwidth_Bps=1.5e10,bandwidth_Bps=4.3e11", BYTES_B / 430e9),
        (",core_bandwidth_Bps=2e10", 0.05),
        (",bandwidth_Bps=4.3e11,share_bandwidth=false", 0.1),
    ],
)
def test_generic_shares_a_bandwidth_in_the_brackets(engine, stated, seconds):
    """By definition a core of generic streams 10 GB/s, whatever the others do."""
    machine = f"generic[cores=192{stated}]"
    assert streaming(machine, engine) == pytest.approx(seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("file", "brackets", "on"),
    [
        ("", "", NAMES),
        ("", "contention=false", ()),
        ("", "contention=false,share_tiles=true", ("share_tiles",)),
        ("", "share_cores=false", set(NAMES) - {"share_cores"}),
        ("remote_memory = false", "", set(NAMES) - {"remote_memory"}),
        ("remote_memory = false", "contention=true", NAMES),
        (
            "share_bandwidth = false",
            "contention=true,share_bandwidth=false",
            set(NAMES) - {"share_bandwidth"},
        ),
        ("share_bandwidth = false", "bandwidth_Bps=1e9", NAMES),
        ("share_bandwidth = false", "memory.modes.memory.bandwidth=1", NAMES),
        ("share_bandwidth = false", "core_bandwidth_Bps=1e9", set(NAMES) - {"share_bandwidth"}),
        ("share_bandwidth = false", "cores=8", set(NAMES) - {"share_bandwidth"}),
        ("share_cores = false", "smt=2,cores.smt_ways=2", NAMES),
        ("share_cores = false", "smt=1", set(NAMES) - {"share_cores"}),
        ("share_cores = false", "smt=2,cores.smt_ways=2,contention=false", ()),
    ],
)
def test_the_brackets_come_before_the_table_and_switches_before_numbers(own, file, brackets, on):
    machine = ss.machine(f"{own(f'[effects]{chr(10)}{file}')}[{brackets}]")
    assert {name for name in NAMES if getattr(machine.effects, name)} == set(on)
    assert ss.machine(str(machine)) == machine
    assert machine.varied({}).effects == machine.effects


@given(
    st.dictionaries(st.sampled_from(NAMES), st.booleans()),
    st.none() | st.booleans(),
    st.none() | st.floats(1e9, 1e12),
    st.permutations(["switches", "contention", "bandwidth"]),
)
def test_switches_win_wherever_they_stand(switches, contention, bandwidth_Bps, order):
    parts = {
        "switches": switches,
        "contention": {} if contention is None else {"contention": contention},
        "bandwidth": {} if bandwidth_Bps is None else {"bandwidth_Bps": bandwidth_Bps},
    }
    params = {key: value for part in order for key, value in parts[part].items()}
    made = ss.machine("generic").varied(params)
    stated = {} if bandwidth_Bps is None or contention is not None else {"share_bandwidth": True}
    assert made.effects == Effects(**{**dict.fromkeys(NAMES, bool(contention)), **stated, **switches})
    assert ss.machine(str(made)) == made


def test_a_machine_made_by_hand_has_all_effects():
    machine = ss.machine("generic")
    given = {f.name: getattr(machine, f.name) for f in fields(machine) if f.name != "effects"}
    assert type(machine)(**given).effects == Effects.all()


@pytest.mark.rule("Switches")
@pytest.mark.parametrize("like", ["xeon-8160x2", "epyc-9654x2", "own"])
def test_hwloc_files_share_the_bandwidth_of_the_machine_that_they_are_like(engine, own, like):
    """A task on each core moves no more than the memory has."""
    like = own() if like == "own" else like
    machine = ss.machine(f"{SAMPLES / 'two-sockets-2.0.xml'}[like={like},bandwidth_Bps=2e10]")
    assert machine.effects == Effects.all()
    assert streaming(machine, engine) == pytest.approx(BYTES_B / 2e10, rel=0.05)


def test_hwloc_files_that_are_like_generic_share_what_the_brackets_state():
    file = SAMPLES / "two-sockets-2.0.xml"
    assert not ss.machine(f"{file}[like=generic]").effects.any
    assert not ss.machine(f"{file}[like=generic]").notes
    for stated in (f"{file}[like=generic,bandwidth_Bps=2e10]", f"{file}[like=generic[bandwidth_Bps=2e10]]"):
        assert ss.machine(stated).effects == Effects(share_bandwidth=True)
    assert ss.machine("host").effects == Effects.all()


def test_numbers_of_effects_that_the_file_switches_off_are_said(engine, own):
    path = own("[effects]\nshare_bandwidth = false\nshare_tiles = false\n")
    (note,) = ss.machine(path).notes
    assert note == (
        "memory.modes.memory.bandwidth (430 GB/s) is stated, but running tasks do not slow each other down by it, "
        f"because the file switches share_bandwidth off; write {path}[share_bandwidth=true] if they should"
    )
    graph = ss.TaskGraph.from_edges([1.0])
    assert note in ss.simulate(graph, path, "fifo", engine=engine).notes
    assert not ss.machine(note.partition("write ")[2].partition(" if ")[0]).notes
    # 8 cores of 15 GB/s ask for 120 GB/s at most, which the memory has.
    assert not ss.machine(f"{path}[cores=8]").notes


@pytest.mark.parametrize(
    "brackets", ["contention=false", "share_bandwidth=false", "bandwidth_Bps=1e11,contention=false"]
)
def test_what_the_brackets_switch_off_is_the_users_choice(own, brackets):
    for file in ("", "[effects]\nshare_bandwidth = false\n"):
        assert not ss.machine(f"{own(file)}[{brackets}]").notes


@pytest.mark.parametrize("machine", ["generic", "generic[cores=192]", "generic[core_bandwidth_Bps=1e11]"])
def test_numbers_by_definition_are_not(machine):
    assert not ss.machine(machine).notes


def test_all_numbers_of_effects_that_are_off_stand_in_one_note(own):
    """Of a Knights Landing: what two tiles, two ways of a core and, with SNC-4, several domains would use."""
    text = (
        (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml")
        .read_text("utf-8")
        .replace("= true", "= false")
    )
    (note,) = ss.machine(own(text=text)).notes
    for key in ("bandwidth", "tile_slowdown", "compute_throughput", "memory_throughput"):
        assert f"{key} (" in note
    assert "remote_latency" not in note
    (note,) = ss.machine(f"{own(text=text)}[cluster=snc4]").notes
    assert "remote_latency.snc4 (" in note
    assert "off; write" in note
    assert "share_interconnect" not in note
