"""The compiled module of real runs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from simsched.errors import EngineError
from simsched.native import HOW_TO_GET


@cache
def module() -> Any:
    """Return the compiled module of real runs; see `simsched/native/_execute.pyi`.

    Raises
    ------
    EngineError
        If it is missing or does not load.
    """
    try:
        return import_module("simsched.native._execute")
    except ImportError as error:
        raise EngineError(
            f"graphs really run on Linux, with the compiled module simsched.native._execute ({error}); {HOW_TO_GET}"
        ) from error
