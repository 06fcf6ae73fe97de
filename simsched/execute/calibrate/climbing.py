"""Which widths a calibration measures: all, those of a grid, or those that hill climbing asks for.

Whatever the widths, whole graphs run: as in the paper a profiling run measures all ops at once, on one width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from simsched.costs.fitting import Climb, MeasuredOp, Op, Point, climb_together
from simsched.costs.fitting.climbing import widest
from simsched.costs.fitting.points import Sharing
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import calibrated
from simsched.execute.calibrate.spreads import Key, tasks_by_op, with_spreads
from simsched.execute.run.execution import Execution
from simsched.execute.run.run import Case
from simsched.graph import TaskGraph
from simsched.machine import Machine

Widths = Literal["sweep", "climb"] | Sequence[int]
Runs = Sequence[tuple[Case, Execution]]
#: Really runs cases, in turn.
RunAll = Callable[[Sequence[Case]], Sequence[Execution]]

#: Most hardware threads of a host that is swept unless something else is asked for.
SWEPT = 8
#: The paper's choice of x: within 2 % of the optimum (Sec. III-C).
STEP = 4


def chosen_widths(machine: Machine, widths: Widths | None, step: int | None) -> tuple[Widths, int]:
    """Return how widths are chosen, checked, and the step of climbing.

    Raises
    ------
    EngineError
        If it is neither a name that is known nor widths that the machine has, or a step is given without climbing.
    """
    if widths is None:
        widths = "sweep" if step is None and machine.n_threads <= SWEPT else "climb"
    if isinstance(widths, str):
        if widths not in ("sweep", "climb"):
            raise EngineError(
                f"widths={widths!r}; expected 'sweep', 'climb' or a list of widths, as [1, 2, 4]"
            )
    else:
        widths = _listed(widths, machine)
    if step is not None and (widths != "climb" or not isinstance(step, int) or step < 1):
        raise EngineError(
            f"step={step} with widths={widths!r}; a step is 1 or more, and only of widths='climb'"
        )
    return widths, step or STEP


def _listed(widths: object, machine: Machine) -> list[int]:
    given, most = list(widths) if isinstance(widths, Iterable) else [], machine.n_threads
    if not given or not all(isinstance(w, int) and not isinstance(w, bool) and 1 <= w <= most for w in given):
        raise EngineError(
            f"widths={widths}; {machine} has teams of 1 to {most} threads, of which give a list"
        )
    return sorted(set(given))


def grid_cases(graphs: Sequence[TaskGraph], machine: Machine, widths: Sequence[int]) -> list[Case]:
    """Return the cases that measure graphs on given widths, on as many executors of each as there is room for."""
    return [_case(graph, machine.n_threads, width) for graph in graphs for width in widths]


def climbed(
    graphs: Sequence[TaskGraph], machine: Machine, run: RunAll, step: int = STEP, tolerance: float = 0.0
) -> tuple[list[MeasuredOp], list[tuple[Case, Execution]]]:
    """Climb with all ops of graphs at once.

    Parameters
    ----------
    graphs : sequence of TaskGraph
    machine : Machine
        Its tiles say which sharings there are.
    run : callable
        Runs cases, as `interleaved` with its repeats.
    step, tolerance
        As in `hill_climb`.

    Returns
    -------
    list of MeasuredOp
        Each with the widths that it climbed, the one on which its time rose included.
    list of (Case, Execution)
        What ran.
    """
    most, runs = widest(machine), list[tuple[Case, Execution]]()
    ops: dict[Key, Op] = {}
    points: dict[tuple[Key, int, Sharing], Point] = {}

    def measure(going: Sequence[Key], width: int, sharing: Sharing) -> list[float]:
        # Graphs without an op that still climbs have nothing to tell.
        asked = [graph for graph in graphs if set(going) & set(tasks_by_op(graph))]
        placement = "scatter" if sharing == "apart" else "compact"
        cases = [_case(graph, most[sharing], width, placement) for graph in asked]
        found = list(zip(cases, run(cases), strict=True))
        runs.extend(found)
        for one in with_spreads(calibrated(found).ops, found):
            key = (one.op.kind, one.op.shape)
            ops.setdefault(key, one.op)
            points[key, width, sharing] = replace(one.points[0], sharing=sharing)
        return [points[key, width, sharing].seconds for key in going]

    keys = list(dict.fromkeys(key for graph in graphs for key in tasks_by_op(graph)))
    climbs = climb_together(keys, measure, most, step, tolerance)
    return [_measured(ops[key], key, climb, points) for key, climb in zip(keys, climbs, strict=True)], runs


def _measured(op: Op, key: Key, climb: Climb, points: dict[tuple[Key, int, Sharing], Point]) -> MeasuredOp:
    wide = [points[key, w, s] for s, row in climb.tried.items() for w in row if w > 1]
    return MeasuredOp(op, (points[key, 1, "apart"], *wide))


def _case(graph: TaskGraph, threads: int, width: int, placement: str = "compact") -> Case:
    return Case(graph, f"fifo[order=random,placement={placement}]", (threads // width, width))
