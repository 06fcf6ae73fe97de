"""Sweeps whose parts are killed at random under load: each point must be in the result, once, and right.

    python benchmarks/attack/kills.py [--runner NAME] [--kills N] [--points N] [--seed N] [--bars]

A client runs a sweep in threads, in processes, or on a Dask cluster of this machine (a scheduler and two workers
with their nannies). Each time that a further share of the points is in the store, and up to a second later, one of
them gets kill -9: the client, a process that replays, a nanny or the scheduler. What was killed is started again,
as a batch system would; a scheduler with its workers. In the end every point must be there once, with the makespan
that a run without any of this finds.

`--runner slurm` makes a real Slurm of one node (munged, slurmctld, slurmd) and a `dask_jobqueue.SLURMCluster` on it,
whose jobs get scancel; `--runner ssh` an SSH server on the loopback interface and an `SSHCluster`. These two say what
they need where it is not installed, and are attacked only when named.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "equipment"))

from graphs import layered
from paced import Paced
from places import PLACES, Place, client_of
from verdict import Bar, verdict

import simsched as ss
from simsched.sweep import results

#: Seconds between looks at the store, and that the whole may take for each kill.
LOOK_S, PATIENCE_S = 0.1, 60.0
#: Runners that are attacked when none is named, and their shares of the kills.
SHARES = {"threads": 0.25, "processes": 0.5, "dask": 0.25}
#: Threads or processes of the client.
WORKERS = 2


class Size(NamedTuple):
    """A runner and the size of its sweep."""

    runner: str
    points: int
    tasks: int


def sweep_of(size: Size, pause_s: float) -> ss.Sweep:
    """Return the sweep: random orders, each of its own seed, and none so fast that no kill could meet it."""
    # Replays by SimPy hold Python's lock, so they run in processes.
    engine = "simpy" if size.runner == "processes" else "auto"
    policy = Paced(pause_s)
    return ss.Sweep(
        [layered(size.tasks)], ["generic[cores=64]"], [policy], seeds=range(size.points), engine=engine
    )


def client(folder: str, address: str, size: Size, pause_s: float) -> None:
    """Run the sweep, in a process of its own."""
    if size.runner in ("threads", "processes"):
        sweep_of(size, pause_s).run(folder, workers=WORKERS)
        return
    with client_of(size.runner, address) as found:
        sweep_of(size, pause_s).run(folder, found)


class Scene:
    """The processes, and what was killed of them.

    Parameters
    ----------
    place : Place
        Where the replays run.
    store : Path
    size : Size
    pause_s : float
        Seconds that a replay takes at least.
    """

    def __init__(self, place: Place, store: Path, size: Size, pause_s: float) -> None:
        self._place, self._store, self._size, self._pause_s = place, store, size, pause_s
        self.killed: Counter[str] = Counter()
        self.said: list[str] = []
        self.client = self._client()

    def _client(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, "--client", self._place.address, "--store", str(self._store)]
        command += ["--runner", self._size.runner, "--pause", str(self._pause_s)]
        command += ["--points", str(self._size.points), "--tasks", str(self._size.tasks)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ourselves

    def kill(self) -> None:
        """Kill a part at random, or the client where it has none now; their owners start them again."""
        part = random.choice((*self._place.parts, "client"))  # noqa: S311 - no secret
        if part == "client" or not self._place.kill(part, self.client.pid):
            part = "client"
            self.client.kill()
        self.killed[part] += 1

    def mend(self) -> None:
        """Start again what is dead."""
        self._place.mend()
        if self.client.poll() not in (None, 0):
            self.said.append(
                ((self.client.stderr and self.client.stderr.read()) or "").strip().split("\n")[-1]
            )
            self.client = self._client()


def run(scene: Scene, store: Path, size: Size, kills: int) -> None:
    """Run the sweep to its end, killing as it goes on, and never before what was killed last is at work again."""
    marks = sorted(random.sample(range(size.points * 6 // 10), kills))
    end = time.monotonic() + PATIENCE_S * (kills + 1)
    before = 0
    while scene.client.poll() != 0:
        if time.monotonic() > end:
            raise TimeoutError(f"the sweep hangs: {dict(scene.killed)}, {scene.said}")
        done = len(results(store)) if (store / "sweep.json").exists() else 0
        if marks and done > max(marks[0], before) and scene.client.poll() is None:
            marks.pop(0)
            before = done
            time.sleep(random.random())  # noqa: S311 - no secret
            scene.kill()
        time.sleep(LOOK_S)
        scene.mend()
    if marks:
        print(f"{size.runner}: the sweep was over before {len(marks)} of the kills; take more points")


def attack(size: Size, kills: int, pause_s: float) -> tuple[int, int, int]:
    """Print what was killed and what was found; return kills, points not there once, and makespans that differ."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with PLACES[size.runner](folder) as place:
            scene = Scene(place, folder / "store", size, pause_s)
            run(scene, folder / "store", size, kills)
        found = results(folder / "store")
    expected = sweep_of(size, 0.0)
    killed = ", ".join(f"{count} x {part}" for part, count in sorted(scene.killed.items()))
    print(f"{size.runner}: {scene.killed.total()} kills ({killed}) in {time.perf_counter() - begin:.0f} s")
    for said, count in Counter(scene.said).items():
        print(f"  {count} x the client said: {said[:200] or '(killed)'}")
    times = Counter(found["point"].tolist())
    lost = sum(times[point] != 1 for point in range(size.points)) + len(
        times.keys() - set(range(size.points))
    )
    with tempfile.TemporaryDirectory() as name:
        right = expected.run(Path(name) / "undisturbed").set_index("point")["makespan_s"]
    differing = int((found.set_index("point")["makespan_s"].reindex(right.index) != right).sum())
    print(
        f"  {size.points - lost} of {size.points} points exactly once, {differing} makespans differ",
        flush=True,
    )
    return scene.killed.total(), lost, differing


def main(given: argparse.Namespace) -> list[Bar]:
    """Attack the runners; return the goals."""
    random.seed(given.seed)
    runners = [given.runner] if given.runner else list(SHARES)
    for runner in runners:
        if missing := PLACES[runner].missing():
            raise SystemExit(f"the runner {runner} {missing}")
    found = []
    for runner in runners:
        kills = given.kills if given.runner else round(SHARES[runner] * given.kills)
        size = Size(runner, given.points or 100 * kills, given.tasks)
        found.append(attack(size, kills, given.pause))
    kills, lost, differing = (sum(each) for each in zip(*found, strict=True))
    return [
        Bar("kills", kills, given.kills, True),
        Bar("points that are not there exactly once", lost, 0, False),
        Bar("makespans that differ from those of an undisturbed run", differing, 0, False),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runner", choices=list(PLACES), help="default: the first three, in turn")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--points", type=int, help="default: 100 for each kill")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds that a replay takes at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client is not None:
        size_ = Size(arguments.runner, arguments.points, arguments.tasks)
        client(arguments.store, arguments.client, size_, arguments.pause)
    else:
        verdict(main(arguments), arguments.bars)
