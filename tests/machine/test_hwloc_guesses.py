"""Machines from hwloc files that leave something to guess: what packages, kinds of cores and chips are."""

import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.notes import Weight, weight_of
from simsched.study.uncertain import MachineNumbers

MILAN = {
    **{"CPUVendor": "AuthenticAMD", "CPUFamilyNumber": "25", "CPUModelNumber": "1"},
    "CPUModel": "AMD EPYC-Milan Processor",
}


def infos(values):
    return "".join(f'<info name="{name}" value="{value}"/>' for name, value in values.items())


def bits(first, count):
    """Return a set of numbers in hwloc's words of 32 bits."""
    every = (1 << count) - 1 << first
    return ",".join(
        f"0x{every >> shift & 0xFFFFFFFF:08x}" for shift in range((first + count - 1) // 32 * 32, -1, -32)
    )


def node(path, packages, cores, stated, kinds=(), memories=()):
    """Write a file of packages of so many cores; kinds are counts, and what is said of them.

    Memories are the first core, the cores and the bytes of each NUMA node; where left out, there is one of 1 GiB.
    """

    def held(kind, first, count, inside="", index=None):
        near = f'cpuset="{bits(first, count)}" nodeset="0x1"'
        return f'<object type="{kind}" os_index="{first if index is None else index}" {near}{inside}'

    every, text = packages * cores, ""
    for first in range(0, every, cores):
        one = (
            held("Core", pu, 1, ">") + held("PU", pu, 1, "/></object>") for pu in range(first, first + cores)
        )
        text += held("Package", first, cores, ">") + infos(stated) + "".join(one) + "</object>"
    among, first = "", 0
    for count, said in kinds:
        among += f'<cpukind cpuset="{bits(first, count)}">{infos(said)}</cpukind>'
        first += count
    memory = "".join(
        held("NUMANode", first, count, f' local_memory="{size_B}"/>', index)
        for index, (first, count, size_B) in enumerate(memories or [(0, every, 1 << 30)])
    )
    path.write_text(
        f'<topology version="2.0">{held("Machine", 0, every, ">")}{memory}{text}</object>{among}</topology>'
    )
    return path


@pytest.mark.parametrize(
    ("packages", "cores", "sockets", "told"),
    [
        (1, 32, 1, None),
        (
            32,
            1,
            1,
            "32 packages of 1 core share 1 NUMA node: taken for a virtual machine with a socket's memory",
        ),
        (2, 15, 1, "2 packages of 15 cores share 1 NUMA node: taken for a virtual machine"),
        (2, 16, 2, "2 packages of 16 cores share 1 NUMA node: taken for sockets with a memory each"),
    ],
)
def test_packages_of_a_virtual_machine_have_one_memory(tmp_path, packages, cores, sockets, told):
    """Of a vCPU a package, 32 moved 4178 GB/s; firmware may spread memories of sockets over one node, too."""
    machine = ss.machine(node(tmp_path / "node.xml", packages, cores, MILAN))
    assert machine.bandwidth_Bps == pytest.approx(sockets * 130.56e9)
    assert machine.content["structure"]["sockets"] == [packages * cores // sockets] * sockets
    doubts = [note for note in machine.notes if weight_of(note) is Weight.DOUBT]
    assert len(doubts) == (told is not None)
    assert not told or doubts[0].startswith(told)


def test_memory_of_no_core_is_left_out(tmp_path):
    """256 GiB behind CXL were added to the DRAM of the sockets."""
    memories = [(0, 32, 1 << 38), (0, 16, 1 << 30), (16, 16, 1 << 30)]
    machine = ss.machine(node(tmp_path / "node.xml", 2, 16, MILAN, memories=memories))
    assert (machine.n_domains, machine.memory.size_B) == (2, 2 << 30)
    assert machine.notes[0] == "memory beside that of the cores' own NUMA nodes is left out: 275 GB of node 0"


def test_a_socket_with_empty_channels_uses_the_memory_of_the_other(tmp_path):
    """Both had the bandwidth of filled channels."""
    memories = [(0, 16, 1 << 30), (16, 16, 0)]
    machine = ss.machine(node(tmp_path / "node.xml", 2, 16, MILAN, memories=memories))
    assert (machine.n_domains, machine.content["structure"]["sockets"]) == (1, [16, 16])
    assert machine.bandwidth_Bps == pytest.approx(130.56e9)
    assert machine.notes[0].startswith("NUMA node 1 of 0 bytes: taken for empty channels; cores there use")
    quarters = [(8 * index, 8, (index < 2) << 30) for index in range(4)]
    machine = ss.machine(node(tmp_path / "four.xml", 2, 16, MILAN, memories=quarters))
    assert machine.n_domains == 4
    assert machine.notes[0].startswith(
        "NUMA node 2, 3 of 0 bytes: modelled with memory as fast as the others'"
    )


def test_a_processor_computes_narrow_elements_as_the_machine_of_its_name(tmp_path):
    stated = {"CPUVendor": "GenuineIntel", "CPUFamilyNumber": "6", "CPUModelNumber": "143"}
    file = node(tmp_path / "node.xml", 1, 52, {**stated, "CPUModel": "Intel(R) Xeon(R) Platinum 8470"})
    assert ss.machine(file).element_flops == ss.machine("xeon-8470").element_flops
    assert ss.machine("xeon-8470").element_flops == {"bf16": 16.0, "fp16": 2.0, "int8": 32.0}


ICESTORM, FIRESTORM = ({"DarwinCompatible": f"apple,{name};ARM,v8"} for name in ("icestorm", "firestorm"))


@pytest.mark.parametrize(
    ("model", "efficient", "fast", "GBps", "one_GBps"),
    [
        ("Apple M1", 4, 4, 0.85 * 66.67, 0.85 * 66.67),
        ("Apple M1 Pro", 2, 8, 0.85 * 204.8, 102),
        ("Apple M1 Max", 2, 8, 224, 102),
        ("Apple M1 Ultra", 4, 16, 448, 102),
    ],
)
def test_kinds_of_cores_of_apples(tmp_path, model, efficient, fast, GBps, one_GBps):
    """All were performance cores, on the memory of a plain M1."""
    stated = {"CPUVendor": "Apple", "CPUModel": model}
    path = node(tmp_path / "mac.xml", 1, efficient + fast, stated, [(efficient, ICESTORM), (fast, FIRESTORM)])
    machine = ss.machine(path)
    assert (machine.kinds.names, machine.kinds.counts) == (("icestorm", "firestorm"), (efficient, fast))
    assert machine.bandwidth_Bps == pytest.approx(GBps * 1e9)
    assert machine.core_bandwidth_Bps == pytest.approx(one_GBps * 1e9)
    assert machine.kinds.flops_ratio == pytest.approx((2.06 * 16 / (3.2 * 32), 1))
    assert not [note for note in machine.notes if weight_of(note) is Weight.DOUBT]
    # Taken as alike, as the user asks: that may be otherwise.
    (doubt, *_) = ss.machine(f"{path}[core=firestorm]").notes
    assert doubt.startswith(
        f"cores of several kinds, {efficient} (apple,icestorm) and {fast} (apple,firestorm), are"
    )


def test_kinds_that_no_file_distinguishes(tmp_path):
    """A board's two fast cores became slow ones without a word."""
    stated = {"CPUImplementer": "0x41", "CPUPart": "0xd03"}
    slow, fast = (
        {"FrequencyMaxMHz": MHz, "LinuxCapacity": of} for MHz, of in (("1416", "381"), ("1800", "1024"))
    )
    machine = ss.machine(node(tmp_path / "board.xml", 1, 6, stated, [(4, slow), (2, fast)]))
    assert machine.clocks.nominal_Hz == 1.416e9
    assert machine.notes[0] == (
        "cores of several kinds, 4 (capacity 381, up to 1.416 GHz) and 2 (capacity 1024, up to 1.8 GHz), are all taken "
        "for Arm Cortex-A53 at 1.416 GHz; a machine file with [kinds] distinguishes them"
    )
    assert any("memory.bandwidth (2.295 GB/s, that of the Raspberry Pi 3)" in note for note in machine.notes)
    # Cores of one kind may boost to different clocks.
    favoured = [(4, {"FrequencyMaxMHz": "3600"}), (4, {"FrequencyMaxMHz": "3700"})]
    same = ss.machine(node(tmp_path / "same.xml", 1, 8, MILAN, favoured))
    assert not [note for note in same.notes if weight_of(note) is Weight.DOUBT]


def test_kinds_that_alternate_have_the_clock_of_the_slowest(tmp_path):
    stated = {"CPUVendor": "Apple", "CPUModel": "Apple M1"}
    kinds = [(2, FIRESTORM), (1, ICESTORM), (2, FIRESTORM)]
    machine = ss.machine(node(tmp_path / "mac.xml", 1, 5, stated, kinds))
    assert (machine.kinds, machine.clocks.nominal_Hz) == (None, 2.06e9)
    assert "are all taken for Apple Firestorm" in machine.notes[0]


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ({"CPUImplementer": "0x41", "CPUPart": "0xd0c"}, "Arm Neoverse N1"),
        ({"CPUVendor": "AuthenticAMD", "CPUFamilyNumber": "26", "CPUModelNumber": "2"}, "AMD Zen 5"),
        ({"CPUModel": "POWER9 (raw), altivec supported"}, "IBM POWER9"),
        ({"CPUImplementer": "0x41", "CPUPart": "0xd0c0d0c0d0c"}, None),
        ({"CPUImplementer": "0x41", "CPUPart": "-1"}, None),
        ({"CPUVendor": "GenuineIntel", "CPUFamilyNumber": "6", "CPUModelNumber": "99999999999"}, None),
        ({"CPUModel": "(a+)+$" * 30}, None),
    ],
)
def test_cores_by_what_a_file_says_of_them(tmp_path, stated, title):
    """Files of Arm, AMD and IBM state their processors in their own ways; what is out of bounds is unknown."""
    path = node(tmp_path / "node.xml", 1, 2, stated)
    if title is None:
        with pytest.raises(MachineError, match="The table of cores does not know it"):
            ss.machine(path)
    else:
        assert ss.machine(path).title.endswith(f", 2 cores, {title}")


