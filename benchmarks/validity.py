"""Write docs/validity.md: every claim of accuracy in one table.

    python benchmarks/validity.py [--shared PATH]

Runs the cross-check on this host, once from a calibration and once from what `measure` finds, replays the recorded
runs, models the measured tables, reproduces the papers, proves optima of small graphs, and compares the engines: some
twenty minutes on a machine that does nothing else. Bad results stay in the table. Why the worst case of a claim is
what it is stands in validity/reasons.toml, together with the case it was found for; where another case is now the
worst, the table says that nobody has looked into it.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
import tomllib
from pathlib import Path

from measure import where
from tqdm.auto import tqdm
from validity import sources
from validity.claim import Agreement, Claim

import simsched as ss

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/validity.md"
SHARED = HERE.parents[1] / "shared"
BEGIN, END = "<!-- made by benchmarks/validity.py -->", "<!-- as far as here -->"
HEADINGS = (
    (
        "claim", "label", "cases", "median", "90 %", "worst", "`simulate` by default: median, 90 %", "which, and why",
        "command",
    ),
    ("statement", "agree", "command"),
)  # fmt: skip


def found(shared: Path) -> tuple[list[Claim], list[Agreement]]:
    """Return all claims and agreements."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(shared / "samples/stg/stg_50_100.tar.gz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # of Python 3.11.4
            archive.extractall(folder)  # noqa: S202 - our own file
        stg = Path(folder)
        (stg / "optima.csv").write_bytes((shared / "samples/stg/optima.csv").read_bytes())
        makers = (
            sources.host, sources.measured_host, lambda: sources.runs(shared / "samples"),
            lambda: sources.tables(shared / "measurements"), sources.papers, lambda: sources.optima(stg),
            sources.engines,
        )  # fmt: skip
        parts = [make() for make in tqdm(makers, disable=None)]
    return [claim for claims, _ in parts for claim in claims], [one for _, agreed in parts for one in agreed]


def text(claims: list[Claim], agreements: list[Agreement]) -> str:
    """Return what stands between the marks of the page."""
    reasons = tomllib.loads((HERE / "validity/reasons.toml").read_text("utf-8"))
    rows = ([claim.row(reasons) for claim in claims], [agreement.row() for agreement in agreements])
    lines = [BEGIN, f"simsched {ss.__version__} on {where()}.", ""]
    for titles, body in zip(HEADINGS, rows, strict=True):
        lines += [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}", *body, ""]
    return "\n".join([*lines, END])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--shared",
        type=Path,
        default=SHARED,
        help="folder of samples and measured tables, which are not ours",
    )
    made = text(*found(parser.parse_args().shared))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + made + rest.partition(END)[2], "utf-8")
    print(made)


if __name__ == "__main__":
    main()
