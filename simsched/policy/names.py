"""Names of policies in tables, where several are called alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from simsched.multimap import multimap
from simsched.policy.policy import Policy


def is_own(policy: Policy) -> bool:
    """Return whether a policy is a user's, not one of simsched.

    Examples
    --------
    >>> import simsched as ss
    >>> is_own(ss.policy("fifo")), is_own(type("Mine", (ss.Policy,), {"__module__": "mine"})())
    (False, True)
    """
    return type(policy).__module__.partition(".")[0] != "simsched"


def table_key(policy: Policy) -> int | str:
    """Return what identifies a policy among others: its spec, or the very object where it is a user's.

    Two of a class of a user may be equal to Python, and have the same spec, and still do something else each.

    Examples
    --------
    >>> import simsched as ss
    >>> table_key(ss.policy("corun[smt=true]"))
    'corun[smt=true]'
    """
    return id(policy) if is_own(policy) else str(policy)


def distinct(policies: Iterable[Policy]) -> list[Policy]:
    """Return the first of those that do the same.

    Examples
    --------
    >>> import simsched as ss
    >>> [str(one) for one in distinct([ss.policy("fifo"), ss.policy("heft"), ss.policy("fifo")])]
    ['fifo', 'heft']
    """
    found: list[Policy] = []
    for policy in policies:
        if not any(str(one) == str(policy) and _alike(one, policy) for one in found):
            found.append(policy)
    return found


def attributes(policy: Policy) -> dict[str, Any]:
    """Return what a policy's object holds, but for what it can work out again."""
    return {
        name: value
        for name, value in vars(policy).items()
        if not isinstance(getattr(type(policy), name, None), cached_property)
    }


def names_in_table(policies: Sequence[Policy], called: Sequence[str] | None = None) -> list[str]:
    """Return a name for each policy that no other one has; the same for those that do the same.

    Parameters
    ----------
    policies : sequence of Policy
    called : sequence of str, optional
        What each is called alone; its spec when not given.

    Returns
    -------
    list of str
        With the class, where different policies are called alike and each has a class of its own; else with a number,
        in the order of the table.

    Examples
    --------
    >>> import simsched as ss
    >>> class Given(ss.RankPolicy):
    ...     def __init__(self, function):
    ...         self.function = function
    >>> class Mine(ss.RankPolicy):
    ...     name = "fifo"
    >>> names_in_table([ss.policy("fifo"), Given(min), Given(max), Mine()])
    ['fifo (Fifo)', 'Given #1', 'Given #2', 'fifo (Mine)']
    >>> names_in_table([ss.policy("fifo"), Given(min), Given(min), ss.policy("fifo")])
    ['fifo', 'Given', 'Given', 'fifo']
    """
    alone = [*map(str, policies)] if called is None else called
    found = [*alone]
    for name, places in multimap((name, place) for place, name in enumerate(alone)).items():
        kinds = [
            next(other for other in places if _alike(policies[place], policies[other])) for place in places
        ]
        first = [*dict.fromkeys(kinds)]
        classes = [type(policies[place]).__qualname__ for place in first]
        apart = [f"{name} ({one})" for one in classes]
        if len({*classes}) < len(classes):
            apart = [f"{name} #{number}" for number in range(1, len(classes) + 1)]
        if len(first) > 1:
            for place, kind in zip(places, kinds, strict=True):
                found[place] = apart[first.index(kind)]
    return found


def given_names(policies: Sequence[Policy]) -> dict[int | str, str]:
    """Return the names in a table, by `table_key`, of policies that are not called as their schedules say.

    These are a user's, whose specs may change with a replay, and others of their names. Other policies may have found
    parameters for the graph, which only their schedules name.

    Examples
    --------
    >>> import simsched as ss
    >>> given_names([ss.policy("fifo"), ss.policy("kind-widths")])
    {}
    """
    called = zip(policies, names_in_table(policies), strict=True)
    return {table_key(one): name for one, name in called if is_own(one) or name != str(one)}


def _alike(one: Policy, other: Policy) -> bool:
    """Return whether two policies that are called alike do the same, as far as their classes and attributes tell."""
    if type(one) is not type(other):
        return False
    first, second = attributes(one), attributes(other)
    return first.keys() == second.keys() and all(_same(value, second[key]) for key, value in first.items())


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Policy) and isinstance(other, Policy):
        return str(one) == str(other) and _alike(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    try:
        return one is other or bool(one == other)
    except (TypeError, ValueError):
        return False
