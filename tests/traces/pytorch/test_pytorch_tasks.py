"""Tasks: which events become one, when they ran, what they are called and what they cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simsched.errors import FormatError
from simsched.graph.loading import load
from simsched.traces.pytorch.reader import PYTORCH

A, B, C = (1, 11, [2, 3]), (2, 12, [3, 4]), (3, 13, [2, 4])


def test_nested_operators_are_counted_once(mini):
    outer = mini.op("aten::linear", 0, 10, [A], [B])
    mini.op("aten::t", 1, 2, [A], [B], inside=outer)
    mini.op("aten::addmm", 4, 5, [A], [B], inside=outer)
    mini.op("aten::relu", 10, 2, [B], [C])
    graph = mini.load()
    assert graph.kinds.to_list() == ["linear", "relu"]
    assert graph.durations_s.tolist() == [10e-6, 2e-6]
    assert (graph.report.facts["operators"], graph.report.facts["inner_operators"]) == (4, 2)


def test_wrappers_and_annotations_are_not_tasks(mini):
    mini.annotate("cell[l=0]", 0, 5)
    mini.op("aten::addmm", 1, 2, [A], [B], sequence=5)
    mini.op("autograd::engine::evaluate_function: AddmmBackward0", 10, 20, sequence=5)
    mini.op("AddmmBackward0", 11, 10, sequence=5)
    mini.op("aten::mm", 12, 4, [B], [A])
    mini.op("aten::sum", 25, 1, [B], [C])
    mini.annotate("Optimizer.step#SGD.step", 40, 20)
    mini.op("aten::add_", 41, 2, [A], [A])
    mini.op("mylib::op", 50, 2, [A], [C])
    graph = mini.load()
    assert graph.kinds.to_list() == ["addmm", "mm", "sum", "add_", "mylib::op"]
    assert graph.scopes.to_list() == [
        "cell[l=0]",
        "backward/cell[l=0]",
        "backward/cell[l=0]",
        "Optimizer.step#SGD.step",
        "Optimizer.step#SGD.step",
    ]
    assert graph.report.facts["lost_autograd_share"] == pytest.approx(15 / 60)
    assert graph.report.facts["covered_share"] == pytest.approx(11 / 60)
    assert (
        sum(graph.report.facts[k] for k in ("covered_share", "lost_autograd_share", "lost_python_share")) == 1
    )


def test_functions_without_a_namespace_are_tasks_where_they_call_no_operator(mini):
    """PyTorch names the forward of an `autograd.Function` by its class."""
    mini.op("FlashAttnFunc", 0, 700)
    mini.op("aten::detach", 100, 5, lane=2)
    mini.op("Outer", 700, 50)
    mini.op("my_kernel", 710, 20)
    mini.op("FlashAttnFuncBackward", 800, 10)
    mini.op("CompiledFunction", 820, 10)
    mini.op("forward", 840, 30)  # of TorchScript: it waits for what it forked
    mini.op("aten::mm", 845, 20, lane=2)
    graph = mini.load_alone()
    assert graph.kinds.to_list() == ["FlashAttnFunc", "detach", "my_kernel", "mm"]
    assert graph.report.facts["wrappers"] == 4


def test_backward_of_an_unknown_forward_has_no_more_than_that_scope(mini):
    mini.op("aten::addmm", 0, 2, [A], [B], sequence=5)
    mini.op("aten::addmm", 0, 2, [A], [C], sequence=6, lane=2)
    mini.op("aten::addmm", 3, 2, [A], [C], sequence=6)  # two threads used the number
    for start, number in ((10, 5), (20, 6), (30, 99)):
        mini.op("MulBackward0", start, 5, sequence=number)
        mini.op("aten::mm", start + 1, 1, [B], [A])
    assert mini.load().scopes.to_list()[3:] == ["backward"] * 3


def test_nested_scopes_are_joined_outermost_first(mini):
    mini.annotate("ProfilerStep#3", 0, 100)
    mini.annotate("block", 1, 50)
    mini.annotate("branch", 2, 20)
    mini.op("aten::relu", 3, 2, [A], [B])
    assert mini.load().scopes.to_list() == ["block/branch"]


def test_names_hold_the_record_function_id(mini):
    rf_id = mini.op("aten::relu", 0, 1, [A], [B])
    assert mini.load().task_name(0) == f"relu#{rf_id}"


def test_decimal_microseconds_become_exact_nanoseconds(mini):
    mini.op("aten::relu", "<4309428194686.453>", "<0.001>", [A], [B])
    mini.op("aten::relu", "<4309428194686.454>", "<12345.678>", [B], [C])
    graph = mini.load()
    starts, finishes = (
        np.round(t * 1e9).astype(int).tolist() for t in (graph.recording.start_s, graph.recording.finish_s)
    )
    assert starts == [0, 1]
    assert finishes == [1, 12345679]
    assert graph.n_edges == 1


def test_integer_microseconds_of_older_profilers(mini):
    mini.op("aten::relu", 1661203462598738, 19, [A], [B])
    mini.op("aten::relu", 1661203462598757, 0, [B], [C])
    for event in mini.events:
        event["cat"] = "Operator"
    graph = mini.load()
    assert graph.durations_s.tolist() == [19e-6, 0.0]
    assert graph.n_edges == 1


def test_the_last_complete_step_is_taken_unless_another_is_chosen(mini):
    for number, start in ((1, 0), (2, 100), (3, 200)):
        mini.annotate(f"ProfilerStep#{number}", start, 90)
    mini.op("aten::relu", 10, 5, [A], [B])
    mini.op("aten::relu", 110, 5, [A], [B])
    mini.op("aten::tanh", 120, 5, [A], [C])
    graph = mini.load()
    assert graph.kinds.to_list() == ["relu", "tanh"]
    assert (graph.report.facts["step"], graph.report.facts["steps"]) == (2, "1, 2")
    assert graph.report.facts["span_s"] == 90e-6
    assert mini.load(step=1).n_tasks == mini.load(step="1").n_tasks == 1
    for wrong in (3, 17, "3"):
        with pytest.raises(FormatError, match=f"no complete ProfilerStep#{wrong}; complete steps: 1, 2"):
            mini.load(step=wrong)
    for wrong in (True, 1.0, "", "-1", "one", "9" * 5000, -1):
        with pytest.raises(FormatError, match=r"step is .*; expected the number of a ProfilerStep"):
            mini.load(step=wrong)


def test_what_reaches_across_the_marks_of_a_step_is_told(mini):
    """Of 100 us, 75 are of an operator that began before; another one ends 20 us after the mark."""
    mini.annotate("ProfilerStep#1", 0, 100)
    mini.op("gloo::wait", -5, 80, lane=2)
    mini.op("gloo::inner", -4, 20, lane=2)
    mini.op("aten::relu", 80, 40, [A], [B])
    graph = mini.load_alone()
    facts = graph.report.facts
    assert (graph.kinds.to_list(), facts["operators_begun_before"]) == (["relu"], 1)
    assert (facts["span_s"], facts["critical_path_s"]) == (120e-6, 40e-6)
    assert facts["lost_begun_before_share"] == pytest.approx(75 / 120)
    assert facts["lost_python_share"] == pytest.approx(5 / 120)
    assert any(
        "1 operator reaches across the step's begin (7.5e-05 s within it)" in note
        for note in graph.report.notes
    )


def test_steps_of_several_processes_are_refused(mini):
    """Two ranks in a file: the step of one took its operators out of the other's."""
    for rank in (1, 2):
        mini.annotate("ProfilerStep#0", 5 * rank, 900)
        mini.op("aten::mm", 5 * rank + 5, 400)
        for event in mini.events[-2:]:
            event["pid"] = rank
    with pytest.raises(
        FormatError, match=r"ProfilerStep of several processes \(1, 2\).*load the file of one rank"
    ):
        mini.load_alone()


