"""Record an unchanged script's or module's threads: `python -m simsched.traces.recorders.threads --help`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from simsched.errors import SimschedError
from simsched.traces.recorders.threads import EDGES, record


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a script or a module, and write the activity of its threads; see `--help`."""
    parser = argparse.ArgumentParser(
        prog="python -m simsched.traces.recorders.threads",
        usage="%(prog)s [--out FILE] [--edges {waits,arguments}] (SCRIPT | -m MODULE) [ARGUMENTS]",
        description="Run a Python script, and record what it submits to concurrent.futures, joblib and threads.",
    )
    parser.add_argument("--out", default="threads.json", help="the file to write (default threads.json)")
    parser.add_argument(
        "--edges", choices=EDGES, default="waits", help="where dependencies come from (default waits)"
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module instead of a script")
    parser.add_argument("script", help="the script, or the module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(arguments)
    if not given.module and not Path(given.script).is_file():
        parser.exit(2, f"{given.script}: no such file\n")
    if importlib.util.find_spec("joblib") is not None:
        importlib.import_module("joblib")  # functions not loaded yet cannot be recorded
    try:
        with record(given.out, edges=given.edges):
            _run(given.script, given.arguments, given.module)
    except SimschedError as error:
        parser.exit(2, f"{error}\n")


def _run(script: str, arguments: Sequence[str], module: bool) -> None:
    sys.argv[:] = [script, *arguments]
    if module:
        sys.path.insert(0, "")
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(script).resolve().parent))
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
