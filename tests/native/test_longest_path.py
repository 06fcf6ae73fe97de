"""The compiled longest path: equal bit by bit to the Python loop, and safe whatever it is given."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

import simsched.native
from simsched.graph import TaskGraph
from simsched.graph.longest_path import longest_path
from simsched.native import find
from simsched.testing.strategies import graphs

pytestmark = pytest.mark.skipif(find() is None, reason="installed without the compiled module")

I32, I64, F64 = np.int32, np.int64, np.float64


def both(graph: TaskGraph, weights: npt.NDArray[np.float64]) -> tuple[bytes, bytes]:
    """Return the bits of the compiled result and of the Python one."""
    order = np.ascontiguousarray(graph.topological_order[::-1])
    compiled = longest_path(graph.successors, order, weights)
    if graph.successors.forward:
        assert longest_path(graph.successors, None, weights).tobytes() == compiled.tobytes()
    with patch("simsched.graph.longest_path.core", lambda: None):
        python = longest_path(graph.successors, order, weights)
    assert compiled.dtype == python.dtype == F64
    return compiled.tobytes(), python.tobytes()


@given(graphs(max_tasks=40))
def test_durations(graph: TaskGraph) -> None:
    compiled, python = both(graph, graph.durations_s)
    assert compiled == python


@given(graphs(max_tasks=40), st.data())
def test_any_weights(graph: TaskGraph, data: st.DataObject) -> None:
    """NaN, infinities, negative and subnormal weights, and -0.0 behave the same in both."""
    weights = data.draw(st.lists(st.floats(), min_size=graph.n_tasks, max_size=graph.n_tasks))
    compiled, python = both(graph, np.array(weights, F64))
    assert compiled == python


def test_nan_stays_with_its_task(native: ModuleType) -> None:
    """0 -> 1 with weights 1 and NaN: an unknown neighbour counts as none, 1 + 0 = 1."""
    result = native.longest_path(*arrays(weights=np.array([1.0, np.nan])))
    assert result[0] == 1
    assert np.isnan(result[1])


def arrays(**changes: Any) -> list[Any]:
    """Return arguments for 0 -> 1, some replaced."""
    fitting: dict[str, Any] = {
        "indptr": np.array([0, 1, 1], I64),
        "indices": np.array([1], I32),
        "order": np.array([1, 0], I32),
        "weights": np.array([1.0, 2.0]),
    }
    assert changes.keys() <= fitting.keys()
    return list((fitting | changes).values())


def test_read_only_arrays_fit(native: ModuleType) -> None:
    fitting = arrays()
    for array in fitting:
        array.setflags(write=False)
    assert native.longest_path(*fitting).tolist() == [3, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": np.array([0, 1, 1], I32)},
        {"indices": np.array([1], I64)},
        {"order": np.array([1, 0], I64)},
        {"order": np.array([1, 0], np.uint32)},
        {"weights": np.array([1, 2], np.float32)},
        {"weights": np.array([1, 2])},
        {"weights": np.array([1.0, 2.0], ">f8")},
        {"weights": np.array([[1.0, 2.0]])},
        {"weights": np.array(1.0)},
        {"weights": np.ones(4)[::2]},
        {"weights": [1.0, 2.0]},
        {"weights": None},
        {"indices": "text"},
    ],
    ids=str,
)
def test_wrong_types(native: ModuleType, changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.longest_path(*arrays(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.empty(0, I64)}, "indptr must run from 0 to the number of indices"),
        ({"indptr": np.array([1, 1, 1], I64)}, "indptr must run from 0"),
        ({"indptr": np.array([0, 1, 2], I64)}, "indptr must run from 0"),
        ({"indptr": np.array([0, 2**62, 1], I64)}, "indptr must not decrease"),
        ({"indptr": np.array([0, -5, 1], I64)}, "indptr must not decrease"),
        ({"indices": np.array([2], I32)}, "index 2 is outside a graph of 2 nodes"),
        ({"indices": np.array([-1], I32)}, "index -1 is outside a graph of 2 nodes"),
        ({"order": np.array([1, 2], I32)}, "order names node 2, which is not there"),
        ({"order": np.array([1, -1], I32)}, "order names node -1, which is not there"),
        ({"order": np.array([1], I32)}, "order and weights need one entry a node, 2"),
        ({"weights": np.ones(3)}, "order and weights need one entry a node, 2"),
        ({"weights": np.empty(0)}, "order and weights need one entry a node, 2"),
        ({"indptr": np.array([0, 1], I64)}, "index 1 is outside a graph of 1 nodes"),
    ],
    ids=str,
)
def test_wrong_values(native: ModuleType, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.longest_path(*arrays(**changes))


@given(st.data())
def test_anything_that_has_the_right_types_is_computed_or_refused(data: st.DataObject) -> None:
    module = find()
    assert module is not None
    small, number = st.integers(-2, 4), st.lists
    given_arrays: list[Any] = [
        np.array(data.draw(number(small, max_size=5)), dtype) for dtype in (I64, I32, I32, F64)
    ]
    try:
        result = module.longest_path(*given_arrays)
    except ValueError:
        return
    assert len(result) == len(given_arrays[3])


def test_the_result_outlives_its_maker(native: ModuleType) -> None:
    results = [native.longest_path(*arrays(weights=np.array([float(i), 1.0]))) for i in range(1000)]
    assert [result[0] for result in results] == [i + 1 for i in range(1000)]


def test_the_stub_declares_what_the_module_has(native: ModuleType) -> None:
    stub = Path(simsched.native.__file__).with_name("_core.pyi")
    body = ast.parse(stub.read_text()).body
    declared = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert declared == {name for name in dir(native) if not name.startswith("_")}
    classes = {node.name for node in body if isinstance(node, ast.ClassDef)}
    assert classes == {name for name in declared if isinstance(getattr(native, name), type)}


def _of_stub(node: ast.FunctionDef) -> tuple[list[str], int, list[str]]:
    """Return the names of the arguments, the number of defaults, and the types of arrays, in order."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    text = " ".join(ast.unparse(part) for part in (node.args, node.returns) if part is not None)
    defaults = len(node.args.defaults) + sum(each is not None for each in node.args.kw_defaults)
    return names, defaults, re.findall(r"NDArray\[numpy\.(\w+?)_?\]", text)


