"""The compiled core, where a compiler was there to build it."""

from __future__ import annotations

import warnings
from functools import cache
from types import ModuleType
from typing import Any

from simsched.errors import NativeMissingWarning

HOW_TO_GET = (
    "the compiled module is missing, so everything runs in Python, more slowly; "
    "install a C++ compiler (Debian: apt install g++) and then reinstall simsched: pip install --force-reinstall --no-deps simsched"
)


@cache
def core() -> Any | None:
    """Return the compiled module, or None with one warning that says how to get it."""
    module = find()
    if module is None:
        warnings.warn(HOW_TO_GET, NativeMissingWarning, stacklevel=3)
    return module


def find() -> ModuleType | None:
    """Return the compiled module, or None, silently."""
    try:
        from simsched.native import _core
    except ImportError:
        return None
    return _core