def amd(model, family, number):
    said = {"CPUVendor": "AuthenticAMD", "CPUFamilyNumber": family, "CPUModelNumber": number}
    return said | {"CPUModel": f"AMD {model}"}


@pytest.mark.parametrize(
    ("model", "family", "number", "cores", "clock_GHz", "ends_GHz", "told"),
    [
        ("EPYC 9654 96-Core Processor", 25, 17, 96, 2.4, (1.92, 3), None),
        ("EPYC 9124 16-Core Processor", 25, 17, 16, 2.4, (1.2, 4.8), "2.4 GHz, that of the EPYC 9654)"),
        ("EPYC 4564P 16-Core Processor", 25, 97, 16, 4.59, (3.7, 5.7), "4.59 GHz)"),
        ("Ryzen 9 7950X 16-Core Processor", 25, 97, 16, 4.47, (3.5, 5.7), "4.47 GHz)"),
        ("Ryzen 7 7840U w/ Radeon 780M Graphics", 25, 116, 8, 3.67, (2.5, 5.4), "3.67 GHz)"),
        ("Ryzen 5 3600 6-Core Processor", 23, 113, 6, 3.82, (3.1, 4.7), "3.82 GHz)"),
    ],
)
def test_the_clock_of_another_chip_is_a_guess(
    tmp_path, model, family, number, cores, clock_GHz, ends_GHz, told
):
    """A 7950X ran at the clock of an EPYC 9654, and nobody said so."""
    machine = ss.machine(node(tmp_path / "node.xml", 1, cores, amd(model, family, number)))
    assert machine.clocks.nominal_Hz == clock_GHz * 1e9
    (clock,) = (one for one in MachineNumbers.of(machine).parameters if one.name == "cores.clock")
    assert (clock.low, clock.high) == pytest.approx(ends_GHz)
    assert any(f"cores.clock ({told}" in note for note in machine.notes) == (told is not None)
    # Once it is stated, it is no guess any more.
    assert "cores.clock" not in machine.varied({"cores.clock": 6.5}).notes[0]


