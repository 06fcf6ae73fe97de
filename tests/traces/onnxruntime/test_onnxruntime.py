"""Joined profiles and models: edges, runs, times, shapes, widths, bodies and names."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

onnx = pytest.importorskip("onnx")
pytest.importorskip("ijson")


def test_diamond_has_the_models_edges_and_the_runs_times(hand: Any, tmp_path: Path) -> None:
    """Work 65 us, critical path a c d = 45 us, span 70 us."""
    graph = hand.join(tmp_path, hand.diamond())
    assert hand.edges(graph) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    assert graph.kinds.to_list() == ["Relu", "Exp", "Log", "Add"]
    assert graph.critical_path_s == pytest.approx(45e-6)
    facts = graph.report.facts
    assert facts["span_s"] == pytest.approx(70e-6)
    assert facts["covered_share"] == pytest.approx(65 / 70)
    assert facts["average_parallelism"] == pytest.approx(65 / 45)
    assert (facts["tasks"], facts["edges"], facts["early_starts"], facts["nodes_not_run"]) == (4, 4, 0, 0)


def test_time_before_the_first_node_and_after_the_last_is_told(hand: Any, tmp_path: Path) -> None:
    graph = hand.join(tmp_path, hand.diamond())
    facts = graph.report.facts
    run = graph.recording
    outside_s = facts["span_s"] - (run.finish_s.max() - run.start_s.min())
    assert facts["before_first_s"] + facts["after_last_s"] == pytest.approx(outside_s)
    told = [note for note in graph.report.notes if "before its first node" in note]
    assert bool(told) == (outside_s > 0.01 * facts["span_s"])
    assert outside_s > 0


def test_gzipped_files_are_read_alike(hand: Any, tmp_path: Path) -> None:
    profile, model = hand.profile(tmp_path / "p", hand.diamond()), hand.model(tmp_path / "m", hand.DIAMOND)
    for file in (profile, model):
        file.write_bytes(gzip.compress(file.read_bytes()))
    assert ONNXRUNTIME.read(profile, model=str(model)).n_edges == 4


def test_content_tells_the_format(hand: Any) -> None:
    assert ONNXRUNTIME.recognises(b'[\n{"cat" : "Session","pid" :1,')
    assert ONNXRUNTIME.recognises(json.dumps(hand.diamond()).encode())
    assert not ONNXRUNTIME.recognises(b'[{"ph": "X", "cat": "cpu_op"}]')
    assert not ONNXRUNTIME.recognises(b'{"traceEvents": [{"cat": "Node"}]}')
    assert not ONNXRUNTIME.recognises(b"[]")


def test_times_are_exact_nanoseconds_of_the_first_start(hand: Any, tmp_path: Path) -> None:
    base = 2**41  # 25 days after the session was made
    graph = hand.join(tmp_path, hand.diamond(base))
    assert graph.recording is not None
    starts = [round(s * 1e9) for s in graph.recording.start_s]
    assert starts == [0, 11_000, 32_000, 63_000]
    assert [round(s * 1e9) for s in graph.recording.finish_s] == [10_000, 31_000, 62_000, 68_000]


def test_run_is_the_last_complete_one_or_the_one_asked_for(hand: Any, tmp_path: Path) -> None:
    """The third run stopped after its first node."""
    events = hand.diamond(100) + hand.diamond(300) + [hand.ran("a", "Relu", 500, 10), hand.run(499, 20)]
    graph = hand.join(tmp_path, events)
    assert graph.report.facts["run"] == 1
    assert graph.report.facts["runs"] == 3
    assert graph.report.facts["run_spans_s"] == "0.000070, 0.000070, 0.000020"
    first = hand.join(tmp_path, events, run=0).report
    assert first.facts["run"] == 0
    slower = "slower than the last one, as runs are that warm up; run= chooses"
    assert f"run 0 of runs 0 to 2 (0.000070, 0.000070, 0.000020 s), {slower}" in first.notes
    assert hand.join(tmp_path, events, run="2").n_tasks == 1
    for wrong in (3, -1, True, "x", 1.0, "", "3", "-1", "٢", "9" * 5000):
        with pytest.raises(FormatError, match=r"run is .*; expected one of the profile's runs 0 to 2"):
            hand.join(tmp_path, events, run=wrong)


def test_runs_at_once_are_told_apart_by_their_thread(hand: Any, tmp_path: Path) -> None:
    events = hand.diamond(100, tid=1) + hand.diamond(120, tid=2)
    graph = hand.join(tmp_path, events, run=1)
    assert graph.recording is not None
    assert graph.recording.lane_names == ("process 7 thread 2",)
    events[3]["tid"] = 3
    with pytest.raises(FormatError, match="overlap"):
        hand.join(tmp_path, events)


def test_node_that_did_not_run_passes_its_dependencies_on(hand: Any, tmp_path: Path) -> None:
    events = [e for e in hand.diamond() if not e["name"].startswith("c")]
    graph = hand.join(tmp_path, events)
    assert hand.edges(graph) == [("a", "b"), ("a", "d"), ("b", "d")]
    assert graph.report.facts["nodes_not_run"] == 1
    assert any("'c'" in note for note in graph.report.notes)


def test_profile_alone_is_a_chain_a_thread(hand: Any, tmp_path: Path) -> None:
    events = hand.diamond()
    events[2]["tid"] = 2
    graph = ONNXRUNTIME.read(hand.profile(tmp_path / "p", events))
    assert hand.edges(graph) == [("a", "b"), ("b", "d")]
    assert graph.recording is not None
    assert graph.recording.lanes.tolist() == [0, 0, 1, 0]
    assert any("model=" in note for note in graph.report.notes)
    assert graph.report.facts["lanes"] == 2


def test_fences_and_other_events_are_no_tasks(hand: Any, tmp_path: Path) -> None:
    fence = hand.ran("a", "Relu", 99, 1) | {"name": "a_fence_before"}
    graph = hand.join(tmp_path, [fence, {"cat": "Kernel"}, *hand.diamond()])
    assert graph.n_tasks == 4


def test_width_counts_the_threads_that_ran_a_part(hand: Any, tmp_path: Path) -> None:
    """Counters of the pool's threads run on: 3 parts before the run, b adds 2 on one of them, d 1 on both."""

    def stats(one: int, two: int) -> dict[str, Any]:
        return {"main_thread": {}, "sub_threads": {"t1": {"num_run": one}, "t2": {"num_run": two}}}

    events = hand.diamond()
    warm_up = hand.ran("a", "Relu", 10, 5, thread_scheduling_stats=stats(3, 0))
    for event, counts in zip(events, [(3, 0), (5, 0), (5, 0), (6, 1)], strict=False):
        event["args"]["thread_scheduling_stats"] = stats(*counts)
    assert hand.join(tmp_path, [warm_up, *events]).widths.tolist() == [1, 2, 1, 3]
    events[2]["args"]["thread_scheduling_stats"] = {"sub_threads": {"t1": {}}}
    with pytest.raises(FormatError, match=r"event 2 has num_run None"):
        hand.join(tmp_path, events)


