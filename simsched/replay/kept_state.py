"""State that policies keep from one replay to the next, which makes the next another one."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from simsched.notes import Note, Weight
from simsched.policy import Policy, RankPolicy
from simsched.policy.names import attributes, is_own

#: Elements of a container, and bytes of an array, up to which they are looked at one by one.
MOST, MOST_B = 1_000, 1_000_000
_PLAIN = (bool, int, float, complex, str, bytes)


def state_of(policy: Policy) -> dict[str, Any]:
    """Return what a user's policy holds, cheaply: its attributes, and the containers among those of its classes.

    Examples
    --------
    >>> import simsched as ss
    >>> state_of(ss.policy("fifo"))
    {}
    """
    if not is_own(policy):
        return {}
    shared = {
        name: value
        for cls in reversed(type(policy).__mro__)
        for name, value in vars(cls).items()
        if isinstance(value, list | dict | set | deque | np.ndarray) and not name.startswith("__")
    }
    return {name: _seen(value) for name, value in (shared | attributes(policy)).items()}


def remembered(policy: Policy, called: str, before: Mapping[str, Any]) -> list[Note]:
    """Return a doubt about a policy whose state is no longer what it was before a replay.

    Examples
    --------
    >>> import simsched as ss
    >>> class Turn(ss.Policy):
    ...     name, turn = "turn", 0
    >>> Turn.__module__, policy = "mine", Turn()
    >>> before = state_of(policy)
    >>> object.__setattr__(policy, "turn", 1)
    >>> remembered(policy, "turn", before)[0][:53]
    'policy turn remembers `turn` from one replay to the n'
    """
    now = state_of(policy)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if not changed:
        return []
    named = ", ".join(f"`{name}`" for name in changed)
    mend = (
        "work it out in rank()" if isinstance(policy, RankPolicy) else "put it into what prepared() returns"
    )
    said = f"policy {called} remembers {named} from one replay to the next: {mend} (docs/howto/own_policy.md)"
    return [Note(said, Weight.DOUBT)]


def _seen(value: Any) -> object:
    """Return what tells that a value has changed: itself where it is plain, else which it is and what it holds."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray):
        return id(value), value.tobytes() if value.nbytes <= MOST_B and not value.dtype.hasobject else b""
    if isinstance(value, np.random.Generator):
        return id(value), repr(value.bit_generator.state)
    if isinstance(value, dict):
        return id(value), len(value), _elements([*value, *value.values()]) if len(value) <= MOST else ()
    if isinstance(value, list | set | deque):
        return id(value), len(value), _elements(value) if len(value) <= MOST else ()
    return id(value)


def _elements(values: Any) -> tuple[object, ...]:
    return tuple(repr(one) if isinstance(one, _PLAIN) else id(one) for one in values)
