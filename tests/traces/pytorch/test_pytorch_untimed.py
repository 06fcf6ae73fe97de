"""An execution trace alone: a graph without seconds, of any schema."""

from __future__ import annotations

import json

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.traces.pytorch.reader import PYTORCH
from simsched.traces.samples import sample_files

A, B, C = (1, 11, [2, 3]), (2, 12, [3, 4]), (3, 13, [2, 4])
ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"


@pytest.fixture
def step(mini):
    mini.op("aten::mm", 0, 1, [A, B], [C])
    mini.op("aten::add_", 1, 1, [C, C], [C], schema=ADD_)
    mini.op("aten::inner", 1, 1, [C], [C], inside=2)
    return mini


def test_kinds_work_and_dependencies_without_seconds(step):
    path = step.write()[1]
    assert PYTORCH.recognises(path.read_bytes())
    graph = ss.load(path)
    assert (graph.n_tasks, graph.kinds.to_list()) == (2, ["mm", "add_"])
    assert np.isnan(graph.durations_s).all()
    assert graph.recording is None
    assert graph.successors.indices.tolist() == [1]
    assert graph.flops.tolist() == [2 * 2 * 3 * 4, 8]
    assert graph.bytes_B.tolist() == [4 * (6 + 12 + 8), 4 * (8 + 8)]
    assert any("seconds are unknown" in note for note in graph.report.notes)


def test_flat_fields_of_the_oldest_schema_give_the_same(step):
    path = step.write()[1]
    expected = ss.load(path)
    document = json.loads(path.read_text())
    document["schema"] = "1.0.1"
    document["nodes"] = [flat(node) for node in document["nodes"]]
    path.write_text(json.dumps(document))
    graph = ss.load(path)
    assert graph.kinds.to_list() == expected.kinds.to_list()
    assert graph.shapes.to_list() == expected.shapes.to_list()
    assert graph.successors.indices.tolist() == expected.successors.indices.tolist()
    assert graph.bytes_B.tolist() == expected.bytes_B.tolist()


def test_flat_fields_without_record_function_ids(step):
    path = step.write()[1]
    document = json.loads(path.read_text())
    document["nodes"] = [flat(node) for node in document["nodes"]]
    for node in document["nodes"]:
        del node["rf_id"]
    path.write_text(json.dumps(document))
    graph = ss.load(path, format="pytorch")
    assert [graph.task_name(task) for task in range(2)] == ["mm#call101", "add_#call102"]


def flat(node: dict) -> dict:
    """Return a node of schema 1.0.1."""
    sides = {}
    for side in ("input", "output"):
        held = node[f"{side}s"]
        sides |= {
            f"{side}s": held["values"],
            f"{side}_shapes": held["shapes"],
            f"{side}_types": held["types"],
        }
    fields = {attribute["name"]: attribute["value"] for attribute in node["attrs"]}
    return {"id": node["id"], "name": node["name"], "parent": node["ctrl_deps"], **sides, **fields}


def test_annotations_and_autograd_become_scopes(mini):
    mini.op("layer", 0, 1)
    mini.nodes[-1]["attrs"].append({"name": "scope", "type": "uint64", "value": 7})
    mini.op("aten::relu", 0, 1, [A], [A], inside=1)
    mini.op("ReluBackward0", 2, 1)
    mini.op("aten::threshold_backward", 2, 1, [A], [B], inside=3)
    assert ss.load(mini.write()[1]).scopes.to_list() == ["layer", "backward"]


def test_the_graph_is_that_of_both_files_together(read_as_recorded):
    kineto, execution_trace = sample_files("lstm4")
    both, alone = read_as_recorded(kineto, execution_trace), ss.load(execution_trace)
    assert alone.kinds.to_list() == both.kinds.to_list()
    assert alone.shapes.to_list() == both.shapes.to_list()
    edges = [
        set(zip(g.successors.sources().tolist(), g.successors.indices.tolist(), strict=True))
        for g in (alone, both)
    ]
    assert edges[0] == edges[1]


def test_options_that_need_times_are_refused(step):
    path = step.write()[1]
    for options in ({"execution_trace": path}, {"step": 1}):
        with pytest.raises(FormatError, match="execution trace"):
            ss.load(path, **options)
    assert ss.load(path, threads=2).widths.tolist() == [2, 2]


def test_what_is_complete_of_a_cut_off_file(step):
    path = step.write()[1]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FormatError, match="cut off"):
        ss.load(path)
    graph = ss.load(path, tolerant=True)
    assert graph.kinds.to_list() == ["mm", "add_"]
    assert any("cut off" in note for note in graph.report.notes)


def test_calls_without_operators(mini):
    mini.op("MulBackward0", 0, 1)
    with pytest.raises(FormatError, match="no operator among its 1 calls"):
        ss.load(mini.write()[1])
