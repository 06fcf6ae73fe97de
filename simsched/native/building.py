"""Requirements for building the compiled modules, and those missing on this machine."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

_AGAIN = (
    "simsched again, in its folder: pip install --force-reinstall --no-deps . "
    "(after make: make clean, and make again)"
)


def how_to_get() -> str:
    """Return what to install, depending on what is missing: a C++ compiler, Python's headers; then simsched.

    Examples
    --------
    >>> "simsched again, in its folder" in how_to_get()
    True
    """
    missing, packages = zip(*_missing(), strict=True) if _missing() else ((), ())
    if not missing:
        return f"install {_AGAIN}; pip -v shows why it was not built"
    return f"install {' and '.join(missing)} (Debian: apt install {' '.join(packages)}) and then {_AGAIN}"


def _missing() -> list[tuple[str, str]]:
    compilers = (os.environ.get("CXX") or "c++").split()[:1] + ["g++", "clang++"]
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    parts = [
        (any(map(shutil.which, compilers)), ("a C++ compiler", "g++")),
        (headers.exists(), ("Python's headers", "python3-dev")),
    ]
    return [part for there, part in parts if not there]
