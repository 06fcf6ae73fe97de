"""The [ldm] table: mistakes are listed, numbers arrive in SI."""

import tomllib
from importlib.resources import files

import pytest
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.ldm import LdmTable, core_group


@pytest.fixture
def table():
    return tomllib.loads((files("simsched.hwmodels") / "sw26010.toml").read_text())["ldm"]


def test_numbers_arrive_in_si(table):
    group = LdmTable.model_validate(table).core_group()
    assert group.ldm_B == 65536
    assert group.cpe_flops == pytest.approx(11.6e9)
    assert group.regcomm_Bps == pytest.approx(637e9)
    assert group.dma_contiguous.block_B[-1] == 24576
    assert group.dma_contiguous.copy_Bps[-1] == pytest.approx(20.4228e9)
    assert group.mesh_rows == 8


def test_a_switch_is_true_or_false(table):
    with pytest.raises(ValidationError, match="double_buffering"):
        LdmTable.model_validate({**table, "double_buffering": "no"})


def test_the_machine_and_its_variations():
    assert core_group(ss.machine("sw26010")).spawn_join_s == pytest.approx(12e-6)
    assert core_group(ss.machine("sw26010[ldm.spawn_join=3]")).spawn_join_s == pytest.approx(3e-6)


@pytest.mark.parametrize("machine", ["sw26010", "sw26010-pro"])
def test_the_table_goes_along_with_the_cores(machine):
    """Twice the clock changed no makespan; a core of half the bandwidth made them shorter."""
    stated, graph = core_group(machine), ss.workload("lstm[layers=1,steps=4]")

    def took_s(brackets):
        return ss.simulate(graph, f"{machine}[{brackets}]", "fifo", layout="4x2").makespan_s

    same = ss.simulate(graph, machine, "fifo", layout="4x2").makespan_s
    clock_GHz, flop, one_Bps = stated.cpe_flops / 8e9, 16, ss.machine(machine).core_bandwidth_Bps / 2
    if machine == "sw26010-pro":
        clock_GHz, flop = stated.cpe_flops / 16e9, 32
    doubled = f"cores.clock={2 * clock_GHz}"
    assert core_group(f"{machine}[{doubled}]").cpe_flops == pytest.approx(2 * stated.cpe_flops)
    assert max(took_s(f"cores.flop_per_cycle={flop}"), took_s(doubled)) < 0.9 * same
    assert took_s(f"{doubled},ldm.clock={clock_GHz}") == same
    assert core_group(f"{machine}[core_bandwidth_Bps={one_Bps}]").dma_cpe_Bps == stated.dma_cpe_Bps / 2
    assert took_s(f"core_bandwidth_Bps={one_Bps}") > same


def test_a_machine_without_local_memories_is_refused():
    with pytest.raises(MachineError, match=r"generic has no local memories .* \[ldm\]"):
        core_group(ss.machine("generic"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": None}, "Field required"),
        ({"nonsense": 1}, "Extra inputs"),
        ({"size": {"unit": "KiB"}}, "does not measure size per core"),
        ({"compiled_share": {"value": 1.5}}, "the most is 1"),
        ({"gload_bandwidth": {"value": 0.0}}, "above 0"),
        ({"cpes": {"value": 63.0}}, "do not fill whole rows of 8"),
        ({"gemm_m": {"value": 0.5}}, "not a whole number"),
    ],
)
def test_mistakes_are_told(table, change, message):
    for key, new in change.items():
        if new is None:
            del table[key]
        else:
            table[key] = {**table.get(key, {}), **new} if isinstance(new, dict) else new
    with pytest.raises(ValidationError, match=message):
        LdmTable.model_validate(table)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("block", [8.0, 16.0], "as many of each"),
        ("copy_rate", [0.0] * 13, "above 0"),
        ("block", [float(size) for size in range(13, 0, -1)], "do not ascend"),
    ],
)
def test_mistakes_in_a_curve_are_told(table, key, value, message):
    table["dma_contiguous"][key] = {**table["dma_contiguous"][key], "value": value}
    with pytest.raises(ValidationError, match=message):
        LdmTable.model_validate(table)
    table["dma_contiguous"][key]["unit"] = "furlong"
    with pytest.raises(ValidationError, match="does not measure"):
        LdmTable.model_validate(table)
