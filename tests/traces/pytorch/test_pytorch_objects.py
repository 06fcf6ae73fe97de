"""Data objects: versions of storages, with the tensors' bytes."""

from __future__ import annotations

ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
VIEW = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"
A, B, C, D = (1, 11, [4]), (2, 12, [8]), (3, 13, [2]), (4, 14, [2])


def objects(graph):
    data = graph.data
    readers = [data.readers.neighbours(i).tolist() for i in range(data.n)]
    return list(zip(data.size_B.tolist(), data.producer.tolist(), readers, strict=True))


def test_outputs_and_inputs(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [B], [C])
    mini.op("aten::add", 2, 1, [B, C], [D])
    assert objects(mini.load()) == [(16, -1, [0]), (32, 0, [1, 2]), (8, 1, [2]), (8, 2, [])]


def test_a_write_in_place_makes_another_object(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::add_", 1, 1, [B, A], [B], schema=ADD_)
    mini.op("aten::relu", 2, 1, [B], [C])
    assert objects(mini.load()) == [(16, -1, [0, 1]), (32, 0, [1]), (32, 1, [2]), (8, 2, [])]


def test_a_view_is_no_object_and_its_readers_read_the_storage(mini):
    part = (5, 12, [2])
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::view", 1, 1, [B], [part], schema=VIEW)
    mini.op("aten::relu", 2, 1, [part], [C])
    assert objects(mini.load()) == [(16, -1, [0]), (32, 0, [1, 2]), (8, 2, [])]


def test_a_storage_that_comes_back_is_another_object(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [C], [(9, 12, [2])])
    mini.op("aten::relu", 2, 1, [(9, 12, [2])], [D])
    assert objects(mini.load()) == [(16, -1, [0]), (32, 0, []), (8, -1, [1]), (8, 1, [2]), (8, 2, [])]


def test_an_execution_trace_alone_has_the_same(mini):
    from simsched.traces.pytorch.reader import PYTORCH

    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::add", 1, 1, [B, A], [C])
    assert objects(PYTORCH.read(mini.write()[1])) == objects(mini.load())
