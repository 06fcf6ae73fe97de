"""`Machine`: structure, schema of the TOML files, variations."""

from simsched.machine.load import machine, read_machine
from simsched.machine.machine import Fact, Machine, RuntimeProfile

__all__ = ["Fact", "Machine", "RuntimeProfile", "machine", "read_machine"]
