"""Record from a shell: `python -m simsched.traces.recorders.runtimes --out FOLDER`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from simsched.errors import SimschedError
from simsched.traces.recorders.runtimes.frameworks import missing
from simsched.traces.recorders.runtimes.record import KNOWN, NAMES, record
from simsched.traces.recorders.runtimes.saved import save


def main() -> int:
    """Write the recordings and their table; return 2 where something is impossible."""
    parser = argparse.ArgumentParser(prog="python -m simsched.traces.recorders.runtimes", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--workers", help="numbers of workers, as 1,2,4; all from 1 to the host's cores")
    parser.add_argument("--repeats", type=int, default=3, help="recorded runs of each setting")
    parser.add_argument("--programs", default=",".join(NAMES), help="programs, between commas")
    parser.add_argument("--runtimes", default=",".join(KNOWN), help="runtimes, between commas")
    parser.add_argument(
        "--realtime", action="store_true", help="let nothing interrupt the runs (CAP_SYS_NICE)"
    )
    options = parser.parse_args()
    try:
        counts = [int(one) for one in (options.workers or "").split(",") if one]
        counts = counts or list(range(1, (os.cpu_count() or 1) + 1))
        options.out.mkdir(parents=True, exist_ok=True)
        runs = []
        programs, runtimes = options.programs.split(","), options.runtimes.split(",")
        for run in record(counts, options.repeats, programs, runtimes, realtime=options.realtime):
            run.graph.save(options.out / f"{run.name}.simsched")
            runs.append(run)
        save(runs, options.out)
    except (SimschedError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {len(runs)} recordings to {options.out}")
    if install := missing(runtimes):
        print(f"some frameworks are not installed; for them: pip install {' '.join(install)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
