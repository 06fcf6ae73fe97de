"""Traces of devices: kernels on streams, launches and waits, by hand."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError, SimschedError
from simsched.traces.pytorch.reader import PYTORCH


@pytest.fixture
def gpu(mini):
    """Two operators that launch a kernel and a copy, a wait for the copy, and an operator after it."""
    mini.op("aten::mm", 0, 10)
    call(mini, "cudaLaunchKernel", 2, 2, 1)
    kernel(mini, "void gemm<float>(int)", 3, 6, 1)
    mini.op("aten::item", 12, 18)
    call(mini, "cudaMemcpyAsync", 13, 1, 2)
    kernel(mini, "Memcpy DtoH (Device -> Pageable)", 14, 6, 2, category="gpu_memcpy", bytes=64)
    call(mini, "cudaStreamSynchronize", 15, 6, 3)
    mini.op("aten::relu", 40, 5)
    return mini


def call(mini, name, start, duration, correlation, lane=1):
    mini.event("cuda_runtime", name, start, duration, lane, correlation=correlation)


def kernel(mini, name, start, duration, correlation, stream=7, category="kernel", **args):
    mini.event(
        category, name, start, duration, f"stream {stream}", correlation=correlation, stream=stream, **args
    )
    mini.events[-1]["pid"] = 0


def wait(mini, start, correlation, stream, **args):
    mini.event("cuda_sync", "Wait", start, 1, stream, correlation=correlation, stream=stream, **args)


def elsewhere(mini):
    """Say that the kernel added last ran on another device."""
    mini.events[-1]["pid"] = mini.events[-1]["args"]["device"] = 1


def told(graph) -> tuple[dict[str, list[float]], set[tuple[str, str]]]:
    """Return the interval of each task in us, and the edges, by names without positions."""
    short = [re.sub(r"@\d+", "", graph.task_name(task)) for task in range(graph.n_tasks)]
    run = graph.recording
    moments = zip(
        *(np.round(column * 1e6, 3).tolist() for column in (run.start_s, run.finish_s)), strict=True
    )
    return dict(zip(short, moments, strict=True)), named_edges(graph)


def named_edges(graph) -> set[tuple[str, str]]:
    short = [re.sub(r"@\d+", "", graph.task_name(task)) for task in range(graph.n_tasks)]
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(short[a], short[b]) for a, b in pairs}


def test_operators_are_cut_at_launches_and_waits(gpu):
    graph = gpu.load_alone(devices=True)
    spans, edges = told(graph)
    assert spans == {
        "mm.0": (0, 2), "mm.1": (2, 10), "item.0": (12, 13), "item.1": (13, 15), "item.2": (21, 30),
        "relu.0": (40, 45), "gemm": (3, 9), "Memcpy DtoH": (14, 20),
    }  # fmt: skip
    assert edges == {
        ("mm.0", "mm.1"), ("mm.1", "item.0"), ("item.0", "item.1"), ("item.1", "item.2"), ("item.2", "relu.0"),
        ("mm.0", "gemm"), ("gemm", "Memcpy DtoH"), ("item.0", "Memcpy DtoH"), ("Memcpy DtoH", "item.2"),
    }  # fmt: skip
    facts = graph.report.facts
    assert (facts["kernels"], facts["streams"], facts["waits"], facts["waited_s"]) == (2, 1, 1, 6e-6)
    # Tasks cover 0 to 10, 12 to 30 and 40 to 45 us: while item waits, from 15 to 21, the copy runs up to 20.
    assert facts["covered_s"] == pytest.approx(32e-6)
    assert facts["impossible_edges"] == 0
    assert graph.bytes_B[-1] == 64
    assert len(graph.recording.lane_names) == 2
    assert graph.kinds.to_list()[:6] == ["launch::mm"] * 2 + ["launch::item"] * 3 + ["relu"]


@pytest.mark.parametrize(
    "name",
    ["hipMemcpyWithStream", "cudaMemcpy_ptds", "cuMemcpyDtoH_v2", "urQueueFinish", "zeEventHostSynchronize"],
)
def test_calls_of_any_runtime_wait(mini, name):
    mini.op("aten::item", 12, 18)
    call(mini, name, 13, 8, 2)
    kernel(mini, "Memcpy DtoH (Device -> Pageable)", 14, 6, 2, category="gpu_memcpy", device=0)
    kernel(mini, "of_another_device", 14, 5, 1)
    elsewhere(mini)
    spans, edges = told(mini.load_alone(devices=True))
    assert spans == {"item.0": (0, 1), "item.1": (9, 18), "Memcpy DtoH": (2, 8), "of_another_device": (2, 7)}
    assert edges == {("item.0", "item.1"), ("item.0", "Memcpy DtoH"), ("Memcpy DtoH", "item.1")}


def test_without_the_option_what_launches_takes_its_seconds_on_any_team(gpu):
    """100 launches of 10 us took 125 us on 8 cores, at an efficiency of 100 %."""
    gpu.events[0]["args"]["Input Dims"] = [[2, 3], [3, 4]]
    graph = gpu.load_alone(threads=4)
    facts, notes = graph.report.facts, graph.report.notes
    assert graph.kinds.to_list() == ["launch::mm", "launch::item", "relu"]
    assert graph.task_name(0).startswith("mm#")
    assert (facts["device_events"], facts["launching_operators"], facts["threads"]) == (2, 2, 4)
    assert notes[0].startswith("2 events of a device")
    assert "those of the host alone" in notes[0]
    assert "2 operators launch work there" in notes[0]
    assert (graph.widths.tolist(), graph.shapes[0], np.isnan(graph.flops[0])) == ([1, 1, 4], "2x3;3x4", True)
    alone_s = ss.simulate(graph, "generic[cores=8]", "sequential").alone_s
    assert alone_s[:2].tolist() == graph.durations_s[:2].tolist()
    assert alone_s[2] < graph.durations_s[2]


def test_launches_go_by_the_clock_of_another_machine(gpu):
    """No roofline of the product says how long its launch takes."""
    gpu.events[0]["args"]["Input Dims"] = [[2, 3], [3, 4]]
    speeds = {"core_flops": 1e11, "core_bandwidth_Bps": 1e10, "clock_Hz": 2.6e9}
    gpu.top["simsched"] = {"threads": 1, "cpu_model": "some", **speeds}
    graph, machine = gpu.load_alone(), ss.machine("knl-7250")
    clocks = 2.6e9 / machine.scalar_clock_Hz(machine.n_cores)
    assert ss.CostModel().on(graph, machine).one_core_s[0] == pytest.approx(10e-6 * clocks)


def test_where_launches_are_not_recorded_the_note_says_so(mini):
    mini.op("aten::mm", 0, 10)
    kernel(mini, "gemm", 3, 6, 1)
    mini.event("cuda_runtime", "cudaLaunchKernel", 2, "soon", 1, correlation=1)
    graph = mini.load_alone()
    assert graph.kinds.to_list() == ["mm"]
    assert "calls that launched them are not recorded" in graph.report.notes[0]


@pytest.mark.parametrize("devices", [True, False])
def test_waits_and_kernels_are_not_lost_in_python(mini, devices):
    """An operator of 20 us, a kernel of 1 ms that a call waits for, 10 us of nothing, an operator of 10 us."""
    mini.op("aten::mm", 0, 20)
    call(mini, "cudaLaunchKernel", 5, 5, 1)
    kernel(mini, "gemm", 30, 1000, 1)
    call(mini, "cudaDeviceSynchronize", 30, 1030, 2)
    mini.op("aten::item", 1070, 10)
    report = mini.load_alone(devices=devices).report
    told = {
        name: round(report.facts[f"{name}_share"] * 1080) for name in ("covered", "lost_waits", "lost_python")
    }
    assert told == {
        "covered": 1030 if devices else 30,
        "lost_waits": 30 if devices else 1030,
        "lost_python": 20,
    }
    assert any(f"{'no kernel' if devices else 'no operator'}: " in note for note in report.notes)


def test_kernels_alone_are_a_step_where_devices_are_asked_for(mini):
    """A CUDA graph is replayed in each of two steps, without an operator."""
    for step in (1, 2):
        mini.annotate(f"ProfilerStep#{step}", 1000 * step, 500)
        call(mini, "cudaGraphLaunch", 1000 * step + 5, 10, step)
        for start, name, stream in ((50, "A", 7), (160, "B", 7), (70, "C", 13)):
            kernel(mini, name, 1000 * step + start, 100, step, stream=stream)
    graph = mini.load_alone(devices=True)
    assert told(graph) == ({"A": (0, 100), "B": (110, 210), "C": (20, 120)}, {("A", "B")})
    assert (graph.report.facts["step"], graph.report.facts["steps"]) == (2, "1, 2")
    with pytest.raises(FormatError, match="no operator among its 10 events"):
        mini.load_alone()


def test_a_kernel_that_outlives_its_operator_holds_up_nothing(gpu):
    kernel(gpu, "late", 20, 30, 1)
    _, edges = told(gpu.load_alone(devices=True))
    assert not any(before == "late" for before, _ in edges)


def test_streams_wait_for_each_other(gpu):
    call(gpu, "cudaLaunchKernel", 41, 1, 9)
    kernel(gpu, "other", 50, 5, 9, stream=20)
    wait(gpu, 31, 5, 20, wait_on_stream=7)
    assert ("Memcpy DtoH", "other") in told(gpu.load_alone(devices=True))[1]


def test_a_wait_for_one_stream_is_not_for_another(gpu):
    call(gpu, "cudaLaunchKernel", 12.5, 0.5, 9)
    kernel(gpu, "other", 14, 5, 9, stream=20)
    wait(gpu, 15, 3, 7)
    edges = told(gpu.load_alone(devices=True))[1]
    assert ("Memcpy DtoH", "item.3") in edges
    assert ("other", "item.3") not in edges


@pytest.mark.parametrize("told", [{"device": 0}, {}], ids=["told", "not told"])
def test_streams_of_two_devices_have_the_same_numbers(gpu, told):
    """Stream 7 of device 1 runs `far`; stream 20 of device 0 waits for stream 7 of its own device."""
    for event in gpu.events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["args"]["device"] = 0
    call(gpu, "cudaLaunchKernel", 16, 1, 4)
    kernel(gpu, "far", 17, 12, 4)
    elsewhere(gpu)
    call(gpu, "cudaLaunchKernel", 41, 1, 9)
    kernel(gpu, "other", 50, 5, 9, stream=20, device=0)
    wait(gpu, 31, 5, 20, wait_on_stream=7, **told)
    graph = gpu.load_alone(devices=True)
    edges = {(a, b) for a, b in named_edges(graph) if b == "other"}
    assert edges == {("relu.0", "other"), ("Memcpy DtoH" if told else "far", "other")}
    assert graph.recording.lane_names == (
        "thread 1", "device 0 stream 7", "device 1 stream 7", "device 0 stream 20"
    )  # fmt: skip


def test_a_call_waits_for_its_own_device(gpu):
    call(gpu, "cudaLaunchKernel", 12.5, 0.5, 9)
    kernel(gpu, "far", 14, 5, 9)
    elsewhere(gpu)
    wait(gpu, 15, 3, 7, device=0)
    edges = named_edges(gpu.load_alone(devices=True))
    assert ("Memcpy DtoH", "item.3") in edges
    assert ("far", "item.3") not in edges


def test_kernels_that_start_at_once_keep_the_order_of_their_launches(mini):
    """Whole microseconds: two streams of kernels of no length, which stand in the file as they were not launched."""
    mini.op("aten::mm", 0, 100)
    for correlation in (1, 2, 9, 10):
        call(mini, "cudaLaunchKernel", correlation, 1, correlation)
    kernel(mini, "second", 200, 0, 10, stream=7)
    kernel(mini, "first", 200, 0, 1, stream=7)
    kernel(mini, "last", 200, 0, 9, stream=20)
    kernel(mini, "before", 200, 0, 2, stream=20)
    wait(mini, 200, 5, 20, wait_on_stream=7)
    wait(mini, 200, 6, 7, wait_on_stream=20)
    edges = named_edges(mini.load_alone(devices=True))
    assert {("first", "second"), ("before", "last"), ("first", "last"), ("before", "second")} <= edges


def test_kernels_that_contradict_each_other_are_refused(mini):
    mini.op("aten::mm", 0, 100)
    for correlation in (1, 2, 9, 10):
        call(mini, "cudaLaunchKernel", correlation, 1, correlation)
    kernel(mini, "first", 201, 0, 1, stream=7)
    kernel(mini, "second", 200, 0, 10, stream=7)
    kernel(mini, "before", 201, 0, 2, stream=20)
    kernel(mini, "last", 200, 0, 9, stream=20)
    wait(mini, 200, 5, 20, wait_on_stream=7)
    wait(mini, 200, 6, 7, wait_on_stream=20)
    with pytest.raises(GraphError, match="the graph has a cycle"):
        mini.load_alone(devices=True)


def test_overlapping_kernels_of_one_stream_are_no_edge(gpu):
    kernel(gpu, "over", 4.25, 2, 77)
    graph = gpu.load_alone(devices=True)
    assert {("gemm", "Memcpy DtoH"), ("over", "Memcpy DtoH")} <= told(graph)[1]
    assert graph.report.facts["impossible_edges"] == 1
    assert graph.report.facts["kernels_without_launch"] == 1


def test_what_devices_cannot_be_joined_with(gpu):
    with pytest.raises(FormatError, match="leave execution_trace= out"):
        gpu.load(devices=True)
    with pytest.raises(FormatError, match="expected true or false"):
        gpu.load_alone(devices="maybe")


def test_a_trace_without_devices_is_read_as_ever(mini):
    mini.op("aten::relu", 0, 1)
    assert ss.load(mini.write()[0], devices=True).kinds.to_list() == ["relu"]


def test_more_streams_than_any_machine_has(gpu):
    for number in range(1001):
        kernel(gpu, "k", number, 1, 100 + number, stream=100 + number)
    with pytest.raises(FormatError, match="leave devices= out"):
        gpu.load_alone(devices=True)


JUNK = st.one_of(
    st.none(),
    st.integers(-5, 50),
    st.floats(0, 50),
    st.just(2**70),
    st.text(max_size=3),
    st.just([1]),
    st.booleans(),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_changed_events_are_read_or_refused(gpu, data):
    events = copy.deepcopy(gpu.events)
    for _ in range(data.draw(st.integers(1, 4))):
        event = data.draw(st.sampled_from(events))
        holder = event if data.draw(st.booleans()) else event.get("args")
        # An event may have been drawn before, and its arguments be junk by now.
        if isinstance(holder, dict) and holder:
            holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(JUNK)
        events.append(data.draw(st.sampled_from(events)))
    path = gpu.folder / "changed.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    try:
        graph = PYTORCH.read(path, devices=True, tolerant=data.draw(st.booleans()))
    except SimschedError:
        return
    sources, targets = graph.successors.sources(), graph.successors.indices
    run = graph.recording
    assert np.all(run.finish_s[sources] <= run.start_s[targets] + 1.0000001e-6)


def test_no_team_of_cores_shortens_a_kernel(mini):
    """A kernel called as an op of a CPU, of 6 us, takes as long on any number of cores, and so does its launch."""
    mini.op("aten::relu", 0, 4)
    call(mini, "cudaLaunchKernel", 2, 1, 1)
    kernel(mini, "relu", 4, 6, 1)
    graph = mini.load_alone(devices=True)
    assert graph.kinds[-1] == "device::relu"
    machine = ss.machine("generic[cores=8]")
    assert ss.simulate(graph, machine, "sequential").alone_s.tolist() == pytest.approx([2e-6, 2e-6, 6e-6])
    sampled = ss.CostModel().sampled(np.random.default_rng(1)).on(graph, machine)
    assert sampled.seconds(8).tolist() == sampled.seconds(1).tolist()
