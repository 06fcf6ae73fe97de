"""Foreign files in stores: none may be taken for the sweep's own, block, fill the memory or end in a traceback.

    python benchmarks/attack/foreign.py [--bars]

Each place of a store is taken by what does not belong there, one after another: bytes that are no text, numbers of
5,000 digits, 100,000 brackets, gigabytes of zeros, pipes, devices, folders, links, Parquet of another program, of
another sweep, with points or rows that the sweep does not have, and texts that are stored once and repeated for
each row. `results` and `run` must then return the rows as they were, or raise an error of simsched.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from verdict import Attempt, Bar, attempts, verdict

import simsched as ss
from simsched.errors import SimschedError
from simsched.sweep import results
from simsched.sweep.rows import KEY, write_rows

POINTS = 300
PLACES = (
    "sweep.json", "begun", "lock", "results.parquet", "parts/000000.parquet", "parts/999999999.parquet", "graphs",
    "machines", "parts",
)  # fmt: skip
#: Goals of a case.
MOST_S, MOST_B = 10.0, 1e9


def sweep_of(points: int = POINTS) -> ss.Sweep:
    """Return the sweep that is attacked, or another one."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)])
    return ss.Sweep([graph], ["generic[cores=4]"], ["fifo[order=random]"], seeds=range(points))


def _raw(content: bytes) -> Callable[[Path, str], None]:
    return lambda file, owner: _unit(file.write_bytes(content))


def _unit(ignored: object) -> None:
    return None


def _zeros(file: Path, owner: str) -> None:
    with file.open("wb") as opened:
        opened.truncate(5_000_000_000)


def _link(target: str) -> Callable[[Path, str], None]:
    return lambda file, owner: file.symlink_to(target)


def _sealed(table: Callable[[str], pa.Table]) -> Callable[[Path, str], None]:
    return lambda file, owner: write_rows(file, table(owner), owner)


def _forged(file: Path, owner: str, **columns: object) -> None:
    """Write rows with a seal that states the owner, and no digest that fits."""
    seal = {KEY: json.dumps({"sweep_id": owner, "rows": POINTS, "columns": {}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(seal), file)


def _rows_without_end(file: Path, owner: str) -> None:
    _forged(file, owner, point=pa.array([0]).take(pa.array([0] * 3_000_000)))


def _long_names(file: Path, owner: str) -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0] * POINTS, pa.int32()), pa.array(["n" * 4_000_000]))
    _forged(file, owner, point=list(range(POINTS)), sweep_id=[owner] * POINTS, graph=names)


