"""Machines from the table of cores, described in brackets: what is refused, what is assumed, and how wide that is."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.core_machine import socket_content
from simsched.hwmodels.cores import known_cores
from simsched.machine.build import built
from simsched.spec import Spec
from simsched.study.uncertain import MachineNumbers

SENTENCE = "generic[cores=96,core=neoverse-v2,bandwidth_Bps=5.3e11,domains=1]"


def facts_of(machine):
    return {fact.key: fact for fact in machine.facts}


def test_a_machine_from_a_sentence():
    machine = ss.machine(SENTENCE)
    assert (machine.n_cores, machine.n_domains, machine.bandwidth_Bps) == (96, 1, 5.3e11)
    assert machine.peak_flops == 2.8e9 * 32
    assert machine.reach_Bps[1] == machine.core_bandwidth_Bps == 37e9
    assert machine.reach_Bps[96] == pytest.approx(5.3e11)
    assert machine.effects.share_bandwidth
    assert ss.machine(str(machine)) == machine
    assert machine.content["cores"]["count"]["value"] == 96
    # The brackets are given, hence certain; what the table assumes is not, and the notes say so.
    assert facts_of(machine)["memory.modes.memory.bandwidth"].source.startswith("varied: ")
    (note,) = machine.notes
    assert "sharpness (4.5)" in note
    assert "memory.bandwidth" not in note
    assert "core_bandwidth" not in note


@pytest.mark.parametrize("core", known_cores())
def test_every_core_makes_a_machine(core):
    machine = ss.machine(f"generic[core={core}]")
    assert machine.n_cores == known_cores()[core].cores.value
    assert 0 < machine.core_bandwidth_Bps <= machine.bandwidth_Bps
    socket = built(socket_content(known_cores()[core]), Spec(core))
    assert socket.bandwidth_Bps == machine.bandwidth_Bps
    assert socket.structure.times.same_l3_s <= socket.structure.times.same_socket_s
    # No more than the channels carry, as the file's schema checks where they are known.
    has_peak = "peak" in machine.content["memory"]["modes"]["memory"]
    assert has_peak == (core not in ("knl", "power8") and "0x41" not in known_cores()[core].vendors)


@pytest.mark.parametrize("spec", ["generic[core=ice-lake-sp]", "generic[core=sapphire-rapids,sockets=2]"])
def test_no_world_moves_more_than_the_channels_carry(spec):
    """One triad of Ice Lake's was measured with stores that fetch nothing: 158.9 GB/s, of 153.6 with those that do."""
    machine = ss.machine(spec)
    peak_Bps = facts_of(machine)["memory.modes.memory.peak"].value * 1e9
    assert machine.bandwidth_Bps == pytest.approx(0.75 * peak_Bps)
    numbers = MachineNumbers.of(machine)
    worlds = [numbers.sampled(machine, seed).bandwidth_Bps for seed in range(20)]
    assert max(worlds) <= machine.bandwidth_Bps * (1 + 1e-9)
    assert min(worlds) < 0.95 * machine.bandwidth_Bps


