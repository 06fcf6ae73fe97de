"""The running system as a machine: this one, and made-up ones below a folder."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import MachineError, SpecError
from simsched.hwmodels.host import host_content, read_host
from simsched.hwmodels.hwloc import read_topology
from simsched.machine.build import built
from simsched.spec import Spec

CPU, NODE = "sys/devices/system/cpu", "sys/devices/system/node"
INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz
cpu MHz\t\t: 1499.937

processor\t: 1
vendor_id\t: GenuineIntel
"""
ARM = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


class Tree:
    """A made-up `/sys` and `/proc`."""

    def __init__(self, root):
        self.root = root

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def cpu(self, number, *, siblings=None, package=0, caches=(), name="core_cpus_list"):
        self.write(f"{CPU}/cpu{number}/topology/{name}", siblings or number)
        self.write(f"{CPU}/cpu{number}/topology/physical_package_id", package)
        for index, (level, kind, size, shared) in enumerate(caches):
            folder = f"{CPU}/cpu{number}/cache/index{index}"
            for key, value in (
                ("level", level),
                ("type", kind),
                ("size", size),
                ("shared_cpu_list", shared),
                ("coherency_line_size", 64),
            ):
                self.write(f"{folder}/{key}", value)

    def node(self, number, cpus, memory_kB, distance):
        for key, value in (
            ("cpulist", cpus),
            ("distance", distance),
            ("meminfo", f"Node {number} MemTotal: {memory_kB} kB"),
        ):
            self.write(f"{NODE}/node{number}/{key}", value)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@pytest.fixture
def xeon(tree):
    """Two packages of two cores of two threads; 4 to 7 are the second threads, as Intel numbers them."""
    tree.write(f"{CPU}/online", "0-7")
    tree.write("proc/cpuinfo", INTEL)
    for cpu in range(8):
        core, package = cpu % 4, cpu % 4 // 2
        pair, chip = (
            f"{core},{core + 4}",
            f"{2 * package}-{2 * package + 1},{2 * package + 4}-{2 * package + 5}",
        )
        caches = [
            (1, "Data", "32K", pair),
            (1, "Instruction", "32K", pair),
            (2, "Unified", "1024K", pair),
            (3, "Unified", "33792K", chip),
        ]
        tree.cpu(cpu, siblings=pair, package=package, caches=caches)
    for node in (0, 1):
        tree.node(
            node,
            f"{2 * node}-{2 * node + 1},{2 * node + 4}-{2 * node + 5}",
            1 << 20,
            "10 21" if node == 0 else "21 10",
        )
    return tree


def machine_of(root, like=None, core=None):
    return built(host_content(like, core, read_host(root)), Spec("host"))


def test_this_system():
    machine = ss.machine("host")
    assert str(machine) == "host"
    assert 1 <= machine.n_cores <= (os.cpu_count() or 1)
    assert ss.machine("host") == machine
    told = machine.describe().set_index("key")
    assert set(told.loc[[key for key in told.index if key.startswith("runtime.")], "confidence"]) == {
        "unverified"
    }
    assert told.loc["cores.count", "source"].startswith("host (sysfs): ")
    assert ss.machine("host[like=knl-7250]").runtime == ss.machine("knl-7250").runtime
    more = 16 * machine.cores_per_tile
    assert ss.machine(f"host[cores={more}]").n_cores == more


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
def test_this_systems_affinity_mask():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert ss.machine("host").n_cores == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.skipif(shutil.which("lstopo-no-graphics") is None, reason="hwloc's tools are not installed")
def test_this_system_as_hwloc_sees_it(tmp_path):
    path = tmp_path / "host.xml"
    subprocess.run(["lstopo-no-graphics", path], check=True, capture_output=True)
    ours, theirs = read_host(affinity=os.sched_getaffinity(0)), read_topology(path)
    if ours.notes:
        pytest.skip(f"this process sees less of the system than hwloc shows: {', '.join(ours.notes)}")
    for level in (1, 2, 3):
        assert ours.n_caches(level) == theirs.n_caches(level)
    assert (len(ours.cores), ours.n_pus, len(ours.numa)) == (
        len(theirs.cores),
        theirs.n_pus,
        len(theirs.numa),
    )


def test_two_packages(xeon):
    host = read_host(xeon.root)
    assert [core.pus for core in host.cores] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert [core.package for core in host.cores] == [0, 0, 1, 1]
    assert [(node.os_index, node.memory_B, node.cores) for node in host.numa] == [
        (0, 1 << 30, (0, 1)),
        (1, 1 << 30, (2, 3)),
    ]
    assert [host.n_caches(level) for level in (1, 2, 3)] == [4, 4, 2]
    assert host.caches[host.cores[0].l3].size_B == 33792 * 1024
    assert host.distances == ((10, 21), (21, 10))
    assert host.model == "Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz"
    assert host.notes == ()


