"""Standard normal numbers by name, of which the worlds of an interval are sampled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from simsched.machine import Machine


@dataclass(frozen=True)
class NormalByName:
    """Standard normal numbers by name, the same for the same seed and machine.

    Parameters
    ----------
    seed : int
    machine : str
        Its name: machines of one file share them.

    Examples
    --------
    >>> z = NormalByName(1, "grace")
    >>> z("clock") == NormalByName(1, "grace")("clock"), z("clock") == NormalByName(1, "a64fx")("clock")
    (True, False)
    """

    seed: int
    machine: str

    @classmethod
    def on(cls, machine: Machine, seed: int) -> NormalByName:
        """Return those of a machine, whatever of it is varied."""
        return cls(seed, str(machine.content["name"]))

    def __call__(self, name: str) -> float:
        """Return the number of a name."""
        return _normal(self.seed, self.machine, name)


# A world has some hundred names, and core counts, layouts and policies share it.
@lru_cache(2**14)
def _normal(seed: int, machine: str, name: str) -> float:
    place = [seed, crc32(machine.encode()), crc32(name.encode())]
    return float(np.random.default_rng(place).standard_normal())
