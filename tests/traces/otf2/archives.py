"""Small OTF2 archives, written by the library of OTF2 as Score-P and APEX write theirs, packed for tests.

    python tests/traces/otf2/archives.py      # writes the seeds again

Needs `pip install otf2`: the extra `dev` has it where it has a wheel (Python 3.11; elsewhere a C compiler builds it).
"""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SEEDS = Path(__file__).parents[1] / "seeds/otf2"
#: Ticks per second; not a billion, so that times are converted.
TICKS = 2_000_000_000


class Sketch:
    """An archive that is being written: its definitions, and a writer for each thread.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        import otf2
        from otf2.enums import GroupFlag, GroupType, Paradigm

        self.otf2, self.paradigm, self.group_type, self.flag = otf2, Paradigm, GroupType, GroupFlag
        self.trace = otf2.writer.Writer(
            str(folder),
            timer_resolution=TICKS,
            chunk_size_events=256 * 1024,
            chunk_size_definitions=256 * 1024,
        )
        self.defined = self.trace.definitions
        self.machine = self.defined.system_tree_node("Linux", class_name="machine")
        self.node = self.defined.system_tree_node("n1", class_name="node", parent=self.machine)
        self._regions: dict[str, Any] = {}
        self._locations: dict[Any, Any] = {}

    def process(self, rank: int) -> Any:
        """Return a process."""
        return self.defined.location_group(f"MPI Rank {rank}", system_tree_parent=self.node)

    def thread(self, name: str, process: Any) -> Any:
        """Return the writer of a thread."""
        location = self.defined.location(name, group=process)
        writer = self.trace.event_writer_from_location(location)
        self._locations[writer] = location
        return writer

    def region(self, name: str, role: str = "FUNCTION", paradigm: str = "USER") -> Any:
        """Return a region; the same one for the same name."""
        if name not in self._regions:
            self._regions[name] = self.defined.region(
                name,
                region_role=getattr(self.otf2.enums.RegionRole, role),
                paradigm=getattr(self.paradigm, paradigm),
            )
        return self._regions[name]

    def comm(self, name: str, threads: list[Any], paradigm: str) -> Any:
        """Return a communicator, or a team, of some threads."""
        of = getattr(self.paradigm, paradigm)
        every = [self._locations[thread] for thread in threads]
        self.defined.group(f"{name} locations", group_type=self.group_type.COMM_LOCATIONS, paradigm=of,
                           group_flags=self.flag.NONE, members=every)  # fmt: skip
        members = self.defined.group(name, group_type=self.group_type.COMM_GROUP, paradigm=of,
                                     group_flags=self.flag.NONE, members=list(range(len(every))))  # fmt: skip
        return self.defined.comm(name, group=members)


def messages(sketch: Sketch) -> None:
    """Write two ranks: a message that is awaited, and a collective that both come to."""
    ranks = [sketch.thread("Master thread", sketch.process(rank)) for rank in range(2)]
    world = sketch.comm("MPI_COMM_WORLD", ranks, "MPI")
    main, work = sketch.region("main"), sketch.region("work")
    send, receive = (sketch.region(f"MPI_{name}", "POINT2POINT", "MPI") for name in ("Send", "Recv"))
    reduce = sketch.region("MPI_Allreduce", "COLL_ALL2ALL", "MPI")
    operation = sketch.otf2.enums.CollectiveOp.ALLREDUCE
    first, second = ranks
    for rank in ranks:
        rank.enter(1000, main)
    first.enter(2000, work)
    first.leave(6000, work)
    first.enter(6000, send)
    first.mpi_send(6200, 1, world, 7, 4096)
    first.leave(6400, send)
    second.enter(3000, receive)
    second.mpi_recv(7000, 0, world, 7, 4096)
    second.leave(7000, receive)
    second.enter(7000, work)
    second.leave(9000, work)
    for rank, come in ((first, 7000), (second, 9400)):
        rank.enter(come, reduce)
        rank.mpi_collective_begin(come)
        rank.mpi_collective_end(9800, operation, world, 2**32 - 1, 8, 8)
        rank.leave(9800, reduce)
        rank.leave(10800, main)


def tasks(sketch: Sketch) -> None:
    """Write a team of two threads, two tasks that the second thread creates and both run, and the end of the team."""
    process = sketch.process(0)
    first, second = (sketch.thread(name, process) for name in ("Master thread", "OMP thread 1"))
    team = sketch.comm("OpenMP team", [first, second], "OPENMP")
    parallel = sketch.region("!$omp parallel", "PARALLEL", "OPENMP")
    task = sketch.region("!$omp task", "TASK", "OPENMP")
    create = sketch.region("!$omp create task", "TASK_CREATE", "OPENMP")
    barrier = sketch.region("!$omp implicit barrier", "IMPLICIT_BARRIER", "OPENMP")
    main, paradigm = sketch.region("main"), sketch.paradigm.OPENMP
    first.enter(1000, main)
    first.thread_fork(2000, paradigm, 2)
    for thread, begin in ((first, 2000), (second, 2200)):
        thread.thread_team_begin(begin, team)
        thread.enter(begin, parallel)
    for number, at in ((1, 3000), (2, 3400)):
        second.enter(at, create)
        second.thread_task_create(at + 100, team, 1, number)
        second.leave(at + 200, create)
    first.enter(4000, barrier)
    second.enter(4400, barrier)
    for thread, number, begin, end in ((first, 1, 5000, 7000), (second, 2, 5000, 8000)):
        thread.thread_task_switch(begin, team, 1, number)
        thread.enter(begin, task)
        thread.leave(end, task)
        thread.thread_task_complete(end, team, 1, number)
        thread.thread_task_switch(end, team, int(thread is second), 0)
    for thread, end in ((first, 9000), (second, 9100)):
        thread.leave(end, barrier)
        thread.leave(end + 200, parallel)
        thread.thread_team_end(end + 200, team)
    first.thread_join(9600, paradigm)
    first.leave(10000, main)


def actions(sketch: Sketch) -> None:
    """Write actions of HPX as APEX does: each entry has the identifiers of the task and of its parent."""
    process = sketch.process(0)
    threads = [sketch.thread(f"thread {number}", process) for number in range(2)]
    kind = sketch.otf2.enums.Type.UINT64
    guid, parent = (
        sketch.defined.attribute(name, description="", type=kind) for name in ("GUID", "Parent GUID")
    )
    runs = (
        (0, "run_helper", 1, 0, 1000, 3000),
        (1, "fib_action", 2, 1, 4000, 6000),
        (0, "fib_action", 3, 1, 4000, 5000),
        (0, "fib_action", 2, 1, 7000, 8000),
    )
    for thread, name, own, of, begin, end in runs:
        region = sketch.region(name, "TASK")
        threads[thread].enter(begin, region, attributes={guid: own, parent: of})
        threads[thread].leave(end, region, attributes={guid: own})


def written(write: Callable[[Sketch], None], folder: Path) -> None:
    """Write an archive into a folder that does not exist."""
    sketch = Sketch(folder)
    write(sketch)
    sketch.trace.close()


def packed(folder: Path) -> bytes:
    """Return the files of a folder as a tar, which is the same for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                info = tarfile.TarInfo(str(file.relative_to(folder)))
                info.size = file.stat().st_size
                tar.addfile(info, io.BytesIO(file.read_bytes()))
    # Two blocks of zeros end a tar; further ones only fill its last record.
    return out.getvalue().rstrip(b"\0").ljust(
        512 * -(-len(out.getvalue().rstrip(b"\0")) // 512), b"\0"
    ) + bytes(1024)


def main() -> None:
    """Write the seeds."""
    for write in (messages, tasks, actions):
        with TemporaryDirectory() as folder:
            written(write, Path(folder, "archive"))
            place = SEEDS / write.__name__
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            (place / "main.tar").write_bytes(packed(Path(folder, "archive")))


if __name__ == "__main__":
    main()
