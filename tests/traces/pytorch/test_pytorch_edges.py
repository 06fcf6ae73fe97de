"""Edges: read after write through storages, with versions."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from simsched.traces.pytorch.execution_trace import ExecutionTrace

A, B, C, D = (1, 11, [2]), (2, 12, [2]), (3, 13, [2]), (4, 14, [2])
ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
VIEW = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"


def edges(graph):
    sources = graph.successors.sources().tolist()
    return list(zip(sources, graph.successors.indices.tolist(), strict=True))


def test_a_reader_follows_the_last_writer(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [A], [C])
    mini.op("aten::add", 2, 1, [B, C], [D])
    assert edges(mini.load()) == [(0, 2), (1, 2)]


def test_an_in_place_operator_reads_what_it_writes(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::add_", 1, 1, [B, A], [B], schema=ADD_)
    mini.op("aten::relu", 2, 1, [B], [C])
    graph = mini.load()
    assert edges(graph) == [(0, 1), (1, 2)]
    assert graph.report.facts["in_place_writes"] == 1


def test_the_second_argument_of_an_in_place_operator_is_only_read(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::add_", 1, 1, [C, B], [C], schema=ADD_)
    mini.op("aten::relu", 2, 1, [B], [D])
    assert edges(mini.load()) == [(0, 1), (0, 2)]


def test_readers_before_an_in_place_write_are_counted_but_draw_no_edge(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [B], [C])
    mini.op("aten::add_", 2, 1, [B, A], [B], schema=ADD_)
    graph = mini.load()
    assert edges(graph) == [(0, 1), (0, 2)]
    assert any("1 pair of a reader and a later in-place writer" in note for note in graph.report.notes)


def test_a_view_writes_nothing_but_makes_the_tensor_its_readers_use(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::view", 1, 1, [B], [(5, 12, [2, 1])], schema=VIEW)
    mini.op("aten::relu", 2, 1, [(5, 12, [2, 1])], [C])
    mini.op("aten::relu", 3, 1, [B], [D])
    graph = mini.load()
    assert edges(graph) == [(0, 1), (0, 2), (0, 3), (1, 2)]
    assert graph.flops[1] == 0
    assert graph.bytes_B[1] == 0


def test_a_view_outlives_an_in_place_write_of_its_storage(mini):
    view = (5, 11, [2, 1])
    mini.op("aten::view", 0, 1, [A], [view], schema=VIEW)
    mini.op("aten::add_", 1, 1, [A, D], [A], schema=ADD_)
    mini.op("aten::relu", 2, 1, [view], [C])
    assert edges(mini.load()) == [(0, 2), (1, 2)]


def test_a_storage_id_that_comes_back_starts_afresh(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [A], [(6, 12, [2])])  # the storage of B, freed and used again
    mini.op("aten::relu", 2, 1, [(6, 12, [2])], [C])
    graph = mini.load()
    assert edges(graph) == [(1, 2)]
    assert graph.report.facts["reused_storage_ids"] == 1
    assert graph.report.facts["edges_through_reused_ids"] == 1


def test_a_view_of_a_storage_that_came_back_does_not_reach_over(mini):
    view = (5, 12, [2, 1])
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::view", 1, 1, [B], [view], schema=VIEW)
    mini.op("aten::relu", 2, 1, [A], [B])
    mini.op("aten::relu", 3, 1, [view], [C])  # the tensor's id came back too
    assert edges(mini.load()) == [(0, 1), (2, 3)]


def test_what_inner_operators_make_belongs_to_the_task(mini):
    outer = mini.op("aten::lstm_cell", 0, 10, [A], [B])
    mini.op("aten::sigmoid", 1, 1, [A], [C], inside=outer)  # saved for the backward pass
    mini.op("aten::add", 3, 1, [C, A], [B], inside=outer)
    mini.op("aten::sigmoid_backward", 20, 1, [C, A], [D])
    graph = mini.load()
    assert graph.n_tasks == 2
    assert edges(graph) == [(0, 1)]


def test_an_inner_in_place_write_to_an_input_is_the_tasks(mini):
    outer = mini.op("aten::batch_norm", 0, 10, [A, D], [B])
    mini.op("aten::add_", 1, 1, [D, A], [D], schema=ADD_, inside=outer)
    mini.op("aten::relu", 20, 1, [D], [C])
    assert edges(mini.load()) == [(0, 1)]


def test_tensors_in_lists_are_read(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::cat", 1, 1, [], [C])
    mini.nodes[-1]["inputs"] = {
        "values": [[[1, 11, 0, 2, 4, "cpu"], [2, 12, 0, 2, 4, "cpu"]], 0],
        "shapes": [[[2], [2]], []],
        "types": ["GenericList[Tensor(float),Tensor(float)]", "Int"],
    }
    graph = mini.load()
    assert edges(graph) == [(0, 1)]
    assert graph.shapes[1] == "2;2"
    assert graph.bytes_B[1] == 24


def test_memory_that_came_back_outside_recorded_calls_is_known_by_its_element_size(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::mul", 1, 1, [A, (9, 12, [])], [C])
    mini.nodes[-1]["inputs"]["values"][1][4] = 8  # a number of Python, as a double
    mini.op("aten::relu", 2, 1, [(9, 12, [])], [D])
    graph = mini.load()
    assert edges(graph) == []
    assert graph.report.facts["foreign_reads"] == 1


def test_a_view_as_another_type_is_not_taken_for_such_memory(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op(
        "aten::view", 1, 1, [B], [(5, 12, [1])], schema="aten::view.dtype(Tensor(a) self, int d) -> Tensor(a)"
    )
    mini.nodes[-1]["outputs"]["values"][0][4] = 8
    mini.op("aten::relu", 2, 1, [(6, 12, [1])], [C])
    mini.nodes[-1]["inputs"]["values"][0][4] = 8
    assert edges(mini.load()) == [(0, 1), (0, 2)]


UNDEFINED = "Tensor(nullptr (uninitialized))"
SPARSE = (63, 0, [2])  # the profiler tells no storage of it
VALUES = "aten::_values(Tensor(a) self) -> Tensor(a)"


def test_undefined_tensors_depend_on_nothing(mini):
    """They all have one id."""
    mini.op("aten::relu", 0, 1, [A], [(9, 0, [])])
    mini.nodes[-1]["outputs"]["types"] = [UNDEFINED]
    mini.op("aten::relu", 1, 1, [(9, 0, [])], [B])
    mini.nodes[-1]["inputs"]["types"] = [UNDEFINED]
    mini.op("aten::cat", 2, 1, [], [C])
    mini.nodes[-1]["inputs"] = {
        "values": [[[1, 11, 0, 2, 4, "cpu"], [9, 0, 0, 0, 0, ""]]],
        "shapes": [[[2], []]],
        "types": [f"GenericList[Tensor(float),{UNDEFINED}]"],
    }
    graph = mini.load()
    assert edges(graph) == []
    assert graph.report.facts["tensors_without_storage"] == 0
    assert graph.bytes_B[2] == 16


def test_tensors_without_storage_are_joined_by_their_ids(mini):
    """Sparse and MKL-DNN tensors, and functorch's wrappers."""
    mini.op("aten::to_mkldnn", 0, 1, [A], [SPARSE])
    mini.op("aten::relu", 1, 1, [SPARSE], [(64, 0, [2])])
    mini.op("aten::mm", 2, 1, [(64, 0, [2, 2]), (65, 15, [2, 2])], [B])
    mini.op("aten::relu", 3, 1, [A], [SPARSE])  # the id came back
    mini.op("aten::relu", 4, 1, [SPARSE], [C])
    mini.op("aten::relu", 5, 1, [(66, 63, [2])], [D])  # ids of storages are others than those of tensors
    graph = mini.load()
    assert edges(graph) == [(0, 1), (1, 2), (3, 4)]
    assert graph.report.facts["tensors_without_storage"] == 2
    assert any("storages unknown: 2 tensors" in note for note in graph.report.notes)
    # Their bytes are unknown, and so may be the work: shapes of sparse tensors count what is not there.
    assert [math.isnan(it) for it in graph.bytes_B] == [True] * 5 + [False]
    assert math.isnan(graph.flops[2])
    assert graph.shapes[1] == "2"


