"""`ss.learn`: from generated recordings, whose slow-downs, starts and interruptions are known, back to these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import CostError, FormatError, GraphError, LayoutError, SimschedError
from simsched.graph import Recording
from simsched.graph.report import UNKNOWN_THREADS
from simsched.learning import Learned
from simsched.learning.file import facts
from simsched.notes import Note, Weight

BASE_S = {"potrf": 4e-4, "gemm": 1e-3}


def recorded(
    lanes: int,
    *,
    tasks: int = 200,
    slowdown: float = 1.0,
    start_s: float = 0.0,
    lost_every: int = 0,
    lost_s: float = 4e-3,
    scatter: float = 0.01,
    seed: int = 1,
) -> ss.TaskGraph:
    """Return a recording of independent tasks on lanes that are busy all the time, in turns."""
    generator = np.random.default_rng(seed)
    kinds = ["potrf" if i % 4 == 0 else "gemm" for i in range(tasks)]
    seconds = np.array([BASE_S[kind] for kind in kinds]) * np.exp(scatter * generator.standard_normal(tasks))
    seconds *= slowdown if lanes > 1 else 1.0
    if lost_every:
        seconds[lost_every - 1 :: lost_every] += lost_s
    start, free, lane_of = np.zeros(tasks), np.zeros(lanes), np.zeros(tasks, np.int32)
    for task in range(tasks):
        lane = int(np.argmin(free))
        start[task], lane_of[task] = free[lane], lane
        free[lane] += seconds[task] + start_s
    names = tuple(f"worker {lane}" for lane in range(lanes))
    run = Recording(start, start + seconds, lane_of, names)
    return ss.TaskGraph.from_edges(seconds, kinds=kinds, recording=run, name="program")


def test_seconds_alone_and_slowdowns_come_back() -> None:
    learned = ss.learn([recorded(1), recorded(2, slowdown=1.3, seed=2)])
    alone_s = {row.kind: row.alone_s for row in learned.seconds}
    assert alone_s == pytest.approx(BASE_S, rel=0.02)
    assert learned.factor("program", "gemm") == pytest.approx(1.3, rel=0.03)
    assert learned.programs == ("program",)
    assert repr(learned) == "<Learned from 2 recordings of 1 program; table() has the seconds>"
    gemm = next(row for row in learned.seconds if row.kind == "gemm")
    assert gemm.low_s < BASE_S["gemm"] < gemm.high_s


def test_a_run_given_twice_does_not_pass_for_two() -> None:
    """It did: the interval was narrower, and `validate` predicted the run from itself."""
    run = recorded(1)
    again = replace(run, name="the same run, in another format")
    with pytest.raises(GraphError, match=r"recordings 0 and 2 \('the same run, .*'\) are the same run"):
        ss.learn([run, recorded(1, seed=2), again])


def test_predictions_say_which_tasks_no_recording_knows() -> None:
    """A graph of another program took its own seconds, and nothing said so."""
    learned = ss.learn([recorded(1)])
    other = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], kinds=["other", "gemm", "other"])
    found = learned.predict(other, cores=[1], samples=2)
    assert any(str(note).startswith("2 of 3 tasks are of no kind and shape") for note in found.notes)
    assert not any("no kind and shape" in note for note in learned.predict(recorded(1), cores=[1]).notes)


def test_seconds_of_the_graph_itself_take_nothing_from_other_recordings() -> None:
    """They hold what their own run lost: interruptions of other programs' recordings came on top, 71 % on two cores."""
    learned = ss.learn([recorded(1), recorded(2, slowdown=1.3, lost_every=10, seed=2)])
    foreign = ss.TaskGraph.from_edges([1e-3] * 8, kinds="other")
    found = learned.predict(foreign, cores=[2], samples=10).iloc[0]
    assert (found["makespan_s"], found["interrupted"]) == (pytest.approx(4e-3), 0.0)
    assert found["undisturbed_s"] == found["makespan_s"]
    assert found[["low_s", "high_s"]].isna().all()
    assert learned.simulate(foreign, layout="2x1").makespan_s == pytest.approx(4e-3)
    half = ss.TaskGraph.from_edges([1e-3] * 8, kinds=["other", "gemm"] * 4)
    run = learned.simulate(half, layout="8x1")
    seconds_s = run.finish_s - run.start_s
    assert seconds_s[::2] == pytest.approx(1e-3)
    assert seconds_s[1::2].min() > 1.3e-3
    added = learned.predict(half, cores=[2], samples=2)["interrupted"].iloc[0]
    assert added == pytest.approx(learned.interrupted("program", 2, 1)[0] / 2, rel=0.05)


