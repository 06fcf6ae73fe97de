"""hwloc files: every dialect, counted as `lstopo` counts."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from simsched.hwmodels.hwloc import read_topology
from simsched.hwmodels.hwloc.xml import mask, parsed

SAMPLES = Path(__file__).parent / "samples"
SHARED = Path(__file__).parents[2] / "../shared/samples/hwloc"

#: Packages, NUMA nodes, L3, L2, L1d, cores, hardware threads: as hwloc-calc 2.9.0 counts them, but for the files of the
#: 3.0 dialect, which it refuses: there, the objects of the file.
OWN = {
    "sockets-1.2.xml": (2, 2, 2, 4, 4, 4, 6),
    "clusters-1.11.xml": (1, 4, 0, 3, 6, 6, 12),
    "two-sockets-1.x.xml": (2, 2, 4, 8, 0, 16, 32),
    "two-sockets-2.0.xml": (2, 2, 4, 8, 0, 16, 32),
    "mixed-3.0.xml": (1, 2, 1, 3, 6, 6, 8),
}
REAL = {
    "mpibind_knl-quad-cache-hwloc1.xml": (1, 1, 0, 34, 68, 68, 272),
    "mpibind_knl-snc4-flat-hwloc1.xml": (1, 8, 0, 34, 68, 68, 272),
    "mpibind_g4dnmetal.xml": (2, 2, 2, 48, 48, 48, 96),
    "128arm-2pa2n8cluster4co.reexported-hwloc2.9.xml": (2, 4, 4, 128, 128, 128, 128),
    "Intel-KnightsCorner-XeonPhi-SE10P.xml": (1, 1, 0, 61, 61, 61, 244),
    "Intel-Skylake-2xXeon6140.xml": (2, 1, 2, 36, 36, 36, 72),
    "AMD-19h-Zen4-2xEpyc-9654.xml": (2, 1, 24, 192, 192, 192, 384),
}
TYPES = ("package", "numa", "l3", "l2", "l1", "core", "pu")


def shared(name):
    if not SHARED.is_dir():
        pytest.skip(f"the folder of real hwloc files is not there ({SHARED.name})")
    return SHARED / name


def counted(topology):
    caches = (topology.n_caches(level) for level in (3, 2, 1))
    return (len(topology.packages), len(topology.numa), *caches, len(topology.cores), topology.n_pus)


def as_lstopo_counts(path):
    """Return the counts of hwloc's own tool, or None where it refuses the file."""
    found = []
    for kind in TYPES:
        run = subprocess.run(
            ["hwloc-calc", "--if", "xml", "-i", path, "--number-of", kind, "all"],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode and "unavailable" not in run.stderr:
            return None
        found.append(int(run.stdout or 0))
    return tuple(found)


@pytest.mark.parametrize(("name", "counts"), OWN.items())
def test_own_samples(name, counts):
    assert counted(read_topology(SAMPLES / name)) == counts


@pytest.mark.parametrize(("name", "counts"), REAL.items())
def test_real_machines(name, counts):
    topology = read_topology(shared(name))
    assert counted(topology) == counts
    for attribute in ("package", "domain", "l1", "l2", "l3"):
        # Every core is in one group, and groups are runs of the logical order.
        grouped = [core for group in topology.grouped(attribute) for core in group]
        assert grouped == list(range(len(topology.cores)))


@pytest.mark.skipif(shutil.which("hwloc-calc") is None, reason="hwloc's tools are not installed")
@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_counts_equal_those_of_an_installed_hwloc(name):
    path = SAMPLES / name if name in OWN else shared(name)
    told, topology = as_lstopo_counts(path), read_topology(path)
    if told is None:  # hwloc refuses files that are newer than itself
        assert topology.dialect.startswith("hwloc 3.")
    else:
        assert counted(topology) == told


def test_every_shared_sample_is_in_the_table():
    assert {path.name for path in shared(".").glob("*.xml")} == set(REAL)


def test_an_old_file_with_sockets():
    old = read_topology(SAMPLES / "sockets-1.2.xml")
    assert (old.dialect, old.writer) == ("hwloc 1.x", "1.2")
    assert old.model == "Old Processor & Sons"
    assert [(node.os_index, node.memory_B >> 30, node.cores) for node in old.numa] == [
        (0, 1, (0, 1)),
        (1, 2, (2, 3)),
    ]
    assert old.distances == ((10, 20), (21, 10))
    # allowed_cpuset is 0x3f: threads 6 and 7, the second ones of the last two cores, are left out.
    assert [core.pus for core in old.cores] == [(0, 2), (1, 3), (4,), (5,)]
    assert "2 hardware threads are left out" in old.notes[0]


def test_memory_of_clusters():
    """MCDRAM has an empty set in old files: it is near to its cluster, but no core's own domain."""
    flat = read_topology(SAMPLES / "clusters-1.11.xml")
    assert [(n.os_index, n.kind, n.memory_B >> 30, n.cores) for n in flat.numa] == [
        (0, "DRAM", 24, (0, 1, 2, 3)),
        (2, "MCDRAM", 8, (0, 1, 2, 3)),
        (1, "DRAM", 24, (4, 5)),
        (3, "MCDRAM", 8, (4, 5)),
    ]
    assert [len(group) for group in flat.grouped("domain")] == [4, 2]
    assert [len(group) for group in flat.grouped("l2")] == [2, 2, 2]
    assert flat.cores[1].pus == (1, 7)
    assert (flat.packages[0].vendor, flat.packages[0].family, flat.packages[0].number) == (
        "GenuineIntel",
        6,
        87,
    )


def test_cores_of_two_kinds_are_kept_as_they_are():
    mixed = read_topology(SAMPLES / "mixed-3.0.xml")
    assert mixed.dialect == "hwloc 3.0"
    assert [mixed.kinds[core.kind].name for core in mixed.cores] == ["IntelCore"] * 2 + ["IntelAtom"] * 4
    assert [mixed.kinds[core.kind].base_Hz for core in mixed.cores] == [2.4e9] * 2 + [1.8e9] * 4
    assert [len(group) for group in mixed.grouped("l2")] == [1, 1, 4]
    assert mixed.summary().endswith("6 cores, 8 hardware threads (2 IntelCore, 4 IntelAtom)")
    # The HBM comes first in the file, but a core's own memory is DRAM. Distances follow the file's order: HBM first.
    assert {mixed.numa[core.domain].kind for core in mixed.cores} == {"DRAM"}
    assert [node.kind for node in mixed.numa] == ["HBM", "DRAM"]
    assert mixed.distances == ((10, 17), (13, 10))


def test_knights_landing_in_numbers():
    snc4 = read_topology(shared("mpibind_knl-snc4-flat-hwloc1.xml"))
    domains = snc4.grouped("domain")
    assert [sum(len(snc4.cores[core].pus) for core in domain) for domain in domains] == [72, 72, 64, 64]
    assert [n.memory_B >> 30 for n in snc4.numa if n.kind == "MCDRAM"] == [4, 4, 4, 4]
    assert snc4.cores[0].pus == (0, 68, 136, 204)
    assert snc4.caches[snc4.cores[0].l2].size_B == 1 << 20
    assert snc4.caches[snc4.cores[0].l2].line_B == 64


def test_distances_of_a_real_machine():
    arm = read_topology(shared("128arm-2pa2n8cluster4co.reexported-hwloc2.9.xml"))
    assert arm.distances == ((10, 16, 32, 33), (16, 10, 25, 32), (32, 25, 10, 16), (33, 32, 16, 10))


def test_gzip(tmp_path):
    packed = tmp_path / "machine.xml.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "mixed-3.0.xml").read_bytes()))
    assert counted(read_topology(packed)) == OWN["mixed-3.0.xml"]


def test_threads_without_cores_are_cores(tmp_path):
    path = tmp_path / "bare.xml"
    path.write_text(
        '<topology><object type="Machine" local_memory="1024"><object type="PU" os_index="0"/>'
        '<object type="Strange"><object type="PU" os_index="7"/></object></object></topology>'
    )
    bare = read_topology(path)
    assert counted(bare) == (1, 1, 0, 0, 0, 2, 2)
    assert bare.numa[0].memory_B == 1024
    assert [core.pus for core in bare.cores] == [(0,), (7,)]
    assert any("'Strange' are not known" in note for note in bare.notes)
    assert any("every hardware thread is taken for one" in note for note in bare.notes)


def test_devices_are_read_past(tmp_path):
    path = tmp_path / "devices.xml"
    text = (SAMPLES / "mixed-3.0.xml").read_text()
    devices = (
        '<object type="Bridge"><object type="PCIDev"><object type="OSDev" name="eth0"/></object></object>'
    )
    end = text.index("  <distances2")
    path.write_text(text[:end].rstrip().removesuffix("</object>") + devices + "</object>" + text[end:])
    assert counted(read_topology(path)) == OWN["mixed-3.0.xml"]


BITMAPS = [
    ("0x1", 1),
    ("0x00000001,0x0", 1 << 32),
    ("0x1,,0x3", 1 << 64 | 3),
    (",,0x5", 5),
    ("3", 3),
    ("0xf...f", -1),
    ("0xf...f,0x0000fffe", -1 ^ 0xFFFF0001),
]


@pytest.mark.parametrize(("text", "bits"), BITMAPS)
def test_sets(text, bits):
    assert parsed(text) == bits


def test_members_of_a_set():
    assert mask(parsed("0x1,,0x8000000c"), 65).nonzero()[0].tolist() == [2, 3, 31, 64]
    assert mask(parsed("0x1,,0x8000000c"), 64).nonzero()[0].tolist() == [2, 3, 31]


@pytest.mark.parametrize(
    "text",
    ["", " ", "0xg", "0x123456789", "0x1,0xf...f", "0xf...f,", "-1", "0x", "1" * 40000 + "x", "," * 40000],
)
def test_what_is_no_set(text):
    with pytest.raises(ValueError, match="set of"):
        parsed(text)
