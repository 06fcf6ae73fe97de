"""Random damage to files."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

#: Beyond this a file is damaged as bytes only: parsing JSON would take longer than reading it.
MAX_PARSED_B = 64 * 1024


EXTREMES = (
    "0", "-1", "1", "-0.0", "1e308", "1e999", "-1e999", "NaN", "Infinity", "null", "true", "4294967296", "2147483648",
    "9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "0.0000000000000000001", "1e-400",
    '""', "[]", "{}",
)  # fmt: skip


ODD_TEXTS = (
    "",
    "\x00",
    "\n",
    "\\",
    "<script>",
    "&lt;",
    "\ud800",
    "é",
    "a" * 300,
    "../../etc/passwd",
    "%s%n",
    "$x$",
    '"',
)


_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutated(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return data with one to four kinds of damage.

    Parameters
    ----------
    data : bytes
        A valid file.
    random : random.Random
        Which damage, and where.
    others : sequence of bytes
        Other valid files, parts of which may come in.

    Examples
    --------
    >>> mutated(b"0123456789", Random(4)) == mutated(b"0123456789", Random(4))
    True
    """
    for _ in range(random.choice((1, 1, 2, 4))):
        data = random.choice(MUTATIONS)(data, random, others)
    return gzip.compress(data, 1, mtime=0) if random.random() < 0.02 else data


def _flip(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 4, 16)) if changed else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _piece(data: bytes, random: Random) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 3, 10, 100, 1000)))


def _cut_out(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    begin, end = _piece(data, random)
    return data[:begin] + data[end:]


def _cut_off(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _repeat(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    begin, end = _piece(data, random)
    return data[:end] + data[begin:end] * random.choice((1, 2, 30)) + data[end:]


def _splice(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    begin, end = _piece(other, random)
    place = random.randrange(len(data) + 1)
    return data[:place] + other[begin:end] + data[place:]


def _number(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Replace one number in text form by an extreme one."""
    if not (found := list(_NUMBER.finditer(data[:MAX_PARSED_B]))):
        return data
    place = random.choice(found)
    return data[: place.start()] + random.choice(EXTREMES).encode() + data[place.end() :]


def _lines(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Drop, repeat or exchange lines."""
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(3)
    if action == 0:
        del lines[one]
    elif action == 1:
        lines.insert(one, lines[other])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _json(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Change one value of a JSON file to something of another kind, or leave it out."""
    if len(data) > MAX_PARSED_B or data.lstrip()[:1] not in (b"{", b"["):
        return _lines_of_json(data, random)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return data
    return json.dumps(_changed(content, random), ensure_ascii=random.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def _lines_of_json(data: bytes, random: Random) -> bytes:
    """Change one line of a file with one JSON value per line, if it is one."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    if lines[place][:1] == b"{" and len(lines[place]) < MAX_PARSED_B:
        lines[place] = _json(lines[place], random, ())
    return b"\n".join(lines)


def _changed(value: Any, random: Random, depth: int = 0) -> Any:
    """Return a JSON value with one change, somewhere in it."""
    if depth and random.random() < 0.15:
        return _odd(random)
    if isinstance(value, list) and value:
        return _changed_list(value, random, depth)
    if isinstance(value, dict) and value:
        return _changed_object(value, random, depth)
    return _odd(random)


def _changed_list(value: list[Any], random: Random, depth: int) -> list[Any]:
    place, action = random.randrange(len(value)), random.random()
    if action < 0.1:
        return value[:place] + value[place + 1 :]
    if action < 0.2:
        return [*value, value[place]]
    return [*value[:place], _changed(value[place], random, depth + 1), *value[place + 1 :]]


def _changed_object(value: dict[str, Any], random: Random, depth: int) -> dict[str, Any]:
    key, action = random.choice(list(value)), random.random()
    if action < 0.15:
        return {k: v for k, v in value.items() if k != key}
    if action < 0.2:
        return {random.choice(ODD_TEXTS) if k == key else k: v for k, v in value.items()}
    return {**value, key: _changed(value[key], random, depth + 1)}


def _odd(random: Random) -> Any:
    if random.random() < 0.3:
        return random.choice(ODD_TEXTS)
    return json.loads(text) if (text := random.choice(EXTREMES)) not in ("1e999", "-1e999") else 10**400


MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _cut_out, _cut_off, _repeat, _splice, _number, _number, _number, _lines, _json, _json, _json, _json,
)  # fmt: skip
