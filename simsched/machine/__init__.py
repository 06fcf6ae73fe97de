"""`Machine`: structure, schema of the TOML files, variations."""

from simsched.machine.clocks import Clocks
from simsched.machine.effects import Effects
from simsched.machine.load import MachineReader, machine
from simsched.machine.machine import Machine
from simsched.machine.memory import Memory
from simsched.machine.runtime import RuntimeProfile
from simsched.machine.stated import Fact
from simsched.machine.structure import Box, Picture, Structure
from simsched.rooms import make_callable

__all__ = [
    "Box",
    "Clocks",
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

make_callable(__name__, machine)
