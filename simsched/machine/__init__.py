"""`Machine`: structure, schema of the TOML files, variations."""

import sys
from pathlib import Path
from types import ModuleType

from simsched.machine.effects import Effects
from simsched.machine.load import MachineReader, machine
from simsched.machine.machine import Fact, Machine
from simsched.machine.memory import Memory
from simsched.machine.runtime import RuntimeProfile
from simsched.machine.structure import Box, Picture, Structure

__all__ = [
    "Box",
    "Effects",
    "Fact",
    "Machine",
    "MachineReader",
    "Memory",
    "Picture",
    "RuntimeProfile",
    "Structure",
    "machine",
]


class _Room(ModuleType):
    """`simsched.machine` is this room and, called, the function of its name: `ss.machine("...")`."""

    def __call__(self, source: str | Path | Machine) -> Machine:
        """See `simsched.machine.machine`."""
        return machine(source)


sys.modules[__name__].__class__ = _Room
