"""`calibrate()`: measure ops by width, pairs of them, and threads on this host.

Whatever the widths (all, a grid, or those that hill climbing asks for), whole graphs run: as in the paper a profiling
run measures all ops, on one width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from time import monotonic
from typing import Literal

import numpy as np

from simsched.costs.fitting import (
    CalibratedModel,
    Calibration,
    Climb,
    MeasuredOp,
    Op,
    Overheads,
    Point,
    climb_together,
    fitted,
)
from simsched.costs.fitting.climbing import widest
from simsched.costs.fitting.points import Sharing
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import (
    METHOD,
    Key,
    calibrated,
    calibration_cases,
    deciding_cases,
    tasks_by_op,
    with_doubts,
    with_spreads,
)
from simsched.execute.calibrate.kinds import graph_of_kinds
from simsched.execute.calibrate.pairs import measured_pairs, pairs_on
from simsched.execute.kernels.module import module
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import GRACE_S, PRECISION, Settings
from simsched.execute.run.run import Case, interleaved
from simsched.execute.run.threads import cpus_of
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.machine import Machine, machine as machine_of
from simsched.parameters import is_whole
from simsched.policy import RankPolicy, policy as policy_of

#: Empty regions of each width, and wake-ups of each thread, that are measured.
ROUNDS, WAKE_UPS = 10_000, 50
#: Seconds that a thread sleeps before it is woken: long enough for its core to rest, too.
ASLEEP_S = 1e-3
TIMEOUT_S = 30.0
#: Most threads whose wake-ups are measured.
MOST_WOKEN = 4


@dataclass(frozen=True)
class Region:
    """Medians of empty regions of one width.

    Parameters
    ----------
    width : int
        Threads.
    fork_s : float
        From the call to the last thread's first instruction.
    join_s : float
        From there until the last thread has been counted.
    """

    width: int
    fork_s: float
    join_s: float


def thread_costs(machine: str | Machine = "host", widths: Iterable[int] | None = None) -> Overheads:
    """Measure the costs of teams without work, and the wake-up time of a sleeping thread.

    Parameters
    ----------
    machine : str or Machine
        `host`, or a variation of it.
    widths : iterable of int, optional
        Of the teams; 2, 4, 8, ... and all hardware threads in use when not given.

    Returns
    -------
    Overheads
        `fork_join_s` and `barrier_s`, plus each thread's part if there are two widths or more; and `wake_up_s`.

    Raises
    ------
    EngineError
        If a width is beyond the hardware threads in use: more threads than CPUs wait for each other, not for the fork.

    Examples
    --------
    >>> from simsched.execute import thread_costs
    >>> thread_costs("host[cores=1]").wake_up_s > 0
    True
    """
    host = machine_of(machine)
    cpus, chosen = cpus_of(host), sorted({1, *(_powers(host.n_threads) if widths is None else widths)})
    if chosen[0] < 1 or chosen[-1] > len(cpus):
        wrong = chosen[0] if chosen[0] < 1 else chosen[-1]
        raise EngineError(f"a team of {wrong} threads; {host} has 1 to {len(cpus)}")
    regions = [_region(cpus[:width]) for width in chosen]
    return overheads_of(regions, float(np.median([_wake_up_s(cpu) for cpu in cpus[:MOST_WOKEN]])))


def overheads_of(regions: Sequence[Region], wake_up_s: float | None = None) -> Overheads:
    """Return the overheads in regions: the extra seconds of wider ones over the first, which has one thread.

    A thread alone is called, looks at the clock and is counted, too; that is part of a decision.
    """
    alone, *teams = regions
    if not teams:
        return Overheads(wake_up_s=wake_up_s)
    widths = [team.width for team in teams]
    fork_s, fork_each_s = _line(widths, [max(team.fork_s - alone.fork_s, 0.0) for team in teams])
    join_s, join_each_s = _line(widths, [max(team.join_s - alone.join_s, 0.0) for team in teams])
    return Overheads(
        fork_join_s=fork_s,
        fork_join_per_thread_s=fork_each_s,
        barrier_s=join_s,
        barrier_per_thread_s=join_each_s,
        wake_up_s=wake_up_s,
    )


def _powers(most: int) -> list[int]:
    return [*(2**k for k in range(1, most.bit_length()) if 2**k < most), most]


def _line(widths: Sequence[int], seconds: Sequence[float]) -> tuple[float, float | None]:
    """Return the fixed cost and the cost per thread, neither below zero; one width gives the sum only."""
    if len(widths) == 1:
        return seconds[0], None
    from scipy.optimize import nnls

    (once, each), _ = nnls(np.stack([np.ones(len(widths)), widths], axis=1), np.array(seconds))
    return float(once), float(each)


def _region(cpus: Sequence[int]) -> Region:
    try:
        crew = module().Crew([[cpu] for cpu in cpus])
        fork_s, join_s = module().region_times(crew, ROUNDS, TIMEOUT_S, GRACE_S)
    except RuntimeError as error:
        raise EngineError(f"a team of {len(cpus)} threads could not be timed: {error}") from error
    return Region(len(cpus), float(np.median(fork_s)), float(np.median(join_s)))


def _wake_up_s(cpu: int) -> float:
    try:
        crew = module().Crew([[cpu]])
        return float(np.median(module().wake_up_times(crew, WAKE_UPS, ASLEEP_S, TIMEOUT_S)))
    except RuntimeError as error:
        raise EngineError(f"a thread on CPU {cpu} could not be woken: {error}") from error


Widths = Literal["sweep", "climb"] | Sequence[int]
Runs = Sequence[tuple[Case, Execution]]
#: Runs cases for real, in turn.
RunAll = Callable[[Sequence[Case]], Sequence[Execution]]

#: Most hardware threads of a host that is swept by default.
SWEPT = 8
#: The paper's choice of x: within 2 % of the optimum (Sec. III-C).
STEP = 4


def chosen_widths(machine: Machine, widths: Widths | None, step: int | None) -> tuple[Widths, int]:
    """Return the method of choosing widths, checked, and the step of climbing.

    Raises
    ------
    EngineError
        If it is neither a known name nor widths of the machine, or a step is given without climbing.
    """
    if widths is None:
        widths = "sweep" if step is None and machine.n_threads <= SWEPT else "climb"
    if isinstance(widths, str):
        if widths not in ("sweep", "climb"):
            raise EngineError(
                f"widths={widths!r}; expected 'sweep', 'climb' or a list of widths, as [1, 2, 4]"
            )
    else:
        given, most = list(widths) if isinstance(widths, Iterable) else [], machine.n_threads
        if not given or not all(is_whole(w, 1, most) for w in given):
            raise EngineError(
                f"widths={widths}; {machine} has teams of 1 to {most} threads, of which give a list"
            )
        widths = sorted(set(given))
    if step is not None and (widths != "climb" or not isinstance(step, int) or step < 1):
        raise EngineError(
            f"step={step} with widths={widths!r}; a step is 1 or more, and only of widths='climb'"
        )
    return widths, step or STEP


def grid_cases(graphs: Sequence[TaskGraph], machine: Machine, widths: Sequence[int]) -> list[Case]:
    """Return the cases that measure graphs on given widths, on as many executors of each as fit."""
    return [_case(graph, machine.n_threads, width) for graph in graphs for width in widths]


def climbed(
    graphs: Sequence[TaskGraph], machine: Machine, run: RunAll, step: int = STEP, tolerance: float = 0.0
) -> tuple[list[MeasuredOp], list[tuple[Case, Execution]]]:
    """Climb with all ops of graphs concurrently.

    Parameters
    ----------
    graphs : sequence of TaskGraph
    machine : Machine
        Its tiles determine the possible sharings.
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
        # Graphs without an op that still climbs add no information.
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
    return [_of_climb(ops[key], key, climb, points) for key, climb in zip(keys, climbs, strict=True)], runs