def test_two_packages_as_a_machine(xeon):
    """The table of cores knows Skylake-SP; what it assumes is in the notes, what it knows is not."""
    machine = machine_of(xeon.root)
    assert (machine.n_cores, machine.n_domains, machine.smt_ways) == (4, 2, 2)
    assert machine.title == "2 x Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz, 4 cores, Intel Skylake-SP"
    assert machine.bandwidth_Bps == pytest.approx(2 * 80.5e9)
    facts = {fact.key: fact for fact in machine.facts}
    assert (facts["cores.clock"].value, facts["cores.clock"].confidence) == (2.1, "high")
    assert facts["structure.same_l3"].confidence == "med"
    told = "assumed (cores.toml, skylake-sp): that of the Gold 6148: 20 cores' triad"
    assert facts["memory.modes.memory.bandwidth"].source.startswith(told)
    (note,) = machine.notes
    assert "memory.modes.memory.bandwidth (161 GB/s, that of the Gold 6148)" in note
    assert "flop_per_cycle" not in note
    assert "sustained" not in note


def test_a_core_or_a_machine_that_somebody_asked_for(xeon):
    asked_for = {
        fact.key: fact for fact in machine_of(xeon.root, like="xeon-8160x2[bandwidth_Bps=1e11]").facts
    }
    assert asked_for["runtime.dispatch"].source.startswith("taken from xeon-8160x2")
    assert asked_for["structure.same_l3"].confidence == "med"
    named = machine_of(xeon.root, core="zen2")
    assert named.core_bandwidth_Bps == 20.7e9
    with pytest.raises(MachineError, match="give one of them"):
        ss.machine("host[like=grace,core=zen2]")


def test_offline_cpus_and_an_affinity_mask(xeon):
    xeon.write(f"{CPU}/online", "0-3,5-7")
    xeon.write(f"{CPU}/offline", "4")
    host = read_host(xeon.root, affinity={0, 2, 3, 4, 6})
    assert [core.pus for core in host.cores] == [(0,), (2, 6), (3,)]
    assert host.notes == ("the affinity mask allows 4 of 7 CPUs", "1 CPUs are offline")
    machine = machine_of(xeon.root)
    assert machine.smt_ways == 1
    assert machine.structure.sockets == (2, 2)


def test_a_mask_of_other_cpus_is_not_believed(xeon):
    assert len(read_host(xeon.root, affinity={100}).cores) == 4


@pytest.mark.parametrize(("quota", "cores"), [(250000, 2), (50000, 1), (400000, 4), (900000, 4)])
def test_cores_that_a_control_group_feeds(xeon, quota, cores):
    xeon.write("proc/self/cgroup", "0::/")
    xeon.write("sys/fs/cgroup/cpu.max", f"{quota} 100000")
    host = read_host(xeon.root)
    assert len(host.cores) == cores
    assert any(f"{cores} of 4 cores are taken" in note for note in host.notes) == (cores < 4)
    if cores == 1:
        assert "the time of 0.5 CPUs: 1 of 4 cores" in machine_of(xeon.root).facts[0].source


def test_memory_that_was_plugged_in_later(tree):
    """A virtual machine of 128 GB whose only node shows what it began with."""
    tree.write("proc/cpuinfo", INTEL)
    tree.write("proc/meminfo", "MemTotal:  131981020 kB")
    tree.write(f"{CPU}/online", "0")
    tree.cpu(0, package=0, name="thread_siblings_list")
    tree.node(0, "0", 4681200, "10")
    assert [node.memory_B for node in read_host(tree.root).numa] == [131981020 * 1024]
    tree.write("proc/meminfo", "MemTotal:  4096 kB")
    assert [node.memory_B for node in read_host(tree.root).numa] == [4681200 * 1024]


def test_arm_without_caches_or_packages(tree):
    tree.write("proc/cpuinfo", ARM)
    tree.write("proc/meminfo", "MemTotal:  4096 kB")
    tree.write(f"{CPU}/online", "0-3")
    for cpu in range(4):
        tree.cpu(cpu, package=-1, name="thread_siblings_list")
        tree.write(f"{CPU}/cpu{cpu}/cpu_capacity", 1024 if cpu < 2 else 446)
    host = read_host(tree.root)
    assert [core.pus for core in host.cores] == [(0,), (1,), (2,), (3,)]
    assert (len(host.packages), host.packages[0].vendor, host.n_caches(2)) == (1, "0x41", 0)
    assert [host.kinds[core.kind].name for core in host.cores] == ["capacity 1024"] * 2 + ["capacity 446"] * 2
    assert (host.numa[0].memory_B, host.numa[0].cores) == (4096 * 1024, (0, 1, 2, 3))
    machine = machine_of(tree.root)
    assert machine.n_cores == 4
    assert machine.title == "a processor without a name, 4 cores, Arm Neoverse V1"
    # Eight channels of DDR5-4800, of which 85 % are assumed.
    assert machine.bandwidth_Bps == pytest.approx(0.85 * 8 * 4.8e9 * 8)
    assert machine.l2_B is None


def test_arm_clusters_that_share_an_l2(tree):
    tree.write("proc/cpuinfo", ARM)
    tree.write(f"{CPU}/online", "0-7")
    for cpu in range(8):
        four = "0-3" if cpu < 4 else "4-7"
        tree.cpu(cpu, caches=[(1, "Data", "64K", cpu), (2, "Unified", "2M", four)])
    machine = machine_of(tree.root, like="xeon-8160x2")
    assert (machine.n_tiles, machine.cores_per_tile, machine.l2_B) == (2, 4, 2 << 20)
    assert machine.l3_B is None