@pytest.mark.parametrize(
    ("brackets", "told"),
    [
        ("cores=0", "cores=0: nothing of a machine is 0 or less"),
        ("cores=-4", "cores=-4: nothing of a machine is 0 or less"),
        ("cores=1.5", "expected a whole number of cores"),
        ("cores=many", "expected a whole number of cores"),
        ("domains=5", "domains=5: 96 cores are not 5 equal domains"),
        ("domains=97", "domains=97: 96 cores are not 97 equal domains"),
        ("domains=0", "domains=0: nothing"),
        ("sockets=5", "sockets=5: 96 cores are not 5 equal sockets"),
        ("sockets=2,domains=2", "each socket is one domain; give one of the two"),
        ("sockets=x", "expected a whole number of sockets"),
        ("bandwidth_Bps=0", "bandwidth_Bps=0: nothing"),
        ("bandwidth_Bps=-1e11", "nothing of a machine is 0 or less"),
        ("bandwidth_Bps=530", "is an exponent missing"),
        ("bandwidth_Bps=1e10", "less than one core alone moves"),
        ("bandwidth_Bps=5.3e13", "above what 96 cores move together, 2.25e\\+10 B/s each"),
        ("memory.modes.memory.bandwidth=53000", "above what 96 cores move together"),
        ("core_bandwidth_Bps=1e14", "a core moves 1e\\+07 to 1e\\+12"),
        ("core_bandwidth_Bps=3", "a core moves 1e\\+07 to 1e\\+12"),
        ("cores.clock=99", "processors run at 0.1 to 10"),
        ("cores.clock=2.8e9", "processors run at 0.1 to 10"),
        ("cores.clock=0", "cores.clock=0: nothing"),
        ("cores.sustained=2", "too large"),
        ("sharpness=0", "sharpness=0: nothing"),
        ("smt=2", r"from 1 to 1; .*, as in \[cores.smt_ways=2,smt=2\]"),
        ("like=grace", "only for formats that do not"),
        ("core=zen9", "no such core is known; did you mean zen or zen5"),
        ("unheard=1", "no parameter 'unheard'"),
    ],
)
def test_impossible_ones_are_refused_with_why(brackets, told):
    name = brackets if brackets.startswith("core=") else f"core=zen4,{brackets}"
    cores = "" if brackets.startswith("cores=") else "cores=96,"
    with pytest.raises(MachineError, match=told):
        ss.machine(f"generic[{cores}{name}]")


def test_all_that_is_impossible_is_listed():
    with pytest.raises(MachineError, match="3 mistakes") as caught:
        ss.machine("generic[cores=96,core=zen4,domains=5,bandwidth_Bps=0,cores.clock=99]")
    assert len(str(caught.value).splitlines()) == 4


def test_every_number_can_be_overridden():
    nominal = ss.machine("generic[core=zen4]")
    for key, fact in facts_of(nominal).items():
        if key not in ("cores.count", "cores.per_tile", "cores.smt_ways", "structure.domains"):
            other = ss.machine(f"generic[core=zen4,{key}={fact.value * 0.9:.12g}]")
            assert facts_of(other)[key].value == pytest.approx(fact.value * 0.9)
    # What is more than its cores move together is meant where both are said.
    ample = ss.machine("generic[cores=4,core=zen4,bandwidth_Bps=5e11,core_bandwidth_Bps=3e10]")
    assert ample.reach_Bps[4] == pytest.approx(4 * 3e10)
    free = ss.machine("generic[core=zen4,runtime.dispatch=0]")
    assert free.runtime.dispatch_s == 0


def test_cores_are_for_machines_that_do_not_state_theirs():
    with pytest.raises(MachineError, match="the file states what its cores are"):
        ss.machine("knl-7250[core=zen4]")
    with pytest.raises(MachineError, match="give core=zen4 where the machine is made"):
        ss.machine("generic").varied({"core": "zen4"})


def test_a_socket_of_other_cores_is_a_guess():
    assert "memory.bandwidth" not in ss.machine("generic[core=a64fx]").notes[0]
    (note,) = ss.machine("generic[core=a64fx,cores=24]").notes
    assert "memory.modes.memory.bandwidth (595 GB/s)" in note


def test_assumed_numbers_widen_the_interval():
    """The same machine twice: with assumed numbers, and with the same ones given, which are certain."""
    graph = ss.TaskGraph.from_edges([float("nan")] * 8, kinds="Add", bytes_B=[1e9] * 8)
    guessed = "generic[cores=8,core=zen4,domains=1]"
    stated = (
        "generic[cores=8,core=zen4,domains=1,bandwidth_Bps=1.5e11,core_bandwidth_Bps=2.25e10,sharpness=4.5]"
    )

    def width(spec):
        row = ss.predict(graph, spec, "fifo", [8], samples=12).frame.iloc[0]
        return row["high_s"] / row["low_s"]

    assert width(guessed) > 1.2 * width(stated)
    row = ss.predict(graph, guessed, "fifo", [8], samples=2)
    assert any("assumed, as nobody has stated them" in note for note in row.notes)


