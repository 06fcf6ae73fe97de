"""Multimaps: several values of one key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def multimap(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in order of appearance.

    Examples
    --------
    >>> multimap((len(word), word) for word in ["one", "three", "two"])
    {3: ['one', 'two'], 5: ['three']}
    """
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
