"""Notes on numbers that are stated, and refusals of those without effect."""

import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels import machine_file
from simsched.notes import Weight, weight_of
from simsched.study.uncertain import MachineNumbers


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ("generic[cores.clock=0.002]", "cores.clock is 0.002 GHz, those of chips are 0.1 to 10"),
        ("generic[core_bandwidth_Bps=5e11]", "stated as 500 GB/s, but one core alone moves 160"),
        (
            "generic[cores=20,core_bandwidth_Bps=15.2e9,share_bandwidth=true]",
            "20 cores move 163.6 GB/s, more than the 160 stated of 16",
        ),
        ("generic[link_Bps=1.0,data=none]", "link_Bps: no effect, as data=none lets nothing move"),
        ("generic[link_Bps=1.0,data=read,route=host]", "route: no effect, as data=read sends no messages"),
        ("generic[share_links=true]", "share_links: no effect, as nothing moves"),
        (
            "generic[cores=2,link_Bps=1,hop_Bps=3,hop_latency_s=7]",
            "hop_Bps, hop_latency_s: no effect, as its ways have no hops",
        ),
        ("generic[link_Bps=1,memory_Bps=3]", "memory_Bps: no effect, as nothing is at a memory"),
    ],
)
def test_numbers_that_are_probably_slips_have_a_note(spec, note):
    assert any(note in said for said in ss.machine(spec).notes)


@pytest.mark.parametrize(
    "spec",
    [
        "generic[link_Bps=1,share_links=true]",
        "generic[share_links=false]",
        "xeon-8160x2[link_Bps=1,hop_Bps=2]",
        "generic[link_Bps=1,memory_Bps=3,home=memory]",
        "generic[link_Bps=1,memory_Bps=3,data=read]",
        "generic[link_Bps=1,memory_Bps=3,place_B=8]",
        "sw26010[link_Bps=1e9,memory_Bps=3e9]",
    ],
)
def test_numbers_of_ways_that_are_used_have_no_note(spec):
    assert not any("no effect" in said for said in ss.machine(spec).notes)


def test_a_bandwidth_that_hardly_rises_has_no_note():
    """More cores move 448.3 GB/s where 448 are stated."""
    assert not any("more than the 448 stated" in said for said in ss.machine("grace-hopper[cores=146]").notes)


def test_numbers_of_pairs_need_data_that_move():
    with pytest.raises(MachineError, match="data=none nothing is sent"):
        ss.machine("generic[cores=2,data=none]", pair_Bps=[[0, 1], [1, 0]])


def test_titles_hold_for_all_variations():
    assert "dentical" not in ss.machine("generic[kinds=each,cores=3]").title


def test_a_file_may_state_ends_and_doubts(tmp_path):
    path, text = tmp_path / "mine.toml", machine_file("generic").read_text("utf-8")
    clock = next(line for line in text.splitlines() if line.startswith("clock "))
    text = text.replace("\nname =", '\ndoubts = ["It may be another."]\nname =')
    path.write_text(text.replace(clock, clock.replace(" }", ", ends = [0.5, 3.0] }")))
    machine = ss.machine(path)
    (found,) = (one for one in MachineNumbers.of(machine).parameters if one.name == "cores.clock")
    assert (found.low, found.high) == (0.5, 3.0)
    assert (machine.notes[0], weight_of(machine.notes[0])) == ("It may be another.", Weight.DOUBT)
    # Of a clock that is varied, they are not the ends.
    assert machine.varied({"cores.clock": 6.0}).clocks.nominal_Hz == 6e9
    path.write_text(text.replace(clock, clock.replace(" }", ", ends = [3.5, 5.4] }")))
    with pytest.raises(MachineError, match=r"cores.clock: 1 is not between its ends, \[3.5, 5.4\]"):
        ss.machine(path)
