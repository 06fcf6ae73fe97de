"""Binding resources: the parts of the makespan, along the critical path through time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from simsched.costs import TaskCosts
from simsched.costs.curves import few, unknown_kinds
from simsched.explain import Explanation
from simsched.explain.causes import slow_downs_of
from simsched.explain.core_time import SLOW_DOWNS
from simsched.explain.path import CAUSES, SEGMENTS
from simsched.explain.team_time import costs_of
from simsched.explain.waits import RELATIVE
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Index
from simsched.graph.taskgraph import Seconds
from simsched.schedule import Schedule
from simsched.schedule.steps import Steps

#: Possible binding resources; of equals the first binds.
RESOURCES = (
    "dependencies",
    "cores",
    "narrow teams",
    "members without work",
    "team overhead",
    *(cause for cause in SLOW_DOWNS if cause != "noise"),
    "dispatch",
    "queue",
    "data",
)

#: What binds where the makespan is hardly longer than the longest path in the widths of its tasks.
CRITICAL_PATH = "critical path"
#: The resources that are its tasks' seconds in their teams, undisturbed.
IN_TEAMS = ("dependencies", "cores", "narrow teams", "members without work", "team overhead")
#: Columns of a prediction that only `advice` reads.
FOR_ADVICE = ("twice_the_cores_s", "assumed_serial")
#: Share of the makespan by which it is longer at most.
NEAR = 0.05
#: Share that three digits do not show: half a unit of the last one of 9.99.
NOT_SHOWN = 5e-4
#: What to do then: where the makespan is the bound, where it is hardly longer, and where its tasks are not at their
#: fastest widths.
NO_WIDTH = (
    "no policy, layout or further core shortens it; divide its tasks or make them faster "
    "(ss.explain(schedule).critical_path lists them)"
)
#: The same where its tasks divide into more parts than there are cores.
WIDER = (
    "no policy or layout of these cores shortens it; more cores would, in wider teams; divide its tasks or make them "
    "faster (ss.explain(schedule).critical_path lists them)"
)
#: Beside both, of kinds that are taken to be serial.
ASSUMED = (
    "; of {}, of which nothing is known, it is only assumed that no further core does: "
    "costs=ss.CostModel({{kind: ss.Curve(serial_share=...)}}) says how much teams speed them up"
)
HARDLY, HARDLY_WIDER = (
    what.replace("shortens it", f"shortens it by more than {100 * NEAR:g} %") for what in (NO_WIDTH, WIDER)
)
OTHER_WIDTHS = (
    "its tasks are faster on other widths, or on another kind of cores where there are several; a layout of these, or "
    "a policy that chooses widths (corun, kind-widths) or kinds (heft, dmda) by task, may shorten it"
)


def bound_by(schedule: Schedule, why: Explanation | None = None) -> Mapping[str, float]:
    """Return the seconds of the makespan by the resource that causes them; their sum is the makespan.

    Walked is the critical path through time (docs/explaining.md) of a simulated schedule. Put down are

    - to what tasks share (`memory bandwidth`, `tiles`, ...): the slowdown of a task on the path by others
    - to `memory bandwidth`, too: the wait of its team for its own bytes
    - to `team overhead`: what else its working members take longer than its one-core seconds over its width
    - to `members without work`: the same of its other members, while cores are scarce: only then do they cost anything
    - to `dispatch` and `queue`: decisions, and waits for them; to `data`: waits for what a task reads
    - to `cores` the rest of a task that had waited for them, or ran while another waited for them, and aborted runs
    - to `narrow teams` the savings of the fastest width for the rest, and to `dependencies` the remainder

    Cores are not scarce where the makespan is that of the longest chain of tasks, or `near_critical_path`.

    Parameters
    ----------
    schedule : Schedule
    why : Explanation, optional
        Its explanation, if it exists.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> dict(bound_by(ss.simulate(graph, "generic[cores=1]", "fifo")))
    {'cores': 6.0}
    >>> dict(bound_by(ss.simulate(graph, "generic[cores=2]", "fifo")))
    {'dependencies': 4.0}
    """
    why, seconds = why or schedule.explain(), dict.fromkeys(RESOURCES, 0.0)
    path = why.path
    for part in ("dispatch", "queue", "data"):
        seconds[part] += float(path.seconds_s[path.part == SEGMENTS.index(part)].sum())
    # A run is aborted as a faster core came free, for which it had waited.
    seconds["cores"] += float(path.seconds_s[path.part == SEGMENTS.index("aborted")].sum())
    ran = path.part == SEGMENTS.index("run")
    tasks, left = path.task[ran], path.seconds_s[ran]
    scarce = _scarce(why)
    slower = slow_downs_of(schedule, tasks, why.costs)
    for cause, longer in [*slower.items(), *_lost_in_teams(why, tasks, scarce).items()]:
        if cause in RESOURCES:
            seconds[cause] += float(longer.sum())
            left = left - longer
    seconds["cores"] += float(left @ scarce)
    left, free = left * (1 - scarce), scarce < 1
    narrow = np.minimum(_saved_by_wider_teams(why, tasks[free]) * (1 - scarce[free]), left[free])
    seconds["narrow teams"] += float(np.maximum(narrow, 0.0).sum())
    seconds["dependencies"] += float(left.sum()) - seconds["narrow teams"]
    # Rounding residues count as zero.
    least_s = RELATIVE * schedule.makespan_s
    return {resource: one for resource, one in seconds.items() if abs(one) > least_s}


def _scarce(why: Explanation) -> Seconds:
    """Return the share of each run on the path during which cores were scarce, shape (runs,)."""
    schedule, waits, path = why.schedule, why.waits, why.path
    ran = path.part == SEGMENTS.index("run")
    begin_s, end_s, after = path.begin_s[ran], path.end_s[ran], path.after[ran]
    chain_s = float(schedule.graph.levels(schedule.finish_s - schedule.start_s).max(initial=0.0))
    if chain_s >= schedule.makespan_s * (1 - RELATIVE) or near_critical_path(schedule):
        return np.zeros(len(begin_s))
    late = waits.lacked_cores
    waiting = Steps.of(waits.ready_s[late], waits.held_s[late], np.ones(int(late.sum()), np.int64))
    scarce = waiting.above(0, begin_s, end_s) / (end_s - begin_s)
    return np.where(after == CAUSES.index("no core"), 1.0, np.minimum(scarce, 1.0))


def _lost_in_teams(why: Explanation, tasks: Index, scarce: Seconds) -> Mapping[str, Seconds]:
    """Return the excess of some tasks' seconds alone over their one-core seconds by their width, by cause.

    What members without work lose counts as far as cores are scarce. Of a noisy task every part of its seconds is as
    much longer or shorter as all of it.
    """
    time, passed = why.team_time, (_factors(why.schedule) / why.schedule.widths)[tasks]
    return {
        "memory bandwidth": time.memory_s[tasks] * passed,
        "team overhead": time.overhead_s[tasks] * passed,
        "members without work": time.idle_s[tasks] * passed * scarce,
    }


def _saved_by_wider_teams(why: Explanation, tasks: Index) -> Seconds:
    """Return the excess of some tasks' one-core seconds by their width over their fastest team's seconds."""
    schedule = why.schedule
    costs = why.costs or costs_of(schedule)
    perfect = why.team_time.work_s[tasks] / schedule.widths[tasks]
    return (perfect - costs.part(tasks).seconds(costs.fastest_widths[tasks])) * _factors(schedule)[tasks]


def _factors(schedule: Schedule) -> Seconds:
    """Return actual over estimated seconds of each task."""
    factors = None if schedule.inputs is None else schedule.inputs.factors
    return np.ones(schedule.graph.n_tasks) if factors is None else factors


def near_critical_path(schedule: Schedule) -> bool:
    """Return whether the longest path takes 95 % of the makespan or more, each task alone in the width that it has.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> [near_critical_path(ss.simulate(graph, f"generic[cores={cores}]", "fifo")) for cores in (1, 2)]
    [False, True]
    """
    path_s = float(schedule.graph.levels(schedule.alone_s * _factors(schedule)).max(initial=0.0))
    return bool(path_s >= (1 - NEAR) * schedule.makespan_s > 0)


def bottleneck(schedule: Schedule, seconds: Mapping[str, float] | None = None) -> tuple[str, float]:
    """Return the resource that causes most of a schedule's makespan, and its share, as `binding` does.

    Near the critical path, all that tasks take in their teams is one resource, "critical path": neither more nor
    narrower teams help.

    Parameters
    ----------
    schedule : Schedule
    seconds : mapping of str to float, optional
        As `bound_by` returns them, if known.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> bottleneck(ss.simulate(graph, "generic[cores=6]", "fifo", "2x3"))
    ('critical path', 1.0)
    """
    seconds = bound_by(schedule) if seconds is None else seconds
    if not near_critical_path(schedule):
        return binding(seconds)
    others = {resource: one for resource, one in seconds.items() if resource not in IN_TEAMS}
    return binding({CRITICAL_PATH: sum(seconds.get(resource, 0.0) for resource in IN_TEAMS), **others})


def advice(frame: pd.DataFrame, column: str, place: str) -> Iterator[str]:
    """Yield what to do in rows of a prediction in which the critical path binds.

    Parameters
    ----------
    frame : DataFrame
        With the columns binds, makespan_s, critical_path_s, and those that `on_twice_the_cores_s` and `assumed_serial`
        return.
    column : str
        What tells its rows apart.
    place : str
        Where that is, such as "at {} cores".

    Examples
    --------
    >>> frame = pd.DataFrame({"cores": [2, 4], "binds": "critical path", "makespan_s": 4.0, "critical_path_s": [4, 2]})
    >>> frame["twice_the_cores_s"], frame["assumed_serial"] = frame["critical_path_s"], ""
    >>> [note.partition(":")[0] for note in advice(frame, "cores", "at {} cores")]
    ['critical path at 2 cores', 'critical path at 4 cores']
    """
    binds = frame["binds"] == CRITICAL_PATH
    shorter, longer = (
        frame["critical_path_s"] < (1 - one) * frame["makespan_s"] for one in (NEAR, NOT_SHOWN)
    )
    divides = frame["twice_the_cores_s"] < (1 - NEAR) * frame["critical_path_s"]
    hardly = longer & ~shorter
    for rows, what in (
        (binds & ~longer & ~divides, NO_WIDTH),
        (binds & ~longer & divides, WIDER),
        (binds & hardly & ~divides, HARDLY),
        (binds & hardly & divides, HARDLY_WIDER),
        (binds & shorter, OTHER_WIDTHS),
    ):
        for kinds, some in frame[rows].groupby("assumed_serial", sort=False):
            places = ", ".join(map(str, some[column]))
            named = place.format(places).removesuffix("s" * (places == "1"))  # at 1 core
            assumed = ASSUMED.format(kinds) if kinds and what in (NO_WIDTH, HARDLY) else ""
            yield f"critical path {named}: {what}{assumed}"


def assumed_serial(why: Explanation) -> str:
    """Return the kinds on the critical path through time that are taken to be serial, as nothing is known of them.

    Parameters
    ----------
    why : Explanation
        Of a simulated schedule.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], kinds=["DGEMM", "gemm"])
    >>> assumed_serial(ss.simulate(graph, "generic[cores=2]", "fifo").explain())
    "'DGEMM'"
    """
    schedule, costs = why.schedule, why.costs
    if schedule.inputs is None or (costs is not None and costs.table is not None):
        return ""
    ran = why.path.task[why.path.part == SEGMENTS.index("run")]
    there = {*schedule.graph.kinds.codes[ran].tolist()}
    on_path = {label for code, label in enumerate(schedule.graph.kinds.labels) if code in there}
    curves = [schedule.inputs.costs.curve(kind) for kind in schedule.graph.kinds.labels]
    return few([kind for kind in unknown_kinds(schedule.graph, curves) if kind in on_path])


def on_twice_the_cores_s(graph: TaskGraph, costs: TaskCosts) -> float:
    """Return the longest path on twice the cores; a tabled task gains as much again as from half of them to all."""
    whole = costs.fastest_teams()
    kinds = (
        [(costs, costs.widest)]
        if isinstance(whole, TaskCosts)
        else zip(whole.kinds, whole.most.T, strict=True)
    )
    fastest, widths = whole.seconds(whole.fastest_widths), whole.fastest_widths
    twice = np.minimum.reduce([fastest, *(one.seconds(2 * most) for one, most in kinds)])
    if costs.table is not None and costs.widest > 1:
        gains = np.ones(graph.n_tasks)
        np.divide(
            fastest,
            whole.seconds(costs.widest // 2),
            out=gains,
            where=(fastest > 0) & (widths == costs.widest),
        )
        twice = np.where(costs.table.covers, fastest * np.minimum(gains, 1.0), twice)
    return float(graph.levels(twice).max(initial=0.0))


def binding(seconds: Mapping[str, float]) -> tuple[str, float]:
    """Return the resource that causes most of a makespan, and its share; ("nothing", 0.0) for no length.

    Parameters
    ----------
    seconds : mapping of str to float
        As `bound_by` returns them.
    """
    if not seconds:
        return "nothing", 0.0
    most = max(seconds, key=lambda resource: seconds[resource])
    return most, seconds[most] / sum(seconds.values())
