"""Machine files: read, checked, varied."""

import contextlib
import re
from math import gcd
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import MachineError, SpecError
from simsched.machine.effects import NAMES, Effects
from simsched.plugins import registered

GOOD = Path(ss.__file__).parent / "hwmodels" / "generic.toml"


@pytest.mark.parametrize("name", registered("machines"))
def test_built_in_machines_load(name):
    machine = ss.machine(name)
    assert str(machine) == name
    assert machine.n_tiles * machine.cores_per_tile == machine.n_cores
    assert machine.structure.domain_of.shape == machine.structure.tile_of.shape == (machine.n_cores,)
    assert set(machine.structure.domain_of) == set(range(machine.n_domains))
    facts = machine.describe()
    assert list(facts.columns) == ["key", "value", "unit", "source", "confidence"]
    assert (facts["source"] != "").all()
    assert str(machine.n_cores) in machine._repr_html_()


def test_knl_in_numbers():
    """1.4 GHz x 64 FLOP x 0.75 = 67.2 GFLOP/s a core; two cache-line transfers of 91.1 ns a dispatch."""
    knl = ss.machine("knl-7250")
    assert (knl.n_cores, knl.n_tiles, knl.smt_ways, knl.smt, knl.n_domains) == (68, 34, 4, 1, 1)
    assert knl.core_flops == pytest.approx(67.2e9, rel=1e-9)
    assert knl.memory.name == "MCDRAM, flat"
    assert knl.runtime.dispatch_s == pytest.approx(182.2e-9)
    assert knl.l2_B == 2**20
    assert np.median(knl.transfer_s(0)[2:]) == pytest.approx(91.1e-9, rel=0.1)
    assert knl.transfer_s(0)[1] == pytest.approx(41.4e-9)
    assert knl.hops(0)[:2].tolist() == [0, 0]


def test_modes_of_a_knights_landing():
    flat, ddr, cache = (ss.machine(f"knl-7250[memory={mode}]") for mode in ("mcdram", "ddr", "cache"))
    assert ddr.bandwidth_Bps < flat.bandwidth_Bps / 4
    assert cache.memory.name != flat.memory.name
    snc = ss.machine("knl-7250[cluster=snc4]")
    assert snc.n_domains == 4
    assert np.bincount(snc.structure.domain_of).tolist() == [18, 18, 16, 16]
    assert snc.memory.remote_latency_s > snc.memory.latency_s
    a2a = ss.machine("knl-7250[cluster=a2a]")
    assert a2a.memory.latency_s > flat.memory.latency_s


def test_variations_print_themselves():
    machine = ss.machine("knl-7250[cores=128,bandwidth_Bps=1e12]")
    assert machine.n_tiles == 64
    assert machine.bandwidth_Bps == 1e12
    assert ss.machine(str(machine)) == machine
    again = machine.varied({"cores": 6})
    assert str(again) == "knl-7250[cores=6,bandwidth_Bps=1e+12]"
    assert ss.machine(str(again)) == again
    assert hash(again) == hash(ss.machine(str(again)))
    assert again != machine
    assert again != "knl-7250"


@given(
    st.sampled_from(sorted(registered("machines"))),
    st.fixed_dictionaries(
        {},
        optional={
            "cores": st.integers(1, 300),
            "smt": st.integers(1, 8),
            **{name: st.booleans() for name in NAMES},
        },
    ),
)
def test_variations_keep_the_structure_sensible_or_say_why_not(name, params):
    base = ss.machine(name)
    if params.get("smt", 1) > base.smt_ways:
        with pytest.raises(MachineError, match=r"from 1 to"):
            base.varied(params)
        return
    if params.get("cores", base.n_cores) < base.n_domains * base.cores_per_tile:
        # Every socket and domain keeps a core, which is the structure's to say.
        with contextlib.suppress(MachineError):
            base.varied(params)
        return
    machine = base.varied(params)
    assert ss.machine(str(machine)) == machine
    unit = base.cores_per_tile if base.kinds is None else base.n_cores // gcd(*base.kinds.counts)
    wanted = params.get("cores", base.n_cores)
    assert machine.n_cores % unit == 0
    assert abs(machine.n_cores - wanted) <= unit / 2 or machine.n_cores == unit > wanted
    assert machine.cores_per_tile == base.cores_per_tile or machine.n_cores < base.cores_per_tile
    structure = machine.structure
    assert structure.tile_of.shape == structure.domain_of.shape == (machine.n_cores,)
    assert (np.bincount(structure.tile_of) == machine.cores_per_tile).all()
    far = machine.n_cores - 1
    assert structure.one_way or machine.hops(0)[far] == machine.hops(far)[0]
    assert machine.transfer_s(0)[0] == 0
    assert (machine.transfer_s(far) >= 0).all()
    if list(machine.memory_throughput) == sorted(machine.memory_throughput):
        assert (np.diff(machine.reach_Bps) > -1e-3).all()