def intel(model, number, stepping):
    said = {"CPUVendor": "GenuineIntel", "CPUFamilyNumber": "6", "CPUModelNumber": number}
    return said | {"CPUStepping": stepping, "CPUModel": f"Intel(R) Xeon(R) {model}"}


@pytest.mark.parametrize(
    ("stated", "flop", "peak_GBps", "told"),
    [
        (intel("Gold 6148 CPU @ 2.40GHz", 85, 4), 64, 127.97, ()),
        (
            intel("Gold 5118 CPU @ 2.30GHz", 85, 4),
            32,
            127.97,
            ("bandwidth (80.5 GB/s, that of the Gold 6148)",),
        ),
        (intel("Gold 5122 CPU @ 3.60GHz", 85, 4), 64, 127.97, ()),
        (intel("SILVER 4210 CPU @ 2.20GHz", 85, 7), 32, 140.78, ()),
        (intel("Gold 5222 CPU @ 3.80GHz", 85, 7), 64, 140.78, ()),
        (intel("D-2146NT CPU @ 2.30GHz", 85, 4), 32, 85.31, ("bandwidth (54.3851 GB/s)",)),
        (intel("Platinum 8380H CPU @ 2.90GHz", 85, 11), 64, 153.6, ()),
        (intel("D-2776NT CPU @ 2.10GHz", 108, 1), 64, 93.86, ()),
        (
            intel("w5-2465X", 143, 8),
            64,
            153.6,
            ("flop_per_cycle (64 FLOP/cycle, that of the Platinum 8470)",),
        ),
        (intel("CPU Max 9480", 143, 8), 64, 307.2, ("bandwidth (230.4 GB/s, that of the Platinum 8470)",)),
        (amd("EPYC 4565P 16-Core Processor", 26, 68), 64, 89.6, ()),
        (amd("RYZEN AI MAX+ 395 w/ Radeon 8060S", 26, 112), 64, 256, ()),
        (amd("EPYC 8534P 64-Core Processor", 25, 160), 32, 230.4, ()),
        (
            amd("EPYC 9354P 32-Core Processor", 25, 17),
            32,
            460.8,
            ("peak (460.8 GB/s, that of the EPYC 9654)",),
        ),
    ],
)
def test_chips_that_are_not_as_their_microarchitecture(tmp_path, stated, flop, peak_GBps, told):
    """A Gold 5118 had two units of 512 bit, an EPYC 8534P 12 channels, and no note said whose numbers these are."""
    machine = ss.machine(node(tmp_path / "node.xml", 1, 16, stated))
    found = {fact.key.removeprefix("memory.modes.memory."): fact for fact in machine.facts}
    assert found["cores.flop_per_cycle"].value == flop
    assert found["peak"].value == peak_GBps
    assert any("HBM of a Xeon Max is not modelled" in note for note in machine.notes) == (
        "Max" in machine.title
    )
    for one in told:
        (note,) = (note for note in machine.notes if one in note)
        assert note.startswith("assumed, as nobody has stated them")
        assert found[one.partition(" ")[0].replace("flop", "cores.flop")].confidence == "unverified"


