"""Built-in machines, one TOML file each, registered through entry points.

An entry of the group `simsched.machines` names a function that returns the path of a machine file. A package of
your own adds a machine the same way: one TOML file, one function, one line in its `pyproject.toml`. Here the function
of `knl-7250.toml` is `knl_7250`, and so on; no machine needs code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable


def machine_file(name: str) -> Traversable:
    """Return the machine file of a built-in machine.

    Parameters
    ----------
    name : str
        As in `ss.machine(name)`.

    Examples
    --------
    >>> from simsched.hwmodels import machine_file
    >>> machine_file("knl-7250").name
    'knl-7250.toml'
    """
    return files(__package__) / f"{name}.toml"


def __getattr__(name: str) -> Callable[[], Traversable]:
    file = machine_file(name.replace("_", "-"))
    if not file.is_file():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(machine_file, name.replace("_", "-"))
