"""The machine of a graph where none is named."""

import dataclasses

import networkx as nx
import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError, SpecError
from simsched.graph.recording import Recording
from simsched.graph.report import UNKNOWN_THREADS


def recorded(lanes, widths, **options):
    """Return a graph of tasks of 1 s, one after the other on each lane."""
    lanes = np.array(lanes, np.int32)
    start = np.array([(lanes[:task] == lane).sum() for task, lane in enumerate(lanes)], np.float64)
    run = Recording(start, start + 1, lanes, tuple(f"worker {lane}" for lane in range(lanes.max() + 1)))
    return ss.TaskGraph.from_edges(np.ones(len(lanes)), recording=run, widths=widths, **options)


def test_a_recording_is_replayed_on_as_many_cores_as_it_had_threads():
    """Three lanes, of which one had a task of two threads; four tasks of 1 s on four cores."""
    graph = recorded([0, 1, 2, 1], [1, 2, 1, 1])
    schedule = ss.simulate(graph, policy="fifo", layout="4x1")
    assert schedule.require_machine().spec == "generic[cores=4]"
    assert any("on cores like those of the recording, which had 4 threads" in note for note in schedule.notes)


def test_what_kept_a_part_of_its_team_busy_takes_as_recorded_on_the_team():
    """Teams of 4: one task ran on one of their threads, one on all, one on two; none divides further than it did."""
    graph = recorded([0, 0, 0], [1, 4, 2], kinds=["Conv", "MatMul", "MatMul"])
    graph.report.facts["intra_op_threads"] = 4
    machine = ss.machine("generic[cores=16]")
    costs = ss.CostModel().on(graph, machine)
    assert costs.seconds(4) == pytest.approx([1, 1, 1], rel=1e-12)
    assert costs.seconds(1)[0] == 1
    assert (costs.seconds(1)[1:] > [3, 1.5]).all()
    assert costs.seconds(16)[1] < 0.5
    assert (costs.seconds(16)[[0, 2]] > [0.999, 0.99]).all()
    assert [costs.seconds_of(task, 16) for task in range(3)] == costs.seconds(16).tolist()
    schedule = ss.simulate(graph, policy="fifo", layout="1x4")
    assert schedule.require_machine().spec == "generic[cores=4]"
    assert schedule.makespan_s == pytest.approx(3)
    assert (
        "2 tasks were recorded on fewer threads than the team had, and gain nothing from more"
        in schedule.notes
    )


def test_threads_that_a_file_does_not_say_are_said_to_be_assumed():
    graph = recorded([0, 1], [1, 1])
    graph.report.note(UNKNOWN_THREADS)
    said = ss.simulate(graph, policy="fifo", layout="2x1").notes
    assert any(
        "which is taken to have had 2 threads, as the file does not say (threads= or" in n for n in said
    )


def test_every_question_takes_the_same_machine():
    graph = recorded([0, 1, 0], [1, 1, 1])
    assert ss.simulate(graph).require_machine().spec == "generic[cores=2]"
    assert ss.bounds(graph).area_s == 1.5
    assert ss.compare(graph, policies=["fifo"])["makespan_s"].tolist() == [2.0]
    assert ss.tune(graph, policy="fifo")["layout"].tolist() == ["2x1", "1x2"]
    assert ss.predict(graph, cores=[1, 2], samples=1)["makespan_s"].tolist() == [3.0, 2.0]
    assert ss.optimum(graph).makespan_s == 2.0
    runs = ss.replayed({"a": graph, "b": graph}, policies=["fifo"], seeds=[0])
    assert runs["makespan_s"].tolist() == [2.0, 2.0]


def test_a_stated_machine_of_the_recording_comes_first():
    graph = recorded([0, 0], [1, 1], recorded_on="epyc-7702")
    assert ss.simulate(graph).require_machine().spec == "epyc-7702"
    assert ss.simulate(graph, "generic[cores=2]").require_machine().spec == "generic[cores=2]"


