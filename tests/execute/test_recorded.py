"""Recorded runs beside their replays: made recordings by hand, the bundled ones, and further samples."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import GraphError, LayoutError, SimschedError
from simsched.execute.recorded.gaps import DISPATCH, FIRST, INTERRUPTED, OF_DEVICE, WAKE_UP, Gaps, absences_s
from simsched.graph import Recording
from simsched.traces.samples import SAMPLES, sample_files

SHARED = Path(__file__).resolve().parents[2] / "../shared/samples"


def recorded(start, finish, edges=(), lanes=None, n_lanes=None, **options):
    """Return a graph that ran so; durations that it states elsewhere do not matter."""
    lanes = np.array([0] * len(start) if lanes is None else lanes, np.int32)
    count = int(lanes.max(initial=-1)) + 1 if n_lanes is None else n_lanes
    names = tuple(f"lane {i}" for i in range(count))
    run = Recording(np.array(start, float), np.array(finish, float), lanes, names)
    return ss.TaskGraph.from_edges(np.full(len(start), np.nan), edges, recording=run, **options)


def two_lanes():
    """Lane 0 runs tasks 0, 2 and 3, lane 1 runs task 1, and task 4 once task 3 has finished."""
    return recorded([0, 0.5, 1.25, 3, 5.5], [1, 2, 2, 5, 6], [(0, 2), (0, 3), (3, 4)], [0, 1, 0, 0, 1])


def test_gaps_by_cause():
    gaps = Gaps.of(two_lanes().recorded)
    assert gaps.cause.tolist() == [FIRST, FIRST, DISPATCH, DISPATCH, WAKE_UP]
    assert gaps.seconds.tolist() == [0, 0.5, 0.25, 1, 0.5]
    assert (gaps.overheads().dispatch_s, gaps.overheads().pop_s, gaps.overheads().wake_up_s) == (
        0.625,
        0.625,
        0.5,
    )
    table = gaps.table.set_index("cause")
    assert table["gaps"].to_dict() == {"first": 2, "dispatch": 2, "wake-up": 1, "interrupted": 0}
    assert table.loc["dispatch", ["total_s", "mean_s", "median_s", "max_s"]].tolist() == [
        1.25,
        0.625,
        0.625,
        1,
    ]
    assert np.isnan(table.loc["interrupted", "mean_s"])


@pytest.mark.parametrize("named", [False, True])
def test_what_waits_on_a_device_is_no_cost_of_starts(named):
    """Lane 1 is a stream, whose gap of 2 s is its queue; lane 0 takes 0.5 s before task 1, and so in a replay."""
    by_kind = recorded(
        [0, 1.5, 0.5, 4], [1, 2.5, 2, 5], [(0, 1), (2, 3)], [0, 0, 1, 1],
        kinds=["a", "a", "device::k", "device::k"],
    )  # fmt: skip
    run = replace(by_kind.recording, lane_names=("main", "/device:GPU:0: Stream #7"))
    graph = replace(by_kind, recording=run, kinds=by_kind.scopes) if named else by_kind
    replayed = ss.replay_recorded(graph)
    assert replayed.gaps.cause.tolist() == [FIRST, DISPATCH, FIRST, OF_DEVICE]
    assert replayed.gaps.table.set_index("cause").loc["device", "total_s"] == 2
    assert replayed.overheads.dispatch_s == 0.5
    assert replayed.calibrated.finish_s.tolist() == [1.5, 3.0, 1.5, 2.5]


def test_two_lanes_replayed():
    """Plain: 0 | 2 | 3 takes 1 + 0.75 + 2, then 4 on the other lane. A decision costs 0.625, one at a time.

    Calibrated: 0 runs 0.625 to 1.625, 1 starts at 1.25, 2 runs 2.25 to 3, 3 runs 3.625 to 5.625, 4 starts at 6.25.
    """
    replayed = ss.replay_recorded(two_lanes())
    assert replayed.recorded.makespan_s == 6
    assert replayed.plain.makespan_s == 4.25
    assert replayed.calibrated.start_s.tolist() == [0.625, 1.25, 2.25, 3.625, 6.25]
    assert replayed.calibrated.makespan_s == 6.125
    assert replayed.plain.executor.tolist() == [0, 1, 0, 0, 1]
    assert [replayed.plain.cores(task).tolist() for task in range(5)] == [[0], [1], [0], [0], [1]]
    assert (replayed.plain_error, replayed.calibrated_error) == pytest.approx((4.25 / 6 - 1, 6.125 / 6 - 1))
    row = replayed.row()
    assert (row["policy"], row["layout"], row["tasks"], row["dispatch_s"]) == ("recorded", "2x1", 5, 0.625)


def test_replays_on_other_executors_have_no_error():
    for policy in ("fifo", "heft"):
        (same, other) = (ss.replay_recorded(two_lanes(), policy, layout) for layout in ("2x1", "4x1"))
        assert not np.isnan([same.plain_error, same.calibrated_error]).any()
        assert np.isnan([other.plain_error, other.calibrated_error]).all()
        assert not any("%" in name for name in other.schedules())
        notes = [[note for note in run.plain.notes if "recorded on" in note] for run in (same, other)]
        assert notes == [
            [],
            ["recorded on 2 lanes, replayed on 4: the makespans differ by no error of the replay"],
        ]


def test_under_the_policy_that_was_recorded():
    """First come, first served on two executors: task 2 goes to the lane that is idle when task 0 has finished."""
    replayed = ss.replay_recorded(two_lanes(), "fifo")
    assert replayed.plain.policy == "fifo"
    assert replayed.plain.start_s.tolist() == [0, 0, 1, 1.5, 3.5]
    one = ss.replay_recorded(two_lanes(), "sequential", "1x1")
    assert one.plain.makespan_s == 1 + 1.5 + 0.75 + 2 + 0.5
    assert one.calibrated.makespan_s == one.plain.makespan_s + 4 * 0.625


def test_durations_are_the_recorded_ones():
    """Neither widths nor the machine that recorded carry them elsewhere, and stated durations do not count."""
    fast = ss.graph.RecordedOn("fast", core_flops=1e12, core_bandwidth_Bps=1e12)
    graph = recorded(
        [0, 2], [1, 5], kinds="Conv", widths=4, flops=[1e9, 1e9], bytes_B=[1e6, 1e6], recorded_on=fast
    )
    replayed = ss.replay_recorded(graph)
    assert replayed.plain.finish_s.tolist() == [1, 4]
    assert replayed.calibrated.makespan_s == replayed.recorded.makespan_s == 5


def interrupted():
    """Return 20 tasks of 1 s after gaps of 1 ms, the tenth after 3 s."""
    gaps = np.where(np.arange(20) == 10, 3.0, 1e-3)
    start = np.cumsum(gaps + 1.0) - 1.0
    return recorded(start - start[0], start - start[0] + 1.0)


def test_interruptions_are_no_dispatches():
    gaps = Gaps.of(interrupted().recorded)
    assert np.flatnonzero(gaps.cause == INTERRUPTED).tolist() == [10]
    assert gaps.interrupted_s == pytest.approx(3)
    assert gaps.overheads().dispatch_s == pytest.approx(1e-3)
    assert gaps.longest_usual_s == pytest.approx(0.1)
    replayed = ss.replay_recorded(interrupted())
    assert replayed.calibrated.makespan_s == pytest.approx(20 + 19e-3)
    assert replayed.row()["interrupted_s"] == pytest.approx(3)
    busy = ss.replay_recorded(interrupted(), interruptions=True)
    assert busy.calibrated.makespan_s == pytest.approx(busy.recorded.makespan_s)


def away():
    """Return ten tasks of 1 s a lane, 1 ms apart; the last two of lane 1, of which one waits for lane 0, after 5 s."""
    first = np.arange(10) * 1.001
    start = np.concatenate([first, first[:8], first[:2] + 8 * 1.001 + 5])
    return recorded(start, start + 1.0, [(9, 19)], np.repeat([0, 1], 10))


def test_an_executor_is_away_while_any_task_is_ready():
    """By hand: lane 1 is free at 8.007 s and back at 13.008 s; task 18 was ready all the time, 19 from 10.009 s."""
    run = away().recorded
    expected = np.zeros(20)
    expected[18] = 13.008 - 8.007
    assert absences_s(run) == pytest.approx(expected)
    replayed = ss.replay_recorded(away(), interruptions=True)
    assert replayed.calibrated.makespan_s == pytest.approx(15.009, abs=2e-3)
    assert replayed.plain.makespan_s == pytest.approx(11)


def test_a_lane_of_its_own_tasks_is_not_away_for_those_of_another():
    start = np.append(np.arange(10) * 1.001, [0.0, 12.0])
    lanes = np.repeat([0, 1], [10, 2])
    late = recorded(start, start + 1.0, [(9, 11)], lanes).recorded
    assert absences_s(late)[11] == pytest.approx((9.009 - 1.0) + (12.0 - 10.009))
    assert absences_s(late, own_tasks=True)[11] == pytest.approx(12.0 - 10.009)


def test_nobody_is_away_in_an_empty_run():
    assert absences_s(recorded([], []).recorded).tolist() == []


def test_zeros_do_not_make_all_else_interruptions():
    """Most gaps of a coarse clock are 0; the median of the others says what is usual."""
    start = np.array([0, 1, 2, 3, 4, 5 + 1e-6, 6 + 2e-6])
    gaps = Gaps.of(recorded(start, start + 1).recorded)
    assert gaps.cause.tolist() == [FIRST] + [DISPATCH] * 6


def test_held_out():
    """Overheads of two other recordings, pooled: gaps of 1, 1 and 4 s."""
    others = [recorded([0, 2, 4], [1, 3, 5]), recorded([0, 5], [1, 6])]
    replayed = ss.replay_recorded(recorded([0, 1.5], [1, 2.5]), calibrated_on=others)
    assert replayed.overheads.dispatch_s == 2
    assert replayed.calibrated.makespan_s == 4
    assert replayed.gaps.seconds.tolist() == [0, 0.5]


def test_overlapping_tasks_run_one_after_another():
    """Task 1 runs inside task 0; task 2 starts when both have finished."""
    replayed = ss.replay_recorded(recorded([0, 1, 4.5], [4, 2, 5]))
    assert replayed.gaps.seconds.tolist() == [0, 0, 0.5]
    assert replayed.gaps.overlap_s == 3
    assert replayed.plain.start_s.tolist() == [0, 4, 5]


def test_early_starts_and_empty_tasks_make_no_cycle():
    """Task 1 waits for task 2, which takes no time and starts with it or, by the clock, a little later."""
    for later in (0.0, 1e-6):
        graph = recorded([0, 1, 1 + later], [1, 2, 1 + later], [(2, 1), (0, 2)])
        replayed = ss.replay_recorded(graph)
        assert replayed.gaps.seconds.tolist() == pytest.approx([0, 0, later], abs=1e-15)
        assert replayed.plain.start_s.tolist() == [0, 1, 1]


@pytest.mark.parametrize("n_lanes", [0, 2])
def test_empty(n_lanes):
    replayed = ss.replay_recorded(recorded([], [], n_lanes=n_lanes))
    assert replayed.recorded.makespan_s == replayed.plain.makespan_s == replayed.calibrated.makespan_s == 0
    assert np.isnan(replayed.plain_error)
    assert replayed.overheads.dispatch_s == 0
    assert replayed.overheads.wake_up_s is None
    assert "nan" in replayed._repr_html_()


def test_one_task():
    replayed = ss.replay_recorded(recorded([0], [2]))
    assert (replayed.plain_error, replayed.calibrated_error) == (0, 0)
    assert "Recorded run" in replayed._repr_html_()
    assert repr(replayed).startswith("<RecordedReplay ")
    assert "array" not in repr(replayed)


def test_tasks_without_length():
    replayed = ss.replay_recorded(recorded([0, 0, 1], [0, 0, 1]))
    assert replayed.plain.makespan_s == 0
    assert replayed.calibrated.makespan_s == replayed.recorded.makespan_s == 1


def test_unknown_times_are_refused():
    with pytest.raises(GraphError, match="task 1 was recorded from nan"):
        recorded([0, np.nan], [1, 2])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: ss.replay_recorded(ss.TaskGraph.from_edges([1.0], name="a\x1bb")),
            r"'a\\x1bb' has no recording",
        ),
        (lambda: ss.replay_recorded(two_lanes(), calibrated_on=[]), "calibrated_on is empty"),
        (lambda: ss.replay_recorded(two_lanes(), calibrated_on=two_lanes()), "calibrated_on is a graph"),
        (
            lambda: ss.replay_recorded(two_lanes(), calibrated_on=[ss.TaskGraph.from_edges([1.0])]),
            "no recording",
        ),
        (lambda: ss.replay_recorded(two_lanes(), layout="2x1"), "layout 2x1 goes with a policy"),
        (lambda: ss.replay_recorded(two_lanes(), "sequential"), "sequential has one executor"),
    ],
)
def test_refused(call, says):
    with pytest.raises(SimschedError, match=says):
        call()


def test_teams_are_not_divided():
    with pytest.raises(LayoutError, match="give 2x1"):
        ss.replay_recorded(two_lanes(), "fifo", "2x4")


@pytest.mark.parametrize("name", SAMPLES)
def test_bundled_recordings(name):
    """Gaps of one lane without interruptions add up, so the mean meets the recording; a plain replay is 3 % below."""
    kineto, execution_trace = sample_files(name)
    replayed = ss.replay_recorded(ss.load(kineto, execution_trace=execution_trace))
    assert replayed.plain_error < -0.03
    assert abs(replayed.calibrated_error) < 1e-9
    assert replayed.gaps.interrupted_s == replayed.gaps.overlap_s == 0


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared samples are not here")
@pytest.mark.parametrize(
    "name", ["inception.t1", "inception.t2", "lstm4_unrolled.t1", "lstm4_unrolled.par3x1"]
)
def test_other_runs_of_a_profile_predict_one(name):
    base = SHARED / "onnx" / name
    runs = [
        ss.load(f"{base}.ortprof.json", model=f"{base}.optimized.zeroed.onnx", run=run) for run in range(3)
    ]
    for run, graph in enumerate(runs):
        held_out = ss.replay_recorded(graph, calibrated_on=[r for i, r in enumerate(runs) if i != run])
        assert abs(held_out.calibrated_error) < abs(held_out.plain_error)
        undisturbed_s = held_out.recorded.makespan_s - held_out.gaps.interrupted_s
        assert held_out.calibrated.makespan_s == pytest.approx(undisturbed_s, rel=0.01)
