"""Lanes of a Kineto trace: threads of the host and streams of devices, by the ids and names in the file."""

from __future__ import annotations

from typing import Any

from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place


class Lanes:
    """Lanes by number, in the order in which they were met."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._names: dict[tuple[str, str], str] = {}

    def number(self, pid: Any, tid: Any, place: Place) -> int:
        """Return the number of a lane by its ids, which are numbers or texts."""
        lane = _ids(pid, tid, place)
        return self._numbers.setdefault(lane, len(self._numbers))

    def name(self, pid: Any, tid: Any, name: str, place: Place) -> None:
        """Note what the file calls a lane."""
        self._names[_ids(pid, tid, place)] = name

    def names(self) -> list[str]:
        """Return the names of all lanes, by number."""
        return [self._names.get(lane, f"thread {lane[1]}") for lane in self._numbers]


def _ids(pid: Any, tid: Any, place: Place) -> tuple[str, str]:
    for key, value in (("pid", pid), ("tid", tid)):
        if type(value) not in (int, str):
            raise place.error(f"{key} is {shown(value)}, expected a number or a text")
    return str(pid), str(tid)
