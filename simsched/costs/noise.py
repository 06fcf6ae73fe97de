"""Noise: the ratio of actual to estimated seconds, sampled for each task.

- `lognormal[sigma=0.1]`, or the number alone: every task varies; sigma is the standard deviation of the logarithm.
- `stragglers[share=0.01,factor=5,sigma=0.1]`: a share of the tasks takes `factor` times as long, on top of sigma.

A factor depends on the task and the seed, not on the policy, layout, machine or engine: replays with the same seed
have the same luck (common random numbers).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from simsched.errors import CostError, SpecError
from simsched.graph.taskgraph import Seconds
from simsched.parameters import Parameters, is_number, not_negative, positive
from simsched.renamed import warn_renamed
from simsched.spec import made, parse


@dataclass(frozen=True)
class Noise(Parameters):
    """Base of noise models: a frozen dataclass with checked fields; its spec makes it again.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Twice(Noise):
    ...     def sampled(self, n_tasks, generator):
    ...         return np.full(n_tasks, 2.0)
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.simulate(graph, "generic[cores=2]", "fifo", costs=ss.CostModel(noise=Twice())).makespan_s
    8.0
    """

    @property
    def silent(self) -> bool:
        """Whether every factor is 1."""
        return False

    def __init_subclass__(cls) -> None:
        if "drawn" in vars(cls):
            warn_renamed(f"{cls.__name__}.drawn", f"{cls.__name__}.sampled")
            cls.sampled = vars(cls)["drawn"]  # type: ignore[method-assign] # its own, under its old name

    @abstractmethod
    def sampled(self, n_tasks: int, generator: np.random.Generator) -> Seconds:
        """Return a factor for each task, float64 (n_tasks,), above 0; it depends on the generator alone."""


@dataclass(frozen=True)
class LogNormal(Noise):
    """Every task varies: factors exp(sigma z), z standard normal; their median is 1.

    Parameters
    ----------
    sigma : float
        Standard deviation of the logarithm.

    Examples
    --------
    >>> sampled = LogNormal(sigma=0.2).sampled(10_000, np.random.default_rng(1))
    >>> round(float(np.median(sampled)), 2), round(float(np.std(np.log(sampled))), 2)
    (1.0, 0.2)
    """

    name: ClassVar[str] = "lognormal"

    sigma: float = not_negative(0.1)

    @property
    def silent(self) -> bool:
        """Whether every factor is 1."""
        return self.sigma == 0

    def sampled(self, n_tasks: int, generator: np.random.Generator) -> Seconds:
        """Return a factor for each task."""
        with np.errstate(over="ignore"):
            return np.exp(self.sigma * generator.standard_normal(n_tasks))


@dataclass(frozen=True)
class Stragglers(Noise):
    """A few tasks take much longer, as where the operating system or another program takes a core away.

    Parameters
    ----------
    share : float
        Probability that a task is a straggler, from 0 to 1.
    factor : float
        How many times as long a straggler takes.
    sigma : float
        Sigma of the log-normal noise of all tasks, stragglers included.

    Examples
    --------
    >>> sampled = Stragglers(share=0.1, factor=4.0).sampled(10_000, np.random.default_rng(1))
    >>> round(float(np.mean(sampled == 4)), 2), round(float(np.mean(sampled == 1)), 2)
    (0.1, 0.9)
    """

    name: ClassVar[str] = "stragglers"

    share: float = not_negative(0.01)
    factor: float = positive(5.0)
    sigma: float = not_negative(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share > 1:
            raise self.refused("share", "a share from 0 to 1")

    @property
    def silent(self) -> bool:
        """Whether every factor is 1."""
        return self.sigma == 0 and (self.share == 0 or self.factor == 1)

    def sampled(self, n_tasks: int, generator: np.random.Generator) -> Seconds:
        """Return a factor for each task; those of `lognormal` under the same seed, times those of the stragglers."""
        # Numbers of one stream for both would make a task's luck depend on how many tasks there are.
        chance = generator.spawn(1)[0].random(n_tasks)
        usual = LogNormal(self.sigma).sampled(n_tasks, generator)
        return usual * np.where(chance < self.share, self.factor, 1.0)


EXPECTED = "a number of zero or more, or one of lognormal[sigma=0.1], stragglers[share=0.01,factor=5]"
MODELS: Mapping[str, type[Noise]] = {model.name: model for model in (LogNormal, Stragglers)}


def noise_of(given: float | str | Noise) -> Noise:
    """Return the noise model given by a number (the sigma of `lognormal`), a spec, or a model.

    Raises
    ------
    CostError
        If it is none of these, or a parameter is unknown or impossible.

    Examples
    --------
    >>> str(noise_of("stragglers[share=0.02]")), str(noise_of(0.3))
    ('stragglers[share=0.02]', 'lognormal[sigma=0.3]')
    """
    if isinstance(given, str):
        number = _number(given)
        given = _specified(given) if number is None else number
    if isinstance(given, Noise):
        return given
    if not is_number(given) or not 0 <= given < np.inf:
        raise CostError(f"noise is {given!r}; expected {EXPECTED}")
    return LogNormal(float(given))


def _specified(text: str) -> Noise:
    try:
        spec = parse(text)
        if spec.name in MODELS:
            return cast(Noise, made(cast(Any, MODELS[spec.name]), "noise", spec))
    except SpecError as error:
        raise CostError(f"noise {text!r}: {error}") from None
    raise CostError(f"noise is {text!r}; expected {EXPECTED}")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
