"""Makespans of policies under seeds, and their comparison with certainty: ratios, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.costs.noise import LogNormal, noise_of
from simsched.costs.own_machine import machine_for
from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.errors import SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.graph.required import check_graph
from simsched.intervals import LEVEL, paired_ratio
from simsched.machine import Machine, RuntimeProfile
from simsched.notes import Note, Weight
from simsched.plots.policies import draw_replayed
from simsched.policy import Layout, Policy
from simsched.policy.installed import policies_or_all
from simsched.policy.layout import BEST
from simsched.policy.names import given_names, names_in_table, table_key
from simsched.progress import shows_progress
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.schedule.caveats import notes_of
from simsched.spec import Engine

#: Default number of replays of each graph and policy.
SEEDS = 20


def _of_noise(costs: CostModel | None, the: str = "") -> str:
    """Return that intervals are of the noise alone, as the end of a sentence; costs are None where they are unknown."""
    noise = None if costs is None else noise_of(costs.noise)
    if noise is None:
        return "of the noise alone"
    return f"of {the}noise {noise.sigma if isinstance(noise, LogNormal) else noise} alone"


def _nominal(costs: CostModel | None) -> Note:
    """Return the note on what intervals and p-values of replays leave out; costs are None where they are unknown."""
    return Note(
        f"intervals and p-values are {_of_noise(costs, 'the ')}, with costs and numbers of the machine as they are: "
        "`compare` tells how often each policy is the fastest for what is not known of these",
        Weight.DOUBT,
    )


@shows_progress
def replayed(
    graphs: TaskGraph | Mapping[str, TaskGraph],
    machine: str | Path | Machine | None = None,
    policies: Sequence[str | Policy | type[Policy]] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = range(SEEDS),
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Replay every graph under every policy with every seed.

    With the same seed a task has the same noise under every policy (common random numbers): differences are not luck.

    Parameters
    ----------
    graphs : TaskGraph, or mapping of str to TaskGraph
        One graph, or several by the names that they have in the table.
    machine, policies, layout, costs, runtime, engine, progress
        As in `simsched.compare`. A layout that replays find is that of the first seed, for all seeds.
    seeds : sequence of int
        Seeds; each graph and policy is replayed once with each.

    Returns
    -------
    Result
        One row a replay: graph, policy, layout, seed, makespan_s.

    Raises
    ------
    SimschedError
        If there are no graphs by name, no policies or no seeds, or one is listed twice.

    Examples
    --------
    >>> import simsched as ss
    >>> graphs = {"three": ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])}
    >>> runs = ss.replayed(graphs, "generic[cores=2]", ["sequential", "fifo"], seeds=[0])
    >>> runs.values.tolist()
    [['three', 'sequential', '1x1', 0, 6.0], ['three', 'fifo', '2x1', 0, 4.0]]
    """
    by_name = {graphs.name: graphs} if isinstance(graphs, TaskGraph) else graphs
    names = given_names(chosen := _checked(by_name, policies, seeds))
    scenario = Scenario.of(_one_machine(by_name, machine), layout, costs, runtime, engine, progress=progress)
    pairs = [(graph, place) for graph in by_name for place in range(len(chosen))]
    first = replace(scenario, seed=seeds[0])
    n_tasks = max(graph.n_tasks for graph in by_name.values())
    settled = parallel_map(lambda pair: _settled(first, by_name[pair[0]], chosen[pair[1]]), pairs, n_tasks)
    of_pair = dict(zip(pairs, settled, strict=True))

    def row(case: tuple[str, int, int]) -> dict[str, Any]:
        graph, policy, seed = case[0], chosen[case[1]], case[2]
        schedule = replace(of_pair[case[:2]], seed=seed).replay(by_name[graph], policy)
        return _replay_row(graph, schedule, names.get(table_key(policy), schedule.policy))

    rows = parallel_map(row, [(*pair, seed) for pair in pairs for seed in seeds], n_tasks)
    notes = [note for one in rows for note in one.pop("notes")]
    return Result.of(rows, notes, draw_replayed)


