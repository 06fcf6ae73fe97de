"""`machines`: one graph on many machines, each with its best policy and layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simsched.costs import CostModel
from simsched.document.result import Result
from simsched.errors import SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.graph.recording import measured_on
from simsched.graph.required import check_graph
from simsched.machine import Machine, machine as machine_of
from simsched.notes import Note, Weight, weight_of
from simsched.plots.policies import comparison
from simsched.plugins import registered
from simsched.policy import Policy, RankPolicy
from simsched.policy.installed import left_out, policies_or_all
from simsched.policy.layout import BEST
from simsched.progress import shows_progress
from simsched.replay.best_layout import MOST_REPLAYS
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.spec import Engine, Spec, parse_path
from simsched.study.binding import FOR_ADVICE, advice
from simsched.study.predict import HIDDEN, quiet, rows_of
from simsched.study.worlds import (
    SAMPLES,
    Case,
    fastest_shares,
    few_samples,
    one_sample,
    sample_seeds,
    undecided,
)

#: Registered machines that are no chip, or another one on each system: compared only by name.
NAMED_ALONE = ("generic", "host")
#: Replays on one machine at most, without samples, of up to eight policies.
MOST_REPLAYS_EACH = 8 * MOST_REPLAYS


@shows_progress
def machines(
    graph: TaskGraph,
    machines: Iterable[str | Path | Machine] | None = None,
    policies: str | Sequence[str | Policy | type[Policy]] | None = None,
    costs: CostModel | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    samples: int = SAMPLES,
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Compare machines by a graph's makespan on each, under its best policy and layout.

    Every policy is replayed on every machine with its best layout, as in `simsched.compare`, and the shortest of these
    is sampled for the interval, as in `simsched.predict`.

    Parameters
    ----------
    graph, costs, engine, seed, progress
        As in `simsched.simulate`.
    machines : iterable of machines, optional
        As `simsched.machine` takes them; when not given, all that are registered but `generic` and `host`.
    policies : sequence of policies, optional
        As in `simsched.compare`. When not given, all that it compares; on machines with several kinds of cores without
        those that choose widths during the run.
    samples : int
        Replays for each interval; 1 for none.

    Returns
    -------
    Result
        One row for each machine, the shortest makespan first: machine; cores; policy; layout; layout_by; makespan_s,
        low_s and high_s, binds and binds_share, the bottleneck, and the other columns of `simsched.predict`;
        times_best, the makespan over the shortest; fastest_share, the share of samples in which no machine is
        faster, by more than 0.5 %, NaN for one sample; core_s, the makespan times all cores of the machine; power_W,
        its power limit; energy_J, what the schedule takes of the watts that the machine states, else the limit times
        the makespan, at most what the run takes: NaN for machines that state neither, which a note lists. A machine
        that cannot run the graph has no makespan, and a note says why.

    Raises
    ------
    SimschedError
        If there are no machines or one has mistakes, or none can run the graph.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> found = ss.machines(graph, ["generic[cores=1]", "generic[cores=2]"], ["sequential", "fifo"])
    >>> found[["machine", "policy", "layout", "makespan_s", "core_s"]].values.tolist()
    [['generic[cores=2]', 'fifo', '2x1', 4.0, 8.0], ['generic[cores=1]', 'sequential', '1x1', 6.0, 6.0]]
    """
    check_graph(graph)
    seeds = sample_seeds(seed, samples)

    def row(machine: Machine) -> dict[str, Any]:
        return _row(graph, Scenario.of(machine, None, costs, None, engine, seed, progress), policies, seeds)

    return _result(_rows(chosen_machines(machines), row, samples), _on_all_alike(graph))


