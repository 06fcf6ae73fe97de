"""The version of simsched, for output files."""

from __future__ import annotations

import importlib.metadata
from functools import cache


@cache
def version() -> str:
    """Return the installed version; "unknown" where simsched runs without being installed."""
    try:
        return importlib.metadata.version("simsched")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
