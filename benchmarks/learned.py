"""How well recordings predict each other: each setting of real recordings, predicted from all others of its host.

    python benchmarks/learned.py [--bars] [--frameworks FOLDER]

The sets: ../shared/samples, where it is there, of a host that did other things meanwhile; the project's own
recordings, of two that let nothing interrupt them, and of one with sixteen cores; and, where they are there, those of
ONNX Runtime and of PyTorch, of which each has its own kernels. For each, errors by runtime; the share of intervals (of
20 replays, so that 90 % should) that hold what was recorded; and the errors of predictions from one recording of the
program and those of other programs. Then more workers than any recording that was learned from. The ranking of
policies: pairs of StarPU's on as many workers of a program, each predicted without both, in these and in further
recordings of the project. The bars, over all settings: a median error of 8 %, 20 % at the 90th percentile, no ranking
wrong where recordings differ by more than their scatter. docs/learning.md explains the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, permutations
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu
from settings import (
    OWN,
    SAMPLES,
    Recorded,
    of_frameworks,
    of_project,
    of_samples,
    of_schedulers,
    of_second_host,
    of_sixteen_cores,
)

import simsched as ss
from simsched.learning.learn import learned_from
from simsched.learning.observed import observed, signature

MEDIAN, TAIL = 0.08, 0.20
#: Two settings differ if a rank-sum test gives less than this: of three recordings each it never does.
SURE = 0.01
#: Replays for each pair.
SAMPLES_OF_PAIRS = 10


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
    several: dict[str, list[Recorded]] = defaultdict(list)
    for one in recordings:
        several[one.name].append(one)
    verdicts: Counter[str] = Counter()
    for a, b in combinations(several, 2):
        if not _comparable(several[a][0], several[b][0]):
            continue
        times = [[one.makespan_s for one in several[name]] for name in (a, b)]
        gap, p = log(np.median(times[0]) / np.median(times[1])), float(mannwhitneyu(*times).pvalue)
        if p >= SURE:
            verdicts["undecided"] += 1
            continue
        learned = ss.learn([one.graph for one in recordings if one.name not in (a, b)])
        found = [
            float(learned.predict(one.graph, one.policy, [one.workers])["makespan_s"][0])
            for one in (several[a][0], several[b][0])
        ]
        ratio = log(found[0] / found[1])
        verdict = "right" if ratio * gap > 0 else "wrong"
        verdicts[verdict] += 1
        print(f"  {a} against {b}: recorded {gap:+.1%} (p = {p:.1g}), predicted {ratio:+.1%}, {verdict}")
    return verdicts


def paired(recordings: Sequence[Recorded]) -> pd.Series[float]:
    """Return the errors of predictions from one recording of a program, and those of other programs of its host."""
    runs = observed([one.graph for one in recordings])
    of_program: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i, one in enumerate(recordings):
        of_program[runs[i].program, one.runtime][one.name].append(i)
    errors = {}
    for (program, _), settings in of_program.items():
        rest = [run for run in runs if run.program != program]
        for a, b in permutations(settings, 2):
            known, held = settings[a][0], recordings[settings[b][0]]
            learned = learned_from([runs[known], *rest])
            case = held.case(learned, recordings[known].graph)
            recorded_s = float(np.median([recordings[i].makespan_s for i in settings[b]]))
            errors[f"{a} -> {b}"] = case.row(learned, SAMPLES_OF_PAIRS)["makespan_s"] / recorded_s - 1.0
    return pd.Series(errors)


def beyond(recordings: Sequence[Recorded], most: int) -> pd.DataFrame:
    """Return the errors of predictions of more workers from recordings on up to `most`, by number of workers."""
    of_setting: dict[str, list[Recorded]] = defaultdict(list)
    for one in recordings:
        of_setting[one.name].append(one)
    few = {name: several[0] for name, several in of_setting.items() if _asked(name) <= most}
    learned = ss.learn([one.graph for one in recordings if _asked(one.name) <= most])
    rows = []
    for name, several in of_setting.items():
        if (workers := _asked(name)) > most:
            mate = next(one for known, one in few.items() if known.split()[:2] == name.split()[:2])
            found = learned.predict(mate.graph, mate.policy, [workers]).iloc[0]
            recorded_s = float(np.median([one.makespan_s for one in several]))
            low, high, middle = (found[key] / recorded_s for key in ("low_s", "high_s", "makespan_s"))
            rows.append((workers, middle - 1.0, low <= 1.0 <= high, high / low))
    table = pd.DataFrame(rows, columns=["workers", "error", "within", "wide"])
    by = table.assign(size=table["error"].abs()).groupby("workers")
    return by.agg(
        settings=("error", "size"), median=("size", "median"), p90=("size", lambda one: one.quantile(0.9)),
        bias=("error", "median"), within=("within", "mean"), high_over_low=("wide", "median"),
    )  # fmt: skip


def _asked(name: str) -> int:
    """Return the workers of a setting that the project recorded: how many there were to be."""
    return int(name.rsplit(maxsplit=1)[-1])


def _comparable(a: Recorded, b: Recorded) -> bool:
    """Return whether two settings are of one program on as many workers, more than one, under policies of StarPU."""
    if a.policy == b.policy or not all(one.runtime.lower().startswith("starpu") for one in (a, b)):
        return False
    return a.workers == b.workers > 1 and signature(a.graph) == signature(b.graph)


def told(name: str, recordings: Sequence[Recorded]) -> pd.DataFrame:
    """Print and return predictions of the settings of a set of recordings; print errors of pairs, too."""
    print(f"\n{name}: {len(recordings)} recordings")
    found = predicted(recordings)
    shown = found.drop(columns=["recording", "program", "policy", "runtime"])
    print(shown.to_string(float_format="{:.4f}".format))
    print(by_runtime(found).to_string(index=False, float_format="{:.3f}".format))
    pairs = paired(recordings)
    median, tail = pairs.abs().median(), pairs.abs().quantile(0.9)
    print(
        f"from one recording of a program: {len(pairs)} pairs, median {median:.1%}, 90th percentile {tail:.1%}"
    )
    return found


def main() -> int:
    """Print the tables and whether the bars hold; return 1 where --bars is given and one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--bars", action="store_true", help="fail where a bar is missed")
    parser.add_argument(
        "--frameworks", type=Path, default=OWN / "frameworks", help="recordings of frameworks"
    )
    options = parser.parse_args()
    sets = {
        "own recordings": list(of_project()), "a second host": list(of_second_host()),
        "sixteen cores": list(of_sixteen_cores()),
    }  # fmt: skip
    if options.frameworks.is_dir():
        for framework in ("onnxruntime", "pytorch"):
            sets[framework] = list(of_frameworks(framework, options.frameworks))
    if options.samples.is_dir():
        sets["samples"] = list(of_samples(options.samples))
    found = [told(name, recordings) for name, recordings in sets.items()]
    for most in (1, 2, 4):
        print(f"\nsixteen cores, learned from up to {most} workers")
        print(beyond(sets["sixteen cores"], most).to_string(float_format="{:.3f}".format))
    print("\nranking of schedulers")
    further = [list(of_schedulers(host)) for host in (OWN, OWN / "sixteen_cores")]
    ranks = sum((ranked(several) for several in (*further, *sets.values())), Counter[str]())
    whole = by_runtime(pd.concat(found)).iloc[-1]
    print(f"ranking: {ranks['right']} right, {ranks['wrong']} wrong, {ranks['undecided']} undecided")
    print(
        f"all: median {whole['median']:.1%}, 90th percentile {whole['p90']:.1%}, within {whole['within']:.0%}"
    )
    reached = whole["median"] <= MEDIAN and whole["p90"] <= TAIL and not ranks["wrong"]
    print(f"bars: median {MEDIAN:.0%}, 90th percentile {TAIL:.0%}: {'reached' if reached else 'missed'}")
    return int(options.bars and not reached)


if __name__ == "__main__":
    sys.exit(main())
