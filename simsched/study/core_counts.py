"""The core counts that a prediction is asked for, as a list, as text, or those around the machine's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simsched.errors import MachineError

if TYPE_CHECKING:
    from simsched.machine import Machine

#: Halvings of the machine's cores, below it, and doublings above it.
HALVINGS, DOUBLINGS = 5, 2
_COUNT = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def core_counts(cores: Sequence[int] | str | None, machine: Machine) -> Sequence[int]:
    """Return core counts, at least one.

    Parameters
    ----------
    cores : sequence of int, or str, or None
        The counts; or text: counts and ranges between commas, where a range doubles from its first count on and ends
        with its last. `counts_around` when None.
    machine : Machine

    Raises
    ------
    MachineError
        If there is none, or the text has something else in it.

    Examples
    --------
    >>> import simsched as ss
    >>> core_counts("17-100,136", ss.machine("knl-7250"))
    [17, 34, 68, 100, 136]
    """
    if cores is None:
        return counts_around(machine)
    if isinstance(cores, str):
        return list(
            dict.fromkeys(count for part in cores.split(",") for count in _range(part.strip(), cores))
        )
    if not hasattr(cores, "__len__") or len(cores) == 0:
        raise MachineError(
            f"cores is {cores!r}; expected at least one core count, as in [17, 34, 68] or '17-136'"
        )
    return cores


def _range(part: str, cores: str) -> list[int]:
    found = _COUNT.fullmatch(part)
    if not found:
        raise MachineError(
            f"cores is {cores!r}: {part!r} is no core count; expected some, as in '16,34', or '8-256'"
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if not 0 < first <= last:
        raise MachineError(
            f"cores is {cores!r}: {part!r} has no core counts; it goes up from 1 or more, as in '8-256'"
        )
    doubled = [first << k for k in range((last // first).bit_length())]
    return [*doubled, *([last] if doubled[-1] < last else [])]


def counts_around(machine: Machine) -> list[int]:
    """Return core counts below and above the machine's own, ascending, of whole tiles; those that its file allows.

    Examples
    --------
    >>> import simsched as ss
    >>> counts_around(ss.machine("generic[cores=8]"))
    [1, 2, 4, 8, 16, 32]
    """
    own, tile = machine.n_cores, machine.cores_per_tile
    wanted = {own >> k for k in range(HALVINGS + 1)} | {own << k for k in range(1, DOUBLINGS + 1)}
    rounded = {max(count // tile * tile, tile) for count in wanted}
    return sorted(count for count in rounded if _possible(machine, count))


def _possible(machine: Machine, count: int) -> bool:
    try:
        return machine.varied({"cores": count}).n_cores == count
    except MachineError:
        return False