def test_values_of_a_sparse_tensor_belong_to_it(mini):
    outer = mini.op("aten::to_sparse", 0, 10, [A], [SPARSE])
    mini.op("aten::index", 1, 1, [A], [B], inside=outer)
    mini.op("aten::_sparse_coo_tensor_with_dims_and_tensors", 3, 1, [B], [SPARSE], inside=outer)
    mini.op("aten::_values", 20, 1, [SPARSE], [B], schema=VALUES)
    mini.op("aten::add_", 21, 1, [B, A], [B], schema=ADD_)
    mini.op("aten::to_dense", 22, 1, [SPARSE], [C])  # reads what add_ wrote
    mini.op("aten::mul_", 23, 1, [SPARSE, A], [SPARSE], schema=ADD_.replace("add", "mul"))
    mini.op("aten::relu", 24, 1, [B], [D])  # reads what mul_ wrote
    graph = mini.load()
    assert edges(graph) == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 4), (4, 5)]
    assert graph.bytes_B[1] == 0


def test_looking_at_the_values_of_a_sparse_tensor_writes_nothing(mini):
    """As in SparseAdam: add_ of a sparse tensor looks at its values, which are changed afterwards."""
    mini.op("aten::mul_", 0, 1, [B, A], [B], schema=ADD_.replace("add", "mul"))
    mini.op("aten::_sparse_coo_tensor_unsafe", 1, 1, [B], [SPARSE])
    outer = mini.op("aten::add_", 2, 5, [C, SPARSE], [C], schema=ADD_)
    mini.op("aten::_values", 3, 1, [SPARSE], [(5, 12, [2])], schema=VALUES, inside=outer)
    mini.op("aten::add_", 8, 1, [B, A], [B], schema=ADD_)
    assert edges(mini.load()) == [(0, 1), (0, 2), (0, 3), (1, 2)]


