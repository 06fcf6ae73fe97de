"""How many measured values lie in the 95 % intervals predicted for them: python benchmarks/coverage.py [--bars].

Four sources. *By shape*: each row of the measured tables in an interval around its model, fitted again without the
row's group of shapes where `measured.py --leave-out` does so, as long as the errors of the other groups tell. *By
default*: DeepBench's ops in the intervals that `predict` samples, machine and costs together, of the library that
DeepBench measured. *On this host*: makespans on two threads, predicted from a calibration on one, and of graphs that a
calibration on both widths has not seen. *Recordings*: the project's own of two hosts, each predicted from every other
of its program and runtime.

Every group shall hold 90 to 99 % (all, where it has fewer than a hundred values); the median width of its intervals,
over the prediction, stands beside: without it, a share says nothing. --sigmas prints what belongs into
simsched/costs/discrepancies.toml: of ops by default, standard deviations of errors and of samples, which shall be
alike. On a disturbed host the last source says little: it prints the share of calibrating runs that were dropped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from covered import default, host, recordings, tables
from covered.group import LEAST, MOST, Group

SHARED = Path(__file__).resolve().parents[2] / "shared" / "measurements"
OF_TABLES = {"tables", "default"}
SOURCES = ("tables", "default", "host", "recordings")


def main() -> int:
    """Print every group, and return 1 where one misses the bar and bars are asked for."""
    options = _options()
    if not options.shared.is_dir() and OF_TABLES & set(options.only):
        print(
            f"{options.shared} is no folder; name the one of the measured tables: --shared PATH",
            file=sys.stderr,
        )
        return 2
    if options.sigmas:
        for family, regime, sigma, rows in tables.sigmas(options.shared):
            print(f'modelled: family = "{family}"  regime = "{regime}"  sigma = {sigma:.3f}  ({rows} rows)')
        for name, errors, samples, ops in default.sigmas(options.shared):
            print(f"{name}: errors {errors:.3f}, samples {samples:.3f}  ({ops} ops)")
        print("recorded: common = {:.3f}  ({} pairs)".format(*recordings.sigmas()))
        return 0
    print(f"{'group':68s} {'values':>6s} {'held':>6s} {'median width':>12s}")
    missed = 0
    for group in _groups(options):
        verdict = "" if group.passes or not group.scored else "  MISSED"
        missed += bool(verdict)
        print(
            f"{group.name:68s} {len(group.cases):6d} {group.held:6.1%} {group.width:12.0%}{verdict}",
            flush=True,
        )
        for case in group.cases if options.rows else ():
            mark = " " if case.inside else "*"
            print(f"  {mark} {case.measured:11.4g} in {case.low:11.4g} .. {case.high:11.4g}  {case.name}")
    print(f"bar: {LEAST:.0%} to {MOST:.0%} held in each group: {f'{missed} missed' if missed else 'met'}")
    return int(bool(missed) and options.bars)


def _groups(options: argparse.Namespace) -> Iterator[Group]:
    if "tables" in options.only:
        yield from tables.groups(options.shared)
    if "default" in options.only:
        yield from default.groups(options.shared)
    if "host" in options.only:
        yield from host.groups(options.repeats)
    if "recordings" in options.only:
        yield from recordings.groups()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with the measured tables")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=SOURCES, help="sources; by default all")
    parser.add_argument("--repeats", type=int, default=10, help="runs of each case on this host")
    parser.add_argument("--rows", action="store_true", help="print every value; * marks those outside")
    parser.add_argument(
        "--sigmas", action="store_true", help="print the standard deviations that the tables tell"
    )
    parser.add_argument("--bars", action="store_true", help="fail where a group misses the bar")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
