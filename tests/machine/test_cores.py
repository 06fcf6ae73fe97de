"""The table of cores: what it finds by name and by what a processor says of itself."""

import pytest

from simsched.errors import MachineError
from simsched.hwmodels.cores import core_named, core_of, cores_file, known_cores
from simsched.hwmodels.topology import Package

INTEL, AMD = "GenuineIntel", "AuthenticAMD"


@pytest.mark.parametrize(
    ("package", "kind", "name"),
    [
        (Package("Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", INTEL, 6, 85), "", "skylake-sp"),
        (Package("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", INTEL, 6, 85), "", "cascade-lake"),
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