def test_a_trace_without_steps_is_one_step(mini):
    mini.op("aten::relu", 10, 5, [A], [B])
    assert any("marks no steps" in note for note in mini.load().report.notes)
    with pytest.raises(FormatError, match="complete steps: none"):
        mini.load(step=1)


def test_events_that_overlap_without_nesting_are_survived(mini):
    mini.op("aten::relu", 0, 10, [A], [B])
    mini.op("aten::relu", 5, 10, [B], [C])
    graph = mini.load()
    assert graph.n_tasks == 2
    assert graph.n_edges == 0
    assert any("1 event of a thread beside another one" in note for note in graph.report.notes)


def test_kineto_alone_is_a_chain_per_thread_and_says_so(mini):
    for start, lane in ((0, "main"), (1, 2), (5, "main"), (6, 2), (9, "main")):
        mini.op("aten::mm", start, 2, [A, B], lane=lane)
    graph = mini.load_alone()
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    assert list(pairs) == [(0, 2), (1, 3), (2, 4)]
    assert any("chain" in note and "execution_trace=" in note for note in graph.report.notes)
    assert graph.shapes[0] == "2x3;3x4"
    assert graph.flops[0] == 2 * 2 * 3 * 4
    assert math.isnan(graph.bytes_B[0])


def test_work_from_shapes(mini):
    mini.op("aten::mm", 0, 2, [A, B], [C])
    mini.op("aten::mystery", 3, 2, [A], [(9, 19, [5])])
    outer = mini.op("aten::composite", 6, 9, [A], [(10, 20, [2, 3])])
    mini.op("aten::tanh", 7, 1, [A], [(11, 21, [2, 3])], inside=outer)
    mini.op("aten::tanh", 9, 1, [A], [(10, 20, [2, 3])], inside=outer)
    graph = mini.load()
    assert graph.flops[[0, 2]].tolist() == [48, 12]
    assert math.isnan(graph.flops[1])
    assert graph.bytes_B.tolist() == [4 * (6 + 12 + 8), 4 * (6 + 5), 4 * (6 + 6)]


