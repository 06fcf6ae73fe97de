"""The recorder of ONNX Runtime: what it asks of a session and writes, and what the reader makes of it."""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.traces.recorders import record_onnxruntime
from simsched.traces.recorders.record_onnxruntime import main, record


class _Session:
    """Stands for a session: notes its options and runs, and writes both files."""

    made: list[_Session] = []  # noqa: RUF012 - cleared by the fixture

    def __init__(self, model: Any, options: Any) -> None:
        self.model, self.options, self.runs = model, options, 0
        self.made.append(self)

    def run(self, outputs: Any, inputs: Any) -> None:
        self.runs += 1
        if inputs is None:
            raise RuntimeError("no input x")

    def end_profiling(self) -> str:
        Path(self.options.optimized_model_filepath).write_bytes(b"model")
        file = Path(f"{self.options.profile_file_prefix}_now.json")
        file.write_text("profile")
        return str(file)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[_Session]:
    """Put the stand-in in the place of ONNX Runtime; return the sessions that are made."""
    library = SimpleNamespace(
        __version__="9.9",
        SessionOptions=SimpleNamespace,
        InferenceSession=_Session,
        ExecutionMode=SimpleNamespace(ORT_PARALLEL="parallel", ORT_SEQUENTIAL="sequential"),
        GraphOptimizationLevel=SimpleNamespace(ORT_ENABLE_ALL="all", ORT_DISABLE_ALL="none"),
    )
    monkeypatch.setattr(record_onnxruntime, "library", lambda *_: library)
    _Session.made.clear()
    return _Session.made


@pytest.mark.parametrize(
    ("workers", "optimized", "mode", "pool", "level"),
    [(0, True, "sequential", 1, "all"), (1, True, "parallel", 1, "all"), (3, False, "parallel", 3, "none")],
)
def test_two_sessions_with_the_same_options(
    workers: int, optimized: bool, mode: str, pool: int, level: str, sessions: list[_Session], tmp_path: Path
) -> None:
    profile, model = record(
        b"model", {}, tmp_path / "x", workers=workers, optimized=optimized, warmup=2, repeats_untraced=4
    )
    assert (gzip.decompress(profile.read_bytes()), gzip.decompress(model.read_bytes())) == (
        b"profile",
        b"model",
    )
    assert [session.runs for session in sessions] == [6, 3], "untraced, then traced"
    for session in sessions:
        options = session.options
        assert (options.execution_mode, options.inter_op_num_threads, options.intra_op_num_threads) == (
            mode,
            pool,
            1,
        )
        assert options.graph_optimization_level == level
    assert not hasattr(sessions[0].options, "enable_profiling")
    timing = json.loads((tmp_path / "x.timing.json").read_text())
    assert (timing["onnxruntime"], timing["workers"], timing["untraced_s"]["n"]) == ("9.9", workers, 4)
    assert 0 <= timing["untraced_s"]["min"] <= timing["untraced_s"]["median"]


def test_what_cannot_be_is_refused(sessions: list[_Session], tmp_path: Path) -> None:
    for wrong in ({"workers": -1}, {"threads": 0}, {"warmup": -1}, {"repeats_untraced": 0}):
        with pytest.raises(SimschedError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))}"):
            record(b"", {}, tmp_path / "x", **wrong)
    with pytest.raises(SimschedError, match=r"there is no folder .*none; create it first"):
        record(b"", {}, tmp_path / "none" / "x")
    assert not sessions
    with pytest.raises(SimschedError, match=r"ONNX Runtime 9\.9 refused: no input x"):
        record(b"", None, tmp_path / "x")


def test_onnxruntime_is_asked_for_where_it_is_missing(monkeypatch, tmp_path, capsys) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SimschedError, match="pip install onnxruntime onnx"):
        record(b"", {}, tmp_path / "x")
    for workers, said in (("0", "pip install onnx"), ("-1", "--workers is -1, expected 0 to 65536")):
        with pytest.raises(SystemExit) as stopped:
            main(["--model", "lstm", "--out", str(tmp_path / "x"), f"--workers={workers}"])
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err


def test_a_recorded_run_is_read(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Exp", ["x"], ["a"], name="a"),
        helper.make_node("Relu", ["a"], ["y"], name="b"),
    ]
    ends = [[helper.make_tensor_value_info(name, kind, [8])] for name in "xy"]
    made = helper.make_model(helper.make_graph(nodes, "g", *ends), ir_version=8)
    made.opset_import[0].version = 17
    onnx.save(made, tmp_path / "g.onnx")
    x = {"x": np.ones(8, np.float32)}
    profile, model = record(tmp_path / "g.onnx", x, tmp_path / "g", repeats_untraced=2)
    graph = ss.load(profile, model=model)
    assert (graph.names.to_list(), graph.n_edges, graph.report.facts["runs"]) == (["a", "b"], 1, 4)
    assert graph.recording is not None
    assert graph.recording.priorities.tolist() == [0, -1]
    for model, inputs, said in (
        (tmp_path / "g.onnx", {}, "x"),
        (b"none", x, "protobuf"),
        ("none", x, "none"),
    ):
        with pytest.raises(SimschedError, match=rf"refused: .*{said}"):
            record(model, inputs, tmp_path / "g")
