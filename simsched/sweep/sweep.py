"""`Sweep`: the combinations of graphs, machines, policies, layouts and seeds, replayed and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.costs import CostModel, Noise
from simsched.errors import SimschedError, SpecError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.parameters import is_number
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.replay.engines import check_engine
from simsched.replay.scenario import check_models, check_seed
from simsched.spec import Engine, Scalar
from simsched.sweep.axes import (
    Axis,
    Choices,
    Design,
    Range,
    axis,
    check_design,
    noise_axis,
    number_axis,
    parameter_axis,
    product,
    sampled,
)
from simsched.sweep.replaying import (
    MACHINE_PREFIX,
    POLICY_PREFIX,
    Point,
    Replayer,
    Scaling,
    asked_of,
    parameters_of,
    without_repeats,
)
from simsched.workloads import is_workload, no_graph, workload

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client

    from simsched.schedule import Schedule

Values = Sequence[Scalar] | Range
GraphSource = TaskGraph | str | Path


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many replays: all combinations of the inputs of a replay, or a sample of them.

    Parameters
    ----------
    graphs : sequence of TaskGraph, str or Path
        Graphs, files as `simsched.load` takes them, workloads as `simsched.workload` does.
    machines : sequence of str, Path or Machine
        As `simsched.machine` takes them.
    policies : sequence of str, Policy or class of Policy
        As `simsched.policy` takes them.
    layouts : sequence of str, Layout, pair of int or None
        Layouts for every policy that takes one; None is the one that an estimate finds, "best" that of replays. Points
        that differ in noise and seed alone share a layout that is found.
    seeds : sequence of int or Range
        Seeds of all random numbers.
    machine_parameters : mapping of str to sequence or Range
        Variations of every machine by name, as between the brackets of its spec: `{"cores": [32, 64]}`.
    policy_parameters : mapping of str to sequence or Range
        The same for every policy that has such a parameter; other policies are replayed once.
    scalings : sequence of float or mapping of str to float
        Factors on the seconds of all tasks, or of those of some kinds; where seconds are unknown, operations and bytes
        are multiplied.
    noises : sequence of (float, str or Noise) or Range, optional
        `CostModel.noise`; that of `costs` when not given.
    costs, runtime, engine
        As in `simsched.simulate`, for all points.
    design : {"product", "sobol", "latin-hypercube"}
        All combinations, or `samples` of them, spread evenly. A `Range` needs a sampled one.
    samples : int, optional
        Points of a sampled design; Sobol's are balanced best in powers of two.
    design_seed : int
        Seed of a sampled design.

    Raises
    ------
    SimschedError
        If there is nothing to sweep, or something is impossible for all points. An impossibility of one point
        becomes the error in its row.

    Examples
    --------
    >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> sweep = Sweep([graph], ["generic[cores=1]", "generic[cores=2]"], ["fifo", "critical-path"])
    >>> len(sweep), sweep.replay(3).makespan_s
    (4, 4.0)
    >>> [axis.name for axis in sweep.axes if axis.size > 1], sweep.choices.shape
    (['machine', 'policy'], (4, 7))
    """

    graphs: Sequence[GraphSource]
    machines: Sequence[str | Path | Machine]
    policies: Sequence[str | Policy | type[Policy]]
    layouts: Sequence[str | Layout | tuple[int, int] | None] = (None,)
    seeds: Sequence[int] | Range = (0,)
    machine_parameters: Mapping[str, Values] = field(default_factory=dict)
    policy_parameters: Mapping[str, Values] = field(default_factory=dict)
    scalings: Sequence[Scaling] = (1.0,)
    noises: Sequence[float | str | Noise] | Range | None = None
    costs: CostModel | None = None
    runtime: RuntimeProfile | None = None
    engine: Engine = "auto"
    design: Design = "product"
    samples: int | None = None
    design_seed: int = 0

    def __post_init__(self) -> None:
        check_engine(self.engine)
        check_models(self.costs, self.runtime)
        check_seed(self.design_seed, "design_seed")
        check_design(self.axes, self.design, self.samples)
        _ = self.choices  # sampled now, so that impossible values for all points raise here

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The inputs and their values, in the order of the columns of the results."""
        machines = [machine_of(source) for source in axis("machines", self.machines).listed]
        check_machine_parameters(machines, self.machine_parameters)
        return (
            axis("graph", [graph_of(source) for source in axis("graphs", self.graphs).listed]),
            axis("machine", machines),
            *(parameter_axis(f"{MACHINE_PREFIX}{k}", v) for k, v in self.machine_parameters.items()),
            *self._policy_axes(),
            axis(
                "layout",
                [Layout.wanted(v) for v in axis("layouts", self.layouts).listed],
            ),
            axis("scaling", [checked_scaling(value) for value in axis("scalings", self.scalings).listed]),
            Axis("noise", (None,)) if self.noises is None else noise_axis(self.noises),
            number_axis("seed", self.seeds, whole=True),
        )

    def _policy_axes(self) -> list[Axis]:
        policies = [policy_of(source) for source in axis("policies", self.policies).listed]
        check_policy_parameters(policies, self.policy_parameters)
        varied = [parameter_axis(f"{POLICY_PREFIX}{k}", v) for k, v in self.policy_parameters.items()]
        return [axis("policy", policies), *varied]

    @cached_property
    def choices(self) -> Choices:
        """Choice of each point on each axis, shape (points, axes)."""
        if self.design == "product":
            return without_repeats(product(self.axes), self.axes, sampled=False)
        found = sampled(self.axes, self.design, self.samples or 1, self.design_seed)
        return without_repeats(found, self.axes, sampled=True)

    def __len__(self) -> int:
        return len(self.choices)

    def point(self, number: int) -> Point:
        """Return a point.

        Raises
        ------
        SpecError
            If there is none of this number.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> sweep = ss.Sweep([graph], ["generic[cores=2]"], ["fifo"], ["1x2", "2x1"], seeds=range(10))
        >>> point = sweep.point(13)
        >>> str(point.layout), point.seed
        ('2x1', 3)
        """
        if not 0 <= number < len(self):
            raise SpecError(f"there is no point {number}; the sweep has {len(self)}, from 0")
        chosen = dict(zip((each.name for each in self.axes), self.choices[number].tolist(), strict=True))
        value = {each.name: each.at(chosen[each.name]) for each in self.axes}
        policy = self.axis("policy").at(chosen["policy"])
        return Point(
            number=number,
            graph=int(chosen["graph"]),
            machine=int(chosen["machine"]),
            machine_parameters=tuple((k, value[f"{MACHINE_PREFIX}{k}"]) for k in self.machine_parameters),
            policy=int(chosen["policy"]),
            policy_parameters=tuple(
                (k, value[f"{POLICY_PREFIX}{k}"])
                for k in self.policy_parameters
                if k in parameters_of(policy)
            ),
            layout=asked_of(policy, value["layout"]),
            scaling=int(chosen["scaling"]),
            noise=value["noise"],
            seed=value["seed"],
        )

    def axis(self, name: str) -> Axis:
        """Return an axis by name.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ss.Sweep([graph], ["generic"], ["fifo"], seeds=range(3)).axis("seed").values
        (0, 1, 2)
        """
        return next(each for each in self.axes if each.name == name)

    def replay(self, row: int | Mapping[str, Any] | pd.Series[Any]) -> Schedule:
        """Replay one point again: the same bits as in the sweep, by the same versions.

        Parameters
        ----------
        row : int, mapping or Series
            The number of a point, or a row of the results.

        Raises
        ------
        SimschedError
            If the row is not of this sweep; or the row's own error.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> sweep = ss.Sweep([graph], ["generic[cores=2]"], ["sequential", "fifo"])
        >>> sweep.replay(1).policy, sweep.replay(1).makespan_s
        ('fifo', 4.0)
        """
        from simsched.sweep.rows import number_of

        return Replayer(self).schedule(number_of(self, row))

    def run(
        self,
        store: str | Path,
        client: Client | None = None,
        *,
        workers: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> pd.DataFrame:
        """Replay every point that the store does not hold yet.

        Parameters
        ----------
        store : str or Path
            A folder: a new one, or one of this very sweep, which is continued. See docs/sweeping.md.
        client : distributed.Client, optional
            The Dask cluster that replays; this machine when not given.
        workers : int, optional
            Threads of this machine (processes, where replays hold Python's lock); one a CPU when not given.
        progress : callable, optional
            Called with the number of points done since its last call; with those of the store first.

        Returns
        -------
        DataFrame
            One row per point, as `simsched.sweep.results` describes it.

        Raises
        ------
        SweepError
            If the store is another sweep's, another version's or in use, or cannot be written; or if the cluster was
            lost. Finished points are kept.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> sweep = ss.Sweep([graph], ["generic[cores=2]"], ["sequential", "fifo"])
        >>> with TemporaryDirectory() as folder:
        ...     rows = sweep.run(folder)
        >>> rows[["point", "policy", "makespan_s"]].values.tolist()
        [[0, 'sequential', 6.0], [1, 'fifo', 4.0]]
        """
        from simsched.sweep.running import run

        return run(self, Path(store), client, workers, progress)


def graph_of(source: object, folder: Path = Path()) -> TaskGraph:
    """Return a graph, that of a workload, or that of a file, which is searched in a folder.

    Raises
    ------
    SimschedError
        If it is none of these.
    """
    if isinstance(source, TaskGraph):
        return source
    if not isinstance(source, str | Path):
        raise SpecError(f"{source!r:.80} is not a graph; give a TaskGraph, a file or a workload")
    text, file = str(source), folder / source
    if not file.exists():
        if is_workload(text):
            return workload(text)
        if not file.suffix:
            raise no_graph(text)
    return load(file)


def check_machine_parameters(machines: Sequence[Machine], parameters: Mapping[str, Values]) -> None:
    """Check that each parameter is one of a machine at least.

    Raises
    ------
    SpecError
        If none has it.
    """
    first = {
        key: parameter_axis(f"{MACHINE_PREFIX}{key}", values).at(0) for key, values in parameters.items()
    }
    for key in parameters:
        errors = [error for machine in machines if (error := _not_of(machine, key, first))]
        if len(errors) == len(machines):
            raise SpecError(f"machine_parameters: {errors[0]}")


def _not_of(machine: Machine, key: str, parameters: Mapping[str, Any]) -> str:
    """Return what is said of a parameter that a machine lacks, beside the others; "" for one that it has."""
    try:
        machine.varied(parameters)
    except SimschedError as error:
        return str(error) if f"has no parameter {key!r}" in str(error) else ""
    return ""


def check_policy_parameters(policies: Sequence[Policy], parameters: Mapping[str, Values]) -> None:
    """Check that each parameter is one of a policy at least.

    Raises
    ------
    SpecError
        If none has it.
    """
    for key in parameters:
        if not any(key in parameters_of(policy) for policy in policies):
            known = ", ".join(sorted({key for policy in policies for key in parameters_of(policy)}))
            raise SpecError(f"policy_parameters: no policy has {key!r}; they have {known or 'none'}")


def checked_scaling(value: object) -> Scaling:
    """Return factors on seconds: one for all tasks, or by kind.

    Raises
    ------
    SpecError
        If one is not a number above 0.
    """
    factors = value.values() if isinstance(value, Mapping) else [value]
    for factor in factors:
        if not is_number(factor) or not 0 < factor < np.inf:
            raise SpecError(f"scalings: {value!r:.80}: expected a factor above 0, or factors by kind")
    return dict(value) if isinstance(value, Mapping) else float(value)  # type: ignore[arg-type] # checked above
