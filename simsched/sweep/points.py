"""Points of a sweep: one value of each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from simsched.policy import Layout, Policy
from simsched.policy.layout import Best
from simsched.spec import Scalar, Spec, made
from simsched.sweep.axes import Axis, Choices

#: Prefix of the names of parameters in the names of columns.
MACHINE_PREFIX, POLICY_PREFIX = "machine.", "policy."
#: Factors on the seconds of tasks: one for all, or by kind.
Scaling = float | Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """One replay to be made.

    Parameters
    ----------
    number : int
        Its place in the sweep, from 0.
    graph, machine, policy, scaling : int
        Places in the sweep's lists.
    machine_parameters, policy_parameters : tuple of (str, scalar)
        Their varied parameters.
    layout : Layout, "best" or None
        As asked for.
    noise : float, str or None
        Standard deviation of the logarithm of what tasks really take; the cost model's where None.
    seed : int
    """

    number: int
    graph: int
    machine: int
    machine_parameters: tuple[tuple[str, Scalar], ...]
    policy: int
    policy_parameters: tuple[tuple[str, Scalar], ...]
    layout: Layout | Best | None
    scaling: int
    noise: float | str | None
    seed: int


def parameters_of(policy: Policy) -> tuple[str, ...]:
    """Return the names of a policy's parameters."""
    return tuple(f.name for f in fields(policy) if f.init)


def with_parameters(policy: Policy, parameters: Mapping[str, Scalar]) -> Policy:
    """Return a policy with other parameters.

    Raises
    ------
    SpecError
        If a value is not possible.
    """
    if not parameters:
        return policy
    now: dict[str, Any] = {name: getattr(policy, name) for name in parameters_of(policy)}
    return made(type(policy), "policy", Spec(policy.name or type(policy).__name__, {**now, **parameters}))


def asked_of(policy: Policy, layout: Layout | Best | None) -> Layout | Best | None:
    """Return a policy's form of a layout offered to all: None where it cannot use it, or is to find one."""
    return policy.suited(layout) if isinstance(layout, Layout) else layout


def without_repeats(choices: Choices, axes: Sequence[Axis], *, sampled: bool) -> Choices:
    """Return the choices, irrelevant ones replaced by the first value; a product then has each point once.

    Parameters that a policy lacks do not matter to it, nor do layouts that it is offered and cannot use.
    """
    place = {each.name: number for number, each in enumerate(axes)}
    policies, layouts = axes[place["policy"]], axes[place["layout"]]
    result = choices.copy()
    for number in range(policies.size):
        policy, rows = policies.at(number), choices[:, place["policy"]] == number
        for each in axes:
            key = each.name.removeprefix(POLICY_PREFIX)
            if key != each.name and key not in parameters_of(policy):
                result[rows, place[each.name]] = 0
        offered = [asked_of(policy, layouts.at(i)) for i in range(layouts.size)]
        first = np.array([offered.index(layout) for layout in offered])
        result[rows, place["layout"]] = first[choices[rows, place["layout"]].astype(int)]
    if sampled or np.array_equal(result, choices):
        return result
    _, firsts = np.unique(result, axis=0, return_index=True)
    return np.asarray(result[np.sort(firsts)])
