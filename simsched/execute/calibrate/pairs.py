"""Interference: the mutual slowdown of two ops that run side by side, each on its own team.

Chains of one op each really run, two at a time on teams that share no core, and each alone on one team while the other
cores idle. These runs take turns, and a task's time in one is compared with the same task's time
in the other.

A chain traverses the op's tasks of the graph, in the graph's order and with its scopes, so that they share weights
as they do there. Each time it returns to the first one it uses fresh weights: in the graph everything else ran
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import ceil

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Pair
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import tasks_by_op
from simsched.execute.run.execution import Execution
from simsched.execute.run.run import Case
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.machine import Machine
from simsched.policy import Layout, RankPolicy
from simsched.policy.placement import executor_cores
from simsched.policy.policy import Discipline
from simsched.schedule import Schedule

Tasks = npt.NDArray[np.intp]

#: Seconds that a chain lasts at least, and the fewest tasks of the slower op.
LEAST_S, FEWEST = 2e-3, 4
#: Share of a task's time for which the other chain must overlap it.
BESIDE = 0.95
#: Default number of ops of which pairs are measured.
PAIRED = 3
#: Most tasks of a chain: ops that differ by more than this over `FEWEST`, and those of less than 1 us, are not paired.
MOST = 2000


@dataclass(frozen=True, eq=False)
class Paired:
    """The measured pairs, and those that were not measured.

    Parameters
    ----------
    pairs : tuple of Pair
    left_out : tuple of str
        Pairs of ops one of which is too fast for the other, or for this: a chain would have more than `MOST` tasks;
        and those for which there was no time.
    """

    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Strand:
    """An op, its origin and its duration.

    Parameters
    ----------
    measured : MeasuredOp
    graph : TaskGraph
        The first in which it occurs.
    tasks : int array
        Its tasks there.
    one_core_s, team_s : float
        Of a task on one core and on one of the teams, as calibrated.
    work_s : float
        One-core seconds of all its tasks in all graphs.
    """

    measured: MeasuredOp
    graph: TaskGraph
    tasks: Tasks
    one_core_s: float
    team_s: float
    work_s: float


@dataclass(frozen=True)
class OneTeam(RankPolicy):
    """First come, first served, on one of equal teams, for one chain; no two cores are quite alike.

    Parameters
    ----------
    team : int
        Its place among them.
    """

    name = "one-team"

    team: int = 0

    @property
    def discipline(self) -> Discipline:
        """First come, first served."""
        return "fifo"

    def executors(self, machine: Machine, layout: Layout) -> Csr:
        """Return the cores of the team."""
        teams = executor_cores(machine, Layout(self.team + 1, layout.width), self.placement)
        return Csr(np.array([0, layout.width], np.int64), teams.neighbours(self.team))


def team_width(machine: Machine) -> int:
    """Return the threads of each of the two teams: half of the cores."""
    return max(machine.n_cores // 2, 1)


def pairs_on(machine: Machine, most: int | None) -> int:
    """Return the number of ops paired on a machine: the given one, else 3 if there are threads for that.

    Raises
    ------
    EngineError
        If `most` is not a whole number of 0 or more, or pairs are asked for where there is one hardware thread.
    """
    if most is None:
        return PAIRED if machine.n_threads > 1 else 0
    if not isinstance(most, int) or most < 0 or (most and machine.n_threads < 2):
        raise EngineError(
            f"pairs={most} on {machine} of {machine.n_threads} threads; a pair needs two, none is 0"
        )
    return most


def measured_pairs(
    graphs: Sequence[TaskGraph],
    machine: Machine,
    ops: Sequence[MeasuredOp],
    most: int,
    run: Callable[[Sequence[Case]], Sequence[Execution]],
    in_time: Callable[[], bool] = lambda: True,
) -> Paired:
    """Run the ops that take most of the time next to each other, each next to each and next to itself.

    Parameters
    ----------
    graphs : sequence of TaskGraph
        Where the ops come from.
    machine : Machine
        With two hardware threads or more; each team has half of its cores.
    ops : sequence of MeasuredOp
        As calibrated.
    most : int
        Ops that are paired, as `pairs_on` returns them; k of them make k (k + 1) / 2 pairs.
    run : callable
        Runs cases in turn, as `interleaved` with its repeats.
    in_time : callable
        Returns whether there is time to begin a further pair; the others are left out.
    """
    width, pairs, left_out = team_width(machine), [], []
    for one, other in combinations_with_replacement(strands(graphs, ops, width)[:most], 2):
        chosen = (one, other)
        lasting_s = max(LEAST_S, FEWEST * max(strand.team_s for strand in chosen))
        lengths = [ceil(lasting_s / strand.team_s) for strand in chosen]
        if max(lengths) > MOST or not in_time():
            left_out.append(f"{one.measured.op} beside {other.measured.op}")
            continue
        graph = chains(chosen, lengths)
        alone = [
            Case(chains([strand], [n]), OneTeam(team=team), (1, width))
            for team, (strand, n) in enumerate(zip(chosen, lengths, strict=True))
        ]
        pairs.append(_pair(chosen, width, lengths, *run([Case(graph, "fifo", (2, width)), *alone])))
    return Paired(tuple(pairs), tuple(left_out))


def strands(graphs: Sequence[TaskGraph], ops: Sequence[MeasuredOp], width: int) -> list[Strand]:
    """Return the ops of graphs, those first whose tasks take most seconds on one core."""
    curves, found = MeasuredCurves(ops), []
    of_graph = [tasks_by_op(graph) for graph in graphs]
    for one in ops:
        key = (one.op.kind, one.op.shape)
        first = next(place for place, tasks in enumerate(of_graph) if key in tasks)
        one_core_s, team_s = curves.curve(one)(np.array([1, width])).tolist()
        count = sum(len(tasks.get(key, ())) for tasks in of_graph)
        found.append(Strand(one, graphs[first], of_graph[first][key], one_core_s, team_s, one_core_s * count))
    return sorted(found, key=lambda strand: -strand.work_s)


def chains(chosen: Sequence[Strand], lengths: Sequence[int]) -> TaskGraph:
    """Return chains side by side, one per op, each of the given number of tasks."""
    of_chain = np.repeat(np.arange(len(chosen)), lengths)
    follows = np.flatnonzero(np.diff(of_chain) == 0)
    tasks = [np.resize(strand.tasks, n) for strand, n in zip(chosen, lengths, strict=True)]
    every = list(zip(chosen, tasks, strict=True))
    return TaskGraph.from_edges(
        np.repeat([strand.one_core_s for strand in chosen], lengths),
        np.stack([follows, follows + 1], axis=1),
        kinds=[chosen[place].measured.op.kind for place in of_chain.tolist()],
        shapes=[chosen[place].measured.op.shape for place in of_chain.tolist()],
        scopes=[f"{place}/{scope}" for place, one in enumerate(every) for scope in _scopes(*one)],
        flops=np.concatenate([strand.graph.flops[mine] for strand, mine in every]),
        bytes_B=np.concatenate([strand.graph.bytes_B[mine] for strand, mine in every]),
        name=" beside ".join(str(strand.measured.op) for strand in chosen),
    )


def _scopes(strand: Strand, tasks: Tasks) -> list[str]:
    """Return the scopes of a chain's tasks: the graph's, numbered each time the chain repeats them."""
    return [f"{i // len(strand.tasks)}/{strand.graph.scopes[task]}" for i, task in enumerate(tasks.tolist())]


def _pair(
    chosen: tuple[Strand, Strand], width: int, lengths: Sequence[int], beside: Execution, *alone: Execution
) -> Pair:
    # Where others disturbed most runs of a graph it has further turns, which the other graphs lack.
    turns = [slowdowns(both, ones, lengths) for both, *ones in zip(beside, *alone, strict=False)]
    undisturbed = np.all([one.undisturbed[: len(turns)] for one in (beside, *alone)], axis=0)
    kept = undisturbed if undisturbed.any() else np.ones(len(turns), bool)
    low, middle, high = np.percentile(np.array(turns)[kept], [25, 50, 75], axis=0)
    ops = [strand.measured.op for strand in chosen]
    return Pair(
        (ops[0].kind, ops[1].kind),
        (ops[0].shape, ops[1].shape),
        (width, width),
        (float(middle[0]), float(middle[1])),
        int(kept.sum()),
        int((~kept).sum()),
        (float(high[0] - low[0]) / 2, float(high[1] - low[1]) / 2),
    )


def slowdowns(beside: Schedule, alone: Sequence[Schedule], lengths: Sequence[int]) -> tuple[float, float]:
    """Return the slowdowns of the tasks of two chains over the same chains alone, in one turn.

    For each chain it is the median over the tasks that the other chain overlapped for `BESIDE` of their time or, where
    there is none, over those that it overlapped for longest.
    """
    rows = np.split(np.arange(sum(lengths)), [lengths[0]])
    begun_s = max(beside.start_s[row].min() for row in rows)
    ended_s = min(beside.finish_s[row].max() for row in rows)
    found = []
    for row, one in zip(rows, alone, strict=True):
        start_s, finish_s = beside.start_s[row], beside.finish_s[row]
        seconds = finish_s - start_s
        share = (np.minimum(finish_s, ended_s) - np.maximum(start_s, begun_s)) / seconds
        ratio = seconds / (one.finish_s - one.start_s)
        found.append(float(np.median(ratio[share >= min(BESIDE, share.max())])))
    return found[0], found[1]
