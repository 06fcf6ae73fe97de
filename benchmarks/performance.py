"""Write docs/performance.md: the tables of all benchmarks, one after another on this machine.

    python benchmarks/performance.py [NAME ...]

Takes half an hour on a machine that should do nothing else meanwhile. What a benchmark prints stands on the page as it
is, goals and misses included; one that fails says so there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from measure import where
from tqdm.auto import tqdm

import simsched as ss

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/performance.md"
BEGIN, END = "<!-- {name}: made by benchmarks/performance.py -->", "<!-- as far as here: {name} -->"
MOST_S = 1800


class Benchmark(NamedTuple):
    """A section of the page: its script and options."""

    script: str
    options: tuple[str, ...] = ("--bars",)


BENCHMARKS = {
    "engines": Benchmark("engines.py", ("--growth", "--bars")),
    "policies": Benchmark("deciding.py"),
    "building": Benchmark("build_graph.py", ()),
    "imports": Benchmark("imports.py"),
    "executor": Benchmark("executor.py"),
    "chart": Benchmark("gantt.py"),
    "panel": Benchmark("panel.py"),
    "sweeps": Benchmark("sweep.py"),
    "stores": Benchmark("sweep_store.py"),
}


def section(name: str, benchmark: Benchmark) -> str:
    """Return what a benchmark printed, between its marks."""
    command = [sys.executable, str(HERE / benchmark.script), *benchmark.options]
    begin = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=MOST_S)  # noqa: S603 - ourselves
    shown = f"python benchmarks/{' '.join((benchmark.script, *benchmark.options))}"
    lines = [
        BEGIN.format(name=name),
        f"`{shown}`: {time.perf_counter() - begin:.0f} s, exit status {done.returncode}. "
        f"simsched {ss.__version__} on {where()}.",
        "",
        "```text",
        (done.stdout or done.stderr).rstrip().replace("```", "'''"),
        "```",
        END.format(name=name),
    ]
    return "\n".join(lines)


def replaced(page: str, name: str, made: str) -> str:
    """Return the page with a section in place of the one between its marks.

    Raises
    ------
    ValueError
        If the page has no such marks.
    """
    before, begin, rest = page.partition(BEGIN.format(name=name))
    _, end, after = rest.partition(END.format(name=name))
    if not begin or not end:
        raise ValueError(f"{PAGE} lacks the marks of {name!r}")
    return before + made + after


def main() -> None:
    """Write the page, section by section, so that one that is stopped leaves the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", choices=[[], *BENCHMARKS], help="sections; all when none is named"
    )
    for name in tqdm(parser.parse_args().names or BENCHMARKS, disable=None):
        made = section(name, BENCHMARKS[name])
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), name, made), "utf-8")
        print(made, flush=True)


if __name__ == "__main__":
    main()