def _of_climb(op: Op, key: Key, climb: Climb, points: dict[tuple[Key, int, Sharing], Point]) -> MeasuredOp:
    wide = [points[key, w, s] for s, row in climb.tried.items() for w in row if w > 1]
    return MeasuredOp(op, (points[key, 1, "apart"], *wide))


def _case(graph: TaskGraph, threads: int, width: int, placement: str = "compact") -> Case:
    return Case(graph, f"fifo[order=random,placement={placement}]", (threads // width, width))


#: Runs of each case, and seconds of all of them, where no number of runs is given.
REPEATS, LIMIT_S = 10, 180.0


def calibrate(
    graphs: TaskGraph | str | Sequence[TaskGraph | str],
    machine: str = "host",
    repeats: int | None = None,
    *,
    widths: Widths | None = None,
    step: int | None = None,
    tolerance: float = 0.0,
    pairs: int | None = None,
    settings: Settings | None = None,
    progress: Callable[[int], object] | None = None,
) -> CalibratedModel:
    """Measure the ops of graphs, or kinds of ops, on this host, and return a cost model that can be saved.

    Parameters
    ----------
    graphs : TaskGraph, str, or sequence of these
        Graphs, whose ops are measured, or kinds, as `"MatMul"`, each in some five shapes of generated graphs.
    machine : str
        `host`, or a variation of it.
    repeats : int, optional
        Runs of each graph on each width, and of each pair; graphs whose runs scatter run for more. By default 10, but
        after three minutes 3, and no more pairs.
    widths : {"sweep", "climb"} or sequence of int, optional
        Every width, those that hill climbing asks for, or these; by default "climb" beyond 8 hardware threads.
    step : int, optional
        Threads that climbing adds at a time; by default 4, as in the paper.
    tolerance : float
        Relative slow-down that does not end a climb.
    pairs : int, optional
        Ops to run with each other and themselves, the longest first; by default 3, on two hardware threads.
    settings : Settings, optional
        How they run.
    progress : callable, optional
        Called with 1 after every run.

    Returns
    -------
    CalibratedModel
        To be given to `simulate(costs=...)`; its `calibration` has points, fits, overheads and pairs.

    Raises
    ------
    SimschedError
        If there are no tasks, a kind is unknown, the host cannot run the widths or pairs, or a run does not end.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1e-4], kinds="MatMul", shapes="32x32;32x32", flops=[65536.0])
    >>> model = ss.calibrate([graph, "Softmax"], "host[cores=1]", repeats=1)
    >>> model.calibration.points()["shape"].tolist()
    ['32x32;32x32', '2x8x32x32', '4x8x64x64', '4x8x128x128']
    """
    every, host = _graphs(graphs), machine_of(machine)
    _check_tolerance(tolerance)
    paired = pairs_on(host, pairs)
    run = _Turns.of(repeats, settings or Settings(machine=machine, precision=PRECISION), progress)
    found = _measured(every, host, run, *chosen_widths(host, widths, step), tolerance)
    return _with_pairs(found, every, host, paired, run).cost_model()


def _check_tolerance(tolerance: object) -> None:
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < inf):
        raise EngineError(f"tolerance is {tolerance!r}; expected a share of zero or more")


def _graphs(asked: TaskGraph | str | Sequence[TaskGraph | str]) -> list[TaskGraph]:
    """Return the graphs, and one more of all kinds among them."""
    every = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    kinds = [one for one in every if isinstance(one, str)]
    graphs = [one for one in every if not isinstance(one, str)]
    for graph in graphs:
        check_graph(graph)
    if kinds:
        graphs.append(graph_of_kinds(kinds))
    if not sum(graph.n_tasks for graph in graphs):
        raise EngineError(
            "there are no tasks to calibrate on; give a graph or a kind, as 'MatMul', or several"
        )
    return graphs


def _with_pairs(
    found: Calibration, graphs: Sequence[TaskGraph], host: Machine, pairs: int, run: _Turns
) -> Calibration:
    # A pair and its ops alone are compared turn by turn: none of them has further turns.
    in_step = replace(run, settings=replace(run.settings, precision=inf))
    paired = measured_pairs(graphs, host, found.ops, pairs, in_step, lambda: run.left_s > 0)
    facts = {"pairs_left_out": "; ".join(paired.left_out)} if paired.left_out else {}
    return replace(found, pairs=paired.pairs, facts={**found.facts, **facts})


@dataclass(frozen=True, eq=False)
class _Turns:
    """Runs of cases in turn, the given number of times each."""

    repeats: int
    settings: Settings
    progress: Callable[[int], object] | None
    ends_s: float

    @classmethod
    def of(cls, repeats: int | None, settings: Settings, progress: Callable[[int], object] | None) -> _Turns:
        """Return them, with an end where no number of runs is given."""
        if repeats is None:
            return cls(REPEATS, settings, progress, monotonic() + LIMIT_S)
        return cls(repeats, settings, progress, inf)

    @property
    def left_s(self) -> float:
        """Seconds until there are no more runs than necessary."""
        return self.ends_s - monotonic()

    def __call__(self, cases: Sequence[Case]) -> list[Execution]:
        return interleaved(cases, self.repeats, self.settings, self.progress, self.left_s)


def _measured(
    graphs: Sequence[TaskGraph], host: Machine, run: _Turns, widths: Widths, step: int, tolerance: float
) -> Calibration:
    """Return the costs of ops and threads; policies of the last runs decide by the costs measured before."""
    ops, runs = _ops(graphs, host, run, widths, step, tolerance)
    deciding = deciding_cases(graphs, [(1, host.n_threads)])
    costs = run.settings.costs or calibrated(runs).cost_model()
    knowing = replace(run, settings=replace(run.settings, costs=costs))
    runs = [*runs, *zip(deciding, knowing(deciding), strict=True)]
    said = f"widths: {widths}" + (f" in steps of {step}" if widths == "climb" else "")
    return calibration_of(ops, runs, host, said)


def _ops(
    graphs: Sequence[TaskGraph],
    host: Machine,
    run: Callable[[Sequence[Case]], list[Execution]],
    widths: Widths,
    step: int,
    tolerance: float,
) -> tuple[Sequence[MeasuredOp], Runs]:
    if widths == "climb":
        return climbed(graphs, host, run, step, tolerance)
    cases = (
        calibration_cases(graphs, host.n_threads)
        if isinstance(widths, str)
        else grid_cases(graphs, host, widths)
    )
    runs = list(zip(cases, run(cases), strict=True))
    return with_spreads(calibrated(runs).ops, runs), runs


def calibration_of(ops: Sequence[MeasuredOp], runs: Runs, host: Machine, widths: str) -> Calibration:
    """Return the results of runs with ops and costs of threads, which fits subtract from wide teams."""
    found = calibrated(runs)
    threads = {name: value for name, value in asdict(thread_costs(host)).items() if value is not None}
    overheads = replace(found.overheads, **threads)
    counts = {"runs": sum(len(run) for _, run in runs), "dropped": sum(run.n_dropped for _, run in runs)}
    calibration = with_doubts(
        found, [(case, run) for case, run in runs if isinstance(policy_of(case.policy), RankPolicy)]
    )
    return replace(
        calibration,
        ops=tuple(fitted(one, overheads.runtime()) for one in ops),
        method=f"{METHOD}; {widths}",
        overheads=overheads,
        facts={**calibration.facts, **counts},
    )
