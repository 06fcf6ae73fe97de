"""Machines from hwloc files: structure and sizes as the file tells, other numbers from a named machine, and said."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import MachineError, SpecError
from simsched.hwmodels.hwloc import read_topology

SAMPLES = Path(__file__).parent / "samples"
SHARED = Path(__file__).parents[2] / "../shared/samples/hwloc"

#: File, like; then cores, cores per tile, domains, SMT ways, kind of structure.
REAL = [
    ("mpibind_knl-quad-cache-hwloc1.xml", "", (68, 2, 1, 4, "mesh")),
    ("mpibind_knl-snc4-flat-hwloc1.xml", "", (68, 2, 4, 4, "mesh")),
    ("Intel-KnightsCorner-XeonPhi-SE10P.xml", "", (61, 1, 1, 4, "ring")),
    ("mpibind_g4dnmetal.xml", "", (48, 1, 2, 2, "sockets")),
    ("Intel-Skylake-2xXeon6140.xml", "", (36, 1, 2, 2, "sockets")),
    ("AMD-19h-Zen4-2xEpyc-9654.xml", "", (192, 1, 2, 2, "sockets")),
    ("128arm-2pa2n8cluster4co.reexported-hwloc2.9.xml", "core=taishan-v110", (128, 1, 4, 1, "sockets")),
    ("mpibind_g4dnmetal.xml", "like=xeon-8160x2", (48, 1, 2, 2, "sockets")),
    ("Intel-Skylake-2xXeon6140.xml", "like=xeon-8160x2", (36, 1, 2, 2, "sockets")),
    ("AMD-19h-Zen4-2xEpyc-9654.xml", "like=epyc-9654x2", (192, 1, 2, 2, "sockets")),
    ("128arm-2pa2n8cluster4co.reexported-hwloc2.9.xml", "like=epyc-9654x2", (128, 1, 4, 1, "sockets")),
]


def shared(name):
    if not SHARED.is_dir():
        pytest.skip("the folder of real hwloc files is not there")
    return SHARED / name


def sample(name, **variations):
    inside = ",".join(f"{key}={value}" for key, value in variations.items())
    return ss.machine(f"{SAMPLES / name}" + (f"[{inside}]" if inside else ""))


def fact(machine, key):
    return next(fact for fact in machine.facts if fact.key == key)


@pytest.mark.parametrize(("name", "like", "expected"), REAL)
def test_real_machines(name, like, expected):
    spec = f"{shared(name)}" + (f"[{like}]" if like else "")
    machine = ss.machine(spec)
    shape = (
        machine.n_cores,
        machine.cores_per_tile,
        machine.n_domains,
        machine.smt_ways,
        machine.structure.kind,
    )
    assert shape == expected
    assert ss.machine(str(machine)) == machine
    topology = read_topology(shared(name))
    assert machine.l1d_B == topology.caches[topology.cores[0].l1].size_B
    assert machine.l2_B == topology.caches[topology.cores[0].l2].size_B
    assert all(fact.source and fact.confidence for fact in machine.facts)


#: hwloc 2 cannot read the files of hwloc 3.
OLDER = [
    name for name, like, _ in REAL if not like.startswith("like") and not name.startswith(("Intel", "AMD"))
]


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in REAL))
def test_cores_and_domains_as_the_file_lists_them(name):
    topology, text = read_topology(shared(name)), shared(name).read_text("utf-8")
    listed = {kind: len(re.findall(f'<object type="{kind}"', text)) for kind in ("Core", "PU", "NUMANode")}
    assert (len(topology.cores), topology.n_pus, len(topology.numa)) == tuple(listed.values())


@pytest.mark.skipif(shutil.which("hwloc-calc") is None, reason="hwloc's tools are not installed")
@pytest.mark.parametrize("name", OLDER)
def test_cores_and_domains_as_hwloc_counts_them(name):
    topology = read_topology(shared(name))

    def counted(kind):
        call = ["hwloc-calc", "-i", shared(name), "--number-of", kind, "machine:0"]
        return int(subprocess.run(call, check=True, capture_output=True, text=True).stdout)

    assert (len(topology.cores), topology.n_pus) == (counted("core"), counted("pu"))
    assert (len(topology.packages), len(topology.numa)) == (counted("package"), counted("numanode"))


def test_knights_landing_as_its_file_has_it():
    """SNC-4, flat: clusters of 18, 18, 16 and 16 cores, MCDRAM of 4 x 4 GiB, the 7250's own numbers."""
    snc4 = ss.machine(shared("mpibind_knl-snc4-flat-hwloc1.xml"))
    assert np.bincount(snc4.structure.domain_of).tolist() == [18, 18, 16, 16]
    assert snc4.memory.name == "MCDRAM, flat"
    assert fact(snc4, "memory.modes.mcdram.size").value == 16 << 30
    original = ss.machine("knl-7250[cluster=snc4]")
    assert snc4.memory.latency_s == original.memory.latency_s
    assert snc4.memory.remote_latency_s == original.memory.remote_latency_s
    # A core's bandwidth goes with the inverse of the latency, which the file has for quadrant mode.
    quadrant = ss.machine("knl-7250").memory
    expected = quadrant.core_bandwidth_Bps * quadrant.latency_s / snc4.memory.latency_s
    assert snc4.core_bandwidth_Bps == pytest.approx(expected)
    assert snc4.bandwidth_Bps == original.bandwidth_Bps
    assert snc4.runtime == original.runtime
    assert fact(snc4, "memory.modes.mcdram.latency.snc4").confidence == "high"
    cached = ss.machine(shared("mpibind_knl-quad-cache-hwloc1.xml"))
    assert cached.memory.name == ss.machine("knl-7250[memory=cache]").memory.name
    assert cached.structure == ss.machine("knl-7250").structure