def test_one_replay_has_no_interval() -> None:
    """As `simsched predict --samples` says; the interval reached from the prediction to one other replay."""
    runs = [recorded(1), recorded(2, slowdown=1.3, seed=2)]
    found = ss.learn(runs).predict(runs[0], cores=[1, 2], samples=1)
    assert found[["low_s", "high_s"]].isna().all(axis=None)
    assert np.isfinite(found["makespan_s"]).all()
    found.plot()
    assert "within their intervals" not in str(ss.learn(runs).validate(samples=1).notes)


def test_predictions_have_the_notes_of_the_graph() -> None:
    """A trace without dependencies has one chain per lane, on which more cores do nothing."""
    graph = recorded(1)
    doubt = Note("the trace has no dependencies", Weight.DOUBT)
    graph = replace(graph, report=replace(graph.report, notes=(doubt,)))
    assert doubt in ss.learn([graph]).predict(graph, cores=[1, 2], samples=2).notes


def test_predictions_for_another_machine_say_that_seconds_are_those_of_the_host() -> None:
    """They stood beside makespans that the host had recorded, as if these were that machine's, and as certain."""
    graph = recorded(1)
    learned = ss.learn([graph])
    found = learned.predict(graph, cores=[1], machine="knl-7250", samples=20)
    assert np.isnan(found["recorded_s"]).all()
    said = "learned seconds of 200 tasks are taken as they are; load(..., recorded_on=)"
    simulated = learned.simulate(graph, layout="1x1", machine="knl-7250")
    assert all(any(said in note for note in one.notes) for one in (found, simulated))
    assert not any("recorded durations" in note for one in (found, simulated) for note in one.notes)
    here = learned.predict(graph, cores=[1], samples=20)
    width, narrow = ((row["high_s"] / row["low_s"]).iloc[0] for row in (found, here))
    assert width > 3 > narrow


def test_learned_seconds_are_carried_to_another_machine() -> None:
    origin = ss.RecordedOn("somewhere", core_flops=1e11, core_bandwidth_Bps=1e10, clock_Hz=2.8e9)
    graph = replace(recorded(1), recorded_on=origin)
    learned = ss.learn([graph])
    here, there = (
        learned.simulate(graph, "fifo", "1x1", machine=machine, undisturbed=True).makespan_s
        for machine in (None, "knl-7250")
    )
    assert there == pytest.approx(2 * here, rel=0.01)
    said = learned.predict(graph, cores=[1], machine="knl-7250", samples=2).notes
    assert any("carried to knl-7250 by the ratio of their clocks" in note for note in said)


def test_interruptions_are_no_slowdown() -> None:
    quiet = ss.learn([recorded(1), recorded(2, seed=2)])
    learned = ss.learn([recorded(1), recorded(2, lost_every=10, seed=2)])
    assert learned.factor("program", "gemm") == pytest.approx(1.0, abs=0.02)
    assert quiet.runs[1].interrupted == pytest.approx(0.0, abs=0.01)
    work_s = 50 * BASE_S["potrf"] + 150 * BASE_S["gemm"]
    assert learned.runs[1].interrupted == pytest.approx(20 * 4e-3 / work_s, rel=0.1)
    assert learned.runs[1].each_s == pytest.approx(4e-3, rel=0.05)
    alone_s = {row.kind: row.alone_s for row in learned.seconds}
    assert alone_s == pytest.approx(BASE_S, rel=0.02)


