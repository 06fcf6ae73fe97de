"""`Machine`: structure, schema of the TOML files, variations."""

import sys
from pathlib import Path
from types import ModuleType

from simsched.machine.load import machine, read_machine
from simsched.machine.machine import Fact, Machine, RuntimeProfile

__all__ = ["Fact", "Machine", "RuntimeProfile", "machine", "read_machine"]


class _Room(ModuleType):
    """`simsched.machine` is this room and, called, the function of its name: `ss.machine("...")`."""

    def __call__(self, source: str | Path | Machine) -> Machine:
        """See `simsched.machine.machine`."""
        return machine(source)


sys.modules[__name__].__class__ = _Room