def test_other_processors_say_where_numbers_come_from():
    like, machine = ss.machine("xeon-8160x2"), sample("two-sockets-2.0.xml", like="xeon-8160x2")
    assert machine.title.endswith("numbers of xeon-8160x2")
    told = fact(machine, "cores.flop_per_cycle")
    assert told.source.startswith("taken from xeon-8160x2: ")
    assert told.confidence == "low"
    assert fact(machine, "cores.sustained").confidence == "unverified"
    assert fact(machine, "cores.count").source.startswith("two-sockets-2.0.xml (hwloc 2.0): ")
    assert fact(machine, "cores.count").confidence == "high"
    assert machine.runtime == like.runtime
    assert machine.bandwidth_Bps == like.bandwidth_Bps
    assert machine.core_flops == like.core_flops


def test_sockets_domains_and_caches_by_hand():
    """Two packages of two L3s of two L2s of two cores; the synthetic file has no sizes of memory."""
    machine = sample("two-sockets-1.x.xml", like="epyc-9654x2")
    same_tile, same_l3, same_socket, other = (
        fact(machine, f"structure.{key}").value
        for key in ("same_tile", "same_l3", "same_socket", "other_socket")
    )
    epyc = ss.machine("epyc-9654x2").transfer_s(0) * 1e9
    # There, core 1 is in the same chiplet, core 8 in the next, core 96 in the other socket.
    assert (same_l3, same_socket, other) == pytest.approx((epyc[1], epyc[8], epyc[96]))
    assert same_tile == same_l3  # no tile of that machine has two cores
    assert fact(machine, "structure.same_tile").confidence == "unverified"
    expected = [0, same_tile, *[same_l3] * 2, *[same_socket] * 4, *[other] * 8]
    assert (machine.transfer_s(0) * 1e9).tolist() == pytest.approx(expected)
    assert machine.structure.domain_of.tolist() == [0] * 8 + [1] * 8
    # Two L3 of 16 MiB a domain.
    assert machine.l3_B == 32 << 20
    assert machine == sample("two-sockets-1.x.xml", like="epyc-9654x2")


