"""Axes of a sweep: the values of one of its inputs; and designs, the points of its axes that a sweep visits."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from math import floor, isfinite, prod
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from simsched.costs.noise import Noise, noise_of
from simsched.errors import SpecError
from simsched.parameters import is_number, is_whole
from simsched.spec import Scalar

#: Points of one sweep; each is a row in memory when the results are read.
MOST = 10_000_000


@dataclass(frozen=True)
class Range:
    """All numbers between two, for sampling designs; whole ones where both ends are whole numbers.

    Parameters
    ----------
    low, high : float
        The ends; a whole `high` is one of the numbers.
    log : bool
        Whether factors, not differences, are equally likely.

    Raises
    ------
    SpecError
        If they are not two numbers with something between them.

    Examples
    --------
    >>> Range(1, 4).at(0.99), Range(1.0, 100.0, log=True).at(0.5)
    (4, 10.0)
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if not all(map(is_number, ends)):
            raise SpecError(f"{self}: the ends of a range are numbers")
        if not isinstance(self.log, bool):
            raise SpecError(f"{self}: log is true or false")
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise SpecError(f"{self}: expected two numbers, the lower one first")
        if self.log and self.low <= 0:
            raise SpecError(f"{self}: a logarithmic range is above 0")

    def at(self, share: float) -> float:
        """Return the number at a share of the way, in [0, 1)."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        high = self.high + 1 if whole else self.high
        value = self.low * (high / self.low) ** share if self.log else self.low + share * (high - self.low)
        # Rounding must not pass the end.
        return min(floor(value), self.high) if whole else min(value, high)


@dataclass(frozen=True)
class Axis:
    """One input of a sweep and its values.

    Parameters
    ----------
    name : str
        Name of its column in the results.
    values : tuple or Range
        A point holds the index of one of the values, or, of a range, the share of the way through it.
    """

    name: str
    values: tuple[Any, ...] | Range

    @property
    def size(self) -> int:
        """Number of values; 0 for a range, where it is undefined."""
        return 0 if isinstance(self.values, Range) else len(self.values)

    @property
    def listed(self) -> tuple[Any, ...]:
        """The values.

        Raises
        ------
        SpecError
            If they are a range.
        """
        if isinstance(self.values, Range):
            raise SpecError(f"{self.name}: {self.values} is not a list of values; write [value, ...]")
        return self.values

    def at(self, choice: float) -> Any:
        """Return the value of a point's choice."""
        return self.values.at(choice) if isinstance(self.values, Range) else self.values[int(choice)]

    def chosen(self, share: float) -> float:
        """Return the choice of a sample in [0, 1)."""
        return share if isinstance(self.values, Range) else float(floor(share * self.size))


def axis(name: str, values: Sequence[Any] | Range) -> Axis:
    """Return a checked axis.

    Raises
    ------
    SpecError
        If there is no value, or more than a sweep has points.
    """
    if isinstance(values, Range):
        return Axis(name, values)
    if isinstance(values, Sized) and len(values) > MOST:
        raise SpecError(f"{name}: {len(values)} values; {MOST} are the most: take fewer, or a range of them")
    if isinstance(values, str) or not hasattr(values, "__iter__") or not (found := tuple(values)):
        raise SpecError(
            f"{name}: {values!r:.80} is not a list of values; write [value, ...], or ss.sweep.Range(low, high)"
        )
    return Axis(name, found)


def parameter_axis(name: str, values: Sequence[Scalar] | Range) -> Axis:
    """Return the axis of a parameter of machines or policies.

    Raises
    ------
    SpecError
        If a value cannot appear between a spec's brackets.
    """
    found = axis(name, values)
    if isinstance(values, Range):
        return found
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in found.listed)
    for value in plain:
        if not isinstance(value, bool | int | float | str):
            raise SpecError(f"{name}: {value!r:.80} is neither a number nor a word nor true or false")
    return Axis(name, plain)


def number_axis(name: str, values: Sequence[float] | Range, *, whole: bool = False) -> Axis:
    """Return the axis of a number of zero or more.

    Raises
    ------
    SpecError
        If a value is none.
    """
    found = axis(name, values)
    fits, end = (is_whole, 1 << 63) if whole else (is_number, float("inf"))
    for value in [values.low, values.high] if isinstance(values, Range) else found.listed:
        if not fits(value) or not 0 <= value < end:
            most = ", below 2^63" * whole
            raise SpecError(
                f"{name}: {value!r:.80}: expected a {'whole ' * whole}number of zero or more{most}"
            )
    return (
        found
        if isinstance(values, Range)
        else Axis(name, tuple(int(v) if whole else float(v) for v in found.listed))
    )


def noise_axis(values: Sequence[float | str | Noise] | Range) -> Axis:
    """Return the axis of noise: numbers, or specs of models, such as `stragglers[share=0.02]`; with any, all as specs.

    Raises
    ------
    SpecError, CostError
        If a value is none.
    """
    if isinstance(values, Range) or not any(isinstance(value, str | Noise) for value in values):
        return number_axis("noise", cast("Sequence[float] | Range", values))
    return Axis("noise", tuple(str(noise_of(value)) for value in values))


Design = Literal["product", "sobol", "latin-hypercube"]
Choices = npt.NDArray[np.float64]


def check_design(axes: Sequence[Axis], design: str, samples: int | None) -> None:
    """Check that the design is possible for some axes.

    Raises
    ------
    SpecError
        If it cannot; the message gives the reason.
    """
    if design not in get_args(Design):
        raise SpecError(f"there is no design {design!r}; expected one of {', '.join(get_args(Design))}")
    if design == "product":
        if samples is not None:
            raise SpecError(
                f"samples is {samples}; a product has all points: give design='sobol', or no samples"
            )
        for each in axes:
            if isinstance(each.values, Range):
                raise SpecError(
                    f"{each.name}: a range has no product: give a list of values, or design='sobol'"
                )
        count = prod(each.size for each in axes)
    else:
        if type(samples) is not int or samples < 1:
            raise SpecError(f"samples is {samples!r}; design {design!r} needs a number of points, at least 1")
        count = samples
    if count > MOST:
        raise SpecError(
            f"the sweep has {count} points; {MOST} are the most: take fewer values, or sample them"
        )


def product(axes: Sequence[Axis]) -> Choices:
    """Return the choices of all combinations, shape (points, axes); the last axis changes fastest."""
    sizes = [each.size for each in axes]
    return np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1).astype(np.float64)


def sampled(axes: Sequence[Axis], design: Design, samples: int, seed: int) -> Choices:
    """Return the choices of a sampled design, shape (samples, axes).

    References
    ----------
    On the distribution of points in a cube and the approximate evaluation of integrals, 1967 (Sobol); A comparison of
    three methods for selecting values of input variables, 1979 (Latin hypercube).
    """
    from scipy.stats import qmc

    free = [number for number, each in enumerate(axes) if each.size != 1]
    choices = np.zeros((samples, len(axes)))
    if not free:
        return choices
    generator = np.random.default_rng(seed)
    if design == "sobol":
        # Its points are balanced in powers of two.
        shares = qmc.Sobol(len(free), seed=generator).random_base2((samples - 1).bit_length())[:samples]
    else:
        shares = qmc.LatinHypercube(len(free), seed=generator).random(samples)
    for column, number in enumerate(free):
        choices[:, number] = [
            axes[number].chosen(min(share, np.nextafter(1, 0))) for share in shares[:, column]
        ]
    return choices
