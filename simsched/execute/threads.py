"""Crews of threads: made once for every set of CPUs, asleep between runs."""

from __future__ import annotations

from typing import Any

from simsched.errors import EngineError
from simsched.execute.module import module

Cpus = tuple[tuple[int, ...], ...]


class Crews:
    """The crews of one measurement."""

    def __init__(self) -> None:
        self._made: dict[Cpus, Any] = {}

    def on(self, cpus: Cpus) -> Any:
        """Return the crew whose workers may run on these CPUs.

        Raises
        ------
        EngineError
            If the system does not let them.
        """
        if cpus not in self._made:
            try:
                self._made[cpus] = module().Crew([list(each) for each in cpus])
            except RuntimeError as error:
                raise EngineError(f"no threads to run on: {error}") from error
        return self._made[cpus]