def test_memory_for_as_many_sockets():
    """One package of unequal tiles, like a machine of two sockets: half its bandwidth, tiles of one core."""
    like, machine = ss.machine("xeon-8160x2"), sample("mixed-3.0.xml", like="xeon-8160x2")
    assert machine.bandwidth_Bps == like.bandwidth_Bps / 2
    assert machine.core_bandwidth_Bps == like.core_bandwidth_Bps
    assert "times 1/2, for so many sockets" in fact(machine, "memory.modes.ddr.bandwidth").source
    assert fact(machine, "memory.modes.ddr.size").value == 16 << 30
    assert (machine.n_cores, machine.cores_per_tile, machine.smt_ways) == (6, 1, 1)
    assert "tiles of unequal size are not modelled" in fact(machine, "cores.per_tile").source
    assert "cores of several kinds, taken as alike" in fact(machine, "cores.count").source
    assert "at most 2: taken as the fewest" in fact(machine, "cores.smt_ways").source
    clock = fact(machine, "cores.clock")
    assert (clock.value, clock.unit) == (1.8, "GHz")
    assert "slowest kind" in clock.source


def test_the_clock_of_the_name():
    machine = ss.machine(f"{shared('Intel-Skylake-2xXeon6140.xml')}[like=xeon-8160x2]")
    assert fact(machine, "cores.clock").value == 2.3


def test_numbers_of_a_mesh_on_sockets():
    """A mesh knows no other socket: twice the time between its tiles, and said so. The firmware rates 2 and 2.1."""
    machine = sample("sockets-1.2.xml", like="knl-7250")
    near = fact(machine, "structure.same_l3").value
    other = fact(machine, "structure.other_socket")
    assert near == pytest.approx(float(np.median(ss.machine("knl-7250").transfer_s(0)[2:])) * 1e9)
    assert other.value == 2 * near
    assert other.confidence == "unverified"
    assert "twice same_" in other.source
    assert machine.memory.remote_latency_s == pytest.approx(machine.memory.latency_s * 2.05)
    assert machine.bandwidth_Bps == 2 * ss.machine("knl-7250").bandwidth_Bps
    assert machine.tables == {}


def test_a_recognised_chip_may_be_like_another():
    machine = sample("clusters-1.11.xml", like="knl-7210")
    assert machine.structure.kind == "mesh"
    assert machine.title.endswith("numbers of knl-7210")
    assert (
        "2 memory domains, which the mesh does not model: taken as one" in fact(machine, "cores.count").source
    )
    assert fact(machine, "memory.modes.mcdram.bandwidth").confidence == "low"
    socket = sample("clusters-1.11.xml", like="xeon-8160x2")
    assert socket.structure.kind == "sockets"
    assert np.bincount(socket.structure.domain_of).tolist() == [4, 2]


def phi_7290(path, tiles):
    """Write a file of a 7290, with some tiles of two cores."""
    core = '<object type="Core"><object type="PU" os_index="{}"/></object>'
    tile = '<object type="L2Cache" cache_size="1048576">' + 2 * core + "</object>"
    path.write_text(
        '<topology version="2.0"><object type="Machine"><object type="Package">'
        '<info name="CPUModel" value="Intel(R) Xeon Phi(TM) CPU 7290 @ 1.50GHz"/>'
        + "".join(tile.format(2 * n, 2 * n + 1) for n in range(tiles))
        + "</object></object></topology>"
    )
    return path


@pytest.mark.parametrize("tiles", [30, 36, 38])
def test_fewer_and_more_tiles_than_the_mesh_has_in_use(tmp_path, tiles):
    """The 7290 has 36: two of the four disabled positions come into use."""
    machine = ss.machine(phi_7290(tmp_path / "phi.xml", tiles))
    assert (machine.n_tiles, machine.structure.kind) == (tiles, "mesh")
    assert fact(machine, "cores.clock").value == 1.5
    if tiles == 30:
        assert machine.hops(0).tolist() == ss.machine("knl-7250[cores=60]").hops(0).tolist()


