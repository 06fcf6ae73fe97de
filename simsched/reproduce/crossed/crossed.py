"""`crossed`: the policy of every published system on the networks and machines of every other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from simsched.costs import Curve
from simsched.errors import SpecError
from simsched.machine import Machine, machine as machine_of
from simsched.progress import check_progress
from simsched.replay import simulate
from simsched.reproduce.crossed.jobs import JOBS, Column, Job
from simsched.reproduce.crossed.rules import RULES, Choice
from simsched.reproduce.crossed.table import OWN, Crossed, CrossedCell
from simsched.schedule import Schedule
from simsched.spec import Scalar
from simsched.system import usable_cpus

#: A current manycore machine.
CURRENT = "epyc-9654x2"


def crossed(
    machines: Sequence[str | Path | Machine] = (OWN, CURRENT),
    jobs: Sequence[Job] = JOBS,
    systems: Sequence[str] = tuple(RULES),
    *,
    variation: Mapping[str, Scalar] | None = None,
    curves: Mapping[str, Curve] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Crossed:
    """Run the policy of every published system on the networks of every other.

    All policies of a column share machine and costs. Each runs in the best way that its system may choose: layout,
    parts of the batch, hardware threads in use; see `simsched.reproduce.crossed.rules`.

    Parameters
    ----------
    machines : sequence of machines
        "own", each job on the machine of its own system; or machines for all jobs, in the forms of `simsched.machine`.
    jobs : sequence of Job
    systems : sequence of str
        Whose policies.
    variation : mapping, optional
        A variation of every machine, as in {"share_bandwidth": False}.
    curves : mapping of str to Curve, optional
        Cost curves of kinds, as `CostModel` takes them; see docs/costs.md.
    progress : callable, optional
        Called with 1 after every run.

    Returns
    -------
    Crossed

    Raises
    ------
    SpecError
        If there is no such system, nothing to run, or a job cannot be cut into parts.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.reproduce import Job
    >>> mine = Job("graphi", "lstm[layers=1,steps=2,batch=4,hidden=8]", "knl-7250[cores=4]")
    >>> found = ss.crossed(["own"], [mine], ["graphi", "swtvm"])
    >>> found.table["policy_of"].tolist(), found.table["over_best"].min().item()
    (['graphi', 'swtvm'], 1.0)
    """
    report = check_progress(progress)
    if unknown := [system for system in systems if system not in RULES]:
        raise SpecError(f"{unknown[0]!r:.60} is none of the crossed systems: {', '.join(RULES)}")
    columns = [(_label(on), _column(job, on, variation or {}, curves)) for on, job in product(machines, jobs)]
    if not columns or not systems:
        raise SpecError("nothing to run; give at least one machine, one job and one system")

    def best(cell: tuple[tuple[str, Column], str]) -> CrossedCell:
        run = _best(*cell[0], cell[1])
        report(1)
        return run

    with ThreadPoolExecutor(usable_cpus()) as pool:
        return Crossed(tuple(pool.map(best, product(columns, systems))))


def _label(on: str | Path | Machine) -> str:
    return OWN if on == OWN else str(machine_of(on))


def _column(
    job: Job, on: str | Path | Machine, variation: Mapping[str, Scalar], curves: Mapping[str, Curve] | None
) -> Column:
    machine = machine_of(job.machine if on == OWN else on)
    return Column(job, machine.varied(variation) if variation else machine, own=on == OWN, curves=curves)


def _best(on: str, column: Column, system: str) -> CrossedCell:
    runs = (
        CrossedCell(on, system, column, choice, _replay(column, choice)) for choice in RULES[system](column)
    )
    if (best := min(runs, key=lambda run: run.schedule.makespan_s, default=None)) is None:
        machine = column.machine
        raise SpecError(
            f"{system} has no worker on {machine.spec}: it keeps cores for itself, and there are {machine.n_cores} "
            "in all; leave it out of systems, or take another machine"
        )
    return best


def _replay(column: Column, choice: Choice) -> Schedule:
    machine = column.machine if choice.ways == 1 else column.machine.varied({"smt": choice.ways})
    return simulate(choice.graph(choice.parts), machine, choice.policy, choice.layout, column.costs)