def test_what_is_uncertain_of_a_sentence():
    numbers = {one.name: one for one in MachineNumbers.of(ss.machine(SENTENCE)).parameters}
    assert "memory.modes.memory.bandwidth" not in numbers
    assert numbers["memory.modes.memory.core_bandwidth"].high == pytest.approx(1.25 * 37)
    assert "cores.flop_per_cycle" not in numbers, "lanes are counted"


def test_a_sentence_of_several_domains():
    machine = ss.machine("generic[cores=96,core=zen2,domains=4]")
    assert np.bincount(machine.structure.domain_of).tolist() == [24] * 4
    assert machine.bandwidth_Bps == pytest.approx(99.4e9)
    assert machine.varied({"cores": 48}).n_domains == 4


@pytest.mark.parametrize(
    ("spec", "cores", "chiplet_Bps"),
    [
        ("generic[core=zen2,sockets=1]", 8, 24.9e9),
        ("generic[core=zen3,sockets=2]", 8, 43.5e9),
        ("generic[core=zen4,sockets=1]", 8, 50e9),
        ("generic[core=zen4c,sockets=1]", 16, 50e9),
        ("generic[core=zen5c,sockets=2]", 16, 55.6e9),
        ("generic[core=taishan-v110,sockets=1]", 4, 26.37e9),
        ("epyc-9654x2", 8, 50e9),
        ("epyc-9965", 16, 55.6e9),
    ],
)
def test_the_link_of_a_chiplet_limits_few_cores_and_not_all(spec, cores, chiplet_Bps):
    """8 cores of an EPYC 9654 streamed 164 GB/s; all 64 of `core=zen2,sockets=1` what one of its chiplets does."""
    machine = ss.machine(spec)
    assert machine.reach_Bps[cores] == pytest.approx(chiplet_Bps)
    assert machine.reach_Bps[-1] == pytest.approx(machine.bandwidth_Bps)


@pytest.mark.parametrize("core", known_cores())
def test_a_sentence_of_two_sockets_is_two_sockets(core):
    one, two = (ss.machine(f"generic[core={core},sockets={count}]") for count in (1, 2))
    assert (two.n_cores, two.n_domains) == (2 * one.n_cores, 2)
    assert two.bandwidth_Bps == pytest.approx(2 * one.bandwidth_Bps)
    assert (two.one_core_Bps, two.core_flops) == (one.one_core_Bps, one.core_flops)
    assert str(ss.machine(str(two))) == str(two)
    # The file is of the whole machine: nothing of it is extrapolated.
    assert two.content["cores"]["count"]["value"] == two.n_cores
    same, other = two.structure.times.same_l3_s, two.structure.times.other_socket_s
    assert same <= other


def test_cores_of_a_sentence_are_divided_among_its_sockets():
    machine = ss.machine("generic[cores=128,core=neoverse-v2,sockets=2]")
    assert (machine.n_cores, machine.n_domains) == (128, 2)
    assert machine.structure.domain_of[[0, 63, 64, 127]].tolist() == [0, 0, 1, 1]
    # Tasks that move much: each socket's half of the cores fills its own memory, in half the time of one socket.
    graph = ss.TaskGraph.from_edges([0.1] * 256, bytes_B=[1e9] * 256, kinds="copy")
    took = [
        ss.simulate(
            graph,
            f"generic[cores={cores},core=neoverse-v2,sockets={n}]",
            "critical-path",
            layout=f"{cores}x1",
        )
        for cores, n in ((64, 1), (128, 2))
    ]
    assert took[1].makespan_s == pytest.approx(took[0].makespan_s / 2, rel=0.05)
