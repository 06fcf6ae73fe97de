"""How well recordings predict each other: each setting of real recordings, predicted from all others of its host.

    python benchmarks/learned.py [--bars]

Two sets: ../shared/samples, where it is there, of a host that did other things meanwhile, and the project's own
recordings, of one that let nothing interrupt them. For both, errors by runtime, the share of intervals that hold what
was recorded, and the ranking of policies: pairs of schedulers on as many workers of a program, each predicted without
both. The bars, over all settings of both: a median error of 8 %, 20 % at the 90th percentile, no ranking wrong where
recordings differ by more than their scatter. docs/learning.md explains the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from math import log, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
from settings import SAMPLES, Recorded, of_project, of_samples

import simsched as ss

MEDIAN, TAIL = 0.08, 0.20
#: A normal distribution's standard deviation over its median absolute deviation.
TO_SIGMA = 1.4826
#: Difference of two settings beyond their scatter, in standard errors.
CLEAR = 2.0


def predicted(recordings: Sequence[Recorded]) -> pd.DataFrame:
    """Return `Learned.validate`'s table of some recordings, with the name and runtime of each setting."""
    names = [one.name for one in recordings]
    learned = ss.learn([one.graph for one in recordings])
    found = learned.validate([one.policy for one in recordings], repeats=names)
    runtimes = {one.name: one.runtime for one in recordings}
    found.insert(0, "setting", list(dict.fromkeys(names)))
    return pd.DataFrame(found).assign(runtime=[runtimes[name] for name in found["setting"]])


def by_runtime(found: pd.DataFrame) -> pd.DataFrame:
    """Return errors and the share within intervals by runtime, and of all."""
    rows = []
    for name, part in [*found.groupby("runtime", sort=False), ("all", found)]:
        errors, apart = part["error"].abs(), part["undisturbed_error"].abs()
        rows.append({
            "runtime": name, "settings": len(part), "median": errors.median(), "p90": errors.quantile(0.9),
            "bias": part["error"].median(), "undisturbed": apart.median(), "undisturbed p90": apart.quantile(0.9),
            "within": part["within"].mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def ranked(recordings: Sequence[Recorded]) -> Counter[str]:
    """Return how many pairs of policies are ranked right and wrong, and how many recordings leave undecided."""
    spans: dict[str, list[float]] = defaultdict(list)
    one_of: dict[str, Recorded] = {}
    for one in recordings:
        if one.graph.recorded is not None:
            spans[one.name].append(log(one.graph.recorded.makespan_s))
            one_of[one.name] = one
    apart = [abs(value - float(np.median(logs))) for logs in spans.values() if len(logs) > 1 for value in logs]
    scatter = TO_SIGMA * float(np.median(apart))
    verdicts: Counter[str] = Counter()
    for a, b in combinations(one_of.values(), 2):
        if not _comparable(a, b):
            continue
        gap = float(np.median(spans[a.name]) - np.median(spans[b.name]))
        if abs(gap) <= CLEAR * scatter * sqrt(1 / len(spans[a.name]) + 1 / len(spans[b.name])):
            verdicts["undecided"] += 1
            continue
        learned = ss.learn([one.graph for one in recordings if one.name not in (a.name, b.name)])
        cores = len(a.graph.recording.lane_names) if a.graph.recording else 1
        times = [learned.simulate(one.graph, one.policy, cores=cores).makespan_s for one in (a, b)]
        verdict = "right" if (times[0] - times[1]) * gap > 0 else "wrong"
        verdicts[verdict] += 1
        print(f"  {a.name} against {b.name}: recorded {gap:+.1%}, predicted {log(times[0] / times[1]):+.1%}, {verdict}")
    return verdicts


def _comparable(a: Recorded, b: Recorded) -> bool:
    """Return whether two settings are of one program on as many workers, more than one, under policies of StarPU."""
    if a.policy == b.policy or not all(one.runtime.lower().startswith("starpu") for one in (a, b)):
        return False
    sizes = [len(one.graph.recording.lane_names) if one.graph.recording else 0 for one in (a, b)]
    kinds = [sorted(one.graph.kinds.to_list()) for one in (a, b)]
    return sizes[0] == sizes[1] > 1 and kinds[0] == kinds[1]


def main() -> int:
    """Print the tables and whether the bars hold; return 1 where --bars is given and one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--bars", action="store_true", help="fail where a bar is missed")
    options = parser.parse_args()
    sets = {"own recordings": list(of_project())}
    if options.samples.is_dir():
        sets["samples"] = list(of_samples(options.samples))
    found, verdicts = [], Counter[str]()
    for name, recordings in sets.items():
        print(f"\n{name}: {len(recordings)} recordings")
        found.append(predicted(recordings))
        print(found[-1].drop(columns=["program", "policy", "runtime"]).to_string(float_format="{:.4f}".format))
        print(by_runtime(found[-1]).to_string(index=False, float_format="{:.3f}".format))
        verdicts += ranked(recordings)
    whole = by_runtime(pd.concat(found)).iloc[-1]
    print(f"\nranking: {verdicts['right']} right, {verdicts['wrong']} wrong, {verdicts['undecided']} undecided")
    print(f"all: median {whole['median']:.1%}, 90th percentile {whole['p90']:.1%}, {whole['within']:.0%} in intervals")
    reached = whole["median"] <= MEDIAN and whole["p90"] <= TAIL and not verdicts["wrong"]
    print(f"bars (median {MEDIAN:.0%}, 90th percentile {TAIL:.0%}, no ranking wrong): {'reached' if reached else 'missed'}")
    return int(options.bars and not reached)


if __name__ == "__main__":
    sys.exit(main())
