"""A sweep on a Dask cluster whose parts are killed at random: each point must be in the result, once, and right.

    python benchmarks/faults.py [--points N] [--tasks N] [--kills N] [--seed N]

A scheduler, two workers and the client that runs the sweep are processes of this machine. Each time that a further
share of the points is in the store, one of them gets kill -9: a worker, its nanny, the scheduler or the client. What
was killed is started again, as a batch system would; a scheduler with its workers. In the end every point must be
there once, with the makespan that a run without any of this finds.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "equipment"))

from daemons import Daemons
from graphs import layered
from paced import Paced

import simsched as ss
from simsched.sweep import results

#: Seconds between looks at the store, and that the whole may take for each kill.
LOOK_S, PATIENCE_S = 0.1, 60.0
PARTS = ("worker", "nanny", "scheduler", "client")


def sweep_of(points: int, tasks: int) -> ss.Sweep:
    """Return the sweep: random orders, each of its own seed, and none so fast that no kill could meet it."""
    return ss.Sweep([layered(tasks)], ["generic[cores=64]"], [Paced()], seeds=range(points))


def client(folder: str, address: str, points: int, tasks: int) -> None:
    """Run the sweep, in a process of its own."""
    from simsched.sweep.cluster import connected

    with connected(address) as found:
        sweep_of(points, tasks).run(folder, found)


class Scene:
    """The processes, and what was killed of them.

    Parameters
    ----------
    daemons : Daemons
    store : Path
    points, tasks : int
    """

    def __init__(self, daemons: Daemons, store: Path, points: int, tasks: int) -> None:
        self._daemons, self._store, self._points, self._tasks = daemons, store, points, tasks
        self.killed: Counter[str] = Counter()
        self.said: list[str] = []
        self.client = self._client()

    def _client(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, "--client", self._daemons.address, "--store", str(self._store)]
        sizes = ["--points", str(self._points), "--tasks", str(self._tasks)]
        return subprocess.Popen([*command, *sizes], stderr=subprocess.PIPE, text=True)  # noqa: S603 - ourselves

    def kill(self, part: str) -> None:
        """Kill a part; a worker's nanny and the client are started again, as their owners would."""
        daemons = self._daemons
        if part == "worker" and (workers := daemons.worker_processes()):
            os.kill(random.choice(workers), signal.SIGKILL)  # noqa: S311 - no secret
        elif part == "scheduler" and daemons.scheduler is not None:
            daemons.scheduler.kill()
        elif part == "client":
            self.client.kill()
        else:
            part, nanny = "nanny", random.choice(daemons.workers)  # noqa: S311 - no secret
            nanny.kill()
        self.killed[part] += 1

    def mend(self) -> None:
        """Start again what is dead."""
        self._daemons.mend()
        if self.client.poll() not in (None, 0):
            self.said.append(
                ((self.client.stderr and self.client.stderr.read()) or "").strip().split("\n")[-1]
            )
            self.client = self._client()


def run(daemons: Daemons, store: Path, arguments: argparse.Namespace) -> Scene:
    """Run the sweep to its end, killing as it goes on."""
    marks = sorted(random.sample(range(arguments.points * 6 // 10), arguments.kills))
    daemons.start()
    scene = Scene(daemons, store, arguments.points, arguments.tasks)
    end = time.monotonic() + PATIENCE_S * (arguments.kills + 1)
    while scene.client.poll() != 0:
        if time.monotonic() > end:
            raise TimeoutError(f"the sweep hangs: {dict(scene.killed)}, {scene.said}")
        done = len(results(store)) if (store / "sweep.json").exists() else 0
        if marks and done > marks[0] and scene.client.poll() is None:
            marks.pop(0)
            scene.kill(random.choice(PARTS))  # noqa: S311 - no secret
        time.sleep(LOOK_S)
        scene.mend()
    assert not marks, f"the sweep was over before {len(marks)} of the kills"
    return scene


def main(arguments: argparse.Namespace) -> bool:
    """Print what was killed and what was found; return whether all is there and right."""
    random.seed(arguments.seed)
    begin = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        Daemons(Path(folder), str(Path(__file__).parent)) as daemons,
    ):
        scene = run(daemons, Path(folder) / "store", arguments)
        found = results(Path(folder) / "store")
        expected = sweep_of(arguments.points, arguments.tasks).run(Path(folder) / "undisturbed")
    killed = ", ".join(f"{count} x {part}" for part, count in sorted(scene.killed.items()))
    print(f"{scene.killed.total()} kills ({killed}) in {time.perf_counter() - begin:.0f} s")
    for said, count in Counter(scene.said).items():
        print(f"  {count} x the client said: {said or '(killed)'}")
    once = found["point"].tolist() == list(range(arguments.points))
    right = once and found["makespan_s"].tolist() == expected["makespan_s"].tolist()
    print(
        f"{found['point'].nunique()} of {arguments.points} points exactly once"
        if once
        else "NOT each point once"
    )
    print(f"makespans {'equal' if right else 'DIFFER from'} those of an undisturbed run")
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--tasks", type=int, default=16_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        client(given.store, given.client, given.points, given.tasks)
    else:
        sys.exit(not main(given))