def test_weights_packed_at_load_time_are_added_to_shapes_and_bytes(hand: Any, tmp_path: Path) -> None:
    """(2 x 3)(3 x 4) + 4: 2*2*3*4 + 2*4 = 56 FLOPs; 24 + 16 + 32 bytes in the event, 48 of the weight."""
    weights = [onnx.helper.make_tensor(n, 1, d, [0.0] * math.prod(d)) for n, d in (("w", [3, 4]), ("c", [4]))]
    told = {"input_type_shape": [{"float": [2, 3]}, {"float": [4]}], "output_type_shape": [{"float": [2, 4]}]}
    told |= {"activation_size": "24", "parameter_size": "16", "output_size": "32"}
    events = [hand.ran("g", "Gemm", 10, 5, **told), hand.run(0, 20)]
    graph = hand.join(tmp_path, events, [("Gemm", "g", ["x", "w", "c"], ["y"])], weights=weights)
    assert graph.shapes[0] == "2x3;3x4;4"
    assert (graph.flops[0], graph.bytes_B[0]) == (56.0, 120.0)


def test_old_profile_without_shapes_leaves_work_unknown(hand: Any, tmp_path: Path) -> None:
    graph = hand.join(tmp_path, hand.diamond())
    assert all(math.isnan(x) for x in (*graph.flops, *graph.bytes_B))


