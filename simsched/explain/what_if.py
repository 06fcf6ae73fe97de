"""Most effective improvements: the graph replayed with some tasks made faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.errors import CostError, SimschedError
from simsched.explain.path import task_names
from simsched.graph.taskgraph import Seconds
from simsched.progress import check_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Inputs, Schedule

#: Most replays of kinds of tasks.
KINDS = 8


def what_if(
    schedule: Schedule,
    critical_path: pd.DataFrame,
    speedup: float = 2.0,
    kind_speedup: float = 1.1,
    *,
    top: int = 10,
    replays: int = 32,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Return the tasks, and kinds of tasks, that shorten the makespan most when they are faster.

    Each row is a real replay: same graph, machine, policy, layout and seed, and `factors` that make some tasks faster
    without telling the policy. Replayed are the tasks that run longest on the critical path through time, and the kinds
    that run longest there: at most 8 of these, the rest of the replays are of tasks. A task off the path helps only
    by slowing others down less, or through an anomaly of scheduling; such an anomaly can lengthen the makespan, too.

    Parameters
    ----------
    schedule : Schedule
    critical_path : DataFrame
        Its critical path through time, as `Explanation.critical_path` returns it.
    speedup, kind_speedup : float
        Factors by which a task, and all tasks of a kind, become faster, above 0.
    top, replays : int
        Rows of tasks to return, in addition to those of all replayed kinds; most replays.
    progress : callable, optional
        Called with 1 after each replay.

    Returns
    -------
    DataFrame
        One row per task or kind, the largest gain first, of equals kinds, then the lower index: rank, the
        same for equal gains; what ("task", "kind"); task (-1 for a kind), name, kind, n_tasks; speedup; on_path_s,
        seconds on the critical path; makespan_s; gain_s, negative where the makespan grows; gain, over the makespan.

    Raises
    ------
    SimschedError
        If the schedule is a real run, or a number is impossible.

    Examples
    --------
    >>> import simsched as ss
    >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo")
    >>> what_if(schedule, schedule.explain().critical_path)[["name", "gain_s"]].values.tolist()
    [['task 2', 1.5], ['task 0', 0.5]]
    """
    report = check_progress(progress)
    inputs = _checked(schedule, speedup, kind_speedup, top, replays)
    on_path_s = _on_path_s(schedule.graph.n_tasks, critical_path)
    cases = [*_kinds(schedule, on_path_s, kind_speedup, min(replays // 4, KINDS))]
    cases += _tasks(on_path_s, speedup, replays - len(cases))

    def makespan_s(case: _Case) -> float:
        shorter = _again(schedule, inputs, case)
        report(1)
        return shorter.makespan_s

    return _frame(schedule, cases, on_path_s, parallel_map(makespan_s, cases, schedule.graph.n_tasks), top)


@dataclass(frozen=True, eq=False)
class _Case:
    """Tasks made faster together by one factor: a single one, or all of a kind."""

    tasks: npt.NDArray[np.intp]
    speedup: float
    kind: str | None = None


def _checked(schedule: Schedule, speedup: float, kind_speedup: float, top: int, replays: int) -> Inputs:
    if schedule.inputs is None:
        raise SimschedError(
            "what-if replays a simulated schedule, and this is a real run; simulate its graph on a machine first"
        )
    for name, value in (("speedup", speedup), ("kind_speedup", kind_speedup)):
        if not (value > 0 and np.isfinite(value)):
            raise CostError(f"{name} is {value}; it must be above 0, and finite")
    for name, count in (("top", top), ("replays", replays)):
        if count < 0:
            raise SimschedError(f"{name} is {count}; expected a number of zero or more")
    return schedule.inputs


def _on_path_s(n_tasks: int, critical_path: pd.DataFrame) -> Seconds:
    """Return the seconds that each task runs on the path."""
    ran = critical_path[critical_path["part"] == "run"]
    on_path_s = np.zeros(n_tasks)
    np.add.at(on_path_s, ran["task"].to_numpy(), ran["seconds_s"].to_numpy())
    return on_path_s


def _kinds(schedule: Schedule, on_path_s: Seconds, speedup: float, most: int) -> Iterable[_Case]:
    """Yield the kinds that run longest on the path, the longest first."""
    kinds = schedule.graph.kinds
    seconds = np.bincount(kinds.codes, on_path_s, len(kinds.labels))
    for code in np.argsort(-seconds, kind="stable")[:most].tolist():
        if seconds[code] and kinds.labels[code]:
            yield _Case(np.flatnonzero(kinds.codes == code), speedup, kinds.labels[code])


def _tasks(on_path_s: Seconds, speedup: float, most: int) -> Iterable[_Case]:
    """Yield the tasks that run longest on the path, the longest first; of equals the lower index."""
    for task in np.argsort(-on_path_s, kind="stable")[:most]:
        if on_path_s[task]:
            yield _Case(np.array([task]), speedup)


def _again(schedule: Schedule, inputs: Inputs, case: _Case) -> Schedule:
    factors = np.ones(schedule.graph.n_tasks) if inputs.factors is None else inputs.factors.copy()
    factors[case.tasks] /= case.speedup
    return Scenario.again(schedule, inputs).replay(schedule.graph, inputs.policy, factors)


def _frame(
    schedule: Schedule, cases: list[_Case], on_path_s: Seconds, makespans_s: list[float], top: int
) -> pd.DataFrame:
    whole = np.array([case.kind is not None for case in cases], np.bool_)
    tasks = np.array([-1 if case.kind is not None else case.tasks[0] for case in cases], np.int64)
    kinds = [schedule.graph.kinds[int(case.tasks[0])] for case in cases]
    names = task_names(schedule.graph, tasks)
    frame = pd.DataFrame({
        "what": np.where(whole, "kind", "task").astype(object),
        "task": tasks,
        "name": [f"all {kind}" if kind_ else name for kind, kind_, name in zip(kinds, whole, names, strict=True)],
        "kind": kinds,
        "n_tasks": np.array([len(case.tasks) for case in cases], np.int64),
        "speedup": np.array([case.speedup for case in cases], np.float64),
        "on_path_s": np.array([on_path_s[case.tasks].sum() for case in cases], np.float64),
        "makespan_s": np.array(makespans_s, np.float64),
    })  # fmt: skip
    frame["gain_s"] = schedule.makespan_s - frame["makespan_s"]
    frame["gain"] = frame["gain_s"] / schedule.makespan_s if schedule.makespan_s else 0.0
    frame = frame.sort_values(["gain_s", "what", "task"], ascending=[False, True, True], kind="stable")
    frame.insert(0, "rank", frame["gain_s"].rank(method="min", ascending=False).astype(np.int64))
    kept = (frame["what"] == "kind") | ((frame["what"] == "task").cumsum() <= top)
    return frame[kept].reset_index(drop=True)