@pytest.mark.parametrize("name", registered("machines"))
def test_any_number_can_be_varied_by_its_place(name):
    base = ss.machine(name)
    for fact in base.facts:
        if isinstance(fact.value, tuple):
            continue
        key, value = fact.key, fact.value
        varied = base.varied({key: value})
        assert {f.key: f.value for f in varied.facts}[key] == value
        assert str(varied) == str(ss.machine(str(varied)))


def test_variations_by_place_are_in_the_unit_of_the_file():
    assert ss.machine("knl-7250[runtime.dispatch=200]").runtime.dispatch_s == pytest.approx(200e-9)
    facts = ss.machine("knl-7250[runtime.dispatch=200]").describe().set_index("key")
    assert facts.loc["runtime.dispatch", "value"] == 200


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("knl-7250[cores=0]", "from 1 to"),
        ("knl-7250[cores=many]", "from 1 to"),
        ("knl-7250[cores=68.5]", "from 1 to"),
        ("knl-7250[smt=5]", r"smt=5\]: expected a whole number of smt from 1 to 4"),
        ("knl-7250[smt=0]", "from 1 to 4"),
        ("knl-7250[smt=true]", "from 1 to 4"),
        ("knl-7250[memory=hbm]", "expected one of mcdram, ddr, cache$"),
        (
            "generic[memory=15]",
            "memory is a mode; expected one of memory; place_B is the size of a place, in bytes",
        ),
        ("generic[memory_B=1]", "no parameter 'memory_B'; did you mean place_B[?]"),
        ("knl-7250[cluster=snc8]", "structure.cluster: .*snc4"),
        ("xeon-8160x2[cluster=snc4]", "has no cluster modes"),
        ("knl-7250[bandwidth_Bps=0]", "too small; the least is"),
        ("knl-7250[bandwidth_Bps=-1]", "too small; the least is"),
        ("knl-7250[bandwidth_Bps=inf]", "finite"),
        ("knl-7250[bandwidth_Bps=fast]", "expected a number"),
        ("knl-7250[runtime.dispatch=-1]", "runtime.dispatch: -1 is too small"),
        ("knl-7250[runtime.dispatch=x]", "expected a number"),
        ("knl-7250[runtime.dispach=1]", "did you mean runtime.dispatch"),
        ("knl-7250[xyz=1]", "no parameter 'xyz'; it has cores, bandwidth_Bps"),
        ("knl-7250[share_tiles=1]", "expected true or false"),
        ("knl-7250[contention=yes]", "expected true or false"),
        ("knl-7250[reuse_teams=2]", "expected true or false"),
        ("knl-7250[like=generic]", "like=... is only for formats that do not"),
        ("knl-7250[cores.count=67]", "not whole tiles of 2"),
        ("knl-7250[cores.count=400]", "400|place"),
    ],
)
def test_impossible_variations(spec, says):
    with pytest.raises(MachineError, match=says):
        ss.machine(spec)