def _one_machine(graphs: Mapping[str, TaskGraph], machine: str | Path | Machine | None) -> Machine:
    """Return the machine of all graphs, named or their own."""
    found = {graph: machine_for(graphs[graph], machine) for graph in graphs}
    if len({str(one) for one in found.values()}) > 1:
        said = ", ".join(f"{graph} on {one}" for graph, one in found.items())
        raise SpecError(f"no machine is named, and the graphs are of different ones ({said}); name one")
    return next(iter(found.values()))


def _settled(scenario: Scenario, graph: TaskGraph, policy: Policy) -> Scenario:
    """Return the scenario of a graph and a policy: with the layout given where it is suited, or the best."""
    layout = policy.suited_or_best(scenario.layout)
    asked = replace(scenario, layout=layout)
    return replace(asked, layout=asked.layout_of(graph, policy) or BEST) if layout == BEST else asked


def _replay_row(graph: str, schedule: Schedule, name: str) -> dict[str, Any]:
    return {
        "graph": graph,
        "policy": name,
        "layout": schedule.layout,
        "seed": schedule.seed,
        "makespan_s": schedule.makespan_s,
        "notes": notes_of([schedule]),
    }


def _checked(
    graphs: Mapping[str, TaskGraph],
    policies: Sequence[str | Policy | type[Policy]] | None,
    seeds: Sequence[int],
) -> list[Policy]:
    """Return the policies, after a check for empty or duplicate arguments."""
    if not isinstance(graphs, Mapping):
        raise SimschedError(f"graphs is {graphs!r:.80}; expected graphs by name, as in {{'mine': graph}}")
    for graph in graphs.values():
        check_graph(graph)
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise SimschedError(f"seeds is {seeds!r}; expected a list of seeds, as range(4)")
    chosen = policies_or_all(policies)
    names = names_in_table(chosen)
    for name, given in (("graphs", [*graphs]), ("policies", names), ("seeds", [*seeds])):
        if not given:
            raise SimschedError(f"{name} is {given!r}; expected at least one")
        if twice := [one for place, one in enumerate(given) if one in given[:place]]:
            raise SimschedError(f"{name}: {twice[0]!r} is listed twice; leave one out")
    return chosen


#: Scope of a verdict over all graphs.
Over = Literal["seeds", "graphs"]
#: Name of the row over all graphs.
ALL = "all"
#: Columns that the display leaves out, since the sentence has them.
HIDDEN = ("p", "verdict")
#: Noise of task times where no costs are given.
NOISE = 0.1
NEEDED = ("graph", "policy", "seed", "makespan_s")


def holm(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return p-values corrected for multiple tests, shape (n,); NaN stays NaN and is not counted.

    The probability that any difference found at 5 % is none stays below 5 %.

    References
    ----------
    A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p, np.float64)
    found, known = np.full(len(given), np.nan), np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given[known], kind="stable")]
    steps = given[order] * np.arange(len(order), 0, -1)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


