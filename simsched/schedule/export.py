"""Files of a schedule, chosen by suffix: tables, Chrome traces, pictures, pages; and a folder of them for several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import SimschedError, require
from simsched.files import replacing, write_text
from simsched.graph.columns import plain_text
from simsched.graph.saving import writers
from simsched.later import later
from simsched.version import version

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.schedule.schedule import Schedule

Writer = Callable[["Schedule", Path], None]


def export(schedule: Schedule, path: Path) -> None:
    """Write a schedule by the suffix of `path`.

    =====================  ==========================================================
    .parquet, .csv         one row per task; Parquet keeps `description` in its metadata, and no aborted runs
    .png, .svg, .pdf       Gantt chart
    .html                  one page that needs nothing else: numbers, Gantt chart, notes
    .json, .json.gz, ...   formats registered under `simsched.writers`: Chrome traces
    =====================  ==========================================================

    The file appears when it is complete; one that was there is then replaced.

    Raises
    ------
    SimschedError
        If the suffix is none of these, or the file cannot be written.
    MissingExtraError
        If the suffix needs a library that is not installed.
    """
    _writers()[check_suffix(path)](schedule, path)


def check_suffix(path: Path) -> str:
    """Return the suffix of `path`, which selects the format.

    Raises
    ------
    SimschedError
        If there is none.
    """
    name, known = path.name.lower(), _writers()
    fitting = [suffix for suffix in known if name.endswith(suffix)]
    if not fitting:
        raise SimschedError(f"{path}: what to write is chosen by suffix, one of {', '.join(known)}")
    return max(fitting, key=len)


def _writers() -> dict[str, Writer]:
    registered = {suffix: one.write for _, one in writers("schedule") for suffix in one.suffixes}
    return registered | WRITERS


def description(schedule: Schedule) -> dict[str, Any]:
    """Return the origin of a schedule, for the metadata of a file: plain JSON values."""
    aborted = {"aborted_runs": len(schedule.lost)} if len(schedule.lost) else {}
    return {
        "graph": schedule.graph.name,
        "machine": schedule.machine.spec if schedule.machine else None,
        "policy": schedule.policy,
        "layout": schedule.layout,
        "engine": schedule.engine,
        "seed": int(schedule.seed),
        "makespan_s": schedule.makespan_s,
        **aborted,
        "notes": list(schedule.notes),
        "simsched": version(),
    }


def _table(schedule: Schedule) -> pd.DataFrame:
    """Return the table of tasks, its texts valid in UTF-8."""
    frame = schedule.tasks
    kinds = [plain_text(label) for label in frame["kind"].cat.categories]
    if kinds != list(frame["kind"].cat.categories):
        frame["kind"] = [kinds[code] for code in frame["kind"].cat.codes]
    frame.attrs = {"simsched": description(schedule)}
    return frame


def _write_parquet(schedule: Schedule, path: Path) -> None:
    require("pyarrow", "formats", "writing Parquet")
    with replacing(path) as file:
        _table(schedule).to_parquet(file, engine="pyarrow", index=False)


def _write_csv(schedule: Schedule, path: Path) -> None:
    with replacing(path) as file:
        _table(schedule).to_csv(file, index=False, lineterminator="\n")


def _write_picture(schedule: Schedule, path: Path) -> None:
    with replacing(path) as file:
        later("plots").write_picture(schedule, file, path.suffix[1:].lower())


def _write_page(schedule: Schedule, path: Path) -> None:
    write_text(path, later("plots").page(schedule))


WRITERS: dict[str, Writer] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".png": _write_picture,
    ".svg": _write_picture,
    ".pdf": _write_picture,
    ".html": _write_page,
}


#: Most characters of a file name without its ending: file systems take 255 bytes, too many to read.
MOST_CHARACTERS = 80
#: Endings of files that who gives a folder such a name expects.
FILES = {".png", ".svg", ".pdf", ".html", ".md", ".csv", ".parquet", ".json"}


def write_gallery(folder: Path, schedules: Sequence[Schedule], frame: pd.DataFrame) -> Iterator[Path]:
    """Write the comparison of some schedules to a folder, created if missing; yield each path written.

    Parameters
    ----------
    folder : Path
    schedules : sequence of Schedule
    frame : DataFrame
        Their table, as `simsched.compare` returns it.

    Raises
    ------
    SimschedError
        If the folder cannot be made.
    """
    make_folder(folder)
    table = folder / "comparison.csv"
    with replacing(table) as file:
        frame.to_csv(file, index=False)
    yield table
    yield from write_figures(folder, {"comparison": partial(later("plots").comparison, frame)}, (7.0, 4.0))
    taken: set[str] = set()
    for schedule in schedules:
        stem = file_stem(schedule.policy, taken)
        for path in (folder / f"{stem}.png", folder / f"{stem}.trace.json.gz"):
            schedule.save(path)
            yield path


def file_stem(policy: str, taken: set[str]) -> str:
    """Return a file name that no other policy has."""
    plain = re.sub(r"[^A-Za-z0-9=.,-]+", "_", policy).strip("_")[:MOST_CHARACTERS] or "policy"
    stem = plain
    number = 2
    while stem in taken:
        stem, number = f"{plain}-{number}", number + 1
    taken.add(stem)
    return stem


def write_figures(
    folder: Path, drawings: Mapping[str, Callable[[Axes], object]], size: tuple[float, float]
) -> Iterator[Path]:
    """Write drawings to a folder as PNG, by their names, in inches; yield each path written."""
    taken: set[str] = set()
    for name, draw in drawings.items():
        path = folder / f"{file_stem(name, taken)}.png"
        later("plots").save_figure(path, draw, size)
        yield path


def make_folder(folder: Path) -> None:
    """Create a folder if it is missing.

    Raises
    ------
    SimschedError
        If it cannot be made, or has the name of a file.
    """
    if folder.suffix.lower() in FILES and not folder.is_dir():
        raise SimschedError(
            f"{folder}: what is written is a folder of files; give its name, as in {folder.stem}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimschedError(f"{folder}: {error.strerror or error}") from None
