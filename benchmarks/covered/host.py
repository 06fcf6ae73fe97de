"""Graphs that run on this host beside intervals predicted from calibrations that saw less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import crosscheck
import numpy as np

import simsched as ss
from covered.group import Case, Group
from simsched.costs.fitting import CalibratedModel

#: Samples that give an interval of 95 %.
SAMPLES = 40
POLICIES = ("fifo", "critical-path")
#: How many graphs are calibrated on where others are to be predicted.
KNOWN = 4


def graphs() -> dict[str, ss.TaskGraph]:
    """Return small graphs by name; shapes of the last are in part those of the first."""
    return {
        "lstm": crosscheck.recurrent("lstm", 4, steps=6),
        "cnn": crosscheck.branches(3),
        "transformer": crosscheck.transformer(2),
        "layered0": crosscheck.layered(0),
        "gru": crosscheck.recurrent("gru", 3, steps=6),
        "layered1": crosscheck.layered(1),
        "chain": crosscheck.beside_a_chain(20, 20),
        "layered2": crosscheck.layered(2),
    }


def groups(repeats: int) -> Iterator[Group]:
    """Yield what one thread tells of two, and what graphs on both widths tell of other graphs.

    Parameters
    ----------
    repeats : int
        Runs of each case, and of each calibrating case.
    """
    every = graphs()
    known = list(every.values())[:KNOWN]
    one = ss.calibrate(list(every.values()), "host[cores=1]", repeats, widths=[1], pairs=0)
    both = ss.calibrate(known, "host[cores=2]", repeats, pairs=0)
    for costs, what in ((one, "one thread"), (both, "both widths")):
        facts = costs.calibration.facts
        print(f"  calibration on {what}: {facts['dropped']} of {facts['runs']} runs dropped as disturbed")
    new = {name: graph for place, (name, graph) in enumerate(every.items()) if place >= KNOWN}
    measured = {
        (name, policy, width): _measured_s(graph, policy, width, repeats)
        for name, graph in every.items()
        for policy in POLICIES
        for width in (1, 2)
    }
    for width, what in ((1, "two executors"), (2, "teams of two")):
        name = f"on this host: calibrated on one thread, {what}"
        yield _group(name, every, one, {key: s for key, s in measured.items() if key[2] == width})
    name = "on this host: calibrated on both widths, new graphs"
    yield _group(name, new, both, {key: s for key, s in measured.items() if key[0] in new})


def _measured_s(graph: ss.TaskGraph, policy: str, width: int, repeats: int) -> float:
    runs = ss.execute(graph, policy, f"{2 // width}x{width}", repeats=repeats)
    kept = [run.makespan_s for run, counts in zip(runs, runs.kept, strict=True) if counts]
    return float(np.median(kept or [run.makespan_s for run in runs]))


def _group(
    name: str,
    graphs: Mapping[str, ss.TaskGraph],
    costs: CalibratedModel,
    measured: Mapping[tuple[str, str, int], float],
) -> Group:
    assert costs.calibration is not None
    runtime, cases = costs.calibration.runtime(), []
    for (graph, policy, width), seconds in measured.items():
        (row,) = ss.predict(
            graphs[graph], "host", policy, [2], costs, runtime, width=width, samples=SAMPLES
        ).itertuples()
        what = f"{graph}, {policy}, {2 // width}x{width}"
        cases.append(Case(what, seconds, row.makespan_s, row.low_s, row.high_s))
    return Group(name, cases)
