"""The table of cores: what it finds by name and by what a processor says of itself."""

from pathlib import Path

import pytest

from simsched.errors import MachineError, SpecError
from simsched.hwmodels.cores import core_named, core_of, core_sold_as, cores_file, known_cores
from simsched.hwmodels.topology import Package
from simsched.machine import machine

INTEL, AMD = "GenuineIntel", "AuthenticAMD"


@pytest.mark.parametrize(
    ("package", "kind", "name"),
    [
        (Package("Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", INTEL, 6, 85), "", "skylake-sp"),
        (Package("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", INTEL, 6, 85), "", "cascade-lake"),
        (Package("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", INTEL, 6, 85), "", "cooper-lake"),
        (Package("", INTEL, 6, 85, 11), "", "cooper-lake"),
        (Package("", INTEL, 6, 85, 7), "", "cascade-lake"),
        (Package("Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz", INTEL, 6, 87), "", "knl"),
        (Package("", INTEL, 11, 1), "", "knc"),
        (Package("12th Gen Intel(R) Core(TM) i7-12700", INTEL, 6, 151), "IntelCore", "golden-cove"),
        (Package("12th Gen Intel(R) Core(TM) i7-12700", INTEL, 6, 151), "IntelAtom", "gracemont"),
        (Package("12th Gen Intel(R) Core(TM) i7-12700", INTEL, 6, 151), "atom", "gracemont"),
        (Package("AMD EPYC 7451 24-Core Processor", AMD, 23, 1), "", "zen"),
        (Package("AMD EPYC 7742 64-Core Processor", AMD, 23, 49), "", "zen2"),
        (Package("AMD EPYC 7763 64-Core Processor", AMD, 25, 1), "", "zen3"),
        (Package("AMD EPYC 9654 96-Core Processor", AMD, 25, 17), "", "zen4"),
        (Package("AMD EPYC 9754 128-Core Processor", AMD, 25, 160), "", "zen4c"),
        (Package("AMD EPYC 9755 128-Core Processor", AMD, 26, 2), "", "zen5"),
        (Package("AMD EPYC 9965 192-Core Processor", AMD, 26, 17), "", "zen5c"),
        (Package("", "0x41", -1, 0xD03), "", "cortex-a53"),
        (Package("Neoverse-N1", "ARM", -1, 1), "", "neoverse-n1"),
        (Package("", "0x46", -1, 1), "", "a64fx"),
        (Package("", "0x42", -1, 0x516), "", "thunderx2"),
        (Package("", "0x48", -1, 0xD01), "", "taishan-v110"),
        (Package("Apple M1", "Apple"), "", "firestorm"),
        (Package("POWER9 (raw), altivec supported"), "", "power9"),
        (Package("thead,c920"), "", "c920"),
    ],
)
def test_found_by_what_the_processor_says(package, kind, name):
    core = core_of(package, kind)
    assert core is not None
    assert core.name == name


@pytest.mark.parametrize(
    "package",
    [Package(), Package("", INTEL, 6, 9999), Package("", "0x41", -1, 0xFFF), Package("a", AMD, 7, 1)],
)
def test_unknown_ones_are_not_guessed(package):
    assert core_of(package) is None


@pytest.mark.parametrize(
    ("name", "core"),
    [
        ("a64fx", "a64fx"),
        ("epyc-7702", "zen2"),
        ("epyc-9654x2", "zen4"),
        ("epyc-9965", "zen5c"),
        ("grace", "neoverse-v2"),
        ("knc-7120p", "knc"),
        ("knl-7210", "knl"),
        ("knl-7250", "knl"),
        ("kunpeng-920", "taishan-v110"),
        ("sg2042", "c920"),
        ("xeon-6148x2", "skylake-sp"),
        ("xeon-6780e", "sierra-forest"),
        ("xeon-6980p", "granite-rapids"),
        ("xeon-8160x2", "skylake-sp"),
        ("xeon-8360y", "ice-lake-sp"),
        ("xeon-8470", "sapphire-rapids"),
    ],
)
def test_a_machine_has_the_power_limit_and_the_rates_of_the_table(name, core):
    """An EPYC 9654 had 360 W as a file of hwloc's, and none by its name."""
    found, limit = machine(name), core_named(core).power
    assert limit is not None
    assert found.power_W == limit.value * len(found.content["structure"].get("sockets", [0]))
    assert found.element_flops == machine(f"generic[core={core}]").element_flops


