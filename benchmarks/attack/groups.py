"""Real runs in control groups with little memory: what does not fit is refused, and nothing is killed.

    python benchmarks/attack/groups.py [--bars]

Needs a host that lets this user make control groups with limits of memory; versions 1 and 2 are attacked where they
have this controller. In a group of 1 GB, a process runs a product of 20,000 x 20,000 matrices (4.8 GB), one that is
a third larger than the rest of the group's memory, one that fits, and one that fits next to 700 MB of pages of a
file. The first two must be errors, the others must run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from verdict import Bar, verdict

ROOT = Path("/sys/fs/cgroup")
LIMIT_B = 1_000_000_000

RUN = """
import os, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
    procs.write(str(os.getpid()))
import simsched as ss
from simsched.errors import SimschedError
if sys.argv[3]:
    with open(sys.argv[3], "wb") as file:
        for _ in range(700):
            file.write(bytes(1_000_000))
n = int(sys.argv[2])
graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes=f"{n}x{n};{n}x16")
try:
    ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0)
except SimschedError as error:
    print("refused:", error)
else:
    print("ran")
"""


class Case(NamedTuple):
    """A product of n x n and n x 16, pages of files beside it, and what must become of it."""

    what: str
    n: int
    fills: bool
    expected: str


CASES = (
    Case("20,000 x 20,000", 20_000, False, "refused"),
    Case("a third more than is left", 17_500, False, "refused"),
    Case("what fits", 10_000, False, "ran"),
    Case("what fits next to pages of a file", 10_000, True, "ran"),
)


def versions() -> Iterator[tuple[str, Path, str]]:
    """Yield name, folder and limit of the versions of control groups that have a controller of memory."""
    if (ROOT / "memory/memory.limit_in_bytes").exists():
        yield "version 1", ROOT / "memory", "memory.limit_in_bytes"
    for root in (ROOT, ROOT / "unified"):
        with contextlib.suppress(OSError):
            if "memory" in (root / "cgroup.subtree_control").read_text().split():
                yield "version 2", root, "memory.max"


@contextmanager
def group(root: Path, limit: str) -> Iterator[Path | None]:
    """Yield a group of its own with the limit; None where none can be made."""
    folder = root / f"simsched-attack-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / limit).write_text(str(LIMIT_B))
    except OSError as error:
        print(f"{root}: no group can be made: {error.strerror}")
        yield None
        return
    try:
        yield folder
    finally:
        folder.rmdir()


def run(folder: Path, case: Case) -> str:
    """Return what a process in a group says, or how it ended."""
    with tempfile.TemporaryDirectory() as scratch:
        pages = str(Path(scratch) / "pages") if case.fills else ""
        done = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-c", RUN, str(folder), str(case.n), pages],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        return f"ended by {done.returncode}: {last[0]}"
    return done.stdout.strip()


def main() -> list[Bar]:
    """Print what became of each case; return the goals."""
    tried = wrong = 0
    for name, root, limit in versions():
        with group(root, limit) as folder:
            for case in CASES if folder else ():
                found = run(folder, case)
                right = found.startswith(case.expected)
                tried, wrong = tried + 1, wrong + (not right)
                print(f"{name}, {case.what}: {'' if right else 'WRONG: '}{found[:300]}")
    if not tried:
        print("this host has no control groups with memory that this user can make")
    return [Bar(f"wrong of {tried} cases in control groups", wrong, 0, False)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    verdict(main(), arguments.bars)
