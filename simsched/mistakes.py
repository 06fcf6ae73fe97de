"""Mistakes of files, as pydantic finds them, in words: the key, what was expected, what stands there."""

from __future__ import annotations

from typing import Any

#: Characters of a wrong value that an error shows.
LONGEST = 80

#: What TOML and JSON have no other name for.
_WORDS = {"list_type": "expected a list", "tuple_type": "expected a list"}


def told(mistake: Any, place: str = "") -> str:
    """Return what a mistake of a file is: its key, what was expected, and what stands there."""
    key, given = (place + ".".join(map(str, mistake["loc"]))).rstrip("."), mistake["input"]
    said = _WORDS.get(mistake["type"], mistake["msg"].removeprefix("Value error, "))
    if mistake["type"] == "missing":
        return f"{key}: missing"
    if mistake["type"] == "extra_forbidden":
        return f"{key}: unknown key"
    if mistake["type"] in ("model_type", "dict_type"):
        expected = "{ value, unit, source, confidence }" if "Quantit" in mistake["msg"] else ""
        return f"{key}: expected a table {expected}".rstrip() + f" (got {short(given)})"
    # What a rule of ours says of a table names the value already; the table would only hide it.
    if mistake["type"] == "value_error" and isinstance(given, dict):
        return f"{key}: {said}"
    return f"{key}: {said} (got {short(given)})"


def short(given: object) -> str:
    """Return a wrong value as a message shows it."""
    shown = repr(given)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