def test_by_name():
    assert core_named("Neoverse_V2") is known_cores()["neoverse-v2"]
    assert core_named("raptor-lake-e").name == "gracemont"
    with pytest.raises(MachineError, match="did you mean neoverse-v2"):
        core_named("neoverse-v3")
    with pytest.raises(MachineError, match="there are nehalem, westmere"):
        core_named("\x1b[31m")


@pytest.mark.parametrize("core", known_cores().values(), ids=lambda core: core.name)
def test_every_core_has_what_a_machine_needs(core):
    assert {"cores", "vector", "clock", "flop_per_cycle", "core_bandwidth"} <= core.known.keys()
    assert {"bandwidth", "nominal_bandwidth"} & core.known.keys()
    # Two units at least of operands of four bytes: no vector holds more than it is wide.
    assert core.flop_per_cycle.value <= 4 * 2 * core.vector.value / 32
    for quantity in core.known.values():
        guessed = quantity.source.startswith(("assumed", "recalled"))
        assert guessed <= (quantity.confidence == "unverified"), quantity


def test_chips_of_a_core():
    zen5 = known_cores()["zen5"]
    assert (
        zen5.of("AMD Ryzen 9 9950X")["nominal_bandwidth"].value
        < zen5.of("AMD EPYC 9755")["nominal_bandwidth"].value
    )
    # The channels of another processor of the same cores say more than what this one was measured to move.
    assert "bandwidth" in known_cores()["haswell"].of("Intel(R) Xeon(R) CPU E5-2695 v3")
    assert "bandwidth" not in known_cores()["haswell"].of("Intel(R) Core(TM) i7-4770")
    assert cores_file().assumed.sharpness.value == 4.5


def test_a_chip_as_a_core_is_said_with_its_own_numbers():
    """An EPYC 4564P, of two channels, was taken for zen4, which has the twelve of an EPYC 9654."""
    said = r"did you mean \[core=zen4,sockets=1,bandwidth_Bps=5.304e\+10,cores.clock=4.59\]\?"
    with pytest.raises(MachineError, match=said):
        machine("generic[core=EPYC 4564P,cores=16]")


