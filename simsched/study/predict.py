"""`predict`: makespan by hypothetical core count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simsched.costs import CostModel, TaskCosts
from simsched.defaults import POLICY
from simsched.document.result import Result
from simsched.errors import LayoutError
from simsched.explain import Explanation
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.intervals import spread
from simsched.machine import Machine, RuntimeProfile
from simsched.machine.stated import BY_DEFINITION, kept_whole
from simsched.notes import Note, Weight, weight_of
from simsched.parameters import is_whole
from simsched.plots.scaling import scaling
from simsched.policy import Policy, policy as policy_of
from simsched.policy.layout import BEST, Best, Layout
from simsched.progress import shows_progress
from simsched.replay.advice import advised
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario, effective_runtime
from simsched.schedule import Schedule
from simsched.schedule.bounds import bounds_of
from simsched.schedule.caveats import notes_of
from simsched.schedule.one_core import OneCore
from simsched.spec import Engine
from simsched.study.binding import (
    FOR_ADVICE,
    advice,
    assumed_serial,
    bottleneck,
    bound_by,
    on_twice_the_cores_s,
)
from simsched.study.core_counts import core_counts, grown, knee
from simsched.study.parts import PARTS, parts_of, with_growth
from simsched.study.worlds import (
    SAMPLES,
    Case,
    against_recording,
    against_untraced,
    beside_recording,
    few_samples,
    one_sample,
    sample_seeds,
    sampled_s,
)
from simsched.text import counted

#: Columns that the display leaves out; notes of a row are below the table.
HIDDEN = ("critical_path_s", "area_s", "samples", "note", "utilization", *PARTS)
#: Remark on an interval without width.
EXACT = Note(
    "where low and high are equal, nothing that the makespan depends on is uncertain: durations without a recording, "
    "and curves, that are given as numbers are exact; so are kinds that no number of threads speeds up"
)


@shows_progress
def predict(
    graph: TaskGraph | Callable[[int], TaskGraph],
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] = POLICY,
    cores: Sequence[int] | str | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    width: int | None = None,
    weak: bool = False,
    samples: int = SAMPLES,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Predict the makespan for hypothetical core counts of a machine.

    Parameters
    ----------
    graph : TaskGraph or callable
        A graph, or a function that returns one for a core count, so that the work grows with the cores (weak scaling).
    machine, policy, costs, runtime, engine, seed, progress
        As in `simsched.simulate`. Tiles stay whole and the memory of each domain stays unchanged.
    cores : sequence of int, or str, optional
        As [17, 34] or "17,34", or "8-256", which doubles; halves and doubles of the machine's own when not given.
    width : int, optional
        Cores of each executor, as many as fit; else the layout is `simulate(layout="best")`'s at nominal costs.
    weak : bool
        Weak scaling by copies: the fewest cores run the graph once, twice as many run two independent copies of it.
    samples : int
        Replays of each core count: the first with nominal costs and machine, the others with both sampled
        (docs/predicting.md), others by another `seed`, and noise from separate seeds, from it on; 1 for no interval.

    Returns
    -------
    Result
        One row for each core count: cores, tasks, layout, layout_by, its origin; makespan_s, with the nominal
        costs, or with noise the median of the samples; low_s and high_s, between which 95 % of such replays fall (with
        fewer than 39 samples their extremes: 90 % for 20), NaN for one; critical_path_s and area_s, lower bounds for
        all policies; bound_s, the larger; speedup over one core that runs every task alone
        (`simsched.schedule.one_core`); efficiency, that over cores, of which those of another kind count by what they
        do meanwhile; utilization; binds, binds_share (`simsched.study.binding`); grew, parts (`simsched.study.parts`);
        knee (`simsched.study.core_counts.knee`); extrapolated, beyond what was measured; note; samples.

    Raises
    ------
    SimschedError
        If there are no core counts or samples, or a count or width is impossible (`weak`: no multiple of the first).

    Examples
    --------
    >>> from simsched.graph import TaskGraph
    >>> frame = predict(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic", "fifo", [1, 2, 4])
    >>> frame[["cores", "makespan_s", "binds", "knee"]].values.tolist()
    [[1, 6.0, 'cores', False], [2, 4.0, 'critical path', True], [4, 4.0, 'critical path', False]]
    """
    scenario = Scenario.on(graph, machine, None, costs, runtime, engine, seed, progress)
    counts, nearest = _whole(scenario.machine, cores)
    rows = rows_of(_cases(scenario, graph, policy, counts, width, weak), sample_seeds(seed, samples))
    return _result(rows, None if weak or callable(graph) else graph, nearest, scenario.machine)