@pytest.mark.parametrize(
    ("model", "number", "cores", "watts", "guessed"),
    [
        ("EPYC 7763 64-Core Processor", 1, 64, 280, False),
        ("EPYC 7713 64-Core Processor", 1, 64, 280, True),
        ("EPYC 7663 56-Core Processor", 1, 56, 280, True),
        ("EPYC 7313 16-Core Processor", 1, 16, None, False),
        ("Ryzen 7 5800X 8-Core Processor", 33, 8, None, False),
    ],
)
def test_no_power_of_a_chip_of_other_cores(tmp_path, model, number, cores, watts, guessed):
    """A part of the cores drew that part of the watts: 70 W in place of 155, as "at most that"."""
    machine = ss.machine(node(tmp_path / "node.xml", 2 if cores > 16 else 1, cores, amd(model, 25, number)))
    packages = machine.n_cores // cores
    assert machine.power_W == (watts and packages * watts)
    assert any("numbers of power" in note for note in machine.notes) == guessed
    frame = ss.machines(ss.TaskGraph.from_edges([1.0]), [machine], ["fifo"], samples=1)
    assert (frame.energy_J.notna() == (watts is not None)).all()


def test_an_m1_has_its_own_watts(tmp_path):
    stated = {"CPUVendor": "Apple", "CPUModel": "Apple M1"}
    kinds = [(4, ICESTORM), (4, FIRESTORM)]
    assert ss.machine(node(tmp_path / "mac.xml", 1, 8, stated, kinds)).power_W == 22