SOLD_AS = {
    "nehalem": ["Xeon X5570", "E5520"], "westmere": ["Xeon X5650", "E7-4870"], "sandy-bridge": ["E5-2670", "i7-2600K"],
    "ivy-bridge": ["Xeon E5-2690 v2", "Core i5-3570"], "haswell": ["xeon-e5-2680v3", "i7-4790"],
    "broadwell": ["Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz", "Xeon D-1541"],
    "skylake": ["Core i5-8250U", "i9-10900K", "Intel(R) Xeon(R) CPU E3-1240 v5 @ 3.50GHz"],
    "skylake-sp": ["Xeon Platinum 8175M", "Xeon Gold 6130", "W-2145", "Xeon D-2146NT"],
    "cooper-lake": ["Xeon Platinum 8380H", "gold-5318h"],
    "cascade-lake": ["Xeon Gold 6248R", "Platinum 8280"],
    "ice-lake": ["i7-1165G7"], "ice-lake-sp": ["Xeon Platinum 8380", "xeon-6338", "D-2776NT"],
    "sapphire-rapids": ["Xeon Platinum 8480+", "xeon-max-9480", "Xeon w9-3495X"],
    "emerald-rapids": ["INTEL(R) XEON(R) PLATINUM 8592+", "xeon-8592"], "granite-rapids": ["Xeon 6972P", "xeon-6787p"],
    "sierra-forest": ["Xeon 6740E"], "golden-cove": ["12th Gen Intel(R) Core(TM) i7-12700", "i9-14900K"],
    "gracemont-n": ["Intel(R) N100"], "knl": ["Xeon Phi 7290"], "knc": ["Xeon Phi 5110P", "phi-7110"],
    "zen": ["AMD EPYC 7551 32-Core Processor", "EPYC 3151", "Ryzen 7 1800X", "Threadripper 2990WX"],
    "zen2": ["EPYC 7H12", "epyc-7742x2", "Ryzen 9 3950X"], "zen3": ["AMD EPYC 7763 64-Core Processor", "EPYC 75F3"],
    "zen4": ["EPYC 9354P", "epyc-9684X", "AMD Ryzen 9 7950X 16-Core Processor", "Threadripper PRO 7995WX",
             "epyc-4564p"],
    "zen4c": ["EPYC 9754", "EPYC 8534P"],
    "zen5": ["epyc-9755", "EPYC 9575F", "Ryzen 9 9950X", "EPYC 4565P", "AMD RYZEN AI MAX+ 395"],
    "zen5c": ["EPYC 9965", "epyc-9845"], "zen5-mobile": ["Ryzen AI 9 HX 370"],
    "cortex-a72": ["graviton", "Raspberry Pi 4"],
    "neoverse-n1": ["graviton2", "Ampere Altra Max"], "neoverse-v1": ["AWS Graviton3", "graviton-3e"],
    "neoverse-n2": ["Azure Cobalt 100"], "neoverse-v2": ["Google Axion"], "thunderx2": ["ThunderX2 CN9980"],
    "taishan-v110": ["Kunpeng 920-6426"], "firestorm": ["M1 Max"], "c920": ["Sophgo SG2042"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "core"), [(name, core) for core, names in SOLD_AS.items() for name in names]
)
def test_a_chip_by_the_name_it_is_sold_under_is_described(name, core):
    assert core_sold_as(name).name == core
    with pytest.raises(SpecError, match=rf"no machine is called .*generic\[core={core},cores=N,"):
        machine(name)
    assert machine(f"generic[core={core},cores=8]").n_cores == 8


@pytest.mark.parametrize(
    "name", ["m2", "h100", "EPYC", "Xeon", "EPYC 7004", "7763", "i7", "Ryzen", "", "graviton9"]
)
def test_a_name_of_many_or_of_unknown_chips_is_not_guessed(name):
    assert core_sold_as(name) is None
    with pytest.raises(SpecError, match=r"there are: a64fx, .*; any other chip is generic\[core=NAME"):
        machine(name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zen5", r"it is a core \(AMD Zen 5\): generic\[core=zen5,cores=N\]"),
        ("Skylake_X", r"it is a core \(Intel Skylake-SP\): generic\[core=skylake-sp,cores=N\]"),
        ("apple-m2", "the table of cores has no such core or chip; there are: .*did you mean apple-m1"),
        ("lscpu.txt", r"`lstopo node.xml` writes one, or describe the machine: generic\[core=NAME,cores=N\]"),
        (
            "cpuinfo",
            "'cpuinfo' is neither the name of a machine nor a file whose name ends with .toml or .xml",
        ),
    ],
)
def test_what_is_no_machine_is_said_to_be_what_it_is(name, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cpuinfo").write_text("processor : 0")
    with pytest.raises((SpecError, MachineError), match=told):
        machine(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Xeon Phi 7210", "knl-7210"), ("EPYC 9654", "epyc-9654x2"), ("graviton3", "graviton4")],
)
def test_what_is_built_in_is_named_beside(name, meant):
    with pytest.raises(SpecError, match=rf"did you mean {meant}\?"):
        machine(name)


def test_a_short_number_means_no_other_vendors_chip():
    """An i7-920 was asked whether it meant a Kunpeng 920."""
    with pytest.raises(SpecError, match="nehalem") as told:
        machine("i7-920")
    assert "kunpeng" not in str(told.value)
