"""Where a sweep's replays run that kills.py attacks: this process, Dask, a Slurm of one node, hosts behind SSH."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from getpass import getuser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from daemons import Daemons, children, wait_until

if TYPE_CHECKING:
    from distributed import Client

#: Folder of the modules that workers import.
MODULES = str(Path(__file__).resolve().parents[1])
#: Environment variable of the processes that a place started, wherever their parents are by now.
MARK = "SIMSCHED_ATTACKED"
WORKERS = 2
#: Seconds after which Slurm's workers give up a scheduler that is gone.
DEATH_S = 20


class Place:
    """Threads or processes of the client.

    Parameters
    ----------
    folder : Path
        For all that the place writes.
    """

    #: What can be killed besides the client; as often as it stands here.
    parts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    advice = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def missing(cls) -> str:
        """Return what this machine lacks, and how it is installed; nothing where it lacks nothing."""
        # Debian keeps daemons where only root looks.
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        lacks = [name for name in cls.programs if not shutil.which(name, path=path)]
        lacks += [f"Python's {name}" for name in cls.modules if not find_spec(name)]
        return f"needs {', '.join(lacks)}, which this machine lacks: {cls.advice}" if lacks else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    @property
    def address(self) -> str:
        """What the client needs to know to find it."""
        return ""

    def mend(self) -> None:
        """Start again what is dead."""

    def kill(self, part: str, client: int) -> bool:
        """Kill a part; return whether there was one."""
        return part == "worker" and _killed(children(client))


class Processes(Place):
    """Processes of the client."""

    parts = ("worker", "worker")


class Dask(Place):
    """A scheduler and two workers with their nannies."""

    parts = ("worker", "nanny", "scheduler")
    modules = ("distributed",)
    advice = "pip install 'simsched[cluster]'"

    def __enter__(self) -> Self:
        self._daemons = Daemons(self.folder, MODULES)
        self._daemons.start(WORKERS)
        return self

    def __exit__(self, *error: object) -> None:
        self._daemons.__exit__(None, None, None)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return self._daemons.address

    def mend(self) -> None:
        """Start again what is dead."""
        self._daemons.mend(WORKERS)

    def kill(self, part: str, client: int) -> bool:
        """Kill a part."""
        pids = {
            "worker": self._daemons.worker_processes(),
            "nanny": [nanny.pid for nanny in self._daemons.workers],
            "scheduler": [self._daemons.scheduler.pid] if self._daemons.scheduler else [],
        }
        return _killed(pids[part])


class Foreign(Place):
    """Daemons that start processes for the client, which bear a mark."""

    def __enter__(self) -> Self:
        self._started = ExitStack()
        return self

    def __exit__(self, *error: object) -> None:
        self._started.close()
        for pid in self.marked():
            _killed([pid])

    @property
    def address(self) -> str:
        """The folder with all that the client needs."""
        return str(self.folder)

    def marked(self, *words: str) -> list[int]:
        """Return the living processes of this place whose command has all of some words."""
        mark, found = f"{MARK}={self.folder}".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                marks = (process / "environ").read_bytes().split(b"\0")
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if mark in marks and all(word.encode() in command for word in words):
                found.append(int(process.name))
        return found

    def start(self, *command: str) -> None:
        """Start a daemon that ends with this place."""
        path = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
        program = shutil.which(command[0], path=path["PATH"]) or command[0]
        with (self.folder / f"{Path(program).name}.log").open("ab") as log:
            daemon = subprocess.Popen([program, *command[1:]], stdout=log, stderr=log, env=path)  # noqa: S603 - named here
        self._started.callback(_ended, daemon)

    def kill(self, part: str, client: int) -> bool:
        """Kill a process that replays."""
        return part == "worker" and _killed(self.marked("spawn_main"))


SLURM = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=32000 State=UNKNOWN
PartitionName=one Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm(Foreign):
    """A Slurm of one node, made in a folder and started by hand; the scheduler lives in the client."""

    parts = ("job", "job", "worker")
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")
    modules = ("dask_jobqueue",)
    advice = "apt-get install slurm-wlm munge (Debian); pip install dask-jobqueue"

    def __enter__(self) -> Self:
        super().__enter__()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        (self.folder / "state").mkdir()
        (self.folder / "spool").mkdir()
        host = socket.gethostname().partition(".")[0]
        text = SLURM.format(folder=self.folder, host=host, ports=_free_ports(2), user=getuser())
        (self.folder / "slurm.conf").write_text(text)
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        places = {
            "socket": "socket",
            "key-file": "key",
            "pid-file": "pid",
            "seed-file": "seed",
            "log-file": "log",
        }
        self.start(
            "munged", "--foreground", "--force",
            *(f"--{option}={self.folder}/munge.{end}" for option, end in places.items()),
        )  # fmt: skip
        wait_until((self.folder / "munge.socket").exists)
        self.start("slurmctld", "-D", "-c")
        self.start("slurmd", "-D", "-c")
        wait_until(lambda: "idle" in _said("sinfo", "--noheader", "--format=%T"))
        return self

    def __exit__(self, *error: object) -> None:
        _said("scancel", "--user", getuser())
        wait_until(lambda: not _said("squeue", "--noheader"))
        super().__exit__(*error)

    def kill(self, part: str, client: int) -> bool:
        """Cancel a running job, or kill a process that replays."""
        if part != "job":
            return super().kill(part, client)
        jobs = _said("squeue", "--noheader", "--states=RUNNING", "--format=%A").split()
        return bool(jobs) and not _said("scancel", random.choice(jobs))  # noqa: S311 - no secret


SSHD = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv {mark}={folder} PYTHONPATH={modules}
"""