def _on_all_alike(graph: TaskGraph) -> list[str]:
    """Return a note on seconds that are the same on every machine, as nothing says where they were taken."""
    origin = measured_on(graph)
    if np.isnan(graph.durations_s).all() or graph.seconds_by_kind is not None or (origin and origin.is_known):
        return []
    said = (
        "the graph's seconds are the same on every machine, so that this table compares only numbers of cores and "
        "costs of software; ss.load(..., recorded_on=) or --recorded-on (host, a machine or its file) says where "
        "they were recorded, and converts them"
    )
    return [Note(said, Weight.DOUBT)]


def _rows(
    machines: Iterable[Machine], row: Callable[[Machine], dict[str, Any]], samples: int
) -> list[dict[str, Any]]:
    """Return the row of each machine, one with the reason where it fails; if all fail, the first error is raised."""
    rows: list[dict[str, Any]] = []
    failures: list[SimschedError] = []
    for machine in machines:
        try:
            rows.append(row(machine))
        except SimschedError as error:
            failures.append(error)
            note = f"not run: {error}"
            rows.append(
                {
                    "machine": machine.spec,
                    "cores": machine.n_cores,
                    "makespan_s": np.nan,
                    "worlds_s": [np.nan] * samples,
                    "note": note,
                    "notes": [],
                }
            )
    if len(failures) == len(rows):
        raise failures[0]
    return rows


def chosen_machines(given: Iterable[str | Path | Machine] | None) -> list[Machine]:
    """Return the given machines, each once, or all that are registered but `generic` and `host`.

    Raises
    ------
    SimschedError
        If one is given in the place of a list of them, there are none, one has mistakes, or two that differ have one
        string.

    Examples
    --------
    >>> [str(one) for one in chosen_machines(["generic[cores=2]", "generic[cores=2]"])]
    ['generic[cores=2]']
    """
    if isinstance(given, str | Path | Machine) or not isinstance(given, Iterable | None):
        raise SpecError(f"machines is {str(given)!r}; expected a list of machines, as ['grace', 'a64fx']")
    names = (
        [one for one in sorted(registered("machines")) if one not in NAMED_ALONE]
        if given is None
        else [*given]
    )
    if not names:
        raise SpecError("machines is []; expected at least one, as ['grace', 'a64fx']")
    known: dict[str, Machine] = {}
    for one in map(machine_of, names):
        if known.setdefault(one.spec, one) != one:
            other = str(Spec("mine", parse_path(one.spec).params))
            raise SpecError(
                f"machines has two machines {one.spec} that differ; give one another name, as "
                f"dataclasses.replace(machine, spec={other!r})"
            )
    return [*known.values()]


def _row(
    graph: TaskGraph,
    scenario: Scenario,
    policies: str | Sequence[str | Policy | type[Policy]] | None,
    seeds: range,
) -> dict[str, Any]:
    machine = scenario.machine
    policy, schedule = _best(graph, scenario, _suited(policies, machine, graph))
    (row,) = rows_of([Case(scenario, graph, policy, schedule)], seeds)
    row["notes"] = [*left_out(policies, machine, graph), *row["notes"], *_of_whole_chips(machine)]
    makespan_s, power_W = row["makespan_s"], np.nan if machine.power_W is None else machine.power_W
    return {
        "machine": machine.spec,
        "cores": row.pop("cores"),
        "policy": schedule.policy,
        **row,
        "core_s": makespan_s * machine.n_cores,
        "power_W": power_W,
        "energy_J": schedule.metrics().get("energy_J", makespan_s * power_W),
    }


def _suited(
    policies: str | Sequence[str | Policy | type[Policy]] | None, machine: Machine, graph: TaskGraph
) -> list[Policy]:
    found = policies_or_all(policies, machine, graph)
    if policies is None and machine.kinds is not None:
        # On several kinds of cores, policies that choose widths during the run take seconds for each replay.
        return [one for one in found if isinstance(one, RankPolicy)]
    return found


