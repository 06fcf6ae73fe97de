"""Rooms named as users type them: `simsched.machine` is a room and, called, `ss.machine("...")`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType


def make_callable(room: str, function: Callable[..., object]) -> None:
    """Let a room be called as the function of its name; notebooks show the function's signature and docstring.

    Parameters
    ----------
    room : str
        Name of the module, which is being imported.
    function : callable
        What calling it calls.
    """
    module = sys.modules[room]
    module.__class__ = type("Room", (ModuleType,), {"__call__": staticmethod(function)})
    vars(module)["__signature__"] = inspect.signature(function)
