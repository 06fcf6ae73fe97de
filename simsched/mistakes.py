"""Mistakes in files found by pydantic, in words: the key, the expected value, the actual value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from simsched.errors import SimschedError
from simsched.text import printable

Refused = TypeVar("Refused", bound=SimschedError)

#: Characters of a wrong value that an error shows.
LONGEST = 80

#: Types that are lists in TOML and JSON.
_WORDS = {"list_type": "expected a list", "tuple_type": "expected a list"}


def refusal(kind: type[Refused], where: object, mistakes: Sequence[str], most: int | None = None) -> Refused:
    """Return the error of a file with some mistakes.

    Parameters
    ----------
    kind : subclass of SimschedError
    where : Path or str
        The file.
    mistakes : sequence of str
        At least one.
    most : int, optional
        How many of them it lists; all when not given.

    Examples
    --------
    >>> print(refusal(SimschedError, "mine.toml", ["cores.count: missing", "speed: unknown key"]))
    mine.toml: 2 mistakes:
      cores.count: missing
      speed: unknown key
    """
    listed = list(mistakes[:most])
    if more := len(mistakes) - len(listed):
        listed.append(f"and {more} more")
    return kind(f"{where}: {len(mistakes)} mistake{'s' * (len(mistakes) > 1)}:", listed)


def described(mistake: Any, place: str = "") -> str:
    """Return the description of a mistake in a file: its key, the expected value, and the actual value."""
    key, given = printable((place + ".".join(map(str, mistake["loc"]))).rstrip(".")), mistake["input"]
    said = _WORDS.get(mistake["type"], mistake["msg"].removeprefix("Value error, "))
    if mistake["type"] == "missing":
        return f"{key}: missing"
    if mistake["type"] == "extra_forbidden":
        return f"{key}: unknown key"
    if mistake["type"] in ("model_type", "dict_type"):
        expected = "{ value, unit, source, confidence }" if "Quantit" in mistake["msg"] else ""
        return f"{key}: expected a table {expected}".rstrip() + f" (got {short(given)})"
    # The message of our own rules on a table names the value already; the table would only hide it.
    # A file with its own mistakes, one per line, is named with them.
    if (mistake["type"] == "value_error" and isinstance(given, dict)) or "\n" in said:
        return f"{key}: {said}"
    return f"{key}: {said} (got {short(given)})"


def short(given: object) -> str:
    """Return a wrong value as shown in messages."""
    shown = repr(given)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
