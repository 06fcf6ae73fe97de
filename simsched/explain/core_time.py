"""Use of the cores' time: every core at every moment is counted once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.explain.team_time import TeamTime
from simsched.explain.waits import Waits
from simsched.graph.taskgraph import Seconds
from simsched.schedule.steps import Steps, busy_cores, on_common_times

#: Slow-down whose causes are not known, or were not searched for.
UNKNOWN = "cause unknown"
#: Causes of slow-down, in the order of the table.
SLOW_DOWNS = ("hardware threads", "memory bandwidth", "tiles", "remote memory", "interconnect", "team changes", "noise",
              UNKNOWN, "reading from afar")  # fmt: skip
#: Time of teams beyond the work, in the order of the table, and the columns of `TeamTime` with it.
TEAM = {"waiting for memory": "memory_s", "overhead": "overhead_s", "members without work": "idle_s"}
#: Causes of idle cores, in the order of the table.
IDLE = ("dependencies", "queue", "dispatch", "tail", "reserved", "layout", "data")
#: Threads that shared a core are counted as one core each above; this removes them again.
SHARED = "threads of one core"
#: Share of the cores' time that is a rounding error.
ROUNDING = 1e-12
#: Parts below this share are neither drawn nor listed.
LEAST_SHARE = 0.0005


def labelled(group: str, cause: str) -> str:
    """Return the label of a part: its group and its cause."""
    return cause if group in {"work", "shared", "aborted"} else f"{group}: {cause}"


def seen_parts(frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Return group, cause and share of all parts of a table of core-time that are large enough to see."""
    seen = frame[frame["share"].abs() >= LEAST_SHARE]
    return list(zip(seen["group"].tolist(), seen["cause"].tolist(), seen["share"].tolist(), strict=True))


def core_time_frame(waits: Waits, teams: TeamTime, slow_downs: Mapping[str, Seconds]) -> pd.DataFrame:
    """Return the table of `Explanation.core_time`.

    Parameters
    ----------
    waits : Waits
    teams : TeamTime
    slow_downs : mapping of str to float64 array, shape (n,)
        Seconds by which each task took longer than alone, by cause, of `SLOW_DOWNS`.
    """
    schedule = waits.schedule
    widths = schedule.widths
    idle = _idle(waits)
    rows = [("work", "work", float(teams.work_s.sum()))]
    rows += [("team", cause, float(getattr(teams, column).sum())) for cause, column in TEAM.items()]
    rows += [
        ("slow-down", cause, _total(slow_downs[cause], widths)) for cause in SLOW_DOWNS if cause in slow_downs
    ]
    if len(schedule.lost):
        rows.append(("aborted", "aborted", schedule.lost.core_s(schedule.teams)))
    rows += [
        ("shared", SHARED, -idle.pop(SHARED)),
        *(("idle", cause, seconds) for cause, seconds in idle.items()),
    ]
    frame = pd.DataFrame(rows, columns=["group", "cause", "core_s"])
    total_s = schedule.n_cores * schedule.makespan_s
    # Differences of sums that are equal but for rounding are 0, and so is -0.
    frame.loc[frame["core_s"].abs() <= ROUNDING * total_s, "core_s"] = 0.0
    frame["share"] = frame["core_s"] / total_s if total_s else 0.0
    return frame


def _idle(waits: Waits) -> dict[str, float]:
    """Return the core-seconds of idle cores by cause, from first start to last finish, and those counted twice."""
    schedule, places, runs = waits.schedule, waits.places, waits.runs
    if not schedule.graph.n_tasks:
        return dict.fromkeys([*IDLE, SHARED], 0.0)
    widths = schedule.teams.degrees()[runs.team].astype(np.int64)
    start_s, finish_s = runs.start_s, runs.end_s
    running = Steps.of(start_s, finish_s, widths)
    busy = running if places.apart else busy_cores(schedule, schedule.n_cores)
    held, waiting = Steps.of(waits.held_s, waits.placed_s, widths), Steps.of(waits.placed_s, start_s, widths)
    wanted = Steps.of(waits.ready_s, waits.held_s, widths)
    later = Steps(np.array([float(schedule.start_s.max())]), np.array([1]))
    dt, levels = on_common_times(
        [running, busy, held, waiting, wanted, later], float(start_s.min()), float(finish_s.max())
    )
    threads, cores, deciding, sent, asked, tail = levels
    idle = len(places.owned) - cores
    dispatch = np.minimum(deciding, idle)
    data = np.minimum(sent, idle - dispatch)
    rest = idle - dispatch - data
    queue = np.minimum(asked, rest)
    over = tail == 1
    unowned_s = (schedule.n_cores - len(places.owned)) * schedule.makespan_s
    reserved_s = min(_reserved(waits) * schedule.makespan_s, unowned_s)
    return {
        "dependencies": _total(dt, np.where(over, 0, rest - queue)),
        "queue": _total(dt, np.where(over, 0, queue)),
        "dispatch": _total(dt, dispatch),
        "tail": _total(dt, np.where(over, rest, 0)),
        "reserved": reserved_s,
        "layout": unowned_s - reserved_s,
        "data": _total(dt, data),
        SHARED: _total(dt, threads - cores),
    }


def _total(seconds: Seconds, count: npt.NDArray[np.integer]) -> float:
    """Return the core-seconds, given the number of cores over time."""
    # Not with @: a BLAS's threads only cost time on short arrays.
    return float((seconds * count).sum())


def _reserved(waits: Waits) -> int:
    """Return the number of cores that the policy reserves for other uses than executors."""
    inputs = waits.schedule.inputs
    return 0 if inputs is None else int(getattr(inputs.policy, "reserved", 0))
