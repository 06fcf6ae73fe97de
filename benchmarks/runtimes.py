"""How many recorded starts are in order under the runtime's own policy, and how far the makespan is off.

    python benchmarks/runtimes.py [--bars]

Needs ../shared/samples. The bar: 90 % of the starts on one worker. docs/policies.md has the table.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import simsched as ss

SAMPLES = Path(__file__).parents[2] / "shared" / "samples"
BAR = 0.9


def recordings(samples: Path) -> Iterator[tuple[str, str, ss.TaskGraph]]:
    """Yield name, system and graph of each recording."""
    for setting, system in (("eager.1cpu", "eager"), ("eager.2cpu", "eager"), ("prio.2cpu", "prio")):
        graph = ss.load(samples / f"starpu/chol_n10_b256.{setting}.tasks.rec.gz")
        yield f"StarPU {setting}", f"starpu-{system}", graph
    for setting in ("1w", "2w"):
        graph = ss.load(samples / f"ompss/nanox_chol_nb10_b192.bf.{setting}.prv.gz")
        yield f"Nanos++ bf {setting}", "nanos-bf", graph
    for model in ("inception", "lstm4_unrolled"):
        for setting in ("t1", "par2x1"):
            stem = samples / "onnx" / f"{model}.{setting}"
            graph = ss.load(f"{stem}.ortprof.json.gz", model=f"{stem}.optimized.zeroed.onnx.gz")
            yield f"ONNX Runtime {model} {setting}", "onnxruntime", graph
    for setting in ("inter1", "inter2"):
        graph = ss.load(samples / f"tensorflow/lstm4.{setting}_intra1.runmetadata.pb.gz")
        yield f"TensorFlow {setting}", "tensorflow", graph


def in_order(replayed: ss.Schedule, recorded: ss.Schedule) -> float:
    """Return the longest common sequence of starts, over their number."""
    place = np.empty(recorded.graph.n_tasks, np.int64)
    place[np.lexsort((recorded.finish_s, recorded.start_s))] = np.arange(len(place))
    ends: list[int] = []
    for one in place[replayed.start_order].tolist():
        at = bisect_left(ends, one)
        ends[at : at + 1] = [one]
    return len(ends) / len(place)


def main() -> int:
    """Print the table; return 1 where --bars is given and a recording on one worker misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--bars", action="store_true", help="fail where the bar is missed")
    options = parser.parse_args()
    if not options.samples.is_dir():
        print(f"{options.samples} is not there: nothing to replay")
        return 0
    missed = 0
    for name, system, graph in recordings(options.samples):
        found = ss.replay_recorded(graph, f"runtime[system={system}]")
        share = in_order(found.plain, found.recorded)
        lanes = found.recorded.n_cores
        missed += lanes == 1 and share < BAR
        print(f"{name:36} {system:14} {lanes} workers {share:7.1%} in order, {found.calibrated_error:+.1%}")
    return int(options.bars and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
