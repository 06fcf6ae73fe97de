"""Single bits of stores are flipped: no row may change unnoticed, and every error must be simsched's own.

    python benchmarks/attack/flips.py [--flips N] [--seed N] [--bars]

Of three stores (a finished one, one that was left half-way, and one of 20,000 points) every file is attacked
equally often, a bit anywhere in it at a time. After each flip, `results` must return the rows as they were or name
the damaged file; after each tenth one, so must `run`, which continues the store.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pandas as pd
from verdict import Attempt, Bar, attempts, verdict

import simsched as ss
from simsched.errors import SimschedError
from simsched.sweep import results, store as stores

#: Every so many flips, the store is continued, too.
CONTINUED = 10
#: Sizes of stores: points.
SMALL, LARGE = 60, 20_000


class Flip(NamedTuple):
    """A bit of a file of a store."""

    store: str
    file: str
    bit: int
    continued: bool


def sweep_of(points: int) -> ss.Sweep:
    """Return a sweep with parameters, texts, numbers and points that fail."""
    graphs = [
        ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)], name=name) for name in ("a", "\u00e9")
    ]
    layouts = ["2x1", "9x9", None]
    return ss.Sweep(graphs, ["generic[cores=4]"], ["fifo[order=random]"], layouts, range(points // 6))


def made(folder: Path) -> dict[str, pd.DataFrame]:
    """Make the stores, and return their rows."""
    sweep_of(SMALL).run(folder / "finished", workers=1)
    sweep_of(LARGE).run(folder / "large", workers=1)

    def leave(count: int) -> None:
        nonlocal left
        left -= count
        if left < 0:
            raise KeyboardInterrupt

    left = SMALL // 2
    with (
        patch.multiple(stores, LEAST_S=0.0, SHARE=0.0),
        contextlib.suppress(KeyboardInterrupt),
    ):
        sweep_of(SMALL).run(folder / "left", workers=1, progress=leave)
    return {store.name: results(store) for store in sorted(folder.iterdir())}


def flips(folder: Path, count: int, seed: int) -> list[Flip]:
    """Return bits, of each file of each store equally many."""
    generator = random.Random(seed)  # noqa: S311 - no secret
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.stat().st_size]
    found = []
    for number in range(count):
        file = files[number % len(files)]
        store, _, rest = str(file.relative_to(folder)).partition("/")
        bit = generator.randrange(8 * file.stat().st_size)
        found.append(Flip(store, rest, bit, number // len(files) % CONTINUED == 0))
    return found


class Flipper:
    """Flips a bit, looks at what becomes of the rows, and puts it back.

    Parameters
    ----------
    folder : Path
    rows : dict of str to DataFrame
        Of each store, before.
    """

    def __init__(self, folder: Path, rows: dict[str, pd.DataFrame]) -> None:
        self._folder, self._rows = folder, rows

    def __call__(self, flip: Flip) -> Attempt:
        """Return "same", "refused", "changed" or "escaped"."""
        file = self._folder / flip.store / flip.file
        whole = file.read_bytes()
        raw = bytearray(whole)
        raw[flip.bit // 8] ^= 1 << flip.bit % 8
        file.write_bytes(raw)
        what = f"{flip.store}/{flip.file}, bit {flip.bit}"
        try:
            return self._looked(flip, what)
        finally:
            file.write_bytes(whole)

    def _looked(self, flip: Flip, what: str) -> Attempt:
        store = self._folder / flip.store
        try:
            same = results(store).equals(self._rows[flip.store])
            if same and flip.continued and flip.store != "large":
                same = self._continued(store)
        except SimschedError as error:
            return Attempt(what, "refused", str(error))
        except Exception as error:  # whatever escapes is a verdict
            return Attempt(what, "escaped", f"{type(error).__name__}: {error}")
        return Attempt(what, "same" if same else "changed")

    def _continued(self, store: Path) -> bool:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            shutil.copytree(store, Path(folder) / "store")
            rows = sweep_of(SMALL).run(Path(folder) / "store", workers=1)
        drop = ["replay_s"]
        return bool(rows.drop(columns=drop).equals(self._rows["finished"].drop(columns=drop)))


def main(given: argparse.Namespace) -> list[Bar]:
    """Print what became of the flips by file; return the goals."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = made(folder)
        found = list(attempts(flips(folder, given.flips, given.seed), Flipper(folder, rows)))
    counts = Counter((attempt.what.partition(",")[0].split("/")[1], attempt.outcome) for attempt in found)
    for (file, outcome), count in sorted(counts.items()):
        print(f"{file:<20} {outcome:<8} {count:>6}")
    for attempt in found:
        if attempt.outcome not in ("same", "refused"):
            print(f"  {attempt.outcome}: {attempt.what}: {attempt.said[:200]}")
    print(f"{len(found)} flips in {time.perf_counter() - begin:.0f} s")
    totals = Counter(attempt.outcome for attempt in found)
    return [
        Bar("flipped bits", len(found), min(given.flips, 10_000), True),
        Bar("flips that changed a row unnoticed", totals["changed"], 0, False),
        Bar("errors that are not simsched's", totals["escaped"], 0, False),
        Bar("flips that ended or blocked the process", totals["died"] + totals["hung"], 0, False),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    verdict(main(arguments), arguments.bars)
