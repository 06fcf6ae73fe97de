"""`calibrate()`: measure ops by width, pairs of them, and threads on this host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf

from simsched.costs.fitting import CalibratedModel, Calibration, MeasuredOp, fitted
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import METHOD, calibrated, calibration_cases, deciding_cases
from simsched.execute.calibrate.climbing import Runs, Widths, chosen_widths, climbed, grid_cases
from simsched.execute.calibrate.costs_of_threads import thread_costs
from simsched.execute.calibrate.doubts import with_doubts
from simsched.execute.calibrate.pairs import measured_pairs, pairs_on
from simsched.execute.calibrate.spreads import with_spreads
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import PRECISION, Settings
from simsched.execute.run.run import Case, interleaved
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.machine import machine as machine_of
from simsched.policy import RankPolicy
from simsched.policy import policy as policy_of
from simsched.replay.checks import check_graph


def calibrate(
    graphs: TaskGraph | Sequence[TaskGraph],
    machine: str = "host",
    repeats: int = 10,
    *,
    widths: Widths | None = None,
    step: int | None = None,
    tolerance: float = 0.0,
    pairs: int | None = None,
    settings: Settings | None = None,
    progress: Callable[[int], object] | None = None,
) -> CalibratedModel:
    """Measure the ops of graphs on this host, and return a cost model that can be saved.

    Parameters
    ----------
    graphs : TaskGraph or sequence of TaskGraph
        Their kinds and shapes are measured.
    machine : str
        `host`, or a variation of it.
    repeats : int
        Measured runs of each graph on each width, and of each pair; graphs whose runs scatter run for more.
    widths : {"sweep", "climb"} or sequence of int, optional
        Every width, those that hill climbing asks for, or these; by default "climb" beyond 8 hardware threads.
    step : int, optional
        Threads that climbing adds at a time; by default 4, as in the paper.
    tolerance : float
        Relative slow-down that does not end a climb.
    pairs : int, optional
        Ops to run beside each other and themselves, the longest first; by default 3, on two hardware threads.
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
        If there are no tasks, the host cannot run the widths, step or pairs, or a run does not end in time.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1e-4], kinds="MatMul", shapes="32x32;32x32", flops=[65536.0])
    >>> model = ss.calibrate(graph, "host[cores=1]", repeats=1)
    >>> model.calibration.points()[["kind", "shape", "width"]].values.tolist()
    [['MatMul', '32x32;32x32', 1]]
    """
    every, host = _checked(graphs), machine_of(machine)
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < inf):
        raise EngineError(f"tolerance is {tolerance!r}; expected a share of zero or more")
    paired = pairs_on(host, pairs)
    run = _Turns(repeats, settings or Settings(machine=machine, precision=PRECISION), progress)
    found = _measured(every, host, run, *chosen_widths(host, widths, step), tolerance)
    return _with_pairs(found, every, host, paired, run).cost_model()


def _checked(graphs: TaskGraph | Sequence[TaskGraph]) -> list[TaskGraph]:
    every = [graphs] if isinstance(graphs, TaskGraph) else list(graphs)
    for graph in every:
        check_graph(graph)
    if not sum(graph.n_tasks for graph in every):
        raise EngineError("there are no tasks to calibrate on; give a graph, or several")
    return every


def _with_pairs(
    found: Calibration, graphs: Sequence[TaskGraph], host: Machine, pairs: int, run: _Turns
) -> Calibration:
    # A pair and its ops alone are compared turn by turn: none of them has further turns.
    in_step = replace(run, settings=replace(run.settings, precision=inf))
    paired = measured_pairs(graphs, host, found.ops, pairs, in_step)
    facts = {"pairs_left_out": "; ".join(paired.left_out)} if paired.left_out else {}
    return replace(found, pairs=paired.pairs, facts={**found.facts, **facts})


@dataclass(frozen=True, eq=False)
class _Turns:
    """Runs cases in turn, so many times each."""

    repeats: int
    settings: Settings
    progress: Callable[[int], object] | None

    def __call__(self, cases: Sequence[Case]) -> list[Execution]:
        return interleaved(cases, self.repeats, self.settings, self.progress)


def _measured(
    graphs: Sequence[TaskGraph], host: Machine, run: _Turns, widths: Widths, step: int, tolerance: float
) -> Calibration:
    """Return what ops and threads cost; policies of the last runs decide by the costs measured before."""
    ops, runs = _ops(graphs, host, run, widths, step, tolerance)
    deciding = deciding_cases(graphs, [(1, host.n_threads)])
    costs = run.settings.costs or calibrated(runs).cost_model()
    knowing = replace(run, settings=replace(run.settings, costs=costs))
    runs = [*runs, *zip(deciding, knowing(deciding), strict=True)]
    said = f"widths: {widths}" + (f" in steps of {step}" if widths == "climb" else "")
    return _calibration(ops, runs, host, said)


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


def _calibration(ops: Sequence[MeasuredOp], runs: Runs, host: Machine, widths: str) -> Calibration:
    """Return what runs tell, with these ops and what threads cost: fits take that off the seconds of wide teams."""
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
