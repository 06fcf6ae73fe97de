"""Both engines on random cases, compared to the bit: graphs, machines, layouts, policies, costs, noise and ties.

    python benchmarks/equivalence.py [--seeds FIRST LAST] [--examples N] [--jobs N]

A seed stands for the same cases every time, as long as versions of simsched and Hypothesis stay the same.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from unittest.mock import patch

import hypothesis

import simsched as ss
from simsched.testing import check_engines, equivalence


def check(seed: int, examples: int) -> tuple[int, int, float, str]:
    """Return a seed, the cases that both engines replayed, seconds, and what differs ("" for nothing)."""
    begin, said = time.perf_counter(), ""
    with patch.object(equivalence, "check_same", wraps=equivalence.check_same) as compare:
        try:
            check_engines(examples, seed)
        except Exception as error:  # whatever breaks is a verdict
            said = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
    return seed, compare.call_count, time.perf_counter() - begin, said


def main() -> None:
    """Print the table; fail where a case differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(0, 20), help="first, and the one after the last"
    )
    parser.add_argument("--examples", type=int, default=500, help="cases a seed")
    parser.add_argument("--jobs", type=int, help="processes at once")
    given = parser.parse_args()
    print(
        f"simsched {ss.__version__}, Hypothesis {hypothesis.__version__}\n{'seed':>6} {'cases':>7} {'s':>7}  verdict"
    )
    total, differing, seeds = 0, 0, range(*given.seeds)
    with ProcessPoolExecutor(given.jobs) as pool:
        for seed, cases, passed, said in pool.map(check, seeds, repeat(given.examples)):
            print(f"{seed:>6} {cases:>7} {passed:>7.1f}  {said or 'same to the bit'}", flush=True)
            total, differing = total + cases, differing + bool(said)
    print(
        f"{total:>14} cases, seeds {seeds.start} to {seeds.stop - 1}: {differing or 'no'} seeds with differences"
    )
    if differing:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