def test_numbers_of_one_kind_of_cores_are_varied_by_its_name():
    """The CPU's 3.334 GHz and 37 GB/s are those of the file's cores, and follow them; the GPU's are its own."""
    spec = "grace-hopper[core_bandwidth_Bps=1e10,cores.clock=3.0,kinds.clock.GPU=1.5]"
    machine = ss.machine(spec)
    facts = {fact.key: fact.value for fact in machine.facts}
    assert facts["kinds.clock"] == (3.0, 1.5)
    assert facts["kinds.core_bandwidth"] == (10.0, 3000)
    assert machine.kinds.flops_ratio == (1.0, 1.5 * 33792 / (3.0 * 32))
    assert machine.kinds.bandwidth_ratio == (1.0, 300.0)
    assert ss.machine(str(machine)) == machine
    with pytest.raises(MachineError, match=r"did you mean kinds\.clock\.GPU \(in GHz\)"):
        ss.machine("grace-hopper[kinds.clock.GPUs=1]")
    with pytest.raises(MachineError, match=r"kinds\.clock\.GPU=fast\]: expected a number"):
        ss.machine("grace-hopper[kinds.clock.GPU=fast]")


def test_a_slower_clock_of_the_cores_slows_down_a_cpu_beside_a_gpu():
    graph = ss.TaskGraph.from_edges([float("nan")], kinds="MatMul", flops=[1e9])
    seconds = [
        ss.simulate(graph, f"grace-hopper[cores.clock={clock}]", "fifo", "1x1").makespan_s
        for clock in (3.334, 1.667)
    ]
    assert seconds[1] == pytest.approx(2 * seconds[0])


@pytest.mark.parametrize(
    ("spec", "n_cores", "why"),
    [
        ("knl-7250[cores=1]", 2, "tiles of 2 cores stay whole"),
        ("knl-7250[cores=3]", 4, "tiles of 2 cores stay whole"),
        ("sw26010[cores=100]", 130, "tiles of 65 cores stay whole"),
        ("core-i7-1370p[cores=4]", 7, "kinds of cores keep their shares"),
        ("grace-hopper[cores=1]", 73, "kinds of cores keep their shares"),
    ],
)
def test_cores_that_the_structure_cannot_give_are_the_nearest_with_a_note(spec, n_cores, why):
    machine = ss.machine(spec)
    assert machine.n_cores == n_cores
    assert any(f"{machine} has {n_cores} cores, not" in note and why in note for note in machine.notes)
    assert ss.machine(str(machine)) == machine
    whole = machine.varied({"cores": n_cores})
    assert (whole.structure, whole.memory) == (machine.structure, machine.memory)
    assert not any("nearest" in note for note in whole.notes)


def test_each_domain_keeps_its_bandwidth():
    """Four core groups of a controller each; eight have twice the bandwidth. A mesh of more tiles has its memory."""
    four, eight = ss.machine("sw26010"), ss.machine("sw26010[cores=520]")
    assert eight.n_domains == 2 * four.n_domains
    assert eight.bandwidth_Bps == 2 * four.bandwidth_Bps
    assert ss.machine("knl-7250[cores=128]").bandwidth_Bps == ss.machine("knl-7250").bandwidth_Bps


def test_contention_is_all_effects_and_each_has_its_name():
    on, off = ss.machine("generic[contention=true]"), ss.machine("generic[contention=false]")
    assert on.effects == Effects.all()
    assert not off.effects.any
    for name in NAMES:
        one = ss.machine(f"generic[{name}=true]").effects
        assert [key for key, value in vars(one).items() if value] == [name]
    assert not ss.machine("knl-7250[contention=true,share_tiles=false]").effects.share_tiles


def test_a_machine_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        GOOD.read_text().replace('name = "generic"', 'name = "mine"').replace("value = 16, ", "value = 24, ")
    )
    assert ss.machine(str(path)).n_cores == 24
    assert ss.machine(path).spec == str(path)
    varied = ss.machine(f"{path}[cores=8]")
    assert ss.machine(str(varied)) == varied
    assert varied.n_cores == 8


@pytest.mark.parametrize("folder", ["runs [1]", "a]b[", "[", "x[cores=4]"])
def test_brackets_of_a_path_are_not_variations(tmp_path, folder):
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "mine[2].toml"
    path.write_text(GOOD.read_text())
    assert ss.machine(path).n_cores == 16
    varied = ss.machine(f"{path}[cores=8]").varied({"share_tiles": True})
    assert (varied.n_cores, varied.spec) == (8, f"{path}[cores=8,share_tiles=true]")
    assert ss.machine(str(varied)) == varied


