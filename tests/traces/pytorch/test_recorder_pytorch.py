"""The recorder: what it writes is what the reader reads."""

from __future__ import annotations

import gzip
import importlib
import json

import pytest

from simsched.errors import SimschedError
from simsched.traces.pytorch.reader import PYTORCH
from simsched.traces.recorders import record_pytorch
from simsched.traces.recorders.record_pytorch import main, record

KINETO = """ {
    "schemaVersion": 1,
      "host_name": "secret\\"host",
    "traceEvents": [
  { "ph": "X", "ts": 4309428194399.542, "name": "a  b" }
    ],"traceName": "/home/somebody/trace.json" }"""


def test_private_things_are_removed_and_numbers_kept():
    text = record_pytorch._kineto_text(KINETO, {"threads": 1})
    found = json.loads(text, parse_float=str)
    assert found["simsched"] == {"threads": 1}
    assert (found["host_name"], found["traceName"]) == ("", "")
    assert found["traceEvents"] == [{"ph": "X", "ts": "4309428194399.542", "name": "a  b"}]


def test_a_slim_execution_trace_keeps_what_is_read():
    side = {"values": [float("inf")], "shapes": [[]], "types": ["Double"], "strides": [[]]}
    attributes = [{"name": name, "value": 1} for name in ("rf_id", "kernel_file")]
    node = {"id": 1, "name": "x", "ctrl_deps": 0, "inputs": side, "outputs": side, "attrs": attributes}
    text = json.dumps({"schema": "1.1.1", "nodes": [node]})
    whole, slim = (json.loads(record_pytorch._execution_text(text, it))["nodes"][0] for it in (False, True))
    assert "strides" in whole["inputs"]
    assert "strides" not in slim["inputs"]
    assert slim["inputs"]["values"] == ["Infinity"]
    assert [entry["name"] for entry in slim["attrs"]] == ["rf_id"]


def test_pytorch_is_asked_for_where_it_is_missing(monkeypatch, tmp_path, capsys):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SimschedError, match="pip install torch"):
        record(lambda: None, tmp_path / "x")
    with pytest.raises(SystemExit) as stopped:
        main(["--model", "lstm", "--out", str(tmp_path / "x")])
    assert stopped.value.code == 2
    assert "pip install torch" in capsys.readouterr().err


class _Torch:
    """Stands for PyTorch where nothing is recorded."""

    @staticmethod
    def set_num_threads(count):
        assert count >= 1

    @staticmethod
    def set_num_interop_threads(count):
        assert count >= 1


@pytest.mark.parametrize("option", ["--threads", "--inter-op"])
@pytest.mark.parametrize("threads", ["0", "-3", "65537", "99999999999999999999999"])
def test_threads_that_cannot_be_are_refused_in_one_line(option, threads, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--model", "lstm", "--out", str(tmp_path / "x"), f"{option}={threads}"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"{option} is {threads}, expected 1 to 65536\n"


def test_where_nothing_can_be_written_nothing_is_recorded(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(record_pytorch, "library", lambda *_: _Torch())
    monkeypatch.setitem(record_pytorch.MODELS, "lstm", lambda: step)

    def step():
        pytest.fail("the step ran")

    (tmp_path / "y.et.json.gz").mkdir()
    with pytest.raises(SimschedError, match=r"there is no folder .*none; create it first"):
        record(step, tmp_path / "none" / "x")
    with pytest.raises(SimschedError, match=r"y\.et\.json\.gz is a folder"):
        record(step, tmp_path / "y")
    with pytest.raises(SimschedError, match="cannot be written: File name too long"):
        record(step, tmp_path / ("n" * 300))
    monkeypatch.setattr(record_pytorch.os, "access", lambda *_: False)
    with pytest.raises(SimschedError, match="cannot be written: no permission"):
        record(step, tmp_path / "x")
    with pytest.raises(SystemExit) as stopped:
        main(["--model", "lstm", "--out", str(tmp_path / "none" / "x")])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_recorded_step_is_read(tmp_path):
    torch = pytest.importorskip("torch", reason="recording needs PyTorch")
    weights = torch.randn(64, 64, requires_grad=True)

    def step():
        with torch.profiler.record_function("forward"):
            loss = torch.relu(torch.mm(torch.ones(8, 64), weights)).sum()
        loss.backward()

    kineto, execution_trace = record(step, tmp_path / "tiny", repeats_untraced=2, captures=2, label="tiny")
    graph = PYTORCH.read(kineto, execution_trace=execution_trace)
    assert {"mm", "relu", "sum"} <= set(graph.kinds.to_list())
    assert "forward" in graph.scopes.to_list()
    assert "backward/forward" in graph.scopes.to_list()
    assert graph.recorded_on is not None
    assert set(graph.widths.tolist()) == {torch.get_num_threads()}
    assert graph.report.facts["joined"] == graph.n_tasks
    metadata = json.loads(gzip.decompress(kineto.read_bytes()))["simsched"]
    assert metadata["label"] == "tiny"
    assert len(metadata["traced_steps_s"]) == 2
    with pytest.raises(SimschedError, match="captures=0"):
        record(step, tmp_path / "x", captures=0)


def test_times_alone_are_recorded(tmp_path):
    torch = pytest.importorskip("torch", reason="recording needs PyTorch")
    one = torch.ones(8, 8)
    (kineto,) = record(
        lambda: torch.mm(one, one),
        tmp_path / "x",
        repeats_untraced=1,
        captures=1,
        times_only=True,
        settle_s=0.01,
    )
    graph = PYTORCH.read(kineto)
    assert (graph.kinds.to_list(), graph.shapes.to_list()) == (["mm"], [""])
    assert [file.name for file in tmp_path.iterdir()] == ["x.kineto.json.gz"]
