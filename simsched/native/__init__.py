"""The compiled core, if a compiler was available to build it.

Its stub is made by `python -m nanobind.stubgen -m simsched.native._core -o simsched/native/_core.pyi` and then
put into the house style by `ruff check --fix --unsafe-fixes` and `ruff format`; `Numbers` is written by hand, since
its slots have no types.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType

from simsched.errors import NativeMissingWarning
from simsched.native.building import how_to_get


@cache
def core() -> ModuleType | None:
    """Return the compiled module, or None with one warning that states how to get it."""
    try:
        return _imported()
    except ModuleNotFoundError:
        problem = "the compiled module is missing"
    except ImportError as error:
        problem = f"the compiled module does not load ({error})"
    said = f"{problem}, so everything runs in Python, more slowly; {how_to_get()}"
    warnings.warn(said, NativeMissingWarning, stacklevel=3)
    return None


def find() -> ModuleType | None:
    """Return the compiled module, or None, silently."""
    try:
        return _imported()
    except ImportError:
        return None


def _imported() -> ModuleType:
    # By name, because `from simsched.native import _core` calls a missing module and a broken one the same.
    return import_module("simsched.native._core")