def _another_sweep(file: Path, owner: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sweep_of(30).run(folder, workers=1)
        shutil.copy(Path(folder) / "results.parquet", file)


INTRUDERS: dict[str, Callable[[Path, str], None]] = {
    "nothing": _raw(b""),
    "no UTF-8": _raw(b"\xff\xfe\x00" * 1000),
    "another alphabet's digits": _raw("+²,٣\n".encode()),
    "5,000 digits": _raw(b"9" * 5000 + b"\n"),
    "5,000 digits as a point": _raw(b"+" + b"9" * 5000 + b"\n"),
    "a point beyond the sweep": _raw(f"+{POINTS}\n".encode()),
    "100,000 brackets": _raw(b"[" * 100_000),
    "a list of lists of 10 MB": _raw(b"[" + b"[]," * 3_300_000 + b"[]]"),
    "5 GB of zeros": _zeros,
    "a pipe": lambda file, owner: os.mkfifo(file),
    "a link to nowhere": _link("nowhere"),
    "a link to itself": lambda file, owner: file.symlink_to(file.name),
    "a link to /dev/zero": _link("/dev/zero"),
    "a link to /dev/full": _link("/dev/full"),
    "a folder": lambda file, owner: file.mkdir(),
    "a magic number": _raw(b"PAR1" * 1000),
    "another program's Parquet": lambda file, owner: pq.write_table(pa.table({"point": [0]}), file),
    "another sweep's rows": _another_sweep,
    "3 million rows": _rows_without_end,
    "a name of 4 MB in each row": _long_names,
    "a point beyond it, sealed": _sealed(lambda owner: pa.table({"point": [POINTS], "sweep_id": [owner]})),
    "a negative point, sealed": _sealed(lambda owner: pa.table({"point": [-1], "sweep_id": [owner]})),
    "rows of another, sealed": _sealed(lambda owner: pa.table({"point": [0], "sweep_id": ["x"]})),
    "no points, sealed": _sealed(lambda owner: pa.table({"sweep_id": [owner]})),
}


class Case(NamedTuple):
    """What takes which place, and what is called then."""

    place: str
    intruder: str
    call: str

    def __str__(self) -> str:
        return f"{self.place}: {self.intruder}: {self.call}"


class Intrusion:
    """Puts an intruder into a copy of a store, and calls.

    Parameters
    ----------
    store : Path
        A finished one.
    rows : DataFrame
        Its rows.
    """

    def __init__(self, store: Path, rows: pd.DataFrame) -> None:
        self._store, self._rows, self._sweep = store, rows, sweep_of()

    def __call__(self, case: Case) -> Attempt:
        """Return "same", "refused", "changed" or "escaped", with seconds and bytes."""
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            shutil.copytree(self._store, store)
            self._intrude(store / case.place, case.intruder)
            begin = time.process_time()
            outcome, said = self._called(case.call, store)
            passed_s = time.process_time() - begin
        return Attempt(str(case), outcome, f"{passed_s:.6f} {said}")

    def _intrude(self, place: Path, intruder: str) -> None:
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        INTRUDERS[intruder](place, str(self._rows["sweep_id"][0]))

    def _called(self, call: str, store: Path) -> tuple[str, str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found = results(store) if call == "results" else self._sweep.run(store, workers=1)
        except SimschedError as error:
            return "refused", str(error)
        except Exception as error:  # whatever escapes is a verdict
            return "escaped", f"{type(error).__name__}: {error}"
        drop = ["replay_s"]
        # Where the file of all rows is gone, none are there, or run() makes them again.
        same = not len(found) or found.drop(columns=drop).equals(self._rows.drop(columns=drop))
        return ("same" if same else "changed"), ""


def alone(attempt: Intrusion) -> Callable[[Case], Attempt]:
    """Return the attempt, made in a further process whose largest memory is known."""

    def made(case: Case) -> Attempt:
        before_B = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (found,) = attempts([case], attempt, 110)
        peak_B = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        return found._replace(said=f"{max(peak_B - before_B, 0)} {found.said or '0 '}")

    return made


def main() -> list[Bar]:
    """Print what became of the cases by intruder; return the goals."""
    cases = [Case(*each) for each in product(PLACES, INTRUDERS, ("results", "run"))]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        rows = sweep_of().run(store)
        # A process of its own for each case, started by one that has seen no other.
        found = [one for case in cases for one in attempts([case], alone(Intrusion(store, rows)), 120)]
    counts = Counter((attempt.what.split(": ")[1], attempt.outcome) for attempt in found)
    for (intruder, outcome), count in sorted(counts.items()):
        print(f"{intruder:<32} {outcome:<8} {count:>4}")
    figures = [attempt.said.split(" ", 2) for attempt in found]
    slowest = max(range(len(found)), key=lambda i: float(figures[i][1]))
    largest = max(range(len(found)), key=lambda i: float(figures[i][0]))
    print(f"slowest: {found[slowest].what}, {float(figures[slowest][1]):.2f} s of CPU time")
    print(f"largest: {found[largest].what}, {float(figures[largest][0]) / 1e6:.0f} MB")
    for attempt in found:
        if attempt.outcome not in ("same", "refused"):
            print(f"  {attempt.outcome}: {attempt.what}: {attempt.said[:300]}")
    totals = Counter(attempt.outcome for attempt in found)
    return [
        Bar("cases", len(found), len(cases), True),
        Bar("foreign rows taken for the sweep's own", totals["changed"], 0, False),
        Bar("errors that are not simsched's", totals["escaped"], 0, False),
        Bar("cases that ended or blocked the process", totals["died"] + totals["hung"], 0, False),
        Bar("CPU seconds of the slowest case", float(figures[slowest][1]), MOST_S, False),
        Bar(
            "bytes of memory of the largest case beyond those before it",
            float(figures[largest][0]),
            MOST_B,
            False,
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    verdict(main(), arguments.bars)