def test_more_tiles_than_the_mesh_has_positions(tmp_path):
    with pytest.raises(MachineError, match="39 tiles; the mesh has positions for 38"):
        ss.machine(phi_7290(tmp_path / "phi.xml", 39))
    assert sample("clusters-1.11.xml").n_tiles == 3


def test_without_like_everything_missing_is_named():
    with pytest.raises(MachineError) as caught:
        sample("two-sockets-2.0.xml")
    told = str(caught.value)
    path = str(SAMPLES / "two-sockets-2.0.xml")
    assert told.startswith(f"{path}: unnamed processor: 2 packages, 2 NUMA nodes")
    for missing in (
        "cores.flop_per_cycle",
        "memory.modes",
        "structure.other_socket",
        "runtime",
        "xeon-8160x2",
    ):
        assert missing in told
    assert "it says nothing of itself" in told
    assert "[core=NAME] to take them from a core of the table" in told
    assert "or [like=NAME] from a machine" in told
    assert "a core of the table, as nehalem, " in told
    assert "like=host" not in told


def test_variations_that_cannot_be():
    with pytest.raises(SpecError, match="no machine is called 'nothing'"):
        sample("two-sockets-2.0.xml", like="nothing")
    assert sample("two-sockets-2.0.xml", like="xeon-8160x2", cores=15).n_cores == 16
    with pytest.raises(MachineError, match=r"no parameter 'memory\.bandwith'"):
        sample("two-sockets-2.0.xml", **{"like": "xeon-8160x2", "memory.bandwith": 3})


def test_numbers_known_better_stand_behind_like():
    machine = sample(
        "two-sockets-2.0.xml", **{"like": "xeon-8160x2", "bandwidth_Bps": 3e11, "structure.other_socket": 250}
    )
    assert machine.bandwidth_Bps == 3e11
    assert machine.transfer_s(0)[8] == pytest.approx(250e-9)
    resized = sample("two-sockets-2.0.xml", like="xeon-8160x2", cores=32)
    assert resized.structure.sockets == (16, 16)
    assert ss.machine(str(resized)) == resized


def test_gzip_and_a_file_of_ones_own_to_be_like(tmp_path):
    packed = tmp_path / "node.xml.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "two-sockets-2.0.xml").read_bytes()))
    mine = tmp_path / "mine.toml"
    shutil.copy(Path(ss.__file__).parent / "hwmodels" / "xeon-8160x2.toml", mine)
    machine = ss.machine(f"{packed}[like={mine}]")
    assert machine.n_cores == 16
    assert machine.content["name"] == "node"
    assert fact(machine, "runtime.pop").source.startswith(f"taken from {mine}: ")


@pytest.mark.parametrize(
    ("called", "name"),
    [("节点_1", "1"), ("é.a", "a"), ("a b", "a-b"), ("-x-", "x"), ("节点", "machine"), ("node.1", "node.1")],
)
def test_files_of_any_name(tmp_path, called, name):
    shutil.copy(SAMPLES / "two-sockets-2.0.xml", tmp_path / f"{called}.xml")
    assert ss.machine(f"{tmp_path}/{called}.xml[like=generic]").content["name"] == name


def test_variations_of_a_stand_in_count():
    like = "xeon-8160x2[bandwidth_Bps=1e11,runtime.dispatch=7,structure.other_socket=200,contention=false]"
    machine = sample("two-sockets-2.0.xml", like=like, cores=8)
    assert (machine.n_cores, machine.bandwidth_Bps, machine.runtime.dispatch_s) == (
        8,
        1e11,
        pytest.approx(7e-9),
    )
    assert machine.transfer_s(0)[4] == pytest.approx(200e-9)
    assert not machine.effects.any
    assert fact(machine, "runtime.dispatch").source.endswith("varied: xeon-8160x2[runtime.dispatch=7]")
    assert ss.machine(str(machine)) == machine


def test_variations_of_a_stand_in_that_are_none_of_its_numbers():
    with pytest.raises(MachineError, match=r"write it behind: \[like=knl-7250,cores=8\]"):
        sample("two-sockets-2.0.xml", like="knl-7250[cores=8]")