BROKEN = [
    ("value = 16, ", "value = 0, ", r"cores\.count: 0 is too small; the least is 1"),
    ("value = 16, ", "value = 1.5, ", "not a whole number"),
    ("value = 16, ", 'value = "many", ', r"cores\.count\.value: .*\(got 'many'\)"),
    ("value = 16, ", "value = nan, ", "finite"),
    ("value = 16, ", 'value = "68", ', "valid number"),
    ("value = 16, ", "value = true, ", "valid number"),
    ("schema = 2", "deep = " + "[" * 5000 + "]" * 5000 + "\nschema = 2", "nested too deep"),
    ('unit = "GHz"', 'unit = "GB/s"', r"cores\.clock: unit 'GB/s' does not measure frequency; expected one of 'Hz'"),
    ('confidence = "high"', 'confidence = "sure"', r"mistakes:\n.*confidence"),
    ("schema = 2", "schema = 1", "schema: Input should be 2"),
    ("[memory]", "[memory]\nspeed = 3", r"memory\.speed: unknown key"),
    ("[memory]", "[ldn]\nsize = 3\n[memory]", r"ldn: unknown key"),
    ('kind = "flat"', 'kind = "tree"', r"structure\.kind: expected one of core_groups, flat, mesh.*got 'tree'"),
    ('kind = "flat"', 'kind = "mesh"', r"structure\.layout: missing.*structure\.cluster"),
    ('mode = "memory"', 'mode = "hbm"', "mode 'hbm' is none of memory"),
    ("share_tiles        = false", "share_tiles = 1", r"effects\.share_tiles: .*boolean"),
    ("[runtime]", "[caches]\ntile_slowdown = { value = 0.5, unit = '', source = 'x', confidence = 'low' }\n[runtime]",
     r"caches\.tile_slowdown: 0.5 is too small; the least is 1"),
    ("sustained ", "compute_throughput = { value = [1, 2], unit = '', source = 'x', confidence = 'low' }\nsustained ",
     "compute_throughput has 2 numbers; expected one for each of the 1 ways"),
    ("sustained ", "compute_throughput = { value = [0.5], unit = '', source = 'x', confidence = 'low' }\nsustained ",
     "the first is 0.5"),
    ("[runtime]", "[runtimes]", r"2 mistakes:\n.*runtime: missing.*runtimes: unknown"),
    ("value = 1,    unit = \"core/tile\"", "value = 3,    unit = \"core/tile\"", "16 cores are not whole tiles of 3"),
    ("schema = 2", "schema = ", "not a TOML file"),
    ("value = 160.0", "value = 0", "too small; the least is"),
    ("sustained      = { value = 1.0", "sustained      = { value = 1.5", "too large; the most is 1"),
]  # fmt: skip


def broken(folder, old, new):
    """Write the good file with one text in the place of another, and return its path."""
    text = GOOD.read_text()
    assert old in text
    path = folder / "broken.toml"
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(("old", "new", "says"), BROKEN)
def test_every_mistake_is_named(tmp_path, old, new, says):
    path = broken(tmp_path, old, new)
    with pytest.raises(MachineError, match=f"(?s){re.escape(str(path))}: .*{says}"):
        ss.machine(path)


