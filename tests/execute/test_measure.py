"""Measuring the host: its probes, its machine file, predictions from it. No test depends on how long anything takes."""

import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Overheads
from simsched.errors import EngineError
from simsched.execute.crosscheck.verdict import sentences
from simsched.execute.kernels.module import module
from simsched.execute.measure import measuring
from simsched.execute.measure.machine_file import Numbers, quantity, toml
from simsched.execute.measure.measured import Measured
from simsched.execute.measure.measuring import PRODUCTS, Probes, counts, pairs, sizes_graphs, undisturbed
from simsched.hwmodels.host import cpus
from simsched.intervals import Interval
from simsched.machine.build import built
from simsched.spec import Spec


def few():
    """Return the one graph of sizes that is measured here."""
    graph = ss.TaskGraph.from_edges(
        [math.nan] * 4, kinds=["MatMul"] * 4, shapes=[f"{n}x32;32x32" for n in (16, 32, 48, 64)],
        flops=[2.0 * n * 32 * 32 for n in (16, 32, 48, 64)], bytes_B=[4.0 * (64 * n + 1024) for n in (16, 32, 48, 64)],
    )  # fmt: skip
    return [graph]


@pytest.fixture(scope="module")
def measured():
    """Return what a host is, measured with few and small ops."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "sizes_graphs", few)
        patch.setattr(measuring, "LEAST_STREAM_B", 3e5)
        patch.setattr(measuring, "OVER_CACHES", 0.0)
        yield ss.measure(repeats=2)


def test_every_number_is_measured_and_the_file_is_a_machine(measured, tmp_path):
    measured.save(tmp_path / "mine.toml")
    machine, host = ss.machine(tmp_path / "mine.toml"), ss.machine("host")
    assert machine.n_cores == host.n_cores
    assert machine.clocks.nominal_Hz == measured.machine.clocks.nominal_Hz
    sources = {fact.key: fact.source for fact in machine.facts}
    mode = f"memory.modes.{host.content['memory']['mode']}"
    assert {key for key, source in sources.items() if source.startswith("measured")} >= {
        "cores.clock", "cores.sustained", f"{mode}.core_bandwidth", f"{mode}.bandwidth", "runtime.dispatch",
    }  # fmt: skip
    assert sources["cores.count"] == {fact.key: fact.source for fact in host.facts}["cores.count"]
    loaded = ss.Calibration.load(tmp_path / "mine.costs.json")
    assert loaded.ops == measured.calibration.ops


def test_the_table_compares_with_the_machine_host(measured):
    host = {fact.key: fact.value for fact in ss.machine("host").facts}
    table = measured.table
    assert (table["host"] == [host.get(name, math.nan) for name in table["number"]]).all()
    assert ((table["low"] <= table["measured"]) & (table["measured"] <= table["high"])).all()
    assert measured.plot().get_xlabel() == "over the number of the machine host"
    told = json.dumps(measured.to_json_object(), default=float)
    assert '"clocks"' in told


@pytest.mark.parametrize(("less", "doubted"), [(1.01, False), (1.5, True)])
def test_cores_that_together_move_less_than_one_were_disturbed(measured, less, doubted):
    alone = measured.streams.to_dict("records")[0]
    rates = {name: alone[name] / less for name in ("rate_Bps", "low_Bps", "high_Bps")}
    found = replace(measured, streams=ss.Result.of([alone, {**alone, "domain": -1, "cores": 2, **rates}]))
    notes = [
        note for note in found.notes if "less than on one: others disturbed the memory meanwhile" in note
    ]
    assert bool(notes) == doubted
    assert ("on 2 cores (less than on one" in found.toml()) == doubted


def test_other_sizes_are_predicted_and_no_case_is_run_to_calibrate(measured, monkeypatch):
    graph = ss.TaskGraph.from_edges(
        [math.nan] * 2,
        [(0, 1)],
        kinds="MatMul",
        shapes="40x32;32x32",
        flops=[81920.0] * 2,
        bytes_B=[14336.0] * 2,
    )
    alone = measured.simulate(graph, "fifo", "1x1")
    seconds = alone.finish_s - alone.start_s
    by_size = measured.costs.measured.curve
    ends = [float(by_size(op)(np.array([1]))[0]) for op in measured.calibration.ops]
    assert min(ends) / 4 < seconds[0] < 4 * max(ends)
    check = ss.crosscheck({"two": graph}, ["fifo"], ["1x1"], repeats=2, measured=measured)
    assert check.table["predicted_s"].tolist() == [alone.makespan_s]
    assert check.calibration is measured.calibration


def test_a_host_that_has_become_slower_is_told_from_a_wrong_model(measured, monkeypatch):
    monkeypatch.setattr(measuring, "sizes_graphs", few)
    spin = ss.TaskGraph.from_edges([1e-5], kinds="spin")
    assert 0 < ss.crosscheck(spin, ["fifo"], ["1x1"], repeats=1, measured=measured).drift < math.inf
    # Whatever runs now, its ops take a quarter longer than before on one thread.
    longer = [
        replace(
            one, points=tuple(replace(point, seconds=1.25 * point.seconds) for point in one.points), fits=()
        )
        for one in measured.calibration.ops
    ]
    monkeypatch.setattr(measuring, "calibrated", lambda runs: SimpleNamespace(ops=longer))
    check = ss.crosscheck(spin, ["fifo"], ["1x1"], repeats=1, measured=measured)
    assert check.drift == check.summary()["drift"] == pytest.approx(1.25)
    assert "Since it was measured, the host has become 25 % slower" in check.to_markdown()
    assert "Measure it again." in check.to_markdown()

    for drift, said in (
        (0.98, "has become 2 % faster, as"),
        (1.02, "has become 2 % slower, as"),
        (math.nan, ""),
    ):
        text = " ".join(sentences({**check.summary(), "drift": drift}))
        assert said in text
        assert ("Since it was measured" in text) == bool(said)
        assert "Measure it again" not in text


def test_triads_lie_where_they_are_written_first():
    """A worker without elements writes for another one; all rounds of the first are timed."""
    cpu = cpus()[0][0]
    begin, end = module().triad_times(module().Crew([[cpu]]), [0], [1000], 3, 30.0, 2.0)
    assert (end >= begin).all()
    assert len(begin) == 3
    with pytest.raises(ValueError, match="homes are workers"):
        module().triad_times(module().Crew([[cpu]]), [1], [1000], 3, 30.0, 2.0)
    with pytest.raises(ValueError, match="has no 2 workers"):
        module().addition_times(module().Crew([[cpu]]), 2, 100, 3, 30.0, 2.0)
    with pytest.raises(ValueError, match="a round or more"):
        module().addition_times(module().Crew([[cpu]]), 1, 100, 0, 30.0, 2.0)


def test_steps_are_what_progress_counts():
    done = []
    own = [core[0] for core in cpus()][:2]
    probes = Probes(own, np.zeros(len(own), np.int32), 3e4, done.append)
    rows = [*probes.clocks(), *probes.streams(), *probes.lines()]
    assert sum(done) == probes.steps == len(rows)


def test_streams_of_several_domains():
    """One core in each of three domains, all of them one CPU: the first on its own memory, on both others, and all."""
    done = []
    probes = Probes([cpus()[0][0]] * 3, np.arange(3, dtype=np.int32), 3e4, done.append)
    rows = probes.streams()
    places = [(row["domain"], row["home"], row["cores"]) for row in rows]
    assert places == [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, -1, 1), (-1, -1, 3)]
    assert sum(done) == len(rows) == probes.steps - len(counts(3)) - len(pairs(3))


def test_which_cores_and_pairs():
    assert counts(1) == [1]
    assert counts(6) == [1, 2, 4, 6]
    assert pairs(1) == []
    assert len(pairs(2)) == 1
    assert len(set(pairs(500))) == len(pairs(500)) <= 120
    assert undisturbed([3.0]) == Interval(3.0, 3.0, 3.0)


def test_sizes_are_of_no_common_layer():
    """Powers of two, which networks have, are left for predictions; but 16 rows, and a square of 256."""
    assert len(set(PRODUCTS)) == len(PRODUCTS)
    assert not {(32, 128, 512), (64, 128, 128), (64, 512, 512)} & set(PRODUCTS)
    assert all(graph.n_edges == 0 and not np.isnan(graph.flops).any() for graph in sizes_graphs())


def test_machine_files_by_hand():
    """Two cores at 3 and 2 GHz; 16 FLOP a cycle of 32; 10 and 15 GB/s; a line in 50 ns."""
    host = ss.machine("host[cores=1]")
    numbers = Numbers(
        clocks=[{"busy": n, "clock_Hz": hz, "low_Hz": hz, "high_Hz": hz} for n, hz in ((1, 3e9), (2, 2e9))],
        streams=[
            {"domain": 0, "home": 0, "cores": 1, "rate_Bps": 10e9, "low_Bps": 9e9, "high_Bps": 11e9},
            {"domain": 0, "home": 0, "cores": 2, "rate_Bps": 15e9, "low_Bps": 14e9, "high_Bps": 30e9},
        ],
        lines=[{"first": 0, "second": 0, "line_s": 5e-8}],
        products=[{"shape": "8x8;8x8", "flops_per_s": 16 * 2e9, "low": 3e10, "high": 3.3e10}],
        overheads=Overheads(dispatch_s=1.5e-7),
    )
    content = tomllib.loads(toml(numbers.content(host)))
    assert content["cores"]["clock"]["value"] == 2.0
    assert content["cores"]["busy_clock"]["scalar"]["value"] == [3.0, 2.0]
    assert content["cores"]["sustained"]["value"] * content["cores"]["flop_per_cycle"]["value"] == 16
    mode = content["memory"]["modes"][content["memory"]["mode"]]
    assert (mode["core_bandwidth"]["value"], mode["core_bandwidth"]["confidence"]) == (10.0, "med")
    assert (mode["bandwidth"]["value"], mode["bandwidth"]["confidence"]) == (15.0, "low")
    assert content["runtime"]["dispatch"]["value"] == pytest.approx(150)


def test_memory_of_other_domains():
    """A core reaches 20 GB/s of its own memory, 16 and 10 of two others: 1.25 and 2 times as long, 1.625 in the middle.

    Its domain's four cores reach 80 GB/s of their own, and 30 of the others together.
    """
    host = ss.machine(f"{Path(__file__).parents[1] / 'machine/samples/sockets-1.2.xml'}[like=knl-7250]")
    flat = [
        (0, 0, 1, 20e9),
        (0, 0, 4, 80e9),
        (0, 1, 1, 16e9),
        (0, 2, 1, 10e9),
        (0, -1, 4, 30e9),
        (-1, -1, 12, 2e11),
    ]
    numbers = Numbers(
        clocks=[{"busy": 12, "clock_Hz": 2e9, "low_Hz": 2e9, "high_Hz": 2e9}],
        streams=[
            {"domain": d, "home": home, "cores": n, "rate_Bps": rate, "low_Bps": rate, "high_Bps": rate}
            for d, home, n, rate in flat
        ],
        lines=[],
        products=[{"shape": "8x8;8x8", "flops_per_s": 2e10, "low": 2e10, "high": 2e10}],
        overheads=Overheads(),
    )
    content = tomllib.loads(toml(numbers.content(host)))
    mode = content["memory"]["modes"][content["memory"]["mode"]]
    assert mode["remote_latency"]["any"]["value"] == pytest.approx(
        1.625 * mode["latency"]["any"]["value"], rel=1e-4
    )
    assert "latency times 1.62" in mode["remote_latency"]["any"]["source"]
    assert mode["link_bandwidth"]["value"] == 30.0
    machine = built(content, Spec("measured", {}))
    assert machine.memory.remote_penalty == pytest.approx(1.625, rel=1e-4)
    assert not machine.memory.assumes_remote


def test_text_of_machine_files():
    nasty = {"name": 'a"b\\\x7f\n', "cores": {"of one": quantity(Interval(1.0, 1.0, 1.0), "GHz", "")}}
    assert tomllib.loads(toml(nasty)) == nasty


@pytest.mark.parametrize("machine", ["host[cores=1]", "grace", "host[like=grace,smt=1]"])
def test_only_this_host_is_measured(machine):
    with pytest.raises(EngineError, match=r"expected 'host', 'host\[core=NAME\]' or 'host\[like=NAME\]'"):
        ss.measure(machine)


@pytest.mark.parametrize("limit_s", [-1, math.nan])
def test_a_limit_is_seconds(limit_s):
    with pytest.raises(EngineError, match=r"limit_s is .*; expected seconds, at least 0"):
        ss.measure(limit_s=limit_s)


def test_a_core_supplies_what_is_not_measured():
    found = ss.measure("host[core=zen2]", repeats=1, limit_s=0.0)
    assert found.host == ss.machine("host[core=zen2]")
    assert found.machine.n_cores == found.host.n_cores


def test_only_toml_files_are_written(tmp_path):
    with pytest.raises(EngineError, match=r"machine files end in \.toml"):
        Measured.save(None, tmp_path / "mine.json")