def _best(graph: TaskGraph, scenario: Scenario, policies: Sequence[Policy]) -> tuple[Policy, Schedule]:
    """Return the policy of the shortest replay, of equals the first, and the replay with its best layout."""
    best = replace(scenario, layout=BEST)
    schedules = parallel_map(lambda one: best.replay(graph, one), policies, graph.n_tasks)
    return min(zip(policies, schedules, strict=True), key=lambda pair: pair[1].makespan_s)


def _result(rows: Sequence[dict[str, Any]], alike: Iterable[str]) -> Result:
    notes = merged_notes({row["machine"]: row.pop("notes") for row in rows})
    worlds_s = [row.pop("worlds_s") for row in rows]
    shares = fastest_shares(worlds_s)
    frame = pd.DataFrame(rows).drop(columns="knee").assign(fastest_share=shares)
    frame = frame.sort_values("makespan_s", kind="stable", na_position="last", ignore_index=True)
    shortest_s = float(frame["makespan_s"].min())
    times = frame["makespan_s"] / shortest_s if shortest_s else frame["makespan_s"] + 1.0
    place = list(frame.columns).index("high_s") + 1
    frame.insert(place, "fastest_share", frame.pop("fastest_share"))
    frame.insert(place, "times_best", times)
    of_rows = [f"{one}: {note}" for one, note in zip(frame["machine"], frame["note"], strict=True) if note]
    return Result.of(
        frame.drop(columns=[*FOR_ADVICE]),
        [
            *alike,
            *undecided(frame, "machine"),
            *few_samples(worlds_s),
            *one_sample(len(worlds_s[0])),
            *notes,
            *of_rows,
            *advice(frame, "machine", "on {}"),
            *_power_notes(frame),
        ],
        comparison,
        (*HIDDEN, "tasks", "layout_by", "bound_s", *quiet(frame)),
    )


#: Machines that a note names.
MOST_NAMED = 3


def merged_notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the notes of machines by name, those of several machines that differ only in the name as one.

    One that does not name its machine, and is not of all, begins with the machines that it is of.

    Examples
    --------
    >>> merged_notes({"grace": ["carried to grace", "a fact"], "a64fx": ["carried to a64fx"]})
    ['carried to each of 2 machines', 'grace: a fact']
    """
    same: dict[str, dict[str, str]] = {}
    for machine, own in notes.items():
        name = re.compile(rf"(?<![\w-]){re.escape(machine)}(?![\w-])")
        for note in own:
            same.setdefault(name.sub("\0", note), {}).setdefault(machine, note)
    return [_merged(text, found, len(notes)) for text, found in same.items()]


def _merged(text: str, found: Mapping[str, str], of: int) -> str:
    """Return a note of some machines, of `of` in all; a zero byte in its text stands for their names."""
    first = next(iter(found.values()))
    if "\0" in text:
        return (
            Note(text.replace("\0", f"each of {len(found)} machines"), weight_of(first))
            if len(found) > 1
            else first
        )
    if len(found) == of:
        return first
    few = len(found) <= MOST_NAMED
    return Note(f"{', '.join(found) if few else f'{len(found)} of {of} machines'}: {first}", weight_of(first))


def _of_whole_chips(machine: Machine) -> list[str]:
    """Return a note on the watts of chips that have more cores than are in use."""
    if machine.power_W is None or machine.core_flops_at() == machine.core_flops:
        return []
    return [
        f"{machine.spec} is its whole chips with their other cores idle, for which those in use have a higher clock: "
        "power_W and energy_J are of the whole chips"
    ]


def _power_notes(frame: pd.DataFrame) -> list[str]:
    """Return what is known of power, in sentences."""
    unknown = list(frame["machine"][frame["energy_J"].isna()])
    if len(unknown) == len(frame):
        return ["energy_J is empty: no machine here states its power"]
    said = (
        "energy_J: by the watts that a machine states, else at most that: its power limit times the makespan"
    )
    return [said + (f"; empty where no power is known: {', '.join(unknown)}" if unknown else "")]