@shows_progress
def verdicts(
    runs: pd.DataFrame | TaskGraph | Mapping[str, TaskGraph],
    machine: str | Path | Machine | None = None,
    policies: Sequence[str | Policy | type[Policy]] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    *,
    seeds: Sequence[int] = range(SEEDS),
    over: Over = "seeds",
    progress: Callable[[int], object] | None = None,
) -> Result:
    """Compare every pair of policies, within each graph and over all of them.

    A pair is two replays of one graph under one seed. Within a graph, the interval is over its seeds. Over all graphs,
    "seeds" asks about exactly these: the mean of the log ratio, seed by seed. "graphs" asks about graphs like
    these: each counts as one pair, its mean over the seeds; this needs at least two, better ten.

    Parameters
    ----------
    runs : TaskGraph, mapping of str to TaskGraph, or DataFrame
        One graph or several by name; or replays: one row each, graph, policy, seed, makespan_s, as `simsched.replayed`
        returns them, or a table of a sweep; every graph with the same policies and seeds.
    machine, policies, layout, costs, runtime, engine, seeds, progress
        As in `simsched.replayed`, where graphs are given; `CostModel(noise=0.1)` when no costs are given.
    over : {"seeds", "graphs"}

    Returns
    -------
    Result
        One row per graph and pair of policies, in the order of the runs, those over all graphs ("all", where there
        are several) last: graph, policy, other; ratio, the geometric mean of the makespans of `policy` over those of
        `other`; low, high (its 95 % interval); p, p_holm (corrected for the number of rows); pairs, their number;
        verdict: "faster" or "slower" where p_holm is below 5 %, else "no difference shown"; said, in a sentence.

    Raises
    ------
    SimschedError
        If a column or a second policy is missing, a makespan is missing, not above zero or there twice, the graphs do
        not suffice for the question, or one of several is called "all".

    References
    ----------
    Statistically rigorous Java performance evaluation, OOPSLA 2007.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> ss.verdicts(graph, "generic[cores=2]", ["sequential", "fifo"])["verdict"].tolist()
    ['slower']
    >>> runs = ss.replayed(graph, "generic[cores=2]", ["sequential", "fifo"], seeds=[0, 1])
    >>> ss.verdicts(runs)[["graph", "policy", "other", "ratio", "verdict"]].values.tolist()
    [['three', 'sequential', 'fifo', 1.5, 'slower']]
    """
    if over not in get_args(Over):
        raise SimschedError(f"over is {over!r}; expected one of {', '.join(get_args(Over))}")
    others = (layout, _noisy(costs, runs), runtime, engine)
    return _compared(_replayed(runs, machine, policies, others, seeds, progress), over, others[1])


def _noisy(costs: CostModel | None, runs: object) -> CostModel | None:
    """Return the costs of replays to be made, by default with noise; None of given replays."""
    return CostModel(noise=NOISE) if costs is None and not isinstance(runs, pd.DataFrame) else costs


def _compared(replays: pd.DataFrame, over: Over, costs: CostModel | None) -> Result:
    """Return the verdicts on replays with some costs; None where these are unknown."""
    logs, graphs, names = _logs(replays)
    if len(graphs) < 2 and over == "graphs":
        raise SimschedError("over='graphs' asks about graphs like these; give two of them at least")
    pairs = [*combinations(range(len(names)), 2)]
    rows = [_row(graph, names, pair, of) for graph, of in zip(graphs, logs, strict=True) for pair in pairs]
    if len(graphs) > 1:
        every = logs.mean(axis=0) if over == "seeds" else logs.mean(axis=2)
        every = every if over == "seeds" else every.T
        rows += [_row(ALL, names, pair, every) for pair in pairs]
    frame = pd.DataFrame(rows)
    frame.insert(list(frame).index("p") + 1, "p_holm", holm(frame["p"]))
    lines = [_told(row, _of_noise(costs)) for row in frame.itertuples()]
    frame = frame.assign(verdict=[one for one, _ in lines], said=[said for _, said in lines])
    notes = [_nominal(costs), *replays.notes] if isinstance(replays, Result) else ()
    return Result.of(frame, notes, partial(_draw, replays=replays.copy()), HIDDEN)


def _draw(_: pd.DataFrame, ax: Axes | None = None, *, replays: pd.DataFrame) -> Axes:
    return draw_replayed(replays, ax=ax)


def _replayed(
    runs: pd.DataFrame | TaskGraph | Mapping[str, TaskGraph],
    machine: str | Path | Machine | None,
    policies: Sequence[str | Policy | type[Policy]] | None,
    others: tuple[str | Layout | tuple[int, int] | None, CostModel | None, RuntimeProfile | None, Engine],
    seeds: Sequence[int],
    progress: Callable[[int], object] | None,
) -> pd.DataFrame:
    """Return the replays of the given graphs, or the given replays."""
    layout, costs, runtime, engine = others
    if not isinstance(runs, pd.DataFrame):
        return replayed(
            runs, machine, policies, layout, costs, runtime, engine, seeds=seeds, progress=progress
        )
    if (machine, policies, *others) != (None, None, None, None, None, "auto"):
        raise SimschedError("a table of replays has its machine and policies; give graphs to choose them")
    return runs


