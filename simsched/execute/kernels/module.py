"""The compiled module of real runs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from simsched.errors import EngineError, MissingExtraError
from simsched.native.building import how_to_get


@cache
def module() -> Any:
    """Return the compiled module of real runs; see `simsched/native/_execute.pyi`.

    Raises
    ------
    MissingExtraError
        If the BLAS that it runs on is not installed.
    EngineError
        If it is missing or does not load.
    """
    if find_spec("simsched.native._execute") and not find_spec("scipy_openblas32"):
        raise MissingExtraError("scipy-openblas32", "execute", "a real run")
    try:
        return import_module("simsched.native._execute")
    except ImportError as error:
        raise EngineError(
            f"graphs really run on Linux, with the compiled module simsched.native._execute ({error}); {how_to_get()}"
        ) from error
