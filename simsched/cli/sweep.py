"""The command `sweep`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simsched.cli.common import JsonOption, command, say, say_json, say_notes
from simsched.errors import SweepError
from simsched.notes import weighed
from simsched.progress import progress_bar
from simsched.text import counted

if TYPE_CHECKING:
    import pandas as pd

    from simsched.sweep import Sweep

#: Kinds of errors that are printed.
SHOWN = 5
#: Pairs of a graph and a machine whose notes are.
SHOWN_PAIRS = 20


@command("sweep sweep.toml --out results", "sweep sweep.toml --out rows --workers 1")
def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A TOML file with the values to combine.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The store: a new folder, or that of the same sweep to continue it.",
        ),
    ],
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="ADDRESS", help="Address of a Dask scheduler; default: this machine."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=1, help="Threads on this machine; default: one for each CPU."
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Replay all combinations that SPEC describes.

    Finished replays are safe in the store, whatever happens. SPEC has one key on each line, as in graphs = ["rnn"],
    machines = ["knl-7250"], policies = ["fifo", "critical-path"], layouts = ["8x8", "default"], seeds = 10.
    """
    from simsched.sweep.sweep_file import read_sweep

    described = read_sweep(spec)
    with ExitStack() as stack:
        client = None
        if cluster is not None:
            from simsched.sweep.cluster import connected

            client = stack.enter_context(connected(cluster))
        progress = stack.enter_context(progress_bar(len(described), "sweep", "points"))
        try:
            frame = described.run(out, client, workers=workers, progress=progress)
        except KeyboardInterrupt as error:
            raise typer.Abort from error  # else typer drops what the error says is kept
    facts = {**summary(frame, out), "notes": _notes_of_points(described, frame)}
    if json_:
        say_json(facts)
    else:
        say(_text(facts))
        say_notes(facts["notes"])
    if facts["failed"] == facts["points"]:
        raise SweepError(f"all points failed; {facts['results']} has why, in the column error")


def summary(frame: pd.DataFrame, store: Path) -> dict[str, Any]:
    """Return the outcome of a sweep: numbers of points and of errors, and the place of the rows."""
    errors = frame["error"].dropna().value_counts()
    return {
        "store": str(store),
        "results": str(store / "results.parquet"),
        "points": len(frame),
        "failed": int(errors.sum()),
        "errors": {str(error): int(count) for error, count in errors.items()},
        "replay_s": float(frame["replay_s"].sum()),
        "sweep_id": str(frame["sweep_id"].iloc[0]),
    }


def _notes_of_points(sweep: Sweep, frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the notes of the first point of each graph on each machine that did not fail, of the first 20 such pairs.

    Notes tell of graphs and of how their costs become those of a machine.
    """
    done = frame[frame["error"].isna()].drop_duplicates(["graph", "machine"]).head(SHOWN_PAIRS)
    schedules = [sweep.replay(int(point)) for point in done["point"]]
    return weighed(*(one.graph.report.notes for one in schedules), *(one.notes for one in schedules))


def _text(facts: dict[str, Any]) -> str:
    lines = [f"{counted(facts['points'], 'point')}, {facts['failed']} failed, in {facts['results']}"]
    shown = list(facts["errors"].items())
    lines += [f"  {count} x {error}" for error, count in shown[:SHOWN]]
    if len(shown) > SHOWN:
        lines.append(f"  and {len(shown) - SHOWN} other errors, in the column error")
    return "\n".join(lines)
