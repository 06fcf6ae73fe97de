"""Workloads by name: specs, sizes, what is refused, the command line; every registered one."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from typer.testing import CliRunner

import simsched as ss
from simsched.cli.app import app, commands
from simsched.cli.list import lines
from simsched.execute.kernels.work import Work
from simsched.plugins import registered
from simsched.workloads import Workload, family, one_of, whole
from simsched.workloads.recurrent import Recurrent

NAMES = list(registered("workloads"))


@pytest.mark.parametrize("name", NAMES)
def test_specs_make_the_same_workload_again(name) -> None:
    network = family(name, batch=2)
    assert family(str(network)) == network
    assert str(network) == f"{name}[batch=2]"


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_possible(name) -> None:
    for size in family(name).sizes():
        assert family(name, size=size) != family(name, size=size, batch=7)


def test_what_is_said_beside_a_size_holds() -> None:
    assert family("lstm[size=medium,batch=8]", steps=3) == family("lstm", hidden=512, batch=8, steps=3)


def test_a_workload_is_its_own_source() -> None:
    network = family("lstm[steps=2]", hidden=8)
    assert family(network) is network
    assert ss.workload(network).name == "lstm[steps=2,hidden=8]"


@pytest.mark.parametrize(
    ("source", "parameters", "said"),
    [
        ("lstn", {}, "no workload is called 'lstn'.* did you mean lstm"),
        ("lstm[layers=2]", {"layers": 3}, "'layers' is given in 'lstm.layers=2.' and again beside it"),
        ("lstm[layers]", {}, "is not key=value"),
        (family("lstm"), {"layers": 3}, "lstm has its parameters already; give a name to choose layers"),
        (3, {}, "3 is not a workload"),
    ],
)
def test_what_is_no_workload(source, parameters, said) -> None:
    with pytest.raises(ss.SimschedError, match=said):
        ss.workload(source, **parameters)


def test_a_family_without_a_graph_says_so() -> None:
    @dataclass(frozen=True)
    class Empty(Workload):
        name = "empty"
        size_of_it: int = whole(3)
        sort: str = one_of("a", "b")

    assert str(Empty(sort="b")) == "empty[sort=b]"
    with pytest.raises(ss.SimschedError, match="workload empty has no graph"):
        Empty().graph()
    with pytest.raises(ss.SimschedError, match=r"empty\[size_of_it=1.5\]: expected a whole number"):
        Empty(size_of_it=1.5)
    with pytest.raises(ss.SimschedError, match="has no cell"):
        Recurrent().graph()


def small(name: str) -> ss.TaskGraph:
    sizes = {"steps": 3, "hidden": 8} if issubclass(type(family(name)), Recurrent) else {}
    return ss.workload(name, batch=2, **sizes)


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_a_cost_curve(name) -> None:
    graph = small(name)
    model = ss.CostModel()
    serial = {kind for kind in graph.kinds.labels if model.curve(kind).family == "serial"}
    assert not serial
    assert np.isfinite(graph.flops).all()
    assert (graph.bytes_B > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_a_kernel(name) -> None:
    pytest.importorskip("simsched.native._execute")
    notes = Work.of(small(name)).notes
    assert not [note for note in notes if "no kernel" in note]


@pytest.mark.parametrize(
    "spec",
    [
        "lstm[layers=2,steps=3,hidden=8,fused=true]",
        "gru[layers=2,steps=3,hidden=8]",
        "phased_lstm[layers=1,steps=2,hidden=8]",
        "pathnet[image=8,neurons=2,batch=2]",
        "transformer[layers=1,hidden=16,tokens=4,batch=2,attention=apart]",
        "alexnet[image=67,batch=1]",
        "googlenet[image=32,batch=1,classes=10]",
        "resnet50[variant=cifar10,image=8,batch=1]",
        "dcgan[batch=2]",
        "inception_v3[image=75,batch=1,classes=10]",
        "chaos[size=large]",
    ],
)
def test_real_runs(spec) -> None:
    pytest.importorskip("simsched.native._execute")
    # However much of its time others take: a disturbed run would be redone.
    measured = ss.execute(ss.workload(spec), "critical-path", "1x1", repeats=1, warmup=0, most_stolen=1.0)
    assert len(measured.schedule.tasks) == ss.workload(spec).n_tasks


@pytest.mark.parametrize("policy", ["critical-path", "fifo", "wavefront", "corun"])
def test_both_engines_give_the_same_schedule(policy) -> None:
    pytest.importorskip("simsched.native._core")
    graph = ss.workload("phased_lstm[layers=2,steps=3,hidden=64]")
    simpy, native = (ss.simulate(graph, "knl-7250", policy, engine=engine) for engine in ("simpy", "native"))
    np.testing.assert_array_equal(simpy.start_s, native.start_s)
    np.testing.assert_array_equal(simpy.finish_s, native.finish_s)


def test_listed() -> None:
    found = list(lines("workloads"))
    assert any(line.startswith("lstm ") and "layers=4" in line and "fused=false" in line for line in found)
    assert any("size=medium" in line and "hidden=512" in line for line in found)


def test_on_the_command_line(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = "lstm[layers=2,steps=3,hidden=8]"
    commands()
    done = CliRunner().invoke(app, ["run", spec, "--layout", "4x2", "--json"])
    assert json.loads(done.stdout)["tasks"] == ss.workload(spec).n_tasks
    assert CliRunner().invoke(app, ["convert", spec, "lstm.simsched"]).exit_code == 0
    assert ss.load("lstm.simsched").n_tasks == ss.workload(spec).n_tasks
    # A file of that name is a file.
    ss.TaskGraph.from_edges([1.0]).save(tmp_path / "lstm")
    assert json.loads(CliRunner().invoke(app, ["run", "lstm", "--json"]).stdout)["tasks"] == 1
