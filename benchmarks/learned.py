"""How well recordings predict each other: each setting of real recordings, predicted from all others of the host.

    python benchmarks/learned.py [--bars]

Needs ../shared/samples. The bars: a median error of 8 %, 20 % at the 90th percentile. Errors without interruptions show
what remains where the host's own doing is taken out on both sides; docs/learning.md explains both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import simsched as ss

SAMPLES = Path(__file__).parents[2] / "shared" / "samples"
MEDIAN, TAIL = 0.08, 0.20


def recordings(samples: Path) -> Iterator[tuple[str, str, ss.TaskGraph]]:
    """Yield setting, policy and graph of each recording."""
    for setting, policy in (("eager.1cpu", "eager"), ("eager.2cpu", "eager"), ("prio.2cpu", "prio")):
        graph = ss.load(samples / f"starpu/chol_n10_b256.{setting}.tasks.rec.gz")
        yield f"starpu {setting}", f"runtime[system=starpu-{policy}]", graph
    for setting in ("1w", "2w"):
        graph = ss.load(samples / f"ompss/nanox_chol_nb10_b192.bf.{setting}.prv.gz")
        yield f"ompss {setting}", "runtime[system=nanos-bf]", graph
    for setting in ("inter1", "inter2"):
        file = samples / f"tensorflow/lstm4.{setting}_intra1.runmetadata.pb.gz"
        yield f"tensorflow {setting}", "runtime[system=tensorflow]", ss.load(file)
    for model in ("inception", "lstm4_unrolled"):
        for setting in ("t1", "t2", "par2x1", "par3x1"):
            stem = samples / "onnx" / f"{model}.{setting}"
            for run in (1, 2):  # the first run warms up
                graph = ss.load(f"{stem}.ortprof.json.gz", model=f"{stem}.optimized.zeroed.onnx.gz", run=run)
                yield f"onnxruntime {model} {setting}", "fifo", graph
    for setting in ("inception_t1", "inception_t2"):
        stem = samples / "pytorch" / setting
        graph = ss.load(f"{stem}.kineto.json.gz", execution_trace=f"{stem}.et.json.gz")
        yield f"pytorch {setting}", "fifo", graph


def main() -> int:
    """Print the table and whether the bars hold; return 1 where --bars is given and one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--bars", action="store_true", help="fail where a bar is missed")
    options = parser.parse_args()
    if not options.samples.is_dir():
        print(f"{options.samples} is not there: nothing to predict")
        return 0
    settings, policies, graphs = zip(*recordings(options.samples), strict=True)
    found = ss.learn(graphs).validate(policies, repeats=settings)
    found.insert(0, "setting", list(dict.fromkeys(settings)))
    print(found.drop(columns=["program"]).to_string(float_format=lambda value: f"{value:.4f}"))
    print(*found.notes, sep="\n")
    errors = found["error"].abs()
    reached = np.median(errors) <= MEDIAN and np.quantile(errors, 0.9) <= TAIL
    print(f"bars (median {MEDIAN:.0%}, 90th percentile {TAIL:.0%}): {'reached' if reached else 'missed'}")
    return int(options.bars and not reached)


if __name__ == "__main__":
    sys.exit(main())
