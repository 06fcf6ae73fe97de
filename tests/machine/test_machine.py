"""Machine files: read, checked, varied."""

import re
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import MachineError, SpecError
from simsched.plugins import registered

GOOD = Path(ss.__file__).parent / "hwmodels" / "generic.toml"


@pytest.mark.parametrize("name", registered("machines"))
def test_built_in_machines_load(name):
    machine = ss.machine(name)
    assert str(machine) == name
    assert machine.n_tiles * machine.cores_per_tile == machine.n_cores
    facts = machine.describe()
    assert list(facts.columns) == ["key", "value", "unit", "source", "confidence"]
    assert (facts["source"] != "").all()
    assert str(machine.n_cores) in machine._repr_html_()


def test_knl_in_numbers():
    """1.4 GHz x 64 FLOP x 0.603 = 54 GFLOP/s a core; two cache-line transfers of 91.1 ns a dispatch."""
    knl = ss.machine("knl-7250")
    assert (knl.n_cores, knl.n_tiles, knl.smt_ways) == (68, 34, 4)
    assert knl.core_flops == pytest.approx(54.03e9, rel=1e-3)
    assert knl.bandwidth_Bps == 343.2e9
    assert knl.runtime.dispatch_s == pytest.approx(182.2e-9)
    assert knl.runtime.fork_join_s == pytest.approx(8.5e-6)


def test_variations_print_themselves():
    machine = ss.machine("knl-7250[cores=128,bandwidth_Bps=1e12]")
    assert machine.n_tiles == 64
    assert machine.bandwidth_Bps == 1e12
    assert ss.machine(str(machine)) == machine
    again = machine.varied({"cores": 6})
    assert str(again) == "knl-7250[cores=6,bandwidth_Bps=1000000000000.0]"
    assert ss.machine(str(again)) == again


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


BROKEN = [
    ("value = 16, ", "value = 0, ", r"cores\.count: 0 is too small; the least is 1"),
    ("value = 16, ", "value = 1.5, ", "not a whole number"),
    ("value = 16, ", 'value = "many", ', r"cores\.count\.value: .*\(got 'many'\)"),
    ("value = 16, ", "value = nan, ", "finite"),
    ("value = 16, ", 'value = "68", ', "valid number"),
    ("value = 16, ", "value = true, ", "valid number"),
    ("schema = 1", "deep = " + "[" * 5000 + "]" * 5000 + "\nschema = 1", "nested too deep"),
    ('unit = "GHz"', 'unit = "GB/s"', r"cores\.clock: unit 'GB/s' does not measure frequency; expected one of 'Hz'"),
    ('confidence = "high"', 'confidence = "sure"', "mistakes: .*confidence"),
    ("schema = 1", "schema = 2", "schema: Input should be 1"),
    ("[memory]", "[memory]\nspeed = 3", r"memory\.speed: Extra inputs"),
    ("[runtime]", "[runtimes]", r"2 mistakes: .*runtime: Field required.*runtimes: Extra"),
    ("value = 1,    unit = \"core/tile\"", "value = 3,    unit = \"core/tile\"", "16 cores are not whole tiles of 3"),
    ("schema = 1", "schema = ", "not a TOML file"),
    ("value = 160.0", "value = 0", "too small; it must be above 0"),
    ("sustained      = { value = 1.0", "sustained      = { value = 1.5", "too large; the most is 1"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says"), BROKEN)
def test_every_mistake_is_named(tmp_path, old, new, says):
    text = GOOD.read_text()
    assert old in text
    path = tmp_path / "broken.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(MachineError, match=f"{re.escape(str(path))}: .*{says}"):
        ss.machine(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(MachineError, match="No such file"):
        ss.machine(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(MachineError, match="not a TOML file"):
        ss.machine(tmp_path / "latin.toml")


def test_unknown_names():
    with pytest.raises(SpecError, match="no machine is called 'knl'; there are: generic, knl-7250"):
        ss.machine("knl")


def test_impossible_runtime_costs():
    with pytest.raises(MachineError, match="dispatch_s is -1"):
        ss.RuntimeProfile(dispatch_s=-1)


def test_demands_that_cannot_be_counted_are_refused():
    with pytest.raises(MachineError, match="can ask for more together than can be counted"):
        ss.machine("generic[cores=1024,bandwidth_Bps=1e16,share_bandwidth=true]")
    assert ss.machine("generic[cores=1024,bandwidth_Bps=1e14,share_bandwidth=true]").share_bandwidth
