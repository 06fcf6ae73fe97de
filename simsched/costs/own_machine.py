"""The machine of a graph where no other is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simsched.costs.shapes.elements import rates_on
from simsched.defaults import MACHINE
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.recording import recorded_threads, team_widths
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, machine as machine_of
from simsched.machine.stated import BY_DEFINITION


def machine_for(graph: object, machine: str | Path | Machine | None) -> Machine:
    """Return a named machine, or the one on which a graph was recorded as far as that is known, else `knl-7250`.

    Parameters
    ----------
    graph : TaskGraph
        One with `recorded_on` says its machine, where there is one of that name. Of another recording the lanes are
        known, and perhaps the speed of a core: its machine is `generic`, which shares nothing, as the recorded seconds
        already contain how tasks slowed each other down.
    machine : str, Path, Machine or None
        As `simsched.machine` takes it; None for the graph's own.

    Raises
    ------
    MachineError, SpecError
        If there is no such machine.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], recorded_on="epyc-7702")
    >>> str(machine_for(graph, None)), str(machine_for(graph, "grace"))
    ('epyc-7702', 'grace')
    """
    if machine is None and isinstance(graph, TaskGraph):
        threads = recorded_threads(graph)
        if (named := recorder_of(graph)) is not None:
            return named
        if threads is not None:
            return machine_of(f"generic[cores={threads}]")
    return machine_of(MACHINE if machine is None else machine)


def recorder_of(graph: TaskGraph) -> Machine | None:
    """Return the machine of the name that a graph was recorded on; None where there is none of that name.

    Examples
    --------
    >>> import simsched as ss
    >>> hosts = ["grace", ss.RecordedOn("laptop")]
    >>> [str(recorder_of(ss.TaskGraph.from_edges([1.0], recorded_on=host))) for host in hosts]
    ['grace', 'None']
    """
    return None if graph.recorded_on is None else _named(graph.recorded_on.name)


def part_idle(graph: TaskGraph) -> Mask:
    """Return which tasks were recorded on fewer threads than their team had, shape (n,).

    Examples
    --------
    >>> import simsched as ss
    >>> part_idle(ss.TaskGraph.from_edges([1.0, 2.0])).tolist()
    [False, False]
    """
    return ~np.isnan(graph.durations_s) & (graph.widths < team_widths(graph))


def stands_in(graph: TaskGraph, machine: Machine) -> bool:
    """Return whether a machine is `generic` without a core, in place of the one that recorded a graph.

    Examples
    --------
    >>> import simsched as ss
    >>> stands_in(ss.TaskGraph.from_edges([1.0]), ss.machine("generic"))
    False
    """
    return not has_chip(machine) and recorded_threads(graph) is not None


def has_chip(machine: Machine) -> bool:
    """Return whether a machine's clock is that of a chip: that of `generic` without a core is 1 GHz by definition.

    Examples
    --------
    >>> import simsched as ss
    >>> has_chip(ss.machine("knl-7250")), has_chip(ss.machine("generic"))
    (True, False)
    """
    return str(machine.content["cores"]["clock"]["source"]) != BY_DEFINITION


def peak_s(graph: TaskGraph, machine: Machine, doubt: float = 0.0) -> Seconds:
    """Return the seconds of each task's operations on one core at a chip's peak; 0 where none are known, or no chip.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    doubt : float
        As in `simsched.costs.shapes.elements.Rates`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], flops=[89.6e9])
    >>> [float(peak_s(graph, ss.machine(name))[0]) for name in ("graviton4", "generic")]
    [1.0, 0.0]
    """
    peak = machine.peak_flops * machine.clocks.boost if has_chip(machine) else np.inf
    seconds: Seconds = np.nan_to_num(graph.flops) / (peak * rates_on(graph, machine, doubt))
    return seconds


def _named(name: str) -> Machine | None:
    """Return the machine of a name; None where there is none."""
    try:
        return machine_of(name)
    except SimschedError:
        return None
