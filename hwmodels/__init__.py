"""Built-in machines, one TOML file each, registered through entry points.

An entry of the group `simsched.machines` names a function that returns the path of a machine file. A package of
your own adds a machine the same way: one TOML file, one function, one line in its `pyproject.toml`.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def _file(name: str) -> Traversable:
    return files(__package__) / f"{name}.toml"


def generic() -> Traversable:
    """`generic[cores=N]`: identical cores without tiles, limits of memory or overheads."""
    return _file("generic")


def knl_7250() -> Traversable:
    """`knl-7250`: Intel Xeon Phi 7250, Knights Landing."""
    return _file("knl-7250")