def test_body_is_part_of_its_owner_and_its_captures_are_edges(hand: Any, tmp_path: Path) -> None:
    """The branch reads `ta` of the outer graph; its node `inner` runs inside the If."""
    branch = onnx.helper.make_graph(
        [hand.node("Exp", "inner", ["ta"], ["z"])], "branch", [], [hand.value("z")]
    )
    nodes = [
        ("Relu", "a", ["x"], ["ta"]),
        ("Cast", "k", ["x"], ["cond"]),
        hand.node("If", "if", ["cond"], ["y"], then_branch=branch, else_branch=branch),
    ]
    events = [hand.ran("a", "Relu", 10, 5), hand.ran("k", "Cast", 16, 2)]
    events += [hand.ran("inner", "Exp", 21, 3), hand.ran("if", "If", 20, 9), hand.run(5, 30)]
    graph = hand.join(tmp_path, events, nodes)
    assert hand.edges(graph) == [("a", "if"), ("k", "if")]
    assert graph.report.facts["nodes_in_bodies"] == 1
    assert ONNXRUNTIME.read(tmp_path / "run.json").n_tasks == 3


def test_nodes_without_names_are_matched_in_order(hand: Any, tmp_path: Path) -> None:
    chain = [("Relu", "", ["x"], ["t0"]), ("Relu", "", ["t0"], ["t1"]), ("Relu", "", ["t1"], ["y"])]
    events = [hand.ran(f"Relu_{9 - i}", "Relu", 10 * i, 5, node_index=str(9 - i)) for i in range(3)]
    graph = hand.join(tmp_path, [*events, hand.run(0, 40)], chain)
    assert hand.edges(graph) == [("Relu_9", "Relu_8"), ("Relu_8", "Relu_7")]
    events[1]["tid"] = 2
    with pytest.raises(FormatError, match="name of its own"):
        hand.join(tmp_path, [*events, hand.run(0, 40)], chain)


def test_long_and_odd_names_are_kept(hand: Any, tmp_path: Path) -> None:
    names = ["n" * 100_000, "line\nbreak", "ü"]
    events = [hand.ran(name, "Relu", i, 1) for i, name in enumerate(names)]
    graph = ONNXRUNTIME.read(hand.profile(tmp_path / "p", [*events, hand.run(0, 9)]))
    assert [graph.task_name(i) for i in range(3)] == names


def test_clock_tells_no_more_than_a_microsecond(hand: Any, tmp_path: Path) -> None:
    events = hand.diamond()
    events[3]["ts"] = 161  # c finishes at 162
    graph = hand.join(tmp_path, events)
    assert graph.report.facts["early_starts"] == 1


@pytest.mark.parametrize(
    ("numbers", "priorities", "order"),
    [("0723", [0, -7, -2, -3], "abcd"), ("0123", [0, -1, -2, -3], "acbd"), ("0x23", None, "acbd")],
)
def test_the_plan_follows_the_numbers_of_the_session(
    numbers: str, priorities: list[int] | None, order: str, hand: Any, tmp_path: Path
) -> None:
    """Back from d, the plan goes first to c, which the model has last, unless the number of b is higher."""
    events = hand.diamond()
    for event, number in zip(events, numbers, strict=False):
        event["args"]["node_index"] = number
    graph = hand.join(tmp_path, events)
    found = graph.recording.priorities
    assert (found if found is None else found.tolist()) == priorities
    replayed = ss.replay_recorded(graph, "runtime[system=onnxruntime]").plain
    assert "".join(graph.task_name(task) for task in replayed.start_order) == order