def test_the_recorders_metadata_is_used(mini):
    mini.top["simsched"] = {
        "threads": 2,
        "cpu_model": "Some CPU",
        "core_flops": 1e11,
        "core_bandwidth_Bps": 10**10,
        "clock_Hz": 2_400_000_000,
        "untraced_step_s": {"median": 2e-6, "min": 1e-6, "n": 3},
    }
    mini.op("aten::relu", 0, 4, [A], [B])
    graph = mini.load()
    assert graph.widths.tolist() == [2]
    assert (graph.recorded_on.name, graph.recorded_on.core_flops) == ("Some CPU", 1e11)
    assert (graph.recorded_on.core_bandwidth_Bps, graph.recorded_on.clock_Hz) == (1e10, 2.4e9)
    assert graph.report.facts["traced_over_untraced"] == pytest.approx(4)


def test_a_step_that_was_no_slower_traced_costs_nothing_to_trace(mini):
    """A disturbed host: "tracing made the step 0.97 times as long ...: -406 us more an operator"."""
    mini.top["simsched"] = {"untraced_step_s": {"median": 6e-6, "min": 5e-6}}
    mini.op("aten::relu", 0, 4, [A], [B])
    notes = mini.load().report.notes
    assert not any("tracing made" in note for note in notes)
    assert any("what tracing cost is less than its runs differ by" in note for note in notes)


def views_of(mini, untraced_s):
    if untraced_s:
        mini.top["simsched"] = {"untraced_step_s": {"median": untraced_s, "min": untraced_s}}
    mini.op("aten::relu", 0, 40, [A], [B])
    for start in (50, 70):
        mini.op("aten::view", start, 10, [B], [(start, 12, [2])], schema="f(Tensor(a) self) -> Tensor(a)")
    return mini.load().report


def test_the_time_of_views_is_told(mini):
    report = views_of(mini, None)
    assert report.facts["views"] == 2
    assert report.facts["views_s"] == pytest.approx(20e-6)
    assert "2 tasks only make views and hold 0.02 ms of the recorded time" in report.notes


def test_the_time_of_views_is_put_down_to_tracing_where_its_cost_is_known(mini):
    # 80 us in all, 3 operators.
    notes = views_of(mini, 5e-5).notes
    assert any("0.02 ms of the recorded time, mostly the cost of tracing (10 us an op" in it for it in notes)


def test_the_time_of_views_is_more_than_tracing_where_that_costs_little(mini):
    notes = views_of(mini, 7.7e-5).notes
    assert any(
        "0.02 ms of the recorded time, part of it the cost of tracing (1 us an op" in it for it in notes
    )


def test_what_tracing_costs_within_views_counts_too(mini):
    # 5 operators, 1 us each: 4 of the 6 us of the view.
    mini.top["simsched"] = {"untraced_step_s": {"median": 42e-6, "min": 41e-6}}
    mini.op("aten::relu", 0, 40, [A], [B])
    outer = mini.op("aten::split", 40, 6, [B], [(9, 12, [2])], schema="f(Tensor(a) self) -> Tensor(a)")
    for start in (41, 43, 45):
        mini.op("aten::narrow", start, 1, [B], [(9, 12, [2])], inside=outer)
    notes = mini.load().report.notes
    assert any("mostly the cost of tracing (1 us an operator)" in it for it in notes)


