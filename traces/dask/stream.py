"""The records of a Dask task stream, and the keys of its graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown, stream
from simsched.traces.shared.timeline import LATEST_NS, whole_ns

#: The token that ends the name of a key: `add-e3ef5546f06aef12fa5ca644e696c1c3`.
_TOKEN = re.compile(r"-[0-9a-f]{8,}$")


@dataclass(frozen=True)
class Record:
    """One execution of a task.

    Parameters
    ----------
    key : str
        The task's key, a tuple as Python writes it.
    lane : str
        Worker and thread.
    start_ns, finish_ns : int
        Of the computation, since the epoch.
    transfer_ns : int
        Length of the transfers before it.
    """

    key: str
    lane: str
    start_ns: int
    finish_ns: int
    transfer_ns: int


def read_records(path: Path, mend: Mend | None) -> tuple[list[Record], int]:
    """Return the records of a task stream by start, and the number of failed or not computed ones.

    Raises
    ------
    FormatError
        If a record is malformed.
    """
    found, dropped = [], 0
    for place, (_, value) in enumerate(stream(path, "item", "task_stream.item", mend=mend)):
        if not isinstance(value, dict):
            raise FormatError(f"{path}: record {place} is {shown(value)}; expected an object")
        record = _record(f"{path}: record {place}", value)
        if record is None:
            dropped += 1
        else:
            found.append(record)
    return sorted(found, key=lambda r: (r.start_ns, r.finish_ns)), dropped


def read_dependencies(path: Path) -> dict[str, list[str]]:
    """Return the dependencies of each key, from `{"dependencies": {key: [key, ...]}}` or the inner object.

    Raises
    ------
    FormatError
        If it is no such file.
    """
    for _, value in stream(path, ""):
        inner = value.get("dependencies", value) if isinstance(value, dict) else value
        if not isinstance(inner, dict):
            break
        return {plain_text(key): _keys(f"{path}: task {shown(key)}", before) for key, before in inner.items()}
    raise FormatError(
        f'{path}: expected {{"dependencies": {{key: [key, ...]}}}}, as docs/formats/dask.md writes it'
    )


def _keys(where: str, before: object) -> list[str]:
    if not isinstance(before, list):
        raise FormatError(f"{where} depends on {shown(before)}; expected a list of keys")
    return [key_text(where, key) for key in before]


def key_text(where: str, key: object) -> str:
    """Return a key as text; JSON makes lists of tuples.

    Examples
    --------
    >>> key_text("", ["x-1", 0, ["y", 2]])
    "('x-1', 0, ('y', 2))"
    """
    if isinstance(key, list):
        return plain_text(repr(_tuples(key)))
    if not isinstance(key, str | int):
        raise FormatError(f"{where} has key {shown(key)}; expected a string or a list")
    return plain_text(key)


def _tuples(key: object) -> object:
    return tuple(map(_tuples, key)) if isinstance(key, list) else key


def kind_of(key: str) -> str:
    """Return the function of a task, from its key.

    Examples
    --------
    >>> kind_of("('add-e3ef5546f06aef12', 0, 0)"), kind_of("inc-0123456789abcdef")
    ('add', 'inc')
    """
    name = key.removeprefix("('").partition("'")[0] if key.startswith("('") else key
    return name[:-64] + _TOKEN.sub("", name[-64:])


def _record(where: str, value: Mapping[str, Any]) -> Record | None:
    steps = value.get("startstops")
    if not isinstance(steps, list | None):
        raise FormatError(f"{where} has startstops {shown(steps)}; expected a list")
    key = key_text(where, value.get("key"))
    spans: dict[str, list[tuple[int, int]]] = {}
    for step in steps or []:
        action, start, stop = _step(where, step)
        spans.setdefault(action, []).append((start, stop))
    if value.get("status", "OK") != "OK" or "compute" not in spans:
        return None
    start, finish = min(s for s, _ in spans["compute"]), max(f for _, f in spans["compute"])
    transfer = sum(f - s for s, f in spans.get("transfer", ()))
    lane = f"{plain_text(value.get('worker'))} thread {shown(value.get('thread'))}"
    return Record(key, lane, start, finish, transfer)


def _step(where: str, step: object) -> tuple[str, int, int]:
    """Return an action with its start and end in nanoseconds; older versions write a list."""
    parts: Sequence[object] = ()
    if isinstance(step, dict):
        parts = [step.get(name) for name in ("action", "start", "stop")]
    elif isinstance(step, list):
        parts = step[:3]
    if len(parts) != 3 or not isinstance(parts[0], str):
        raise FormatError(f"{where} has the step {shown(step)}; expected action, start and stop")
    start, stop = (_ns(where, value) for value in parts[1:])
    if stop < start:
        raise FormatError(f"{where} stops at {parts[2]} s, before it starts at {parts[1]} s")
    return parts[0], start, stop


def _ns(where: str, value: object) -> int:
    moment = None if isinstance(value, str) else whole_ns(value, 10**9, 0, LATEST_NS)
    if moment is None:
        raise FormatError(f"{where} has the time {shown(value)}; expected seconds since 1970")
    return moment