def test_predictions_say_how_much_of_them_is_interruptions() -> None:
    """A second core looked worthless, without a word: other programs took much of the recording on two."""
    runs = [recorded(1), recorded(2, lost_every=10, seed=2)]
    learned = ss.learn(runs)
    found = learned.predict(runs[0], cores=[1, 2], samples=2)
    share = learned.interrupted("program", 2, 1)[0]
    said = f"{share:.0%} on top of the tasks' seconds on 2 cores; undisturbed_s is without it"
    assert sum(said in note for note in found.notes) == 1
    alone = [learned.simulate(runs[0], layout=one, undisturbed=True) for one in ("1x1", "2x1")]
    assert found["undisturbed_s"].tolist() == [one.makespan_s for one in alone]
    # A simulation said that "200 recorded durations are taken as they are".
    notes = learned.simulate(runs[0], layout="2x1").notes
    assert said.replace("undisturbed_s is without it", "undisturbed=True leaves it out") in notes[0]
    assert all("learned seconds of 200 tasks" in told for told in (notes, alone[1].notes))
    assert not any("recorded durations" in note for note in notes)
    assert "leaves it out" not in str(alone[1].notes)
    drawn = learned.predict(runs[0], cores=[1, 2], samples=20).plot()
    assert "90 % interval" in drawn.get_legend_handles_labels()[1]
    quiet = ss.learn([recorded(1), recorded(2, seed=2)]).predict(runs[0], cores=[1, 2], samples=2)
    assert not any("undisturbed_s" in note for note in quiet.notes)


def test_starts_are_paid_by_each_executor_where_they_overlap() -> None:
    learned = ss.learn([recorded(4, start_s=2e-4)])
    start = learned.starts[0]
    assert start.start_s == pytest.approx(2e-4, rel=1e-6)
    assert start.serial is False
    assert learned.runtime("program").dispatch_s == 0
    tasks = ss.TaskGraph.from_edges([np.nan] * 4, kinds="gemm")
    together_s = learned.simulate(tasks, "fifo", "4x1", undisturbed=True).makespan_s
    assert together_s == pytest.approx(BASE_S["gemm"] + 2e-4, rel=0.03)


def test_starts_through_one_dispatcher_stay_serial() -> None:
    n, cost_s = 60, 1e-3
    start = cost_s * (1 + np.arange(n))
    seconds = np.full(n, 2.5e-3)
    run = Recording(start, start + seconds, (np.arange(n) % 4).astype(np.int32), tuple("abcd"))
    learned = ss.learn([ss.TaskGraph.from_edges(seconds, kinds="gemm", recording=run)])
    assert learned.starts[0].serial is True
    assert learned.runtime(learned.programs[0]).dispatch_s > 0


def test_a_prediction_holds_the_recording_of_another_width() -> None:
    learned = ss.learn([recorded(1), recorded(2, slowdown=1.3, start_s=1e-5, seed=2)])
    found = learned.predict(recorded(1), "fifo", cores=[1, 2, 3])
    for lanes in (1, 2):
        row = found[found["cores"] == lanes].iloc[0]
        truth_s = recorded(lanes, slowdown=1.3, start_s=1e-5, seed=9).recorded
        assert truth_s is not None
        assert row["makespan_s"] == pytest.approx(truth_s.makespan_s, rel=0.05)
        assert row["low_s"] <= truth_s.makespan_s <= row["high_s"]
    assert found["extrapolated"].tolist() == [False, False, True]
    last = found.iloc[2]
    # Beyond the recorded lanes, a shared resource that is already full gives nothing more.
    assert last["high_s"] > 1.1 * last["makespan_s"] > 1.1 * last["low_s"]
    assert found.plot().get_xlabel() == "cores"


def test_the_same_inputs_give_the_same_bits() -> None:
    graphs = [recorded(1), recorded(2, slowdown=1.2, seed=2)]
    one, two = (ss.learn(graphs).predict(graphs[0], cores=[2, 4], seed=3) for _ in range(2))
    assert one.equals(two)


