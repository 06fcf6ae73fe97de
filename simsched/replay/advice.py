"""Advice on a schedule: what the best layout or a choice of kinds of cores may save, and what its recording took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from simsched.costs.rescaling import recorded_run, why_other
from simsched.errors import PolicyError
from simsched.notes import Note, Weight
from simsched.policy.bound import Bound
from simsched.policy.layout import BEST
from simsched.policy.rank_policy import CHOOSING_KINDS, RankPolicy
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.text import counted
from simsched.units import format_time

#: Share of the makespan by which another one must differ to be worth a note.
WORTH = 0.1


class Advice(Note):
    """The note that another layout is faster than the given one."""


def remarked(schedule: Schedule) -> Schedule:
    """Return a schedule with notes on devices that it may leave idle, and on what its recording itself took.

    The latter where its layout was found, is of as many threads, and takes another time by over 10 %.

    Parameters
    ----------
    schedule : Schedule
        A simulated one.

    Examples
    --------
    >>> import simsched as ss
    >>> schedule = ss.simulate(ss.TaskGraph.from_edges([[1.0, 0.1]]), "grace-hopper", "fifo")
    >>> schedule.notes[0]
    'fifo does not look at kinds of cores; heft and dmda choose one for each task, which may be far faster'
    """
    said = [Note(text, Weight.DOUBT) for text in (*_of_devices(schedule), *_of_recording(schedule))]
    return replace(schedule, notes=(*said, *schedule.notes))


def _of_devices(schedule: Schedule) -> Iterator[str]:
    inputs, machine = schedule.inputs, schedule.require_machine()
    if inputs is None or not machine.is_device.any():
        return
    if (bound := Bound.on(schedule.graph, machine)) is not None and not bound.leaves_a_choice:
        return
    advice = "heft and dmda choose one for each task, which may be far faster"
    if not isinstance(inputs.policy, RankPolicy):
        first = schedule.teams.indices[schedule.teams.indptr[schedule.team]]
        if not machine.is_device[first % machine.n_cores].any():
            yield f"{schedule.policy} ran no task on a device; of kinds of cores {advice}"
    elif inputs.policy.discipline not in CHOOSING_KINDS:
        yield f"{schedule.policy} does not look at kinds of cores; {advice}"


def _of_recording(schedule: Schedule) -> Iterator[str]:
    inputs, machine = schedule.inputs, schedule.require_machine()
    recorded = recorded_run(schedule.graph, machine)
    if inputs is None or recorded is None or inputs.layout_by == "given" or recorded[1] != machine.n_threads:
        return
    took_s, threads = recorded
    if abs(took_s - schedule.makespan_s) > WORTH * took_s:
        said = f"the recording itself took {format_time(took_s)} on {counted(threads, 'thread')}"
        yield f"{said}: {why_other(schedule.graph)}"


def advised(schedule: Schedule, progress: Callable[[int], object] | None = None) -> Schedule:
    """Return a schedule of a given layout with a note on the best one, if that saves over 10 %.

    It is found by up to 15 more replays. Layouts not given by the caller stay unchanged.

    Parameters
    ----------
    schedule : Schedule
        A simulated one.
    progress : callable, optional
        As in `simsched.simulate`.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([2.0, 2.0])
    >>> advised(ss.simulate(graph, "generic[cores=2]", "fifo", "1x1")).notes[-1]
    'fifo: the layout 1x1 was given; 2x1 takes 50 % less, 2 s in place of 4 s'
    """
    inputs = schedule.inputs
    if inputs is None or inputs.layout_by != "given" or not schedule.makespan_s:
        return schedule
    scenario = replace(Scenario.again(schedule, inputs), layout=BEST, progress=progress)
    try:
        best = scenario.replay(schedule.graph, inputs.policy, inputs.factors)
    except PolicyError:
        # A plan of one's own may be for the given layout alone.
        return schedule
    saved = 1 - best.makespan_s / schedule.makespan_s
    if saved <= WORTH:
        return schedule
    note = Advice(
        f"{schedule.policy}: the layout {schedule.layout} was given; {best.layout} takes {100 * saved:.0f} % less, "
        f"{format_time(best.makespan_s)} in place of {format_time(schedule.makespan_s)}",
        Weight.DOUBT,
    )
    return replace(schedule, notes=(*schedule.notes, note))