def test_a_storage_that_came_back_is_no_part_of_the_sparse_tensor_any_more(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::_sparse_coo_tensor_unsafe", 1, 1, [B], [SPARSE])
    mini.op("aten::relu", 2, 1, [A], [(6, 12, [2])])
    mini.op("aten::to_dense", 3, 1, [SPARSE], [C])
    assert edges(mini.load()) == [(0, 1), (1, 3)]


def test_threads_share_storages_and_impossible_edges_are_left_out(mini):
    mini.op("aten::relu", 0, 10, [A], [B], lane=1)
    mini.op("aten::relu", 5, 10, [B], [C], lane=2)  # starts before its writer has finished
    mini.op("aten::relu", 20, 1, [C], [D], lane=1)
    graph = mini.load()
    assert edges(graph) == [(1, 2)]
    assert graph.report.facts["impossible_edges"] == 1
    assert graph.recording.lanes.tolist() == [0, 1, 0]
    assert graph.report.facts["lanes"] == 2
    assert graph.report.facts["threads"] == 1


def test_flat_nodes_of_old_schemas_are_read(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::add_", 1, 1, [B, A], [B], schema=ADD_)
    mini.op("aten::relu", 2, 1, [B], [C])
    mini.et = {"schema": "1.0.1", "pid": 1}
    mini.nodes = [flat(node) for node in mini.nodes]
    assert edges(mini.load()) == [(0, 1), (1, 2)]


def test_a_task_that_the_execution_trace_nests_in_another_is_no_part_of_it(mini):
    outer = mini.op("aten::mystery", 0, 1, [A], [B])
    mini.op("aten::tanh", 1, 1, [A], [C], inside=outer)
    mini.op("aten::relu", 2, 1, [C], [D])
    graph = mini.load()
    assert edges(graph) == [(1, 2)]
    assert graph.flops.tolist()[1:] == [2, 2]
    assert math.isnan(graph.flops[0])


@pytest.mark.parametrize("tasks", [5_000, 1])
def test_a_long_chain_of_calls_is_walked_once(mini, monkeypatch, tasks):
    """Every call is the parent of the next one; of the calls all are tasks, or the first one alone."""
    visits = Counter()

    class Counted(dict):
        def get(self, key, default=None):
            visits[key] += 1
            return super().get(key, default)

    within_tasks = ExecutionTrace.within_tasks
    monkeypatch.setattr(ExecutionTrace, "within_tasks", lambda trace: Counted(within_tasks(trace)))
    inside = 0
    for start in range(5_000):
        inside = mini.op("aten::mystery", start, 1, [A], [(start, 100 + start, [2])], inside=inside)
    del mini.events[tasks:]
    graph = mini.load()
    assert graph.n_tasks == tasks
    assert len(visits) == 5_000
    # Once for what a call does to storages, once for its FLOPs.
    assert set(visits.values()) == {2}


def flat(node):
    found = {"id": node["id"], "name": node["name"], "parent": node["ctrl_deps"]}
    found |= {entry["name"]: entry["value"] for entry in node["attrs"]}
    for side in ("input", "output"):
        held = node[f"{side}s"]
        found |= {
            f"{side}s": held["values"],
            f"{side}_shapes": held["shapes"],
            f"{side}_types": held["types"],
        }
    return found


@pytest.mark.parametrize(
    "schema", ["", "nonsense", "f(", "f(Tensor(a!", "aten::f(Tensor(a!)[] xs, str s='),(')"]
)
def test_an_odd_schema_is_survived(mini, schema):
    mini.op("aten::relu", 0, 1, [A], [B], schema=schema)
    assert mini.load().n_tasks == 1
