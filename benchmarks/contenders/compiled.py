"""Contenders in other languages: how they are built and started, or what to install."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-ffp-contract=off", "-Wall", "-Wextra"]


def build(source: str, folder: Path, *libraries: str) -> list[str] | None:
    """Compile a source of this folder into `folder`; return the command, None where that fails."""
    compiler, program = shutil.which("g++") or shutil.which("c++"), folder / Path(source).stem
    if compiler is None:
        return None
    command = [compiler, *FLAGS, str(HERE / source), "-o", str(program), *(f"-l{name}" for name in libraries)]
    done = subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - our own arguments
    return None if done.returncode else [str(program)]


def simgrid_python() -> list[str] | None:
    """Return the command for SimGrid's Python bindings, None where no interpreter has them."""
    # The system's packages serve the system's interpreter, not that of a virtual environment.
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            found = subprocess.run(  # noqa: S603 - our own arguments
                [python, "-c", "import simgrid"], check=False, capture_output=True
            )
        except OSError:
            continue
        if not found.returncode:
            return [python, str(HERE / "simgrid_app.py")]
    return None
