"""The sources of claims: this host, recorded runs, measured tables, papers, proven optima, the other engine."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import crosscheck
import equivalence
import measure_host
import optimum
import pandas as pd
import recorded
from measured import bandwidth, dma, kernels, streams
from measured.table import Table
from recordings import recordings

import simsched as ss
from simsched.plugins import registered
from simsched.reproduce.rows import RATIO, TIMES, Row
from simsched.reproduce.summary import COMPARED
from validity.claim import Agreement, Claim, Found

#: Policies whose distance from the optimum is shown, and seconds for each search.
SHOWN = ("critical-path", "wavefront", "fifo")
LIMIT_S = 20.0
KINDS = {"ratios and shares": (RATIO,), "times": TIMES}
HELD_OUT = {
    "held out": "their span, with what a start costs from other recordings alike",
    "held out, interrupted": "the same, with the interruptions of the recording host put back",
}


def host() -> Found:
    """Return simulated beside executed graphs on this host; calibration alone is given."""
    check, source = ss.crosscheck(crosscheck.graphs()), "`benchmarks/crosscheck.py`"
    cases = {f"{row.graph}, {row.policy}, {row.layout}": row.error for row in check.table.itertuples()}
    numbers, pairs = check.summary(), check.rankings
    beyond = int(pairs["differ"].sum())
    return [Claim(source, "executed here: makespan of a graph on 1 and 2 cores", cases)], [
        Agreement(source, "executed here: rankings of policies and layouts beyond the spread",
                  round(numbers["rankings_agree"] * beyond), beyond)
    ]  # fmt: skip


def measured_host() -> Found:
    """Return simulated beside executed graphs on this host; probes of a few operators alone are given."""
    check = ss.crosscheck(measure_host.unrecorded(), repeats=10, measured=ss.measure())
    cases = {f"{row.graph}, {row.policy}, {row.layout}": row.error for row in check.table.itertuples()}
    what = "measured by `measure` alone, executed here: makespan of a graph on 1 and 2 cores"
    return [Claim("`benchmarks/measure_host.py`", what, cases)], []


def runs(folder: Path) -> Found:
    """Return recorded runs beside their replays; what a recording tells of itself alone predicts nothing."""
    every, source = list(recordings(folder)), "`benchmarks/recorded.py`"
    table = pd.DataFrame([recorded.row(one, every) for one in every]).set_index("recording")
    return [
        Claim(source, f"recorded runs of TensorFlow, ONNX Runtime, StarPU, Nanos++, PyTorch: {what}",
              table[column].dropna().to_dict())
        for column, what in HELD_OUT.items() if column in table
    ], []  # fmt: skip


def tables(folder: Path) -> Found:
    """Return measurements by others beside the machine files and the kernel model."""
    makers = [*streams.MAKERS, *bandwidth.MAKERS, *kernels.MAKERS, *dma.MAKERS]
    return [
        Claim("`benchmarks/measured.py`", f"measured elsewhere: {table.name}", _by_row(table), table.default_errors)
        for make in makers for table in make(folder)
    ], []  # fmt: skip


def _by_row(table: Table) -> dict[str, float]:
    """Return the errors of a table by row; of rows that are named alike, later ones are numbered."""
    errors: dict[str, float] = {}
    for row, error in zip(table.rows["row"], table.rows["error"], strict=True):
        again = sum(name == row or name.startswith(f"{row} (") for name in errors)
        errors[f"{row} ({again + 1})" if again else row] = error
    return errors


def papers() -> Found:
    """Return published numbers beside their reproductions, those apart that were in view when a choice was made."""
    claims, agreements = [], []
    for name in sorted(registered("reproductions")):
        made, source = ss.reproduce(name), f"`simsched reproduce {name}`"
        numbers = made.summary()
        for (use, prefix), said in zip(
            COMPARED, (f"published, {name}", f"published and seen, {name}"), strict=True
        ):
            compared = [row for row in made.rows if row.use == use and row.paper is not None]
            for kind, units in KINDS.items():
                errors = _by_case(row for row in compared if row.unit in units)
                if errors:
                    claims.append(Claim(source, f"{said}: {kind}", errors))
            counts = {what: f"{prefix}{what}" for what in ("signs", "orderings", "claims")}
            agreements += [
                Agreement(source, f"{said}: {what}", int(numbers[f"{count}_agree"]), int(numbers[count]))
                for what, count in counts.items()
                if numbers[count]
            ]
    return claims, agreements


def _by_case(rows: Iterable[Row]) -> dict[str, float]:
    return {
        f"{row.table}, {', '.join(map(str, row.case.values()))}, {row.quantity}": row.relative_error
        for row in rows
        if row.relative_error is not None
    }


def optima(folder: Path) -> Found:
    """Return how far policies are above the optima that CP-SAT proves of the STG set: no error, but a distance."""
    cases, source = list(optimum.cases(folder, "50")), "`benchmarks/optimum.py`"
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(optimum.solved, cases, [LIMIT_S] * len(cases)))
    closed = [one for one in results if one.closed]
    claims = [
        Claim(source, f"proven optimum (STG, 50 tasks): makespan under `{policy}`",
              {f"{one.case.name} on {one.case.cores}": one.makespans_s[i] / one.optimum_s - 1 for one in closed})
        for i, policy in enumerate(optimum.POLICIES) if policy in SHOWN
    ]  # fmt: skip
    above = sum(makespan_s >= one.bound_s * (1 - 1e-9) for one in results for makespan_s in one.makespans_s)
    return claims, [
        Agreement(source, "proven optimum (STG, 50 tasks): no policy is below what is proven",
                  above, len(results) * len(optimum.POLICIES)),
        Agreement(source, "published optima (STG, 50 tasks): as proven, where CP-SAT closes; others are too low",
                  sum(one.optimum_s == one.case.published for one in closed), len(closed)),
    ]  # fmt: skip


def engines(seeds: int = 2, examples: int = 500) -> Found:
    """Return the native beside the SimPy engine on random cases: schedules that are the same to the bit."""
    found = [equivalence.check(seed, examples) for seed in range(seeds)]
    cases, same = (
        sum(cases for _, cases, _, _ in found),
        sum(cases for _, cases, _, said in found if not said),
    )
    return [], [
        Agreement("`benchmarks/equivalence.py`", "both engines: the same schedule to the bit", same, cases)
    ]
