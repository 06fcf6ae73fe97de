"""Recorded runs in the intervals that `predict` gives from another recording of the same program and runtime."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from settings import Recorded, of_project, of_second_host

import simsched as ss
from covered.group import Case, Group, sigma_of
from simsched.learning.observed import signature

HOSTS: dict[str, Callable[[], Iterator[Recorded]]] = {"first": of_project, "second": of_second_host}
#: As many samples as quantiles of 95 % take.
SAMPLES = 39


def groups() -> Iterator[Group]:
    """Yield all recordings, each host's predicted from each other; and parts: by host, and more or fewer workers."""
    parts: dict[str, list[Case]] = defaultdict(list)
    for name, recordings in HOSTS.items():
        for known, held, case in _cases(list(recordings())):
            more = held.workers - known.workers
            which = "as many" if not more else "more" if more > 0 else "fewer"
            parts[f"{name} host: {which} workers"].append(case)
    yield Group("recordings, from each other", [case for cases in parts.values() for case in cases])
    for part, cases in sorted(parts.items()):
        yield Group(f"  recordings, {part}", cases, scored=False)


def sigmas() -> tuple[float, int]:
    """Return the standard deviation of the first host's runs on as many workers as known, and how many pairs tell."""
    pairs = _cases(list(of_project()), samples=1)
    logs = [
        np.log(case.measured / case.predicted)
        for known, held, case in pairs
        if known.workers == held.workers and known.policy == held.policy
    ]
    return sigma_of(np.array(logs)), len(logs)


def _cases(
    recordings: Sequence[Recorded], samples: int = SAMPLES
) -> Iterator[tuple[Recorded, Recorded, Case]]:
    """Yield what is known, what is held out, and this in its interval, for all pairs of a program and runtime."""
    alike: dict[object, list[Recorded]] = defaultdict(list)
    for one in recordings:
        alike[signature(one.graph), one.runtime].append(one)
    for members in alike.values():
        workers = sorted({one.workers for one in members})
        for known in members:
            found = ss.predict(known.graph, policy=known.policy, cores=workers, samples=samples)
            of = {row.cores: row for row in found.itertuples()}
            for held in members:
                if held is not known:
                    row, what = of[held.workers], f"{held.name}, from {known.name}"
                    yield known, held, Case(what, held.makespan_s, row.makespan_s, row.low_s, row.high_s)