QUANTITY = "{{ value = {}, unit = 'ns', source = 'x', confidence = 'low' }}"
NEAR, FAR, BARE = (
    f"{key} = {QUANTITY.format(value)}"
    for key, value in (("latency.any", 90), ("remote_latency.any", 9), ("latency", 90))
)
#: What a rule of ours says of a number or a table stands alone, at the end, not with the whole table after it.
ALONE = [
    ('value = 1.0,  unit = "GHz"', 'value = 1e9, unit = "GHz"', "clock: 1e+09 is too large; the most is 1000 GHz"),
    ('value = 1.0,  unit = "GHz"', 'value = 1.0, unit = "Hz"', "clock: 1 is too small; the least is 1000 Hz"),
    ('value = 160.0, unit = "GB/s"', 'value = 160, unit = "B/s"', "160 is too small; the least is 1000 B/s"),
    ('unit = "GHz"', 'unit = "GiB"', "expected one of 'Hz', 'MHz', 'GHz'"),
    ('mode = "memory"', 'mode = "hbm"', "mode 'hbm' is none of memory"),
    ("[runtime]", f"{BARE}\n[runtime]", "memory.modes.memory.latency: expected a number by cluster mode; "
     "where there are none, latency.any = { value, ... }"),
    ("[runtime]", f"{FAR}\n[runtime]", "remote_latency.any needs a latency.any, too"),
    ("[runtime]", f"{NEAR}\n{FAR}\n[runtime]",
     "remote_latency.any, 9 ns, is less than latency.any, 90 ns; the other way round?"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says"), ALONE)
def test_mistakes_of_numbers_end_with_what_to_do(tmp_path, old, new, says):
    path = broken(tmp_path, old, new)
    with pytest.raises(MachineError, match=f"{re.escape(f'{path}: 1 mistake: ')}.*{re.escape(says)}$"):
        ss.machine(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(MachineError, match="no such file"):
        ss.machine(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(MachineError, match="not a TOML file"):
        ss.machine(tmp_path / "latin.toml")


def test_unknown_names():
    with pytest.raises(
        SpecError, match=r"no machine is called 'knl'; it is a core .*; built in is .*knl-7250"
    ):
        ss.machine("knl")
    with pytest.raises(
        MachineError,
        match=r"'mine.tml' is neither the name of a machine nor a file whose name ends with \.toml",
    ):
        ss.machine("mine.tml")


def test_a_space_may_stand_before_the_brackets(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.read_text())
    assert str(ss.machine(f"{path} [cores=8]")) == f"{path}[cores=8]"
    assert str(ss.machine("generic [cores=8]")) == "generic[cores=8]"


def test_impossible_runtime_costs():
    with pytest.raises(MachineError, match="dispatch_s is -1"):
        ss.RuntimeProfile(dispatch_s=-1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dispatch_s": "x"}, "dispatch_s is 'x'"),
        ({"pop_s": None}, "pop_s is None"),
        ({"fork_join_s": np.array([1.0, 2.0])}, r"fork_join_s is array"),
        ({"reuse_teams": "false"}, "reuse_teams is 'false'; expected True or False"),
        ({"reuse_teams": None}, "reuse_teams is None"),
    ],
)
def test_runtime_costs_of_another_type(given, says):
    with pytest.raises(MachineError, match=says):
        ss.RuntimeProfile(**given)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"bandwidth_Bps": None}, "expected a number"),
        ({"cores.clock": [1]}, "expected a number"),
        ({"bandwidth_Bps": 10**400}, r"expected a number of at most 1\.8e\+308"),
        ({"memory": ["ddr"]}, "expected one of mcdram"),
        ({1: 2}, "expected variations by name"),
        ("cores=8", r"expected variations by name, as in \{'cores': 8\} \(got 'cores=8'\)"),
        ({"like": "generic"}, r"it has its numbers already; .* knl-7250\[like=generic\]"),
    ],
)
def test_variations_of_another_type(params, says):
    with pytest.raises(MachineError, match=says):
        ss.machine("knl-7250[smt=2]").varied(params)


def test_demands_that_cannot_be_counted_are_refused():
    with pytest.raises(MachineError, match="can ask for more together than can be counted"):
        ss.machine("generic[cores=1024,bandwidth_Bps=1e16,share_bandwidth=true]")
    assert ss.machine("generic[cores=1024,bandwidth_Bps=1e14,share_bandwidth=true]").effects.share_bandwidth


@pytest.mark.parametrize(
    ("content", "variation", "says"),
    [
        ("title = 'x'", "memory=cache", "memory: missing"),
        ("title = 'x'", "bandwidth_Bps=1", "memory: missing"),
        ("title = 'x'", "cluster=a2a", "structure: expected a table"),
        ("effects = 3", "contention=true", "effects: "),
        ("structure = 3", "cluster=a2a", r"structure: expected a table \(got 3\)"),
        ("structure.kind = []", "cores=4", r"structure.kind: expected one of .*\(got \[\]\)"),
    ],
)
def test_variations_of_broken_files_tell_the_mistakes_of_the_file(tmp_path, content, variation, says):
    path = tmp_path / "broken.toml"
    path.write_text(content)
    for source in (str(path), f"{path}[{variation}]"):
        with pytest.raises(MachineError, match=says):
            ss.machine(source)


