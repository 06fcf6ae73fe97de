"""Readers on damaged files: every one gives a valid graph or a clear error, in time, within bounded memory.

    python benchmarks/fuzz.py [--inputs N | --seconds S] [--seed N] [--jobs N] [--formats NAME ...]
        [--bombs N] [--bytes]

The seeds are the small files of tests/traces/seeds. Damage is drawn from `--seed`, in blocks of 1,000 inputs: the
same numbers stand for the same inputs. `--bombs`: as many inputs of each block are small files that become large, each
read in a process of its own. `--bytes`: by atheris, which looks for damage that reaches new code, instead
(pip install atheris). Exit status 1 if anything but a graph or a clear error comes out.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm.auto import tqdm

from simsched.testing import check_reader, seeds_in

SEEDS = Path(__file__).resolve().parents[1] / "tests/traces/seeds"
BLOCK = 1000
#: Seeds are below 20 kB; Python, NumPy and the libraries of all readers take the most of it.
MOST_MEMORY_B = 4 * 2**30


@dataclass(frozen=True)
class Block:
    """Some inputs of one format, and what became of them."""

    format: str
    seed: int
    inputs: int
    bombs: int = 0
    graphs: int = 0
    refused: int = 0
    seconds: float = 0.0
    peak_MB: float = 0.0
    escape: str = ""


def fuzzed(block: Block) -> Block:
    """Read the inputs of a block in this process, whose memory is bounded."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_B, MOST_MEMORY_B))
    begin, said, graphs, refused = time.perf_counter(), "", 0, 0
    try:
        tally = check_reader(
            seeds_in(SEEDS)[block.format], block.inputs - block.bombs, block.seed, block.bombs
        )
        graphs, refused = tally.graphs, tally.refused
    except AssertionError as error:
        said = str(error)
    peak_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken = time.perf_counter() - begin
    return replace(block, graphs=graphs, refused=refused, seconds=taken, peak_MB=peak_MB, escape=said)


def blocks(formats: list[str], inputs: int, seed: int, bombs: int = 0) -> Iterator[Block]:
    """Yield blocks of all formats in turn, so that a run that is stopped has looked at all alike."""
    each = -(-inputs // len(formats))
    for i in range(-(-each // BLOCK)):
        for name in formats:
            some = min(BLOCK, each - i * BLOCK)
            yield Block(name, seed + i, some, min(bombs, some))


def run(planned: Iterator[Block], jobs: int, seconds: float) -> list[Block]:
    """Return the blocks that were read until the time was over."""
    done, end = [], time.monotonic() + seconds
    with ProcessPoolExecutor(jobs) as pool, tqdm(unit=" inputs", disable=None) as shown:
        waiting = {pool.submit(fuzzed, block) for _, block in zip(range(2 * jobs), planned, strict=False)}
        while waiting:
            first = next(as_completed(waiting))
            waiting.remove(first)
            done.append(first.result())
            shown.update(done[-1].inputs)
            if time.monotonic() < end and (block := next(planned, None)) is not None:
                waiting.add(pool.submit(fuzzed, block))
    return done


def report(done: list[Block], seed: int) -> bool:
    """Print a row a format; return whether nothing escaped."""
    print("| format | inputs | graphs | refused | inputs/s | peak MB | escapes |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in sorted({block.format for block in done}):
        mine = [block for block in done if block.format == name]
        told = [sum(b.graphs for b in mine), sum(b.refused for b in mine)]
        inputs, seconds = sum(told), sum(b.seconds for b in mine)
        peak, escapes = max(b.peak_MB for b in mine), sum(bool(b.escape) for b in mine)
        print(
            f"| {name} | {inputs} | {told[0]} | {told[1]} | {inputs / seconds:.0f} | {peak:.0f} | {escapes} |"
        )
    last = max((block.seed for block in done), default=seed)
    print(f"\n{sum(block.graphs + block.refused for block in done):,} inputs, seeds {seed} to {last}")
    for block in done:
        if block.escape:
            print(block.escape)
    return not any(block.escape for block in done)


def by_bytes(formats: list[str], inputs: int, seconds: float, seed: int) -> bool:
    """Run atheris on each format in a process of its own; return whether nothing escaped."""
    share = max(1, int(min(seconds / len(formats), 10**6)))
    fine = True
    for name in formats:
        options = [f"-runs={inputs // len(formats)}", f"-max_total_time={share}", f"-seed={seed + 1}"]
        script = Path(__file__).with_name("fuzz_bytes.py")
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, script, name, *options], capture_output=True, text=True, check=False
        )
        last = [line for line in done.stderr.splitlines() if line.startswith(("Done", "#"))][-1:]
        print(
            f"{name}: {'nothing escaped' if not done.returncode else 'ESCAPE'}; {' '.join(last)}", flush=True
        )
        if done.returncode:
            print(done.stdout + done.stderr)
        fine &= not done.returncode
    return fine


def main() -> None:
    """Read the command line; exit with 1 if anything escaped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000, help="over all formats")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    known = sorted(seeds_in(SEEDS))
    parser.add_argument("--formats", nargs="+", choices=known, default=known)
    parser.add_argument("--bombs", type=int, default=0, help=f"of each {BLOCK} inputs")
    parser.add_argument("--bytes", action="store_true", help="by atheris")
    told = parser.parse_args()
    if told.bytes:
        fine = by_bytes(told.formats, told.inputs, told.seconds, told.seed)
    else:
        planned = blocks(told.formats, told.inputs, told.seed, told.bombs)
        fine = report(run(planned, told.jobs, told.seconds), told.seed)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
