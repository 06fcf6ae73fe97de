"""The programs as operators of ONNX Runtime and PyTorch, and their recordings; two small ones are kept here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.graph import Recording
from simsched.traces.recorders.runtimes import frameworks, load, networks, programs, record, save
from simsched.traces.recorders.runtimes.forked import forked
from simsched.traces.recorders.runtimes.frameworks import FRAMEWORKS, times
from simsched.traces.recorders.runtimes.networks import NETWORKS, Network, cholesky, stencil
from simsched.traces.recorders.runtimes.nodes import expressible, model
from simsched.traces.recorders.runtimes.record import Run, recorded

#: What the recorders wrote of `stencil(3, 3)`, parallel on two workers, and `cholesky(3)`, on two.
KEPT = Path(__file__).with_name("frameworks")
#: Operators: 5 x 5 x 5 products; 4 x 16 cells; 12 x 8 of branches; 6 x (8 x 4 + 4 + 4 x 3 + 2) of layers; 8 x 16 rows.
COUNTS = {
    "cholesky": 120, "lu": 91, "product": 125, "lstm": 64, "cnn": 96, "transformer": 300, "stencil": 128
}  # fmt: skip


def edges_of(graph: ss.TaskGraph) -> set[tuple[int, int]]:
    """Return dependencies between the tasks of a program, from those between its recorded operators."""
    names = zip(graph.names.to_list(), graph.scopes.to_list(), strict=True)
    number = [int((scope or name).rpartition("[")[2].removesuffix("]")) for name, scope in names]
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(number[a], number[b]) for a, b in pairs if number[a] != number[b]}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_graphs_in_order(name: str) -> None:
    network = NETWORKS[name]()
    program = network.program
    assert len(program.kinds) == len(network.reads) == COUNTS[name]
    assert all(before < after for before, after in program.edges)
    assert all(one.shape for one in network.given)
    assert expressible(network) == (name not in ("cholesky", "lu"))


def test_factorisations_have_the_dependencies_of_the_programs() -> None:
    assert networks.cholesky(5).program.edges == programs.cholesky(5).edges
    assert networks.lu(4).program.edges == programs.lu(4).edges
    assert networks.cnn(2).program.edges == programs.cnn(2).edges


def test_given_arrays_are_the_same_in_each_call() -> None:
    one, other = list(cholesky(2).values()), list(cholesky(2).values())
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    diagonal, below = np.abs(one[0]).max(), np.abs(one[1]).max()
    assert diagonal > networks.DOMINANT - 1 > below


def test_a_kept_recording_of_onnxruntime() -> None:
    """Its plan goes back from the last row, and one worker ran all nodes; times are whole microseconds."""
    graph, untraced_s = FRAMEWORKS["onnxruntime-parallel"].read(str(KEPT / "stencil"))
    program = stencil(3, 3).program
    assert edges_of(graph) == set(program.edges)
    assert graph.report.facts["executor"] == "parallel"
    assert 0 < untraced_s < 1
    found = recorded(program, "stencil", times(graph, 9, 2), untraced_s, 2, ranked=False)
    assert found.recording is not None
    assert found.recording.priorities is None
    assert found.recording.lane_names == ("worker 0", "worker 1")
    assert found.recorded is not None
    order = found.recorded.start_order.tolist()
    assert order != sorted(order)
    replayed = ss.replay_recorded(found, "runtime[system=onnxruntime]")
    assert replayed.plain.start_order.tolist() == order
    assert replayed.calibrated_error == pytest.approx(0.0, abs=1e-9)


def test_a_kept_recording_of_pytorch() -> None:
    """A task is one fork: a transposed view, and the product that reads it."""
    graph, untraced_s = FRAMEWORKS["pytorch-interop"].read(str(KEPT / "cholesky"))
    program = cholesky(3).program
    assert graph.n_tasks == len(program.kinds) + sum(kind != "potrf" for kind in program.kinds)
    assert untraced_s > 0
    found = times(graph, len(program.kinds), 2)
    assert found[:, 0].min() == 0
    assert set(found[:, 2].tolist()) == {0, 1}
    for before, after in program.edges:
        assert found[before, 1] <= found[after, 0]
    starts, finishes = graph.recording.start_s, graph.recording.finish_s
    assert (found[:, 1] - found[:, 0]).sum() / 1e9 >= (finishes - starts).sum()


def test_recordings_that_cannot_be_are_refused() -> None:
    run = Recording(np.zeros(2), np.ones(2), np.array([0, 1], np.int32), ("a", "b"))
    cases = (
        (["task[0]", "task[1]"], 2, 1, "2 threads ran tasks, expected 1 to 1"),
        (["task[0]", "other"], 2, 2, "'other' belongs to no task"),
        (["task[0]", "task[2]"], 2, 2, r"'task\[2\]' belongs to no task"),
        (["task[0]", "task[0]"], 2, 2, "task 1 of the program was not recorded"),
    )
    for names, tasks, workers, message in cases:
        graph = ss.TaskGraph.from_edges([1.0, 1.0], names=names, recording=run)
        with pytest.raises(SimschedError, match=message):
            times(graph, tasks, workers)
    with pytest.raises(SimschedError, match="0 threads ran tasks"):
        times(ss.TaskGraph.from_edges([1.0], names=["task[0]"]), 1, 1)


def test_saved_runs_of_frameworks_have_their_operators(tmp_path: Path) -> None:
    ns = np.array([[10 * task, 10 * task + 10, 0] for task in range(COUNTS["lstm"])])
    program = NETWORKS["lstm"]().program
    graph = recorded(program, "lstm", ns, untraced_s=6e-7, workers=1, ranked=False)
    save([Run("lstm", "pytorch-interop", 1, 0, graph)], tmp_path)
    (again,) = load(tmp_path)
    assert (again.name, again.graph.n_tasks) == ("lstm.pytorch-interop.1w.0", COUNTS["lstm"])
    assert again.graph.recording is not None
    assert again.graph.recording.priorities is None


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "find_spec", lambda name: None)
    wanted = ["onnxruntime-sequential", "pytorch-interop", "onnxruntime-parallel"]
    assert frameworks.missing(wanted) == ["onnxruntime", "onnx", "torch"]
    with pytest.raises(SimschedError, match="none of pytorch-interop is installed; pip install torch"):
        list(record([1], 1, ["lu"], ["pytorch-interop"]))


def test_programs_that_onnx_lacks_are_refused() -> None:
    pytest.importorskip("onnx")
    with pytest.raises(SimschedError, match="no operators for potrf, syrk, trsm"):
        model(cholesky())


def test_nodes_are_the_operators() -> None:
    onnx = pytest.importorskip("onnx", "1.18", reason="the first onnx that knows the operator Attention")
    for name, make in NETWORKS.items():
        network = make()
        if not expressible(network):
            continue
        text, inputs = model(network)
        found = onnx.load_from_string(text)
        onnx.checker.check_model(found)
        assert [node.name for node in found.graph.node] == [f"task[{i}]" for i in range(COUNTS[name])]
        assert len(inputs) + len(found.graph.initializer) == len(network.given)


def computed_by_onnxruntime(network: Network) -> list[np.ndarray]:
    library = pytest.importorskip("onnxruntime")
    text, inputs = model(network)
    return library.InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, inputs)


def test_onnxruntime_computes_the_stencil() -> None:
    rows = np.stack(list(stencil(3, 1).values()))
    found = computed_by_onnxruntime(stencil(3, 1))
    for got, expected in zip(found, (rows[:2].mean(0), rows.mean(0), rows[1:].mean(0)), strict=True):
        assert np.allclose(got, expected, rtol=1e-5, atol=1e-9)


def test_pytorch_computes_the_factorisation() -> None:
    pytest.importorskip("torch")
    side, tile, tiles = 3, networks.TILE, cholesky(3).values()
    lower = np.zeros((side * tile, side * tile))
    for i in range(side):
        for j in range(i + 1):
            lower[i * tile : (i + 1) * tile, j * tile : (j + 1) * tile] = next(tiles)
    lower = np.tril(lower)
    expected = np.linalg.cholesky(lower + np.tril(lower, -1).T)
    last = forked(cholesky(side))()[-1][0].numpy()
    assert np.abs(last - expected[-tile:, -tile:]).max() < 1e-4


SMALL: list[Callable[[], Network]] = [
    lambda: networks.product(2), lambda: networks.lstm(2, 2), lambda: networks.cnn(1),
    lambda: networks.transformer(1), lambda: stencil(3, 2),
]  # fmt: skip


@pytest.mark.parametrize("make", SMALL)
def test_both_frameworks_compute_the_same(make: Callable[[], Network]) -> None:
    pytest.importorskip("torch")
    network = make()
    by_onnx, by_pytorch = computed_by_onnxruntime(network), forked(network)()
    read = {task for reads in network.reads for task, _ in reads}
    unread = [task for task in range(len(network.reads)) if task not in read]
    for task, got in zip(unread, by_onnx, strict=True):
        assert np.allclose(got, by_pytorch[task][0].numpy(), rtol=1e-3, atol=1e-4 * np.abs(got).max())


@pytest.mark.parametrize(
    ("framework", "workers"),
    [("onnxruntime-sequential", 1), ("onnxruntime-parallel", 2), ("pytorch-interop", 1)],
)
def test_a_program_is_recorded(framework: str, workers: int) -> None:
    for package in FRAMEWORKS[framework].packages:
        pytest.importorskip(package)
    (run,) = record([workers], 1, ["lstm"], [framework])
    assert (run.name, run.graph.n_tasks) == (f"lstm.{framework}.{workers}w.0", COUNTS["lstm"])
    found = ss.replay_recorded(run.graph, FRAMEWORKS[framework].policy)
    assert found.plain.start_order.tolist() == found.recorded.start_order.tolist()
    assert not list(record([2], 1, ["lstm"], ["onnxruntime-sequential"])), "it has one worker"
