"""`crosscheck()`: what graphs really take on this host beside what the simulator says they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from simsched.errors import EngineError
from simsched.execute.calibrating import calibrated, calibration_cases
from simsched.execute.checked import Checked, CrossCheck
from simsched.execute.prepared import Settings
from simsched.execute.run import Case, interleaved
from simsched.graph import TaskGraph
from simsched.machine import machine as machine_of
from simsched.policy import Layout, RankPolicy
from simsched.policy import policy as policy_of
from simsched.replay import simulate


def crosscheck(
    graphs: Mapping[str, TaskGraph] | Sequence[TaskGraph] | TaskGraph,
    policies: Sequence[str] = ("fifo", "critical-path", "wavefront", "corun", "sequential"),
    layouts: Sequence[str | None] | None = None,
    repeats: int = 20,
    *,
    machine: str = "host",
    settings: Settings | None = None,
    progress: Callable[[int], object] | None = None,
) -> CrossCheck:
    """Run graphs for real under policies and layouts, in turn with what calibrates them, and simulate the same.

    No prediction uses a run of its own case: seconds come from runs in random order (see `calibrate`).

    Parameters
    ----------
    graphs : mapping of str to TaskGraph, sequence of TaskGraph, or TaskGraph
        By name, or under their own names.
    policies : sequence of str
    layouts : sequence of str, optional
        As in `simulate`; `kx1` on all threads and `1xk` when not given. A policy leaves out layouts that mean nothing
        to it.
    repeats : int
        Runs of each case that count.
    machine : str
        `host`, or a variation of it.
    settings : Settings, optional
        How they run; when not given, each run that counts after one of the same case.
    progress : callable, optional
        Called with 1 after every run.

    Raises
    ------
    SimschedError
        If there is nothing to run, or a run does not end in time.
    """
    named = _named(graphs)
    target = machine_of(machine)
    wanted = layouts or (f"{target.n_threads}x1", f"1x{target.n_threads}")
    asked = [
        (name, Case(graph, policy, layout))
        for name, graph in named.items()
        for policy, layout in _suited(policies, wanted)
    ]
    if not asked or not sum(graph.n_tasks for graph in named.values()):
        raise EngineError("there is nothing to check; give a graph with tasks, and a policy")
    fixed = {
        (case.layout.executors, case.layout.width) for _, case in asked if isinstance(case.layout, Layout)
    }
    first = calibration_cases(list(named.values()), target.n_threads, sorted(fixed))
    settings = settings or Settings(machine=machine, settle=1)
    runs = interleaved(
        [*first, *(case for _, case in asked)],
        repeats,
        _deciding(first, repeats, settings, progress),
        progress,
    )
    basis = list(zip(first, runs, strict=False))
    known = {layout: calibrated(basis, layout) for layout in [None, *fixed]}
    checked = []
    for (name, case), run in zip(asked, runs[len(first) :], strict=True):
        layout = case.layout
        key = (layout.executors, layout.width) if isinstance(layout, Layout) else None
        model, runtime = known[key].cost_model(), known[key].runtime()
        simulated = simulate(case.graph, target, case.policy, layout, model, runtime)
        checked.append(Checked(name, run, simulated, model, runtime))
    return CrossCheck(tuple(checked), known[None])


def _deciding(
    first: Sequence[Case], repeats: int, settings: Settings, progress: Callable[[int], object] | None
) -> Settings:
    """Return the settings with estimates that policies decide by, measured in a few runs where none are given.

    Simulated and real policies then choose alike: the same levels, the same widths.
    """
    if settings.costs is not None:
        return settings
    runs = interleaved(first, max(repeats // 4, 1), settings, progress)
    return replace(settings, costs=calibrated(list(zip(first, runs, strict=True))).cost_model())


def _named(graphs: Mapping[str, TaskGraph] | Sequence[TaskGraph] | TaskGraph) -> dict[str, TaskGraph]:
    if isinstance(graphs, TaskGraph):
        graphs = [graphs]
    if isinstance(graphs, Mapping):
        return dict(graphs)
    names = [graph.name for graph in graphs]
    return {
        name if names.count(name) == 1 else f"{name} {place}": graph
        for place, (name, graph) in enumerate(zip(names, graphs, strict=True))
    }


def _suited(policies: Sequence[str], layouts: Sequence[str | None]) -> list[tuple[str, Layout | None]]:
    """Return each policy with the layouts that mean something to it, each once."""
    found: dict[tuple[str, str], tuple[str, Layout | None]] = {}
    for name in policies:
        chosen = policy_of(name)
        for layout in layouts:
            suited = chosen.suited(None if layout is None else Layout.parse(layout))
            if suited is None and isinstance(chosen, RankPolicy) and layout is not None:
                continue
            found.setdefault((name, str(suited or "")), (name, suited))
    return list(found.values())
