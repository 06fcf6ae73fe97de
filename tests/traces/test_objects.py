"""Data objects that readers find in files: by hand for each format, and in all shared samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.graph import NOBODY, TaskGraph
from simsched.graph.data_checks import checked
from simsched.traces.samples import sample_files

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
Listed = list[tuple[float | None, int, list[int]]]


def listed(graph: TaskGraph) -> Listed:
    """Return size (None where unknown), producer and readers of each object."""
    data = graph.data
    assert data is not None
    checked(data, graph.successors)
    sizes = [None if np.isnan(size) else size for size in data.size_B.tolist()]
    readers = [data.readers.neighbours(i).tolist() for i in range(data.n)]
    return list(zip(sizes, data.producer.tolist(), readers, strict=True))


def test_wfformat(tmp_path: Path) -> None:
    """An input read twice, a file for one task, one of unknown size, and one on which nobody waits by an edge."""
    tasks = [
        {
            "name": "a",
            "id": "1",
            "parents": [],
            "children": ["2"],
            "inputFiles": ["in"],
            "outputFiles": ["x", "y"],
        },
        {"name": "b", "id": "2", "parents": ["1"], "children": [], "inputFiles": ["in", "x", "x"]},
        {
            "name": "c",
            "id": "3",
            "parents": [],
            "children": [],
            "inputFiles": ["x", "y"],
            "outputFiles": ["y"],
        },
    ]
    files = [
        {"id": "x", "sizeInBytes": 10},
        {"id": "in", "sizeInBytes": 20},
        {"id": "unused", "sizeInBytes": 1},
    ]
    flow = {
        "name": "f",
        "schemaVersion": "1.5",
        "workflow": {"specification": {"tasks": tasks, "files": files}},
    }
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    assert listed(ss.load(tmp_path / "flow.json")) == [(10.0, 0, [1]), (20.0, NOBODY, [0, 1]), (None, 0, [])]


def test_starpu(tmp_path: Path) -> None:
    """Two tasks write a handle in turn, a third reads; scratch space is no object, ranks have handles of their own."""
    text = "".join(
        f"Name: t\nJobId: {i}\nSubmitOrder: {i}\n{more}StartTime: {i}.0\nEndTime: {i}.5\n\n"
        for i, more in enumerate([
            "Handles: a s\nModes: W S\nSizes: 8 1\n",
            "DependsOn: 0\nHandles: a b\nModes: RW R\nSizes: 8 4\n",
            "DependsOn: 1\nHandles: a\nModes: R\n",
            "DependsOn: 1\nHandles: a\nModes: R W\n",
        ])
    )  # fmt: skip
    (tmp_path / "tasks.rec").write_text(text)
    assert listed(ss.load(tmp_path / "tasks.rec")) == [(8.0, 0, [1]), (4.0, NOBODY, [1]), (8.0, 1, [2])]


def test_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    net (float[2, N] x, float[3, 4] w) => (float[2, 4] z) { y = Relu(x)  z = MatMul(y, w) }""")
    onnx.save(model, tmp_path / "net.onnx")
    assert listed(ss.load(tmp_path / "net.onnx")) == [
        (None, NOBODY, [0]), (None, 0, [1]), (48.0, NOBODY, [1]), (32.0, 1, []),
    ]  # fmt: skip
    sized = listed(ss.load(tmp_path / "net.onnx", dims={"N": 3}))
    assert [size for size, *_ in sized] == [24.0, 24.0, 48.0, 32.0]


def test_tensorflow(tmp_path: Path) -> None:
    """The second output of a node is an object of its own; control dependencies carry nothing."""
    pytest.importorskip("google.protobuf")
    output = """output { slot: %d tensor_description { dtype: DT_FLOAT shape { dim { size: %d } } } }"""
    stats = """node_stats { node_name: "%s" timeline_label: "%s" all_start_micros: %d op_end_rel_micros: 4
    all_end_rel_micros: 5 %s }"""
    nodes = [
        ("a", "a = Split()", output % (0, 2) + output % (1, 4)),
        ("b", "b = Exp(a:1, ^a)", output % (0, 4)),
        ("c", "c = Add(a, b, ^b)", ""),
        ("d", "d = NoOp(^a)", ""),
    ]
    text = " ".join(stats % (name, label, 100 + 6 * i, more) for i, (name, label, more) in enumerate(nodes))
    (tmp_path / "run.pbtxt").write_text(f'step_stats {{ dev_stats {{ device: "/device:CPU:0" {text} }} }}')
    graph = ss.load(tmp_path / "run.pbtxt")
    assert graph.n_edges == 4
    assert listed(graph) == [(8.0, 0, [2]), (16.0, 0, [1]), (16.0, 1, [2])]


def test_own_sample() -> None:
    """All of a recorded step: weights are inputs, and every object fits the edges."""
    kineto, execution_trace = sample_files("cnn")
    graph = ss.load(kineto, execution_trace=execution_trace)
    objects = listed(graph)
    assert len(objects) == 171
    assert sum(producer == NOBODY for _, producer, _ in objects) == 23
    assert sum(size or 0.0 for size, *_ in objects) == 192_150_084


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize(
    ("file", "objects", "inputs", "bare"),
    [
        ("starpu/chol_n10_b256.eager.1cpu.tasks.rec.gz", 275, 55, 0),
        ("wfformat/montage-chameleon-2mass-005d-001.json", 111, 26, 0),
        ("onnx/inception.zeroed.onnx.gz", 93, 30, 0),
        ("tensorflow/lstm4.inter1_intra1.runmetadata.pb.gz", 1278, 0, 441),
        ("pytorch/lstm4_t1.et.json.gz", 1857, 56, 675),
    ],
)
def test_shared_samples(file: str, objects: int, inputs: int, bare: int) -> None:
    """A Cholesky factorisation of 10 x 10 tiles has 55 of them, and 220 tasks that each write one again."""
    graph = ss.load(SAMPLES / file)
    data = graph.data
    assert data is not None
    checked(data, graph.successors)
    assert (data.n, int((data.producer == NOBODY).sum())) == (objects, inputs)
    assert int((data.edge_bytes(graph.successors) == 0).sum()) == bare
    assert not np.isnan(data.size_B).any()