def _logs(runs: pd.DataFrame) -> tuple[npt.NDArray[np.float64], list[str], list[str]]:
    """Return the log makespans, shape (graphs, policies, seeds), and the names of the first two."""
    if missing := [column for column in NEEDED if column not in runs]:
        raise SimschedError(
            f"a table of replays lacks {', '.join(missing)}; it has {', '.join(map(str, runs))}"
        )
    axes = [list(dict.fromkeys(runs[column])) for column in NEEDED[:3]]
    if len(axes[0]) > 1 and ALL in axes[0]:
        raise SimschedError(
            f"a graph is called {ALL!r}, as the rows over all graphs are; give it another name"
        )
    if len(axes[1]) < 2:
        raise SimschedError(f"policies to compare: {len(axes[1])}; expected two or more")
    if runs.duplicated([*NEEDED[:3]]).any():
        row = runs[runs.duplicated([*NEEDED[:3]])].iloc[0]
        raise SimschedError(
            f"{row['policy']} on {row['graph']}, seed {row['seed']}, is listed twice; leave one out"
        )
    table = runs.set_index([*NEEDED[:3]])["makespan_s"].to_dict()
    cube = np.array(
        [[[table.get((w, p, s), np.nan) for s in axes[2]] for p in axes[1]] for w in axes[0]], np.float64
    )
    if (wrong := ~(cube > 0)).any():
        w, p, s = (axis[place] for axis, place in zip(axes, np.argwhere(wrong)[0], strict=True))
        raise SimschedError(
            f"the makespan of {p} on {w}, seed {s}, is {table.get((w, p, s), 'missing')}; every policy needs one above "
            "zero on every graph with every seed"
        )
    return np.log(cube), axes[0], axes[1]


def _row(
    graph: str, policies: Sequence[str], pair: tuple[int, int], logs: npt.NDArray[np.float64]
) -> dict[str, object]:
    one, other = pair
    found = paired_ratio(logs[one] - logs[other])
    return {
        "graph": graph,
        "policy": policies[one],
        "other": policies[other],
        **found._asdict(),
        "pairs": logs.shape[1],
    }


def _told(row: object, of: str) -> tuple[str, str]:
    """Return the verdict of a row, in a word and in a sentence, with what its interval is of."""
    graph, policy, other, low, high, p_holm = (
        getattr(row, name) for name in ("graph", "policy", "other", "low", "high", "p_holm")
    )
    where = "over all graphs" if graph == ALL else f"on {graph}"
    if not p_holm < 1 - LEVEL:
        why = (
            "a single pair tells of no spread"
            if np.isnan(p_holm)
            else f"{_percent(low - 1, '+')} to {_percent(high - 1, '+')} %"
            # The interval is of this row alone, and the verdict of all rows together.
            + (", which among so many pairs may be chance" if not low <= 1 <= high else "")
        )
        return (
            "no difference shown",
            f"{where}: no difference shown between {policy} and {other} ({why}; {of})",
        )
    first, second, low, high = (policy, other, low, high) if high < 1 else (other, policy, 1 / high, 1 / low)
    least, most = _percent(1 - high), _percent(1 - low)
    less = least if least == most else f"{least} to {most}"
    said = f"{where}: {first} takes {less} % less time than {second} (95 %, {of})"
    return ("faster" if first == policy else "slower"), said


def _percent(share: float, sign: str = "-") -> str:
    """Return a share in per cent with two digits, but without an exponent below 10,000 %."""
    return format(100 * share, f"{sign}.0f" if 0.995 <= abs(share) < 100 else f"{sign}.2g")
