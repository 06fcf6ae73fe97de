"""Designs: the points of its axes that a sweep visits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.errors import SpecError
from simsched.sweep.axes import MOST, Axis, Range

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
        sampler = qmc.Sobol(len(free), seed=generator)
        shares = sampler.random_base2((samples - 1).bit_length())[:samples]
    else:
        shares = qmc.LatinHypercube(len(free), seed=generator).random(samples)
    for column, number in enumerate(free):
        choices[:, number] = [
            axes[number].chosen(min(share, np.nextafter(1, 0))) for share in shares[:, column]
        ]
    return choices