def test_all_mistakes_are_listed_at_once(tmp_path):
    text = (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(
        text.replace("value = 68,", "value = 66,", 1)
        .replace("[caches]", "[caches]\nl4 = 3")
        .replace("value = 1.40", "value = 0")
    )
    with pytest.raises(MachineError, match=r"mine\.toml: 3 mistakes:\n") as caught:
        ss.machine(path)
    _, *lines = str(caught.value).split("\n")
    for line, told in zip(
        sorted(lines), ("caches.l4: unknown key", "cores.clock: 0 is too small", "structure: "), strict=True
    ):
        assert line.startswith(f"  {told}")


def test_latencies_of_other_cluster_modes_alone_are_a_mistake(tmp_path):
    """They would count for nothing in silence, and a remote access cost no more than a local one."""
    knl = (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(line for line in knl.splitlines() if "latency.snc4" not in line))
    assert ss.machine(path).memory.latency_s == pytest.approx(154e-9)
    with pytest.raises(
        MachineError, match=r"latency: 'a2a', 'quadrant' and nothing .* expected .*\.snc4 or .*\.any"
    ):
        ss.machine(f"{path}[cluster=snc4]")
    path.write_text(knl.replace("latency.quadrant", "latency.quadrat"))
    with pytest.raises(MachineError, match=r"memory\.modes\.mcdram\.latency: .*'quadrat'"):
        ss.machine(path)


def test_latencies_of_any_cluster_mode(tmp_path):
    """Stated for any: 154 ns, with which a core moves 10.5 GB/s; in SNC-4 150.5, so 10.5 x 154 / 150.5."""
    knl = (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(knl.replace("latency.quadrant", "latency.any     "))
    assert ss.machine(f"{path}[cluster=snc4]").core_bandwidth_Bps == pytest.approx(10.5e9 * 154 / 150.5)


def test_what_is_varied_says_so():
    knl = ss.machine("knl-7250[bandwidth_Bps=1e11,cores=72,runtime.dispatch=7]").describe().set_index("key")
    for key, value in (("memory.modes.mcdram.bandwidth", 1e11), ("cores.count", 72), ("runtime.dispatch", 7)):
        assert knl.loc[key, "value"] == value
        assert knl.loc[key, "source"].startswith("varied: knl-7250[")
        assert knl.loc[key, "confidence"] == "unverified"
    assert knl.loc["runtime.pop", "source"] != ""


def test_stated_bandwidths_are_taken_at_their_word():
    """Not scaled with the domains, nor with the latency of another cluster mode; and no number is set twice."""
    assert ss.machine("sw26010[cores=520,bandwidth_Bps=1e11]").bandwidth_Bps == 1e11
    assert ss.machine("knl-7250[cluster=snc4,core_bandwidth_Bps=1e10]").core_bandwidth_Bps == 1e10
    with pytest.raises(MachineError, match="sets the same number; give one of them"):
        ss.machine("knl-7250[bandwidth_Bps=1e11,memory.modes.mcdram.bandwidth=100]")


def test_a_later_contention_wins():
    machine = (
        ss.machine("knl-7250[contention=true]").varied({"share_tiles": True}).varied({"contention": False})
    )
    assert not machine.effects.any
    assert ss.machine(str(machine)) == machine


def test_larger_interconnects_are_built_for_their_cores():
    assert ss.machine("knl-7250[cores=680]").interconnect_share == pytest.approx(0.1)
    assert ss.machine("knl-7250[cores=34]").interconnect_share == 1
    assert ss.machine("sw26010[cores=520]").interconnect_share == 1


def test_variations_share_what_they_leave_as_it_is():
    """The structure, which takes longest to make; and no number of the file, each of which may be varied."""
    machine = ss.machine("knl-7250")
    one, other = (machine.varied({"runtime.dispatch": dispatch}) for dispatch in (100, 200))
    assert one.structure is other.structure
    assert machine.varied({"structure.hop_x": 2}).structure is not one.structure
    assert [fact.value for fact in one.facts if fact.key == "runtime.dispatch"] == [100]
    assert machine.content["runtime"]["dispatch"]["value"] == 182.2