@pytest.mark.parametrize(
    "speed", [{}, {"core_flops": 5e10}, {"core_flops": 5e10, "core_bandwidth_Bps": 1e10}]
)
def test_a_processor_without_a_machine_is_replayed_on_as_many_cores_as_it_had_threads(speed):
    """Our recorders name the processor, that of PyTorch its speed, too: both were replayed on a Knights Landing."""
    graph = recorded([0, 1, 0], [1, 1, 1], recorded_on=ss.RecordedOn("AMD EPYC", **speed))
    schedule = ss.simulate(graph)
    assert schedule.require_machine().spec == "generic[cores=2]"
    assert any("which had 2 threads" in note for note in schedule.notes)
    like = recorded([0, 1, 0], [1, 1, 1])
    columns = ["makespan_s", "low_s", "high_s"]
    assert ss.predict(graph, cores=[1, 2])[columns].equals(ss.predict(like, cores=[1, 2])[columns])
    # Its seconds are not those of a machine that is named.
    elsewhere = "clocks" if len(speed) == 2 else "AMD EPYC, on which they were recorded, has no known speed"
    assert elsewhere in str(ss.simulate(graph, "knl-7250").notes)


@pytest.mark.parametrize(
    ("name", "machines", "on"),
    [
        ("GenuineIntel, 48 cores, 1200 MHz", 1, "generic[cores=48]"),
        ("GenuineIntel, 48 cores, 1200 MHz", 2, "knl-7250"),
        ("GenuineIntel", 1, "knl-7250"),
    ],
)
def test_cores_that_the_name_of_the_recorder_tells(name, machines, on):
    """Files of WfFormat have no lanes, and name the processor with its cores: they ran on a Knights Landing."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0], recorded_on=ss.RecordedOn(name))
    graph.report.facts["machines"] = machines
    schedule = ss.simulate(graph, policy="fifo")
    assert schedule.require_machine().spec == on
    said = "knl-7250 is taken, as neither machine= (-m) nor the recording names a machine that is known"
    assert (schedule.notes[0] == said) == (on == "knl-7250")
    assert said not in ss.simulate(graph, "knl-7250", "fifo").notes
    assert said not in ss.simulate(ss.TaskGraph.from_edges([1.0]), policy="fifo").notes


def test_recorded_seconds_stay_on_generic_cores_whatever_is_known_of_the_recording_machine():
    """They were carried by rooflines to a core of 1 GHz by definition: 199 ms of a recording were 249."""
    laptop = ss.RecordedOn("laptop", 5e10, 1e10)
    graph = recorded([0, 1, 0], [1, 1, 1], flops=[1e9] * 3, bytes_B=[1e6] * 3, recorded_on=laptop)
    for machine in (None, "generic[cores=2]"):
        schedule = ss.simulate(graph, machine, "fifo", layout="2x1")
        assert schedule.makespan_s == 2.0
        assert any("on cores like those of the recording" in note for note in schedule.notes)
    assert ss.simulate(graph, "grace", "fifo", layout="2x1").makespan_s < 2.0


def test_graphs_of_several_machines_need_a_name():
    graphs = {"a": recorded([0, 1], [1, 1]), "b": recorded([0, 0], [1, 1])}
    with pytest.raises(SpecError, match=r"a on generic\[cores=2\], b on generic\[cores=1\]"):
        ss.replayed(graphs, policies=["fifo"], seeds=[0])


def test_a_graph_that_was_not_recorded_is_replayed_on_the_documented_machine():
    assert ss.simulate(ss.TaskGraph.from_edges([1.0])).require_machine().spec == "knl-7250"


def test_predictions_for_generic_cores_are_not_beyond_what_was_built():
    found = ss.predict(recorded([0, 1], [1, 1]), cores=[2, 64], samples=1)
    assert not found["extrapolated"].any()
    assert ss.predict(recorded([0, 1], [1, 1]), "knl-7250", cores=[136], samples=1)["extrapolated"].all()


@pytest.mark.parametrize(
    ("given", "call"),
    [
        ("lstm[layers=2]", r"ss\.workload\('lstm\[layers=2\]'\)"),
        ("no such thing", r"ss\.load\(FILE\) or ss\.workload\(NAME\)"),
        (nx.DiGraph([(0, 1)]), r"ss\.TaskGraph\.from_networkx"),
    ],
)
def test_what_is_no_graph_is_told_how_to_become_one(given, call):
    for question in (ss.simulate, ss.compare, ss.bounds, ss.predict, ss.optimum, ss.report):
        with pytest.raises(SimschedError, match=call):
            question(given)


def test_a_file_is_no_graph_until_it_is_loaded(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("{}")
    with pytest.raises(SimschedError, match=r"ss\.load\('.*run\.json'\)"):
        ss.simulate(str(path))


def test_a_stream_of_a_device_is_no_thread():
    """Two lanes of a host and one of a device, whose tasks take half of all seconds."""
    graph = recorded([0, 2, 1, 2], [1, 1, 1, 1], kinds=["MatMul", "device::gemm", "Add", "device::relu"])
    schedule = ss.simulate(graph, policy="fifo")
    assert schedule.require_machine().spec == "generic[cores=2]"
    said = "2 tasks ran on a device, 50% of all seconds"
    assert schedule.notes[0].startswith(f"{said}: on generic they occupy cores of the host")
    known = ss.simulate(graph, "knl-7250", "fifo").notes[0]
    assert known == f"{said}, which are kept on knl-7250: nothing tells how long its cores take"
    assert (
        ss.simulate(recorded([0, 1], [1, 1], kinds="device::gemm")).require_machine().spec
        == "generic[cores=2]"
    )


def test_tasks_of_a_device_that_ran_beside_the_host_are_named_first():
    """One thread and one stream, each busy for 2 s at the same time, take 4 s on the thread's core."""
    kinds, start = ["Add", "device::gemm"] * 2, np.array([0.0, 0.0, 1.0, 1.0])
    run = Recording(start, start + 1.0, np.array([0, 1, 0, 1], np.int32), ("main", "stream"))
    graph = ss.TaskGraph.from_edges([1.0] * 4, [(0, 2), (1, 3)], kinds=kinds, recording=run)
    said = "the recording itself took 2 s on 1 thread"
    why = ": beside that, 1 lane of devices ran 2 tasks, which occupy cores of the host here"
    assert ss.simulate(graph).notes[0].startswith(said + why)
    for found in (ss.predict(graph, cores=[1, 2]), ss.compare(graph, policies=["fifo"])):
        assert found.notes[0].startswith(said)
        assert why in found.notes[0]
    replayed = ss.replay_recorded(graph).plain
    assert replayed.makespan_s == 2.0
    assert not any("cores of the host" in note for note in replayed.notes), "each lane is an executor there"


@pytest.mark.parametrize(("long_s", "alike", "noted"), [(20.0, 19, True), (9.0, 19, False), (20.0, 8, False)])
def test_what_the_host_may_have_interrupted_is_noted(long_s, alike, noted):
    """One task among so many of 1 s of its kind: more than ten times as long or not, and enough to compare or not."""
    graph = recorded([0] * (alike + 1), [1] * (alike + 1))
    found = dataclasses.replace(graph, durations_s=np.array([*[1.0] * alike, long_s]))
    said = "1 task takes more than 10 times as long as most of the kind and shape, 51% of all seconds: perhaps the host"
    assert any(note.startswith(said) for note in ss.simulate(found, policy="fifo").notes) == noted
    given = ss.TaskGraph.from_edges(found.durations_s)
    assert not any("10 times" in note for note in ss.simulate(given, policy="fifo").notes)