def _of_module(signature: str) -> tuple[list[str], int, list[str]]:
    """Return the same of what nanobind says of a function."""
    types = re.findall(r"dtype=(\w+)", signature)
    # Types of arrays are no Python, and defaults are numbers of values that are elsewhere.
    plain = re.sub(r"\\(\d+)", r"\1", re.sub(r"ndarray\[[^\[\]]*\]", "ndarray", signature))
    (node,) = ast.parse(f"{plain}: ...").body
    assert isinstance(node, ast.FunctionDef)
    return *_of_stub(node)[:2], types


@pytest.mark.parametrize("module", ["_core", "_execute"])
def test_the_stub_declares_what_functions_take(module: str) -> None:
    compiled = pytest.importorskip(f"simsched.native.{module}")
    body = ast.parse(Path(simsched.native.__file__).with_name(f"{module}.pyi").read_text()).body
    owners = [(compiled, body)] + [
        (getattr(compiled, node.name), node.body) for node in body if isinstance(node, ast.ClassDef)
    ]
    compared = 0
    for owner, nodes in owners:
        stubs = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        for name in {node.name for node in stubs}:
            if (signatures := getattr(getattr(owner, name), "__nb_signature__", None)) is None:
                continue
            declared = [_of_stub(node) for node in stubs if node.name == name]
            assert declared == [_of_module(str(each[0])) for each in signatures], f"{owner.__name__}.{name}"
            compared += 1
    assert compared > 5