class Ssh(Foreign):
    """An SSH server on the loopback interface; scheduler and workers are started through it."""

    # An SSHCluster starts no worker again, so none dies for good: its nanny lives.
    parts = ("worker", "scheduler")
    programs = ("sshd", "ssh-keygen")
    modules = ("distributed", "asyncssh")
    advice = "apt-get install openssh-server (Debian); pip install 'simsched[cluster]' asyncssh"

    def __enter__(self) -> Self:
        super().__enter__()
        for name in ("host", "user"):
            _said("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))
        (port,) = _free_ports(1)
        (self.folder / "port").write_text(str(port))
        text = SSHD.format(port=port, folder=self.folder, mark=MARK, modules=MODULES)
        (self.folder / "sshd_config").write_text(text)
        # Debian's server demands this folder, which its service would make.
        Path("/run/sshd").mkdir(exist_ok=True)
        self.start("sshd", "-D", "-e", "-f", str(self.folder / "sshd_config"))
        wait_until(lambda: _listens(port))
        return self

    def kill(self, part: str, client: int) -> bool:
        """Kill a part."""
        if part == "scheduler":
            return _killed(self.marked("dask_spec", "Scheduler"))
        return super().kill(part, client)


PLACES: dict[str, type[Place]] = {
    "threads": Place,
    "processes": Processes,
    "dask": Dask,
    "slurm": Slurm,
    "ssh": Ssh,
}


@contextmanager
def client_of(runner: str, address: str) -> Iterator[Client | None]:
    """Yield the client of a place, made as a user would make it."""
    from distributed import Client

    from simsched.sweep.cluster import connected

    if runner == "dask":
        with connected(address) as client:
            yield client
        return
    with (
        _slurm(Path(address)) if runner == "slurm" else _ssh(Path(address)) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _slurm(folder: Path):  # type: ignore[no-untyped-def] # dask-jobqueue has no types
    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(
        cores=1, processes=1, memory="1GB", walltime="00:30:00", queue="one", death_timeout=DEATH_S,
        local_directory=str(folder / "spill"), log_directory=str(folder / "logs"),
        job_script_prologue=[f"export PYTHONPATH={MODULES} {MARK}={folder}"],
    )  # fmt: skip
    # Both: a job that is cancelled is submitted again, and there are never fewer.
    cluster.adapt(minimum_jobs=WORKERS, maximum_jobs=WORKERS)
    return cluster


def _ssh(folder: Path):  # type: ignore[no-untyped-def] # nor has its SSHCluster
    from distributed import SSHCluster

    return SSHCluster(
        ["127.0.0.1"] * (WORKERS + 1),
        connect_options={
            "port": int((folder / "port").read_text()), "client_keys": [str(folder / "user")], "known_hosts": None,
        },
        worker_options={"nthreads": 1, "death_timeout": DEATH_S},
        scheduler_options={"port": 0, "dashboard_address": ":0"},
        remote_python=sys.executable,
    )  # fmt: skip


def _killed(pids: Sequence[int]) -> bool:
    """Kill one of some processes; return whether there was one."""
    if not pids:
        return False
    try:
        os.kill(random.choice(pids), signal.SIGKILL)  # noqa: S311 - no secret
    except ProcessLookupError:
        return False
    return True


def _ended(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(timeout=10)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _said(*command: str) -> str:
    """Return what a program prints, errors left out: a daemon may not be ready yet."""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout  # noqa: S603 - named here


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return not one.connect_ex(("127.0.0.1", port))