def test_a_knights_landing(tree):
    """Two tiles; the MCDRAM is a memory without CPUs."""
    tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\n"
               "model name\t: Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz")  # fmt: skip
    tree.write(f"{CPU}/online", "0-3")
    for cpu in range(4):
        tree.cpu(cpu, caches=[(1, "Data", "32K", cpu), (2, "Unified", "1024K", "0-1" if cpu < 2 else "2-3")])
    tree.node(0, "0-3", 96 << 20, "10 31")
    tree.node(1, "", 16 << 20, "31 10")
    machine = machine_of(tree.root)
    assert (machine.structure.kind, machine.n_tiles, machine.n_domains) == ("mesh", 2, 1)
    assert machine.memory.name == ss.machine("knl-7210").memory.name
    assert {fact.key: fact.value for fact in machine.facts}["memory.modes.mcdram.size"] == 16 << 30


def test_performance_and_efficiency_cores(tree):
    tree.write(f"{CPU}/online", "0-2")
    tree.write("sys/devices/cpu_core/cpus", "0-1")
    tree.write("sys/devices/cpu_atom/cpus", "2")
    for cpu in range(3):
        tree.cpu(cpu, siblings="0-1" if cpu < 2 else "2")
        tree.write(f"{CPU}/cpu{cpu}/cpufreq/base_frequency", 2400000 if cpu < 2 else 1800000)
        tree.write(f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq", 4700000)
    machine = machine_of(tree.root, like="xeon-8160x2")
    facts = {fact.key: fact for fact in machine.facts}
    assert (machine.n_cores, machine.smt_ways, facts["cores.clock"].value) == (2, 1, 1.8)
    assert "(1 core, 1 atom)" in facts["cores.count"].source


def test_performance_and_efficiency_cores_that_the_table_knows(tree):
    """Six cores of one kind and four of another that share an L2: each with its clock and its numbers."""
    tree.write("proc/cpuinfo", INTEL.replace("\t: 85", "\t: 154").replace("8160 CPU @ 2.10GHz", "1270P"))
    tree.write(f"{CPU}/online", "0-9")
    tree.write("sys/devices/cpu_core/cpus", "0-5")
    tree.write("sys/devices/cpu_atom/cpus", "6-9")
    for cpu in range(10):
        l2 = str(cpu) if cpu < 6 else "6-9"
        tree.cpu(cpu, caches=[(2, "Unified", "1280K", l2), (3, "Unified", "18M", "0-9")])
        tree.write(f"{CPU}/cpu{cpu}/cpufreq/base_frequency", 2200000 if cpu < 6 else 1600000)
    machine = machine_of(tree.root)
    assert (machine.kinds.names, machine.kinds.counts) == (("golden-cove", "gracemont"), (6, 4))
    slower = machine.kinds.flops_ratio
    assert slower[1] / slower[0] == pytest.approx(1.6 * 16 / (2.2 * 32))
    assert "each with its numbers" in machine.facts[0].source
    assert machine_of(tree.root, core="golden-cove").kinds is None


def test_nothing_there(tree):
    """No `/sys`, no `/proc`: as many cores as Python counts, nothing else known."""
    host = read_host(tree.root)
    assert len(host.cores) == (os.cpu_count() or 1)
    assert host.numa[0].memory_B == 0
    with pytest.raises(
        MachineError, match=r"host: .*it says nothing of itself.*\[core=NAME\].*\[like=NAME\]"
    ):
        machine_of(tree.root)
    assert machine_of(tree.root, core="zen5").n_cores == len(host.cores)


@pytest.mark.parametrize("like", ["host", "host[contention=false]"])
def test_the_host_is_not_like_itself(like):
    with pytest.raises(MachineError, match="the host's own numbers are what is missing"):
        ss.machine(f"host[like={like}]")


def test_what_the_host_cannot_be_like():
    with pytest.raises(SpecError, match="no machine is called 'nothing'"):
        ss.machine("host[like=nothing]")


LINES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["0-7", "0", "-1", "7-0", "0-9999999", "999999", "32K", "3", "Unified", "max", "1,2", "a: b", "\x00"]
    ),
)


@settings(max_examples=20)
@given(data=st.data())
def test_garbled_files_are_missing_files(tmp_path_factory, data):
    tree = Tree(tmp_path_factory.mktemp("garbled"))
    tree.cpu(0, caches=[(2, "Unified", "1M", "0-1")])
    tree.node(0, "0-1", 1, "10")
    tree.write("proc/cpuinfo", INTEL)
    tree.write("proc/self/cgroup", "0::/")
    files = sorted(path for path in tree.root.rglob("*") if path.is_file())
    for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=6)):
        file.write_text(data.draw(LINES), encoding="utf-8", errors="surrogatepass")
    host = read_host(tree.root)
    assert host.cores
    assert host.summary()
    shutil.rmtree(tree.root)