def test_every_machine_can_stand_in():
    for name in ("generic", "knl-7210", "knc-7120p", "sw26010", "xeon-8160x2", "epyc-9654x2"):
        machine = sample("two-sockets-2.0.xml", like=name)
        assert (machine.n_cores, machine.smt_ways, machine.structure.kind) == (16, 2, "sockets")
        assert len(machine.compute_throughput) == 2


PARTS = [
    *(
        'os_index="0"',
        'os_index="3"',
        'cpuset="0x0000000f"',
        'cache_size="1048576"',
        'local_memory="25769803776"',
    ),
    *(
        'type="Core"',
        'type="Package"',
        'type="NUMANode"',
        'type="Cache"',
        "7250 @ 1.40GHz",
        'value="87"',
        "</object>",
    ),
    *("10 13", 'latency value="1.0', 'cpuset="0x000000f0"'),
]
OTHERS = [
    *(
        'os_index="131071"',
        'cpuset="0xf...f"',
        'cache_size="0"',
        'cache_size="1"',
        'type="Group"',
        'type="Cache"',
    ),
    *('local_memory="1"', "7290 @ 99.9GHz", 'value="133"', "", "<object type='PU' os_index='77'/></object>"),
    *("0 0", 'latency value="0.0', 'cpuset="0x1"'),
]


@settings(max_examples=50)
@given(
    name=st.sampled_from(["clusters-1.11.xml", "sockets-1.2.xml", "mixed-3.0.xml"]),
    edits=st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(OTHERS), st.integers(0, 5)), max_size=5),
    like=st.sampled_from(["", "[core=zen2]", "[like=knl-7250]", "[like=xeon-8160x2,cores=12]"]),
)
def test_other_files_give_a_machine_or_an_error(tmp_path_factory, name, edits, like):
    text = (SAMPLES / name).read_text()
    for before, after, nth in edits:
        parts = text.split(before)
        cut = nth % len(parts)
        text = before.join(parts[:cut]) + (after if cut else "") + before.join(parts[cut:])
    path = tmp_path_factory.getbasetemp() / "edited.xml"
    path.write_text(text)
    assert machine_or_error(f"{path}{like}")


def machine_or_error(spec):
    """Tell whether a spec gives a machine that is whole, or an error that names it."""
    try:
        machine = ss.machine(spec)
    except MachineError as error:
        return spec.partition("[")[0] in str(error)
    distances = machine.transfer_s(machine.n_cores - 1)
    return distances.shape == (machine.n_cores,) and machine.bandwidth_Bps > 0 and machine.n_domains >= 1


def test_distances_of_nothing(tmp_path):
    """Rated 0, or of domains of which one alone has cores: latency of other domains is by their cache lines."""
    text = (SAMPLES / "sockets-1.2.xml").read_text()
    path = tmp_path / "zero.xml"
    path.write_text(text.replace('latency value="1.0', 'latency value="0.0'))
    machine = ss.machine(f"{path}[like=knl-7250]")
    assert machine.memory.assumes_remote
    path.write_text(text.replace('os_index="1" cpuset="0x000000f0"', 'os_index="1" cpuset="0x0"', 1))
    assert ss.machine(f"{path}[like=knl-7250]").n_cores == 4


def test_a_schedule_on_it():
    """Sixteen tasks of one second on sixteen cores take one second."""
    graph = ss.TaskGraph.from_edges([1.0] * 16, [])
    machine = sample("two-sockets-2.0.xml", like="generic")
    schedule = ss.simulate(graph, machine, "critical-path", layout="16x1")
    assert schedule.makespan_s == pytest.approx(1.0)


def test_a_stand_in_that_nobody_named_is_said():
    """A ring of four threads a core is a Knights Corner, of which the file has no clock."""
    assert not any("like= names" in note for note in sample("two-sockets-2.0.xml", like="xeon-8160x2").notes)
    (note,) = ss.machine(shared("Intel-KnightsCorner-XeonPhi-SE10P.xml")).notes
    assert note == "what its file does not say is taken from knc-7120p; like= names another machine"
