"""Bandwidths of today's chips as others measured them, beside their machine files and the table of cores.

    python benchmarks/chips.py [--shared PATH] [--rows] [--page] [--bars]

Rows that a file does not have are scored: by cores and kernels 6 % in the median and 20 % at the 90th percentile, by
placements 8 %, whole nodes 12 %. Each machine is scored by itself, and what misses says so. --page writes the table
into docs/validity.md; --bars returns 1 where one is missed. Nothing is fitted here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measured.chips import BARS, Chip, chips

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs/validity.md"
BEGIN, END = "<!-- made by benchmarks/chips.py -->", "<!-- as far as chips.py -->"
TITLES = (
    "machine", "label", "what its file has of them", "values", "median", "90 %", "worst",
    "not in the file: values, median, 90 %",
)  # fmt: skip


def main() -> int:
    """Print every machine; return 1 where a bar is missed and bars are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = REPOSITORY.parent / "shared" / "measurements"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with the measured tables")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--page", action="store_true", help="write the table into docs/validity.md")
    parser.add_argument("--bars", action="store_true", help="return 1 where a bar is missed")
    options = parser.parse_args()
    found = chips(options.shared)
    missed = [line for chip in found for line in _shown(chip, every=options.rows)]
    print(f"\n{len(missed)} bars missed" + "".join(f"\n  {line}" for line in missed))
    if options.page:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, *table(found), END]) + rest.partition(END)[2], "utf-8")
    return int(options.bars and bool(missed))


def _shown(chip: Chip, *, every: bool) -> Iterator[str]:
    """Print a machine, and yield the bars that it misses."""
    print(f"{chip.name} ({chip.label}; it has {chip.has})")
    for row in chip.rows if every else ():
        given = "given" if row.given else row.bar
        print(
            f"  {row.measured_Bps / 1e9:8.1f} {row.modelled_Bps / 1e9:8.1f} {row.error:+7.1%}  {given}: {row.what}"
        )
    for bar, (most, most_high) in BARS.items():
        errors = chip.errors(bar, given=False)
        if len(errors):
            median, high = np.quantile(errors, [0.5, 0.9])
            holds = median <= most and high <= most_high
            shown = f"median {median:.1%} (bar {most:.0%}), 90 % {high:.1%} (bar {most_high:.0%})"
            line = f"{bar}: {len(errors)} rows, {shown}"
            print(f"  {line}{'' if holds else '  MISSED'}")
            if not holds:
                yield f"{chip.name}: {line}"


def table(found: list[Chip]) -> list[str]:
    """Return the rows of the page."""
    rows = [f"| {' | '.join(TITLES)} |", f"|{' --- |' * len(TITLES)}"]
    return [*rows, *(f"| {' | '.join(_cells(chip))} |" for chip in found)]


def _cells(chip: Chip) -> Iterator[str]:
    yield from (f"`{chip.name}`", chip.label, chip.has)
    if not chip.rows:
        yield from ("0", "", "", "no measured bandwidth was found", "")
        return
    worst, errors, free = (
        max(chip.rows, key=lambda row: abs(row.error)),
        chip.errors(),
        chip.errors(given=False),
    )
    yield from (str(len(errors)), f"{np.median(errors):.1%}", f"{np.quantile(errors, 0.9):.1%}")
    yield f"{worst.error:+.1%}: {worst.what}"
    yield f"{len(free)}, {np.median(free):.1%}, {np.quantile(free, 0.9):.1%}" if len(free) else "none"


if __name__ == "__main__":
    sys.exit(main())