def test_without_an_execution_trace_nobody_knows_the_views(mini):
    mini.op("aten::view", 0, 10, [A], [B])
    assert "views_s" not in mini.load_alone().report.facts


def test_a_device_is_reported_and_left_out(mini):
    mini.op("aten::relu", 0, 4, [A], [B])
    mini.event("kernel", "gemm", 1, 100, 7)
    graph = mini.load()
    assert graph.n_tasks == 1
    assert graph.report.facts["device_events"] == 1


def test_zipped_files_and_files_whose_suffix_was_left_out(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    kineto, execution_trace = mini.write(zipped=True)
    graph = PYTORCH.read(kineto, execution_trace=str(execution_trace).removesuffix(".gz"))
    assert (graph.n_tasks, graph.name) == (1, "step")


def test_an_execution_trace_of_another_run_is_refused(mini):
    for start in range(5):
        mini.op("aten::relu", start, 1, [A], [B])
    mini.nodes[2]["name"] = "aten::tanh"
    with pytest.raises(FormatError, match="different runs"):
        mini.load()
    del mini.nodes[1:]
    with pytest.raises(FormatError, match="joins 1 of the 5 operators"):
        mini.load()


def test_a_few_unjoined_operators_are_reported(mini):
    for start in range(20):
        mini.op("aten::relu", start, 1, [A], [B])
    del mini.nodes[3]
    graph = mini.load()
    assert (graph.report.facts["joined"], graph.report.facts["unjoined"]) == (19, 1)


def test_files_without_record_function_ids_cannot_be_joined(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    del mini.events[0]["args"]["Record function id"]
    with pytest.raises(FormatError, match=r"Observer was not active .* or PyTorch is older than 2\.1"):
        mini.load()
    assert mini.load_alone().task_name(0) == "relu@1"


def test_other_formats_are_not_claimed(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    assert PYTORCH.recognises(mini.write()[0].read_bytes())
    for other in (
        b'[{"cat":"Session","pid":1,"dur":3,"ts":2,"ph":"X","name":"model_loading","args":{}}]',
        b'{"traceEvents":[{"ph":"X","name":"task","ts":0,"dur":1}],"displayTimeUnit":"ms"}',
        b'{"tasks":[],"edges":[]}',
        b"{}",
        b"",
    ):
        assert not PYTORCH.recognises(other)


def test_threads_are_told_noted_or_taken_as_one(mini):
    mini.op("aten::mm", 0, 2, [A], [B])
    unknown = mini.load()
    assert unknown.widths.tolist() == [1]
    assert any("tell with threads=" in note for note in unknown.report.notes)
    assert (unknown.report.facts["threads"], unknown.report.facts["lanes"]) == (1, 1)
    for four in (4, "4"):
        told = mini.load(threads=four)
        assert told.widths.tolist() == [4]
        assert told.report.facts["threads"] == 4
        assert not any("threads=" in note for note in told.report.notes)
    for wrong in (0, 10**6, "two", "0", True):
        # What the user gave wrongly is not blamed on the file.
        with pytest.raises(FormatError, match=r"threads is [^;]*; expected 1 to 65536$"):
            mini.load(threads=wrong)


def test_threads_that_are_told_stand_for_a_wrong_note(mini):
    mini.op("aten::mm", 0, 2, [A], [B])
    mini.top["simsched"] = {"threads": 0}
    with pytest.raises(FormatError, match="threads is 0, expected 1 to 65536"):
        mini.load()
    assert mini.load(threads=2).widths.tolist() == [2]


def test_unknown_options_are_refused(mini):
    mini.op("aten::mm", 0, 2, [A], [B])
    with pytest.raises(FormatError, match="no option 'stepp'; it has execution_trace, step, threads"):
        load(mini.write()[0], stepp=3)


@pytest.mark.parametrize(
    ("lane", "said"), [(1, "no policy can run two at once"), (2, "none of the 2 threads waits for another")]
)
def test_what_a_kineto_trace_alone_says_of_threads(mini, lane, said):
    mini.op("aten::mm", 0, 10)
    mini.op("aten::mm", 20, 10, lane=lane)
    graph = mini.load_alone()
    assert graph.n_edges == 2 - lane
    assert any(said in note for note in graph.report.notes)