def test_validation_predicts_each_setting_from_the_others() -> None:
    graphs = [recorded(1, seed=1), recorded(1, seed=2), recorded(2, seed=3), recorded(2, seed=4)]
    graphs = [replace(graph, name=f"run {number}") for number, graph in enumerate(graphs)]
    found = ss.learn(graphs).validate(repeats=[1, 1, 2, 2])
    assert found["recording"].tolist() == ["run 0", "run 2"]
    assert found["program"].nunique() == 1
    assert found["layout"].tolist() == ["1x1", "2x1"]
    assert found["error"].abs().max() < 0.03
    assert found["within"].all()
    assert "2 settings" in found.notes[0]
    with pytest.raises(GraphError, match="no program has two recordings"):
        ss.learn(graphs).validate(repeats=[1, 1, 1, 1])
    with pytest.raises(GraphError, match="2 policies"):
        ss.learn(graphs).validate(["fifo", "fifo"])


def test_a_setting_is_as_large_as_most_of_its_runs() -> None:
    """In the first of three runs on two workers one of them never got a core."""
    graphs = [recorded(1, seed=1), recorded(1, seed=2), recorded(2, seed=3), recorded(2, seed=4)]
    found = ss.learn(graphs).validate(repeats=[1, 2, 2, 2])
    assert found["layout"].tolist() == ["1x1", "2x1"]


def test_predictions_say_what_recordings_do_not_show() -> None:
    learned = ss.learn([recorded(1)])
    assert any("hardly ran beside others" in note for note in learned.notes)
    assert any("one recording" in note for note in learned.notes)
    assert not any("intra-op" in note for note in learned.notes)
    # A run on two threads, of which the file says nothing, passed for a second run on one.
    unsaid = ss.TaskGraph.from_edges([1.0]).report
    unsaid.note(UNKNOWN_THREADS)
    runs = [replace(recorded(1, seed=seed), report=unsaid) for seed in (1, 2)]
    said = "program: 2 recordings are taken to have one intra-op thread each, as their files do not say; threads="
    assert any(note.startswith(said) for note in ss.learn(runs).notes)
    # Nor do recordings on two lanes show what one takes.
    two = recorded(2)
    found = ss.learn([two]).predict(two, cores=[1, 2], samples=2)
    assert found["extrapolated"].tolist() == [True, False]
    assert any(note.startswith("recordings have at least 2 threads: on fewer") for note in found.notes)
    notes = learned.predict(recorded(1), cores=[8]).notes
    assert any("up to 1 lane:" in note and "too short in the median" in note for note in notes)


