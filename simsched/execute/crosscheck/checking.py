"""`crosscheck()`: real makespans of graphs on this host against the simulator's predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import (
    calibrated,
    calibration_cases,
    case_doubt,
    deciding_cases,
    deciding_runs,
    doubt,
    taken_runs,
    with_doubts,
)
from simsched.execute.crosscheck.checked import Checked, CrossCheck
from simsched.execute.measure.measured import Measured
from simsched.execute.measure.measuring import cases_again, ratios_again
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import PRECISION, Settings
from simsched.execute.run.run import Case, interleaved
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.machine import Machine, machine as machine_of
from simsched.policy import Layout, RankPolicy, policy as policy_of
from simsched.replay import simulate


def crosscheck(
    graphs: Mapping[str, TaskGraph] | Sequence[TaskGraph] | TaskGraph,
    policies: Sequence[str] = ("fifo", "critical-path", "wavefront", "corun", "sequential"),
    layouts: Sequence[str | None] | None = None,
    repeats: int = 20,
    *,
    machine: str = "host",
    measured: Measured | None = None,
    settings: Settings | None = None,
    progress: Callable[[int], object] | None = None,
) -> CrossCheck:
    """Run graphs for real under policies and layouts, and compare the runs with simulations of the same cases.

    Calibrating runs take turns with the measured ones. No prediction uses a run of its own case (see `calibrate`).

    Parameters
    ----------
    graphs : mapping of str to TaskGraph, sequence of TaskGraph, or TaskGraph
        The graphs, by name; without names, under their own.
    policies : sequence of str
    layouts : sequence of str, optional
        As in `simulate`; by default `kx1` and `1xk` on all k threads. Policies skip layouts that they do not take.
    repeats : int
        Measured runs of each case.
    machine : str
        `host`, or a variation of it.
    measured : Measured, optional
        What `simsched.measure` found of this host: its machine, its seconds of ops by size and its runtime predict all
        cases, and no calibrating runs take place.
    settings : Settings, optional
        How the cases run.
    progress : callable, optional
        Called with 1 after every run.

    Returns
    -------
    CrossCheck
        Its `table` has one row per case: measured and predicted makespan, error, why it is declined.

    Raises
    ------
    SimschedError
        If there is nothing to run, or a run does not end in time.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1e-4], kinds="MatMul", shapes="32x32;32x32", flops=[65536.0])
    >>> check = ss.crosscheck({"product": graph}, ["fifo"], ["1x1"], repeats=2, machine="host[cores=1]")
    >>> check.table[["graph", "policy", "layout"]].values.tolist()
    [['product', 'fifo', '1x1']]
    """
    if isinstance(policies, str) or isinstance(layouts, str):
        raise EngineError(f"policies={policies!r}, layouts={layouts!r}; expected lists, as ['fifo'], ['2x1']")
    target = machine_of(machine)
    parts = _parts(_named(graphs), policies, layouts, target)
    settings = settings or Settings(machine=machine, precision=PRECISION)
    if measured is not None:
        return _against(measured, parts, repeats, settings, progress)
    return _calibrating(target, parts, repeats, settings, progress)


def _calibrating(
    target: Machine,
    parts: Sequence[_Part],
    repeats: int,
    settings: Settings,
    progress: Callable[[int], object] | None,
) -> CrossCheck:
    """Return the cases, predicted by runs that take turns with theirs."""
    settings = _deciding([case for part in parts for case in part.basis], repeats, settings, progress)
    # Cases of one graph are adjacent: compared runs are as close in time as possible.
    runs = iter(interleaved([case for part in parts for case in part.cases], repeats, settings, progress))
    found = [(part, list(zip(part.cases, runs, strict=False))) for part in parts]
    checked = [one for part, pairs in found for one in part.checked(pairs, target)]
    basis = [pair for part, pairs in found for pair in pairs[: len(part.basis)]]
    return CrossCheck(tuple(checked), with_doubts(calibrated(basis), taken_runs(basis)))


def _against(
    measured: Measured,
    parts: Sequence[_Part],
    repeats: int,
    settings: Settings,
    progress: Callable[[int], object] | None,
) -> CrossCheck:
    """Return the cases, predicted by what was measured of the host before."""
    asked = [(part.name, case) for part in parts for case in part.asked]
    deciding = settings if settings.costs is not None else replace(settings, costs=measured.costs)
    sizes = cases_again(measured)
    found = interleaved([*sizes, *(case for _, case in asked)], repeats, deciding, progress)
    again, runs = found[: len(sizes)], found[len(sizes) :]
    checked = []
    for (name, case), run in zip(asked, runs, strict=True):
        simulated = measured.simulate(case.graph, case.policy, case.layout)
        why = doubt(run.makespans_s, run.undisturbed)
        checked.append(Checked(name, run, simulated, measured.costs, measured.runtime, why))
    drift = _drift(ratios_again(measured, list(zip(sizes, again, strict=True))))
    return CrossCheck(tuple(checked), measured.calibration, drift)


def _drift(again: Sequence[tuple[int, float]]) -> float:
    """Return the ratio in the median of the ops of a width, that of the width on which it is furthest from 1."""
    widths = {width for width, _ in again}
    medians = [float(np.median([ratio for one, ratio in again if one == width])) for width in widths]
    return max(medians, key=lambda ratio: abs(ratio - 1), default=math.nan)


@dataclass(frozen=True, eq=False)
class _Part:
    """A graph with the cases that calibrate it, and the requested ones."""

    name: str
    graph: TaskGraph
    basis: list[Case]
    asked: list[Case]

    @classmethod
    def of(
        cls,
        name: str,
        graph: TaskGraph,
        policies: Sequence[str],
        layouts: Sequence[str | None],
        machine: Machine,
    ) -> _Part:
        asked = [Case(graph, policy, layout) for policy, layout in _suited(policies, layouts)]
        fixed = sorted({beside for case in asked for beside in _beside(case, machine.n_threads)})
        chosen = [case for case in asked if not isinstance(policy_of(case.policy), RankPolicy)]
        deciding = dict.fromkeys(_fixed(case) or (machine.n_threads, machine.n_threads) for case in chosen)
        basis = [*calibration_cases([graph], machine.n_threads, fixed), *deciding_cases([graph], deciding)]
        return cls(name, graph, basis, asked)

    @property
    def cases(self) -> list[Case]:
        return [*self.basis, *self.asked]

    def checked(self, pairs: Sequence[tuple[Case, Execution]], machine: Machine) -> list[Checked]:
        """Return every requested case with its prediction, from the runs of `cases`."""
        basis, found = pairs[: len(self.basis)], []
        known = {key: calibrated(basis, key) for key in {_fixed(case) for case in self.asked}}
        taken = {key: [run for _, run in taken_runs(basis, key)] for key in known}
        for case, run in pairs[len(self.basis) :]:
            model, runtime = known[_fixed(case)].cost_model(), known[_fixed(case)].runtime()
            simulated = simulate(self.graph, machine, case.policy, case.layout, model, runtime)
            deciding = (
                () if isinstance(policy_of(case.policy), RankPolicy) else deciding_runs(basis, _fixed(case))
            )
            why = case_doubt(run, simulated, taken[_fixed(case)], deciding)
            found.append(Checked(self.name, run, simulated, model, runtime, why))
        return found


def _beside(case: Case, n_threads: int) -> list[tuple[int, int]]:
    """Return the layouts that give seconds of a case: of each width, its executors side by side."""
    if (fixed := _fixed(case)) is None:
        return []
    executors, widest = fixed
    if isinstance(policy_of(case.policy), RankPolicy):
        return [fixed]
    return [(min(executors, n_threads // width), width) for width in range(1, widest + 1)]


def _fixed(case: Case) -> tuple[int, int] | None:
    """Return executors and width where the case has a layout."""
    layout = case.layout
    return (layout.executors, layout.width) if isinstance(layout, Layout) else None


def _deciding(
    first: Sequence[Case], repeats: int, settings: Settings, progress: Callable[[int], object] | None
) -> Settings:
    """Return the settings with the estimates for policies, measured in a few runs where none are given.

    Simulated and real policies then choose alike: the same levels, the same widths.
    """
    if settings.costs is not None:
        return settings
    runs = interleaved(first, max(repeats // 4, 1), settings, progress)
    return replace(settings, costs=calibrated(list(zip(first, runs, strict=True))).cost_model())


def _parts(
    graphs: Mapping[str, TaskGraph],
    policies: Sequence[str],
    layouts: Sequence[str | None] | None,
    target: Machine,
) -> list[_Part]:
    wanted = layouts or (f"{target.n_threads}x1", f"1x{target.n_threads}")
    parts = [_Part.of(name, graph, policies, wanted, target) for name, graph in graphs.items()]
    if not any(part.asked and part.graph.n_tasks for part in parts):
        raise EngineError("there is nothing to check; give a graph with tasks, and a policy")
    return parts


def _named(graphs: Mapping[str, TaskGraph] | Sequence[TaskGraph] | TaskGraph) -> dict[str, TaskGraph]:
    given = graphs if isinstance(graphs, Iterable) and not isinstance(graphs, str) else [graphs]
    for graph in given.values() if isinstance(given, Mapping) else given:
        check_graph(graph)
    named = given if isinstance(given, Mapping) else _under_own_names(given)
    # Names of files may hold broken bytes, which no table or report accepts.
    return {str(name).encode("utf-8", "backslashreplace").decode(): graph for name, graph in named.items()}


def _under_own_names(graphs: Sequence[TaskGraph]) -> dict[str, TaskGraph]:
    names = [graph.name for graph in graphs]
    numbered = [f"{name} {place}" for place, name in enumerate(names)]
    own = [name if names.count(name) == 1 else other for name, other in zip(names, numbered, strict=True)]
    # One graph's name may be another's name once that is numbered.
    return dict(zip(own if len(set(own)) == len(own) else numbered, graphs, strict=True))


def _suited(policies: Sequence[str], layouts: Sequence[str | None]) -> list[tuple[str, Layout | None]]:
    """Return each policy with the layouts that apply to it, each once."""
    found: dict[tuple[str, str], tuple[str, Layout | None]] = {}
    for name in policies:
        chosen = policy_of(name)
        for layout in layouts:
            suited = chosen.suited(Layout.parse(layout) if layout else None)
            if suited is None and isinstance(chosen, RankPolicy) and layout:
                continue
            found.setdefault((name, str(suited or "")), (name, suited))
    return list(found.values())