def _result(
    rows: list[dict[str, Any]], graph: TaskGraph | None, nearest: list[str], machine: Machine
) -> Result:
    """Return the table with its knee, notes on its core counts, its replays and its rows, and its picture.

    With more work on more cores there is no one graph.
    """
    said = {row["cores"]: row.pop("notes") for row in rows}
    worlds_s = [row["worlds_s"] for row in rows]
    notes = [*nearest, *few_samples(worlds_s), *one_sample(len(worlds_s[0]))]
    notes += _of_most_cores(said) if graph is None else chain(*said.values())
    frame = with_growth(_with_knee(pd.DataFrame(rows).drop(columns="worlds_s"), graph is None))
    of_recording = (against_untraced, against_recording, beside_recording)
    recorded = [] if graph is None else [note for say in of_recording for note in say(frame, graph, machine)]
    of_rows = [
        Note(f"{counted(cores, 'core')}: {note}", Weight.ASSUMPTION)
        for cores, note in zip(frame["cores"], frame["note"], strict=True)
        if note
    ]
    told = [*recorded, *notes, *of_rows, *advice(frame, "cores", "at {} cores")]
    return Result.of(frame.drop(columns=[*FOR_ADVICE]), told, scaling, (*HIDDEN, *quiet(frame)))


def _of_most_cores(notes: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Yield the notes of core counts; of some that differ in numbers alone that of the most cores."""
    alike: dict[str, dict[str, int]] = {}
    for cores in sorted(notes):
        for note in notes[cores]:
            alike.setdefault(re.sub(r"[0-9]+", "", note), {})[note] = cores
    for found in alike.values():
        note, cores = [*found.items()][-1]
        yield note if len(found) == 1 else Note(f"at {counted(cores, 'core')}: {note}", weight_of(note))


def quiet(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold no information: marks that no row has, one number of tasks for all."""
    marks = [name for name in ("grew", "knee", "extrapolated") if name in frame and not frame[name].any()]
    return marks + ["tasks"] * (frame["tasks"].nunique() == 1)


def _whole(machine: Machine, cores: Sequence[int] | str | None) -> tuple[list[int], list[str]]:
    """Return core counts of whole tiles and kinds, each once, and a note on those that were no such counts."""
    asked = core_counts(cores, machine)
    found = [machine.varied({"cores": count}).n_cores for count in asked]
    others = {one: count for one, count in zip(asked, found, strict=True) if one != count}
    wanted, taken = (_some(dict.fromkeys(counts)) for counts in (others, others.values()))
    said = f"{wanted} cores were asked for, and {taken} taken, the nearest that {machine} has: {kept_whole(machine)}"
    return [*dict.fromkeys(found)], [Note(said, Weight.DOUBT)] if others else []


def _some(counts: Iterable[int]) -> str:
    """Return core counts in a sentence, no more than six of them."""
    shown = [str(count) for count in counts]
    return ", ".join([*shown[:6], "..."] if len(shown) > 6 else [*shown[:-2], " and ".join(shown[-2:])])


def _cases(
    scenario: Scenario,
    graph: TaskGraph | Callable[[int], TaskGraph],
    policy: str | Policy | type[Policy],
    cores: Sequence[int],
    width: int | None,
    weak: bool,
) -> list[Case]:
    chosen, graphs = policy_of(policy), grown(graph, cores, weak)
    for one in graphs:
        check_graph(one)
    machines = (scenario.machine.varied({"cores": count}) for count in cores)
    return [
        Case(replace(scenario, machine=target, layout=_layout(target, width)), one, chosen)
        for one, target in zip(graphs, machines, strict=True)
    ]


def _layout(machine: Machine, width: int | None) -> Layout | Best:
    if width is None:
        return BEST
    if not is_whole(width, 1):
        raise LayoutError(f"width is {width!r}; expected cores of one executor, at least 1")
    return Layout(max(machine.n_cores // int(width), 1), int(width))


def rows_of(cases: Sequence[Case], seeds: range) -> list[dict[str, Any]]:
    """Return a row for each case, all on one machine, of any numbers of its cores.

    `predict` has the columns; `worlds_s` are the makespans of all samples, the nominal first, and `notes` its notes.

    Parameters
    ----------
    cases : sequence of Case
    seeds : range
        Of the samples, as `sample_seeds` returns them.
    """
    firsts = parallel_map(_first, cases, max(case.graph.n_tasks for case in cases))
    others = sampled_s([case for _, case in firsts], seeds[1:])
    noisy = cases[0].scenario.costs.factors(1, 0) is not None
    return [
        _with_interval(row, others_s, row.pop("one_core"), noisy)
        for (row, _), others_s in zip(firsts, others, strict=True)
    ]


def _first(case: Case) -> tuple[dict[str, Any], Case]:
    """Return the row of a case's replay with the nominal costs, and the case with the layout found."""
    schedule = advised(case.replay()) if case.nominal is None else case.nominal
    return _row(schedule, case.scenario), case.settled(schedule)


def _row(schedule: Schedule, scenario: Scenario) -> dict[str, Any]:
    """Return the row of a core count from its replay with the nominal costs."""
    machine = schedule.require_machine()
    why = schedule.explain()
    task_costs = _pinned_costs(why, scenario)
    limits = bounds_of(schedule.graph, machine, task_costs)
    seconds = bound_by(schedule, why)
    binds, share = bottleneck(schedule, seconds)
    notes, one = beyond(schedule), OneCore.of(machine, task_costs)
    return {
        "cores": machine.n_cores,
        "tasks": schedule.graph.n_tasks,
        "layout": schedule.layout,
        "layout_by": schedule.inputs.layout_by if schedule.inputs else "",
        "makespan_s": schedule.makespan_s,
        "low_s": np.nan,
        "high_s": np.nan,
        "critical_path_s": limits.critical_path_s,
        "area_s": limits.area_s,
        "bound_s": limits.bound_s,
        "twice_the_cores_s": on_twice_the_cores_s(schedule.graph, task_costs),
        "assumed_serial": assumed_serial(why),
        "one_core": one,
        "speedup": np.nan,
        "efficiency": np.nan,
        "utilization": schedule.utilization,
        "binds": binds,
        "binds_share": share,
        **parts_of(seconds),
        "knee": False,
        "extrapolated": bool(notes),
        "note": "; ".join(notes),
        "samples": 1,
        "notes": [*notes_of([schedule]), *one.notes],
    }


def _pinned_costs(why: Explanation, scenario: Scenario) -> TaskCosts:
    """Return the costs for bounds, those of pinned threads: in most cases the replay's.

    On several kinds of cores, the explanation's are of the kinds that tasks ran on, and bounds are of all.
    """
    schedule, inputs = why.schedule, why.schedule.inputs
    if (
        inputs is not None
        and schedule.require_machine().kinds is None
        and effective_runtime(inputs.runtime, inputs.policy) == inputs.runtime
        and why.costs
    ):
        return why.costs
    return scenario.task_costs(schedule.graph)


def _with_interval(
    row: dict[str, Any], others_s: Sequence[float], one: OneCore, noisy: bool
) -> dict[str, Any]:
    """Return a row with the interval of its samples, and the values derived from its makespan."""
    found = spread([row["makespan_s"], *others_s])
    makespan_s = found.middle if noisy else row["makespan_s"]
    exact = bool(others_s) and set(others_s) == {row["makespan_s"]}
    return row | {
        "worlds_s": [row["makespan_s"], *others_s],
        "notes": [*row["notes"], EXACT] if exact else row["notes"],
        "makespan_s": makespan_s,
        "low_s": min(found.low, makespan_s) if others_s else np.nan,
        "high_s": max(found.high, makespan_s) if others_s else np.nan,
        "speedup": one.speedup(makespan_s),
        "efficiency": one.efficiency(makespan_s),
        "samples": len(others_s) + 1,
    }


def _with_knee(frame: pd.DataFrame, weak: bool) -> pd.DataFrame:
    """Return the frame with its knee marked; with more work on more cores there is none."""
    place = None if weak or not frame["makespan_s"].any() else knee(frame["cores"], frame["speedup"])
    if place is None:
        return frame
    frame.loc[place, "knee"] = True
    if frame["cores"].min() < frame["cores"][place] == frame["cores"].max():
        doubt = "the knee may lie at more cores than were asked for"
        frame.loc[place, "note"] = "; ".join(filter(None, [frame["note"][place], doubt]))
    return frame


def beyond(schedule: Schedule) -> tuple[str, ...]:
    """Return the extrapolated parts of a simulated schedule, in sentences; nothing if there are none.

    That is a machine of more cores than its file has, and tasks on more threads than their seconds were measured on.
    """
    machine, said = schedule.require_machine(), []
    count = machine.content["cores"]["count"]
    built = int(count["value"])
    if machine.n_cores > built and BY_DEFINITION not in count["source"]:
        stays = machine.memory.cores < machine.n_cores
        kept = f", whose memory it keeps: {machine.bandwidth_Bps / 1e9:.4g} GB/s" if stays else ""
        said.append(f"the machine is built with {built} cores{kept}")
    if (inputs := schedule.inputs) is not None and inputs.costs.measured is not None:
        table = inputs.costs.on(schedule.graph, machine, inputs.runtime).table
        if table is not None and (count := int(np.sum(table.beyond(schedule.widths)))):
            widest = int(schedule.widths.max())
            said.append(f"{count} tasks run on up to {widest} threads, more than they were measured on")
    return tuple(said)
