"""Measured tables beside what the machine files and the kernel model say of them.

    python benchmarks/measured.py [--shared PATH] [--rows] [--leave-out] [--csv OUT] [--picture OUT]

The tables are the measurements of others, which this repository does not hold: by default they are looked for in
`shared/measurements` beside the repository. Every number comes from a machine file or from
simsched/costs/kernels/kernels.toml;
what a table gives the model beyond that is said under its heading. --leave-out fits the parameters again without a
third of the rows and says how well these are met. Ends with the bars, for what `simulate` gives by default, too, and
fails where one is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd
from measured import bandwidth, dma, kernels, streams
from measured.checks import checks
from measured.leave_out import left_out
from measured.picture import draw
from measured.table import DEFAULT_BARS, Table

REPOSITORY = Path(__file__).resolve().parent.parent
SHOWN = 5


def main() -> int:
    """Print every table, and return 1 where a bar is missed."""
    options = _options()
    folder = options.shared
    if not folder.is_dir():
        print(
            f"{folder} is not a folder; name the one with the measured tables: --shared PATH", file=sys.stderr
        )
        return 2
    makers = [*streams.MAKERS, *bandwidth.MAKERS, *kernels.MAKERS, *dma.MAKERS]
    tables = [table for make in makers for table in make(folder)]
    for table in tables:
        _show(table, None if options.rows else SHOWN)
    if options.leave_out:
        print(
            "\nParameters fitted without a third of the rows, error on that third (median, 90th percentile)"
        )
        for name, median, high in left_out(folder):
            print(f"  {name:60s} {median:7.1%} {high:7.1%}")
    if options.csv:
        pd.concat([table.rows.assign(table=table.name, unit=table.unit) for table in tables]).to_csv(
            options.csv, index=False
        )
    draw(tables, options.picture)
    print(f"\nPicture: {options.picture}")
    return 0 if _bars(tables) else 1


def _show(table: Table, shown: int | None) -> None:
    print(f"\n{table.name}: {len(table.rows)} rows" + (f" ({table.note})" if table.note else ""))
    print(
        f"  {'measured':>11s} {'modelled':>11s} {'error':>7s}  row"
        + ("" if shown is None else " (worst first)")
    )
    rows = table.rows if shown is None else table.worst.head(shown)
    for row in rows.itertuples():
        print(f"  {row.measured:11.4g} {row.modelled:11.4g} {row.error:+7.1%}  {row.row}")
    print(f"  absolute error: median {table.median:.1%}, 90th percentile {table.quantile(0.9):.1%}")


def _bars(tables: list[Table]) -> bool:
    print(
        f"\n{'table':65s} {'rows':>5s} {'median':>7s} {'90 %':>7s} {'bar':>5s}  by default (bars {_bars_of_default()})"
    )
    for table in tables:
        verdict = "" if _holds(table) else "  MISSED"
        errors = f"{table.median:7.1%} {table.quantile(0.9):7.1%} {table.bar:5.0%}"
        default = "".join(f" {error:7.1%}" for error in table.by_default)
        print(f"{table.name:65s} {len(table.rows):5d} {errors}{default}{verdict}")
    published = checks()
    print("\nOps inside a framework (Graphi, Sec. 3.2)")
    for check in published:
        print(
            f"  {check.what}: {check.modelled}; published: {check.published}{'' if check.holds else '  MISSED'}"
        )
    return all(map(_holds, tables)) and all(check.holds for check in published)


def _holds(table: Table) -> bool:
    within = [error <= bar for error, bar in zip(table.by_default, DEFAULT_BARS, strict=False)]
    return table.median <= table.bar and all(within)


def _bars_of_default() -> str:
    return ", ".join(f"{bar:.0%}" for bar in DEFAULT_BARS)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = REPOSITORY.parent / "shared" / "measurements"
    parser.add_argument("--shared", type=Path, default=shared, help="folder with the measured tables")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--leave-out", action="store_true", help="fit again without a third of the rows")
    parser.add_argument("--csv", type=Path, help="write every row to this file")
    parser.add_argument("--picture", type=Path, default=REPOSITORY / "out" / "measured.png")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