def test_a_file_keeps_what_was_learned(tmp_path: Path) -> None:
    learned = ss.learn([recorded(1), recorded(2, slowdown=1.2, lost_every=20, seed=2)])
    learned.save(tmp_path / "host.toml")
    again = Learned.load(tmp_path / "host.toml")
    assert facts(again) == facts(learned)
    assert dict(again.of_task) == dict(learned.of_task)
    assert again.notes == learned.notes
    graph = recorded(1)
    assert (
        again.simulate(graph, "fifo", "2x1").makespan_s == learned.simulate(graph, "fifo", "2x1").makespan_s
    )
    with pytest.raises(SimschedError, match="keeps no recordings"):
        again.validate()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: "", "was not written by"),
        (lambda text: "\x00", "not a TOML file"),
        (lambda text: text.replace("alone_s = 0", "alone_s = -1", 1), "alone_s"),
        (lambda text: text.replace("version = 1", "version = 2"), "version"),
        (lambda text: text + '\n[[seconds]]\nname = "x"\n', "name: unknown key|program"),
        (lambda text: text.replace("lanes = 1", "lanes = inf", 1), "lanes"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(tmp_path: Path, edit: Callable[[str], str], message: str) -> None:
    path = tmp_path / "host.toml"
    ss.learn([recorded(1)]).save(path)
    path.write_text(edit(path.read_text()))
    with pytest.raises(FormatError, match=message):
        Learned.load(path)


def test_wrong_arguments_are_our_errors() -> None:
    learned = ss.learn([recorded(1)])
    for wrong in ([], "run.json", [1], None, [ss.TaskGraph.from_edges([1.0])]):
        with pytest.raises(GraphError):
            ss.learn(wrong)
    cleaned = recorded(1).cleaned("scale[factor=2]")
    for call in (ss.learn, ss.replay_recorded):
        with pytest.raises(GraphError, match=r"changes tasks or seconds dropped the recording\)"):
            call([cleaned] if call is ss.learn else cleaned)
    unknown = ss.TaskGraph.from_edges([np.nan], kinds="other")
    with pytest.raises(CostError, match="no recording has a task of kind 'other'"):
        learned.simulate(unknown)
    for cores in ([], [0], "2", 2, [1.5]):
        with pytest.raises(SimschedError):
            learned.predict(recorded(1), cores=cores)
    with pytest.raises(SimschedError):
        learned.predict(recorded(1), samples=0)
    with pytest.raises(LayoutError, match=r"^width=2 is wider than cores=1; leave that count out$"):
        learned.predict(recorded(1), cores=[1, 2], width=2)


def test_small_recordings() -> None:
    none = np.zeros(0)
    empty = ss.TaskGraph.from_edges([], recording=Recording(none, none, none.astype(np.int32), ()))
    with pytest.raises(GraphError, match="no recorded tasks"):
        ss.learn([empty])
    point = Recording(np.zeros(1), np.zeros(1), np.zeros(1, np.int32), ("a",))
    learned = ss.learn([ss.TaskGraph.from_edges([0.0], kinds="k", recording=point)])
    assert learned.simulate(ss.TaskGraph.from_edges([np.nan] * 3, kinds="k"), "fifo", "1x1").makespan_s == 0
    assert learned.simulate(ss.TaskGraph.from_edges([]), "fifo", "2x1").makespan_s == 0


def in_teams(width: int, each_s: float) -> ss.TaskGraph:
    """Return a recording of 20 tasks, one after the other, on one team."""
    start = np.arange(20) * each_s
    run = Recording(start, start + each_s, np.zeros(20, np.int32), ("a",))
    return ss.TaskGraph.from_edges([each_s] * 20, kinds="gemm", recording=run, widths=width, name="program")


def test_widths_come_from_recordings() -> None:
    seconds = {1: 4e-3, 2: 3e-3}
    learned = ss.learn([in_teams(width, each_s) for width, each_s in seconds.items()])
    tasks = ss.TaskGraph.from_edges([np.nan] * 4, kinds="gemm")
    for width, each_s in seconds.items():
        found = learned.simulate(tasks, "fifo", f"1x{width}", undisturbed=True)
        assert found.makespan_s == pytest.approx(4 * each_s, rel=1e-9)


def test_teams_are_as_wide_as_recorded_and_no_recorded_setting_is_extrapolated() -> None:
    """A recording on one team of two passed for one on one core, and predictions of two cores were for two lanes."""
    one, two = in_teams(1, 4e-3), in_teams(2, 3e-3)
    learned = ss.learn([one, two])
    found = learned.predict(two, cores=[1, 2, 4], samples=4)
    assert found["layout"].tolist() == ["1x1", "1x2", "2x2"]
    assert found["extrapolated"].tolist() == [False, False, True]
    assert found["recorded_s"].tolist()[:2] == pytest.approx([0.08, 0.06])
    assert any("up to 1 lane, and teams of up to 2 threads: on more" in note for note in found.notes)
    assert not any("on more" in note for note in learned.predict(two, cores=[1, 2], samples=1).notes)
    for layout, beyond in (("1x2", False), ("2x2", True)):
        notes = learned.simulate(two, "fifo", layout).notes
        assert any("on more" in note for note in notes) == beyond
    assert learned.predict(one, cores=[2], samples=1)["layout"].tolist() == ["2x1"]
    assert learned.predict(two, "runtime[system=onnxruntime]", [2], samples=1)["layout"].tolist() == ["2x1"]


def test_interruptions_show_against_another_width() -> None:
    """Each op is of a shape of its own, recorded once on each width: alone neither recording tells."""
    seconds_s = np.geomspace(1e-3, 5e-3, 24)
    graphs = []
    for width, factor in ((1, 1.0), (2, 0.6)):
        each_s = seconds_s * factor
        if width == 2:
            each_s[::6] += 12e-3
        start = np.cumsum(np.append(0.0, each_s[:-1]))
        run = Recording(start, start + each_s, np.zeros(24, np.int32), ("a",))
        shapes = [str(i) for i in range(24)]
        graphs.append(
            ss.TaskGraph.from_edges(
                each_s, kinds="conv", shapes=shapes, recording=run, widths=width, name="program"
            )
        )
    learned = ss.learn(graphs)
    alone_s = {(row.width, int(row.shape)): row.alone_s for row in learned.seconds}
    assert [alone_s[2, i] for i in range(24)] == pytest.approx((seconds_s * 0.6).tolist(), rel=1e-6)
    assert learned.runs[0].interrupted == 0
    assert learned.runs[1].interrupted == pytest.approx(4 * 12e-3 / (0.6 * seconds_s.sum()), rel=1e-6)
    assert learned.runs[1].each_s == pytest.approx(12e-3, rel=1e-6)
    once = ss.learn(graphs[1:])
    assert once.runs[0].interrupted == 0, "nothing tells"
    assert once.runs[0].known == 0


def test_more_threads_may_not_help() -> None:
    """Most ops take half as long on two threads, one as long as on one: that is no interruption."""
    graphs = []
    for width in (1, 2):
        each_s = np.full(12, 4e-3 / width)
        each_s[3] = 4e-3
        start = np.cumsum(np.append(0.0, each_s[:-1]))
        run = Recording(start, start + each_s, np.zeros(12, np.int32), ("a",))
        shapes = [str(i) for i in range(12)]
        graphs.append(
            ss.TaskGraph.from_edges(each_s, kinds="op", shapes=shapes, recording=run, widths=width, name="p")
        )
    learned = ss.learn(graphs)
    assert next(
        row for row in learned.seconds if (row.width, row.shape) == (2, "3")
    ).alone_s == pytest.approx(4e-3)


def test_short_tasks_have_no_room_for_an_interruption() -> None:
    """Elsewhere on the host interruptions take 4 ms: tasks of 1 ms that were recorded once had none."""
    shapes = [str(i) for i in range(20)]
    start = np.arange(20) * 1e-3
    run = Recording(start, start + 1e-3, np.zeros(20, np.int32), ("a",))
    short = ss.TaskGraph.from_edges([1e-3] * 20, kinds="op", shapes=shapes, recording=run, name="short")
    learned = ss.learn([short, recorded(1, lost_every=5)])
    assert learned.runs[0].known == pytest.approx(1.0)
    assert [row.alone_s for row in learned.seconds if row.program == "short"] == pytest.approx([1e-3] * 20)
    assert learned.interrupted("short", 1, 1)[0] == 0
    assert ss.learn([short]).runs[0].known == 0


def test_a_single_execution_takes_the_usual_scatter() -> None:
    """An op that was recorded once scatters as others do, not by the 40 % that make an interruption."""
    shapes = [str(i) for i in range(20)]
    start = np.arange(20) * 1e-3
    run = Recording(start, start + 1e-3, np.zeros(20, np.int32), ("a",))
    graph = ss.TaskGraph.from_edges([1e-3] * 20, kinds="op", shapes=shapes, recording=run, name="once")
    learned = ss.learn([graph, recorded(1, scatter=0.05)])
    assert all(row.sigma < 0.13 for row in learned.seconds)
    assert all(row.sigma > 0.3 for row in ss.learn([graph]).seconds), "nothing tells how much they scatter"


def test_absences_of_guessed_lanes_are_interruptions() -> None:
    graph = recorded(2, start_s=1e-5)
    run = graph.recording
    assert run is not None
    late = run.start_s >= np.sort(run.start_s)[100]
    gap = Recording(run.start_s + 0.02 * late, run.finish_s + 0.02 * late, run.lanes, run.lane_names)
    report = replace(graph.report, facts={"workers_guess": 2})
    learned = ss.learn([replace(graph, recording=gap, report=report)])
    assert learned.runs[0].interrupted > 0.1


def test_another_machine_takes_its_own_slow_downs() -> None:
    learned = ss.learn([recorded(1), recorded(2, slowdown=1.5, seed=2)])
    graph = recorded(1)
    here = learned.simulate(graph, "fifo", "2x1", undisturbed=True).makespan_s
    there = learned.simulate(graph, "fifo", "2x1", machine="generic[cores=2]", undisturbed=True).makespan_s
    assert here == pytest.approx(1.5 * there, rel=0.03)
