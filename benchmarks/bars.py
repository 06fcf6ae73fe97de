"""The project's goals for its compiled engine, checked against measurements of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from growth import Table
from measure import Spread

MOST = 1_000_000
EDGES_A_TASK = 3

Runs = list[dict[str, float]]
Race = dict[int, dict[str, Runs]]


class Bar(NamedTuple):
    """A goal: what is compared, the figure, the limit, and whether more is better."""

    what: str
    figure: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the figure keeps the limit."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit


def check(race: Race, sharing: Race, growth: dict[str, Table]) -> bool:
    """Print a line a goal; return whether all are met."""
    print()
    met = True
    against = {
        "bare C++ loop": 0.5,
        "SimGrid C++": 4.0,
        "SimGrid Python": 70.0,
        "SimGrid Python, sleeps": 70.0,
    }
    for bar in [
        *against_others(race, against),
        *against_others(sharing, {"SimGrid C++": 8.0}, "sharing"),
        *beside_bare(race.get(MOST, {}), growth),
        *own(race.get(MOST, {})),
        *growing(growth),
    ]:
        side = "at least" if bar.at_least else "at most"
        print(f"{'pass' if bar.met else 'FAIL'}  {bar.what:<80} {bar.figure:>8.2f}, {side} {bar.limit:g}")
        met &= bar.met
    return met


def ratio(runs: dict[str, Runs], slower: str, faster: str) -> float:
    """Return the median over the rounds of one contender's seconds over another's in the same round."""
    pairs = zip(runs[slower], runs[faster], strict=True)
    return Spread([one["engine_s"] / other["engine_s"] for one, other in pairs]).median


def against_others(race: Race, limits: dict[str, float], how: str = "sharing off") -> Iterator[Bar]:
    """Compare with the other contenders, on the largest graph that they were given."""
    for other, limit in limits.items():
        sizes = [n for n, runs in race.items() if other in runs]
        if sizes:
            n = max(sizes)
            what = f"tasks/s of simsched native over those of {other}, {n} tasks, {how}"
            yield Bar(what, ratio(race[n], other, "simsched native"), limit, True)


def beside_bare(runs: dict[str, Runs], growth: dict[str, Table]) -> Iterator[Bar]:
    """Compare the engine where running tasks share something with the bare loop, where they share nothing."""
    for bare in (runs["bare C++ loop"],) if "bare C++ loop" in runs else ():
        bare_s = Spread([run["engine_s"] for run in bare]).median / MOST
        for variant, column in growth["tasks"].items():
            if variant != "sharing off":
                figure = bare_s / Spread(column[MOST]).median
                limit = 0.2 if variant == "everything" else 0.25
                yield Bar(
                    f"tasks/s over those of the bare loop, {MOST} tasks, {variant}", figure, limit, True
                )


def own(runs: dict[str, Runs]) -> Iterator[Bar]:
    """Compare simsched's call, table and memory with its engine and with the graph, at a million tasks."""
    for engine in (runs["simsched native"],) if runs else ():
        for key, what in (("call_s", "simulate()"), ("table_s", "simulate() and the table of tasks")):
            figure = Spread([run[key] / run["engine_s"] for run in engine]).median
            yield Bar(f"{what} over the engine's own time, {MOST} tasks", figure, 2.0, False)
        most_B = 100 * MOST + 12 * EDGES_A_TASK * MOST
        for key, what in (("peak_B", "simulate()"), ("table_peak_B", "simulate() and the table of tasks")):
            figure = Spread([run[key] for run in engine]).median / most_B
            yield Bar(f"memory of {what} over 100 bytes a task and 12 an edge", figure, 1.0, False)


def growing(growth: dict[str, Table]) -> Iterator[Bar]:
    """Compare large with small."""
    for variant, column in growth["tasks"].items():
        figure = Spread(column[10_000]).median / Spread(column[MOST]).median
        yield Bar(f"tasks/s at {MOST} tasks over those at 10000, {variant}", figure, 0.7, True)
    # Where all rates change at every event, that costs as much as tasks run.
    column = growth["workers"]["sharing off"]
    figure = Spread(column[1_024]).median / Spread(column[64]).median
    yield Bar("cost a task with 1024 workers over that with 64, sharing off", figure, 1.5, False)
    for workers, limit in ((1_024, 500_000), (4_096, 100_000)):
        figure = 1 / Spread(growth["workers"]["everything"][workers]).median
        yield Bar(f"tasks/s with {workers} workers, everything", figure, limit, True)
    for mode, column in growth["data"].items():
        for size_B in (10**6, 10**9):
            figure = Spread(column[0]).median / Spread(column[size_B]).median
            what = (
                f"tasks/s with {size_B} bytes an edge, {mode}, over those with everything shared and no bytes"
            )
            yield Bar(what, figure, 1 / 3, True)
    for graph, column in growth["threads"].items():
        figure = Spread([one / two for one, two in zip(column[1], column[2], strict=True)]).median
        yield Bar(f"tasks/s of two threads over those of one, {graph}", figure, 1.5, True)
